// Elements that choose: selects of every source, multi selects, radio buttons, checkboxes, dates and times.
import { h, replace } from './dom.js';
import { plain, textOf, confirmed } from './elements.js';
import { external } from './suggest.js';

/** picker renders a choosing element, or returns null when el is none. */
export function picker(el, surface, blockId, input) {
  const make = PICKERS[el?.type];
  if (!make) return null;
  const control = make(el, surface, blockId);
  for (const node of control.targets ?? [control.node]) Object.assign(node.dataset, el.action_id && { actionId: el.action_id }, blockId && { blockId });
  // In an input block the label names it; elsewhere its placeholder has to.
  if (!input && control.node.matches('select, input')) control.node.setAttribute('aria-label', plain(el.placeholder) || UNNAMED[el.type] || 'Select an option');
  surface.inputs?.add({ blockId, actionId: el.action_id, inInput: !!input, ...control });
  if (!input || input.dispatch) {
    let last = JSON.stringify(control.get());
    control.onchange(async () => {
      const value = control.get();
      if (JSON.stringify(value) === last) return;
      const before = last;
      last = JSON.stringify(value);
      const sent = await confirmed(el, surface, () => surface.act({ action_id: el.action_id, block_id: blockId, value: Array.isArray(value) ? JSON.stringify(value) : value }));
      if (!sent) { last = before; control.set(JSON.parse(before)); }
    });
  }
  return control.node;
}

const people = (surface) => surface.names.people().map((u) => ({ value: u.id, text: u.real_name ? `${u.name} (${u.real_name})` : u.name }));
const rooms = (surface) => surface.names.rooms().filter((c) => !c.is_im && !c.is_mpim).map((c) => ({ value: c.id, text: `#${c.name}` }));
const talks = (surface) => surface.names.rooms().map((c) => ({ value: c.id, text: c.is_im ? `@${surface.names.user(c.im_user) || c.name}` : surface.names.title(c.id) }));
const given = (el) => (el.option_groups ? el.option_groups.map((g) => ({ group: plain(g.label), options: g.options.map(choice) })) : (el.options ?? []).map(choice));
const choice = (o) => ({ value: o.value, text: plain(o.text), description: plain(o.description) });

const PICKERS = {
  static_select: (el) => select(el, given(el), el.initial_option?.value),
  users_select: (el, s) => select(el, people(s), el.initial_user),
  channels_select: (el, s) => select(el, rooms(s), el.initial_channel),
  conversations_select: (el, s) => select(el, talks(s), el.initial_conversation ?? (el.default_to_current_conversation ? s.channel : undefined)),
  external_select: (el, s, blockId) => external(el, s, blockId, false),
  multi_static_select: (el) => multi(el, given(el), el.initial_options?.map((o) => o.value)),
  multi_users_select: (el, s) => multi(el, people(s), el.initial_users),
  multi_channels_select: (el, s) => multi(el, rooms(s), el.initial_channels),
  multi_conversations_select: (el, s) => multi(el, talks(s), el.initial_conversations ?? (el.default_to_current_conversation && s.channel ? [s.channel] : undefined)),
  multi_external_select: (el, s, blockId) => external(el, s, blockId, true),
  radio_buttons: (el, s) => options(el, s, 'radio'),
  checkboxes: (el, s) => options(el, s, 'checkbox'),
  datepicker: (el) => native(el, 'date', el.initial_date),
  timepicker: (el) => native(el, 'time', el.initial_time),
  datetimepicker: (el) => moment(el),
};

const UNNAMED = { datepicker: 'Date', timepicker: 'Time', datetimepicker: 'Date and time' };

// select is a native one: a keyboard, a phone's wheel and a screen reader all know it.
function select(el, choices, initial) {
  const node = h('select', { class: 'input select' }, h('option', { value: '' }, plain(el.placeholder) || 'Select an option'), choices.map((c) => (c.group !== undefined
    ? h('optgroup', { label: c.group }, c.options.map(option)) : option(c))));
  const set = (value) => {
    if (value && ![...node.options].some((o) => o.value === value)) node.append(option({ value, text: value }));
    node.value = value ?? '';
  };
  set(initial);
  return { node, get: () => node.value || null, set, onchange: (fn) => node.addEventListener('change', fn) };
}

function option(c) { return h('option', { value: c.value, title: c.description }, c.description ? `${c.text} · ${c.description}` : c.text); }

let serial = 0; // names radio groups apart in one page

