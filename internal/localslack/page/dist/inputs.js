// Text and file inputs, what they check before a modal is submitted, and the register that collects their values.
import { h } from './dom.js';
import { plain, confirmed } from './elements.js';

/** Inputs is the register of one view's inputs, by block and action. It survives a re-render, as values do in Slack. */
export class Inputs {
  constructor() {
    this.controls = new Map();
    this.kept = new Map();
  }

  /** add registers a control {blockId, actionId, get, set, check}; a value that the person had set before comes back. */
  add(control) {
    const id = `${control.blockId}\n${control.actionId}`;
    this.controls.set(id, control);
    if (this.kept.has(id) && control.set) control.set(this.kept.get(id));
  }

  /** renew forgets the controls but keeps their values for the next render. */
  renew() {
    for (const [id, c] of this.controls) if (c.set) this.kept.set(id, c.get());
    this.controls.clear();
  }

  /** values is what submit sends: {block_id: {action_id: value}}, empty ones left out. */
  async values({ files = true } = {}) {
    const out = {};
    for (const c of this.controls.values()) {
      if (c.read && !files) continue;
      const value = c.read ? await c.read() : c.get();
      if (value === null || value === undefined || value === '' || (Array.isArray(value) && !value.length)) continue;
      (out[c.blockId] ??= {})[c.actionId] = value;
    }
    return out;
  }

  /** problems checks every control: {block_id: message}. */
  problems(optionalBlocks) {
    const out = {};
    for (const c of this.controls.values()) {
      const value = c.get();
      const empty = value === null || value === undefined || value === '' || (Array.isArray(value) && !value.length);
      const wrong = empty ? (c.inInput && !optionalBlocks.has(c.blockId) ? 'Please complete this required field.' : null) : c.check?.(value);
      if (wrong) out[c.blockId] ??= wrong;
    }
    return out;
  }
}

const KINDS = { number_input: 'text', email_text_input: 'email', url_text_input: 'url' };

/** textInput renders the five inputs that take typed text. */
export function textInput(el, surface, blockId, input) {
  const multiline = el.multiline || el.type === 'rich_text_input';
  const initial = typeof el.initial_value === 'object' ? richValue(el.initial_value) : el.initial_value ?? '';
  const node = h(multiline ? 'textarea' : 'input', {
    class: 'input', type: multiline ? undefined : KINDS[el.type] ?? 'text', rows: multiline ? 5 : undefined, inputmode: el.type === 'number_input' ? 'decimal' : undefined,
    placeholder: plain(el.placeholder) || undefined, maxlength: undefined, data: { actionId: el.action_id, blockId, focus: el.focus_on_load ? 'yes' : undefined },
    autocomplete: 'off', spellcheck: el.type === 'plain_text_input' || el.type === 'rich_text_input' ? 'true' : 'false',
  });
  node.value = initial;
  const count = el.max_length ? h('span', { class: 'input-count', 'aria-hidden': 'true' }) : null;
  const tally = () => { if (count) count.textContent = `${[...node.value].length} / ${el.max_length}`; };
  tally();
  const on = el.dispatch_action_config?.trigger_actions_on ?? ['on_enter_pressed'];
  const dispatch = () => confirmed(el, surface, () => surface.act({ action_id: el.action_id, block_id: blockId, value: node.value }));
  let timer = 0;
  node.addEventListener('input', () => {
    tally();
    if (input?.dispatch && on.includes('on_character_entered')) { clearTimeout(timer); timer = setTimeout(dispatch, 250); }
  });
  node.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.isComposing || (multiline && !event.ctrlKey && !event.metaKey)) return;
    if (input?.dispatch && on.includes('on_enter_pressed')) { event.preventDefault(); dispatch(); }
  });
  surface.inputs?.add({ blockId, actionId: el.action_id, inInput: !!input, node, get: () => node.value, set: (v) => { node.value = v ?? ''; tally(); }, check: (v) => checkText(el, v, node) });
  return count ? h('span', { class: 'input-with-count' }, node, count) : node;
}

function checkText(el, value, node) {
  const length = [...value].length;
  if (el.min_length && length < el.min_length) return `Too short: at least ${el.min_length} characters.`;
  if (el.max_length && length > el.max_length) return `Too long by ${length - el.max_length}: at most ${el.max_length} characters.`;
  if (el.type === 'number_input') {
    const n = Number(value);
    if (!/^[+-]?(\d+\.?\d*|\.\d+)$/.test(value.trim())) return 'Please enter a number.';
    if (!el.is_decimal_allowed && !Number.isInteger(n)) return 'Please enter a whole number.';
    if (el.min_value !== undefined && n < Number(el.min_value)) return `Must be at least ${el.min_value}.`;
    if (el.max_value !== undefined && n > Number(el.max_value)) return `Must be at most ${el.max_value}.`;
  }
  if (el.type === 'email_text_input' && !node.validity.valid) return 'Please enter a mail address.';
  if (el.type === 'url_text_input' && !/^https?:\/\/\S+$/i.test(value)) return 'Please enter an address that starts with http:// or https://.';
  return null;
}

// richValue is the plain text of a rich text value.
function richValue(value) {
  if (value.type === 'text') return value.text ?? '';
  return (value.elements ?? []).map(richValue).join(value.type === 'rich_text' ? '\n' : '');
}

/** fileInput takes files; submit sends them as {name, content_base64}. */
export function fileInput(el, surface, blockId) {
  const most = el.max_files ?? 10;
  const node = h('input', { type: 'file', class: 'input', multiple: most > 1, accept: el.filetypes?.map((t) => `.${t}`).join(','), data: { actionId: el.action_id, blockId } });
  surface.inputs?.add({
    blockId, actionId: el.action_id, inInput: true, node,
    get: () => [...node.files].map((f) => f.name),
    read: () => Promise.all([...node.files].map(readFile)),
    check: (names) => {
      if (names.length > most) return `At most ${most} file${most > 1 ? 's' : ''}.`;
      const bad = el.filetypes?.length ? names.find((name) => !el.filetypes.includes(name.split('.').pop().toLowerCase())) : null;
      return bad ? `${bad}: only ${el.filetypes.join(', ')}.` : null;
    },
  });
  return node;
}

/** readFile is a file as the workspace takes it. */
export async function readFile(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = '';
  for (let i = 0; i < bytes.length; i += 0x8000) binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return { name: file.name, content_base64: btoa(binary) };
}
