// What floats over the page: menus, the emoji picker, confirm dialogs, notices.
import { h, replace } from './dom.js';
import { searchEmoji } from './emoji.js';

/** toast shows a notice for a few seconds; kind is "info" or "error". */
export function toast(text, kind = 'info') {
  const el = h('div', { class: `toast toast-${kind}` }, h('span', {}, text), h('button', { type: 'button', class: 'toast-close', 'aria-label': 'Dismiss', onclick: () => el.remove() }, '×'));
  const shelf = document.querySelector('dialog[open] .toasts-inner') ?? document.getElementById('toasts');
  shelf.append(el);
  while (shelf.children.length > 4) shelf.firstChild.remove();
  setTimeout(() => el.remove(), kind === 'error' ? 9000 : 4000);
}

// float shows content in a popover beside anchor: in the top layer, closed by Esc or a click elsewhere.
function float(anchor, content, attrs) {
  const pop = h('div', { class: 'popover', popover: 'auto', ...attrs }, content);
  (anchor.closest('dialog, nav, main, aside') ?? document.body).append(pop); // a landmark, for those who go by them
  pop.addEventListener('toggle', (event) => {
    if (event.newState !== 'closed') return;
    if (pop.contains(document.activeElement) || document.activeElement === document.body) anchor.focus();
    anchor.setAttribute('aria-expanded', 'false');
    pop.remove();
  });
  anchor.setAttribute('aria-expanded', 'true'); // also keeps a toolbar in sight that shows only on hover
  pop.showPopover();
  const a = anchor.getBoundingClientRect();
  const p = pop.getBoundingClientRect();
  const above = a.bottom + p.height > innerHeight - 8 && a.top > p.height;
  pop.style.left = `${Math.max(8, Math.min(a.left, innerWidth - p.width - 8))}px`;
  pop.style.top = `${Math.max(8, above ? a.top - p.height - 4 : Math.min(a.bottom + 4, innerHeight - p.height - 8))}px`;
  return pop;
}

/** arrows moves focus among the buttons of el with the arrow keys, Home and End. */
export function arrows(el, selector, columns = 1) {
  el.addEventListener('keydown', (event) => {
    const items = [...el.querySelectorAll(selector)].filter((b) => !b.disabled && b.offsetParent !== null);
    const at = items.indexOf(document.activeElement);
    const step = { ArrowDown: columns, ArrowUp: -columns, ArrowRight: columns > 1 ? 1 : 0, ArrowLeft: columns > 1 ? -1 : 0 }[event.key];
    let next = null;
    if (event.key === 'Home') next = items[0];
    else if (event.key === 'End') next = items.at(-1);
    else if (step) next = items[Math.max(0, Math.min(items.length - 1, at + step))];
    if (!next || (at < 0 && !step)) return;
    event.preventDefault();
    next.focus();
  });
}

/** trap keeps Tab inside el. A native dialog makes the rest inert, but lets Tab wander off to the browser in between. */
export function trap(el) {
  el.addEventListener('keydown', (event) => {
    if (event.key !== 'Tab') return;
    const stops = [...el.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')].filter((each) => !each.disabled && each.tabIndex >= 0 && each.checkVisibility());
    const edge = event.shiftKey ? stops[0] : stops.at(-1);
    if (!stops.length || (document.activeElement !== edge && el.contains(document.activeElement))) return;
    event.preventDefault();
    (event.shiftKey ? stops.at(-1) : stops[0]).focus();
  });
}

/** menu opens a list of items {label, hint, icon, danger, run, data}; a null item is a line. */
export function menu(anchor, items, label) {
  const list = h('div', { class: 'menu', role: 'menu', 'aria-label': label }, items.map((item) => (item === null
    ? h('hr', { class: 'menu-line' })
    : item.heading ? h('div', { class: 'menu-heading' }, item.heading)
      : h('button', { type: 'button', role: 'menuitem', class: item.danger ? 'menu-item danger' : 'menu-item', data: item.data, onclick: () => { pop.hidePopover(); item.run(); } },
        h('span', { class: 'menu-label' }, item.label), item.hint && h('span', { class: 'menu-hint' }, item.hint)))));
  const pop = float(anchor, list);
  arrows(list, 'button');
  list.querySelector('button')?.focus();
  return pop;
}

/** pickEmoji opens the picker; choose gets a name. */
export function pickEmoji(anchor, choose) {
  const grid = h('div', { class: 'emoji-grid', role: 'listbox', 'aria-label': 'Emoji' });
  const fill = (query) => {
    const found = searchEmoji(query);
    replace(grid, found.map(([name, char]) => h('button', { type: 'button', class: 'emoji-cell', role: 'option', title: `:${name}:`, 'aria-label': name, onclick: () => { pop.hidePopover(); choose(name); } }, char)));
    if (!found.length && query) grid.append(h('button', { type: 'button', class: 'menu-item', onclick: () => { pop.hidePopover(); choose(query); } }, `React with :${query}:`));
  };
  const search = h('input', { type: 'search', class: 'input', placeholder: 'Search emoji', 'aria-label': 'Search emoji', oninput: () => fill(search.value.trim().toLowerCase().replaceAll(':', '')),
    onkeydown: (event) => {
      if (event.key === 'Enter') { event.preventDefault(); grid.querySelector('button')?.click(); }
      if (event.key === 'ArrowDown') { event.preventDefault(); grid.querySelector('button')?.focus(); }
    } });
  fill('');
  arrows(grid, 'button', 8);
  const pop = float(anchor, h('div', { class: 'emoji-picker' }, search, grid));
  search.focus();
}

/** confirmDialog asks; it resolves to true only when the confirming button was pressed. */
export function confirmDialog({ title, text, confirm = 'OK', deny = 'Cancel', danger = false }) {
  return new Promise((resolve) => {
    const dialog = h('dialog', { class: 'dialog dialog-small', 'aria-label': typeof title === 'string' ? title : 'Please confirm', data: { testid: 'confirm' } },
      h('div', { class: 'dialog-body' }, h('h2', { class: 'dialog-title' }, title), h('div', { class: 'confirm-text' }, text)),
      h('div', { class: 'dialog-foot' },
        h('button', { type: 'button', class: 'btn', data: { testid: 'confirm-deny' }, onclick: () => dialog.close() }, deny),
        h('button', { type: 'button', class: danger ? 'btn btn-danger' : 'btn btn-primary', data: { testid: 'confirm-ok' }, onclick: () => dialog.close('yes') }, confirm)));
    trap(dialog);
    dialog.addEventListener('close', () => { dialog.remove(); resolve(dialog.returnValue === 'yes'); });
    document.body.append(dialog);
    dialog.showModal();
  });
}