// multi is a summary that opens a list of checkboxes; the choice is sent when it closes, as Slack does.
function multi(el, choices, initial = []) {
  const flat = choices.flatMap((c) => c.options ?? [c]);
  for (const value of initial ?? []) if (!flat.some((c) => c.value === value)) { const extra = { value, text: value }; flat.push(extra); choices.push(extra); }
  const boxes = new Map();
  const row = (c) => {
    const box = h('input', { type: 'checkbox', value: c.value, checked: (initial ?? []).includes(c.value), onchange: show });
    boxes.set(c.value, box);
    return h('label', { class: 'multi-row' }, box, h('span', {}, c.text, c.description && h('span', { class: 'option-description' }, c.description)));
  };
  const summary = h('summary', { class: 'input select' });
  const rows = choices.map((c) => (c.options ? h('fieldset', { class: 'multi-group' }, h('legend', {}, c.group), c.options.map(row)) : row(c)));
  const filter = flat.length > 8 ? h('input', { type: 'search', class: 'input', placeholder: 'Filter', 'aria-label': 'Filter options', oninput: () => {
    for (const [, box] of boxes) box.closest('label').hidden = !box.closest('label').textContent.toLowerCase().includes(filter.value.toLowerCase());
  } }) : null;
  const node = h('details', { class: 'multi' }, summary, h('div', { class: 'multi-list' }, filter, rows));
  node.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !node.open) return;
    event.preventDefault();
    event.stopPropagation();
    node.open = false;
    summary.focus();
  });
  // It closes when a click or a Tab has landed elsewhere, not before: closing on the way would move what is being pressed.
  const elsewhere = (event) => { if (!node.isConnected || !node.contains(event.target)) node.open = false; };
  node.addEventListener('toggle', () => {
    for (const name of ['click', 'keyup']) document[node.open ? 'addEventListener' : 'removeEventListener'](name, elsewhere);
  });
  const get = () => [...boxes.values()].filter((b) => b.checked).map((b) => b.value);
  function show() {
    if (el.max_selected_items) { const full = get().length >= el.max_selected_items; for (const b of boxes.values()) b.disabled = full && !b.checked; }
    const picked = get();
    replace(summary, picked.length ? picked.map((v) => h('span', { class: 'chip' }, flat.find((c) => c.value === v).text)) : h('span', { class: 'placeholder' }, plain(el.placeholder) || 'Select options'));
  }
  show();
  return { node, targets: [node], get, set: (values) => { for (const [v, b] of boxes) b.checked = (values ?? []).includes(v); show(); }, onchange: (fn) => node.addEventListener('toggle', () => { if (!node.open) fn(); }) };
}

function options(el, surface, type) {
  const name = `choice-${++serial}`;
  const first = type === 'radio' ? [el.initial_option?.value] : (el.initial_options ?? []).map((o) => o.value);
  const boxes = (el.options ?? []).map((o) => h('input', { type, name, value: o.value, checked: first.includes(o.value) }));
  const node = h('div', { class: 'options', role: type === 'radio' ? 'radiogroup' : 'group', 'aria-label': 'Options' }, boxes.map((box, i) => h('label', { class: 'option' }, box,
    h('span', {}, textOf(el.options[i].text, surface), el.options[i].description && h('span', { class: 'option-description' }, textOf(el.options[i].description, surface))))));
  const picked = () => boxes.filter((b) => b.checked).map((b) => b.value);
  return {
    node, targets: [node, ...boxes], get: () => (type === 'radio' ? picked()[0] ?? null : picked()),
    set: (v) => { const want = Array.isArray(v) ? v : [v]; for (const b of boxes) b.checked = want.includes(b.value); },
    onchange: (fn) => node.addEventListener('change', fn),
  };
}

function native(el, type, initial) {
  const node = h('input', { type, class: 'input input-date', title: plain(el.placeholder) || undefined });
  node.value = initial ?? '';
  return { node, get: () => node.value || null, set: (v) => { node.value = v ?? ''; }, onchange: (fn) => node.addEventListener('change', fn) };
}

// moment is a local date and time on screen and Unix seconds on the wire.
function moment(el) {
  const node = h('input', { type: 'datetime-local', class: 'input input-date' });
  const set = (seconds) => {
    if (!seconds) { node.value = ''; return; }
    const d = new Date(Number(seconds) * 1000);
    node.value = new Date(d.getTime() - d.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
  };
  set(el.initial_date_time);
  return { node, get: () => (node.value ? String(Math.floor(new Date(node.value).getTime() / 1000)) : null), set, onchange: (fn) => node.addEventListener('change', fn) };
}
