// Selects whose options the app gives while one types (external_select): a combobox that asks over /_local/suggest.
import { h, replace } from './dom.js';
import { plain } from './elements.js';

const PAUSE = 200; // milliseconds after the last letter before the app is asked
const LEAST = 3; // letters that Slack wants unless the element says otherwise
let serial = 0;

/** external is a control as pickers.js makes them; with many, picks are chips beside the input. */
export function external(el, surface, blockId, many) {
  const words = new Map(); // what the app calls each value
  let picked = (many ? el.initial_options ?? [] : [el.initial_option]).filter(Boolean).map((o) => { words.set(o.value, plain(o.text)); return o.value; });
  let shown = [];
  let at = -1;
  let timer;
  let asked = 0;
  const changed = new Set();
  const list = h('div', { class: 'popover options-list', popover: 'manual', role: 'listbox', id: `options-${++serial}`, 'aria-label': 'Options' });
  const input = h('input', { class: 'input', role: 'combobox', 'aria-expanded': 'false', 'aria-controls': list.id, 'aria-autocomplete': 'list', autocomplete: 'off',
    placeholder: plain(el.placeholder) || 'Type to search', oninput: () => typed(), onfocus: () => { if (!least()) typed(); }, onkeydown: key,
    onblur: () => setTimeout(() => { if (document.activeElement !== input) { close(); if (!many) input.value = words.get(picked[0]) ?? picked[0] ?? ''; } }, 150) });
  const chips = h('span', { class: 'external-chips' });
  const node = h('div', { class: 'external' }, many && chips, input, list);
  draw();

  function least() { return el.min_query_length ?? LEAST; }

  function typed() {
    clearTimeout(timer);
    if (!many && !input.value && picked.length) { picked = []; tell(); }
    if ([...input.value.trim()].length < least()) { note(input.value ? `Type ${least()} letters or more` : ''); return; }
    timer = setTimeout(ask, PAUSE);
  }

  async function ask() {
    const mine = ++asked;
    note('Searching…');
    const answer = await surface.suggest({ action_id: el.action_id, block_id: blockId, query: input.value.trim() });
    if (mine !== asked || document.activeElement !== input) return; // a later question, or nobody waits any more
    if (!answer) { note('The app gave no options.'); return; }
    const groups = answer.option_groups ?? [{ options: answer.options ?? [] }];
    shown = [];
    at = -1;
    replace(list, groups.map((g) => [g.label && h('div', { class: 'suggest-group', role: 'presentation' }, plain(g.label)), (g.options ?? []).map((o) => {
      const i = shown.push(o) - 1;
      words.set(o.value, plain(o.text));
      return h('div', { class: 'suggestion', role: 'option', id: `${list.id}-${i}`, 'aria-selected': 'false', data: { value: o.value }, onmousedown: (event) => { event.preventDefault(); take(i); } },
        h('span', { class: 'suggestion-name' }, plain(o.text)), o.description && h('span', { class: 'menu-hint' }, plain(o.description)));
    })]));
    if (!shown.length) { note('Nothing found.'); return; }
    open(true);
  }

  function note(text) {
    shown = [];
    replace(list, text && h('div', { class: 'suggest-note', role: 'status' }, text));
    open(!!text);
  }

  // The list floats in the top layer: inside the column it would be cut off at its end.
  function open(on) {
    if (on && !list.matches(':popover-open')) list.showPopover();
    if (!on && list.matches(':popover-open')) list.hidePopover();
    if (on) beside();
    input.setAttribute('aria-expanded', String(on));
    if (!on) input.removeAttribute('aria-activedescendant');
  }

  function beside() {
    const a = input.getBoundingClientRect();
    list.style.width = `${Math.max(a.width, 220)}px`;
    const { height } = list.getBoundingClientRect();
    const above = a.bottom + height > innerHeight - 8 && a.top > height;
    list.style.left = `${Math.max(8, Math.min(a.left, innerWidth - Math.max(a.width, 220) - 8))}px`;
    list.style.top = `${above ? a.top - height - 2 : a.bottom + 2}px`;
  }

  function close() { clearTimeout(timer); asked++; shown = []; open(false); }

  function mark() {
    for (const each of list.querySelectorAll('.suggestion')) each.setAttribute('aria-selected', String(each.id === `${list.id}-${at}`));
    input.setAttribute('aria-activedescendant', `${list.id}-${at}`);
    list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }

  function key(event) {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && shown.length) { event.preventDefault(); at = (at + step + shown.length) % shown.length; mark(); return; }
    if (event.key === 'Enter') { event.preventDefault(); if (at >= 0) take(at); }
    if (event.key === 'Escape' && list.matches(':popover-open')) { event.preventDefault(); event.stopPropagation(); close(); }
    if (many && event.key === 'Backspace' && !input.value && picked.length) { picked = picked.slice(0, -1); tell(); }
  }

  function take(i) {
    const { value } = shown[i];
    picked = many ? [...new Set([...picked, value])] : [value];
    if (many && el.max_selected_items) picked = picked.slice(-el.max_selected_items);
    close();
    tell();
  }

  function tell() { draw(); for (const fn of changed) fn(); }

  function draw() {
    if (!many) { if (picked.length) input.value = words.get(picked[0]) ?? picked[0]; return; }
    input.value = '';
    replace(chips, picked.map((value) => h('span', { class: 'chip' }, words.get(value) ?? value, h('button', { type: 'button', class: 'chip-x', 'aria-label': `Remove ${words.get(value) ?? value}`, onclick: () => { picked = picked.filter((v) => v !== value); tell(); input.focus(); } }, '×'))));
  }

  return {
    node, targets: [input], get: () => (many ? picked : picked[0] ?? null),
    set: (v) => { picked = [v].flat().filter(Boolean); if (!many && !picked.length) input.value = ''; draw(); }, onchange: (fn) => changed.add(fn),
  };
}
