// The inspector: every API call and envelope as it happens, and faults at the press of a button.
import { h, replace, icon } from './dom.js';
import { toast } from './popups.js';

const KEPT = 500;
const MODES = [['ratelimit', '429'], ['lost_answer', 'lost answer'], ['http500', 'HTTP 500'], ['timeout', 'timeout'], ['error', 'error: internal_error']];

/** Inspector is a drawer that polls /_local/log while it is open. */
export class Inspector {
  constructor(env) {
    this.env = env;
    this.since = 0;
    this.list = h('ol', { class: 'log' });
    this.filter = h('input', { type: 'search', class: 'input', placeholder: 'Filter', 'aria-label': 'Filter entries', oninput: () => this.refilter() });
    this.method = h('input', { class: 'input', value: 'chat.postMessage', 'aria-label': 'Method that fails', spellcheck: 'false' });
    this.mode = h('select', { class: 'input select', 'aria-label': 'How it fails' }, MODES.map(([value, label]) => h('option', { value }, label)));
    const fault = (label, body) => h('button', { type: 'button', class: 'btn btn-small', onclick: () => this.fault(label, typeof body === 'function' ? body() : body) }, label);
    this.el = h('aside', { class: 'inspector', 'aria-label': 'Inspector', hidden: true, data: { testid: 'inspector' } },
      h('header', { class: 'pane-head' }, h('div', { class: 'pane-words' }, h('h1', { class: 'pane-title' }, 'Inspector'), h('div', { class: 'pane-topic' }, 'every call and envelope, as it happens')), h('button', { type: 'button', class: 'icon-btn', 'aria-label': 'Close inspector', onclick: () => this.toggle(false) }, icon('close'))),
      h('div', { class: 'faults' }, h('div', { class: 'fault-row' }, this.method, this.mode, fault('Fail next call', () => this.callFault())),
        h('div', { class: 'fault-row' }, fault('429 next call', { method: 'chat.postMessage', times: 1, mode: 'ratelimit', retry_after: 2 }), fault('Disconnect', { socket: 'disconnect' }), fault('Warn, then disconnect', { socket: 'warning' }), fault('Half-open', { socket: 'half_open' }), fault('Close stream', { stream: 'close' }))),
      h('div', { class: 'log-filter' }, this.filter, h('button', { type: 'button', class: 'btn btn-small', title: 'Everything as JSON for a bug report: words are replaced by their length, secrets left out', data: { testid: 'export' }, onclick: () => this.export() }, 'Export')), h('div', { class: 'scroller' }, this.list));
  }

  toggle(open = this.el.hidden) {
    this.el.hidden = !open;
    document.body.classList.toggle('with-inspector', open);
    for (const b of document.querySelectorAll('[data-testid="inspector-toggle"]')) b.setAttribute('aria-expanded', String(open));
    clearTimeout(this.timer);
    if (open) this.poll();
  }

  callFault() {
    const mode = this.mode.value;
    return { method: this.method.value.trim(), times: 1, mode, retry_after: mode === 'ratelimit' ? 2 : undefined, error: mode === 'error' ? 'internal_error' : undefined };
  }

  async fault(label, body) {
    if (await this.env.post('fault', body)) toast(`${label}: set.`);
  }

  // export saves what the workspace has redacted: no words, no secrets.
  async export() {
    const log = await this.env.get('log/export', {});
    if (!log) return;
    const href = URL.createObjectURL(new Blob([JSON.stringify(log, null, 1)], { type: 'application/json' }));
    h('a', { href, download: 'workspace-log.json' }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10000);
    toast(`Exported ${log.entries.length} entries, without words and secrets.`);
  }

  async poll() {
    try {
      const answer = await this.env.api.get('log', { since: this.since, last: KEPT });
      this.add(answer.entries ?? [], answer);
    } catch { /* the connection state is shown elsewhere; the next poll tries again */ }
    if (!this.el.hidden) this.timer = setTimeout(() => this.poll(), 1000);
  }

  add(entries, answer) {
    if (!entries.length) return;
    this.since = answer.next ?? answer.cursor ?? entries.at(-1).seq ?? this.since + entries.length;
    for (const entry of entries) this.list.prepend(this.row(entry));
    while (this.list.children.length > KEPT) this.list.lastChild.remove();
    this.refilter();
  }

  row(e) {
    const at = new Date(typeof e.at === 'number' ? e.at : Date.parse(e.at) || e.at);
    const bad = e.ok === false || !!e.error;
    const name = e.method || e.kind;
    const body = h('div', { class: 'log-body' });
    const details = h('details', { class: bad ? 'log-entry log-bad' : 'log-entry' }, h('summary', {}, h('time', {}, Number.isNaN(+at) ? '' : at.toLocaleTimeString()), h('span', { class: `log-kind log-${e.kind}` }, e.kind), h('span', { class: 'log-name' }, name), e.error && h('span', { class: 'log-error' }, e.error), e.note && h('span', { class: 'log-mark', title: e.note, 'aria-label': 'has a note' }, '!')), body);
    // Requests are drawn when somebody looks: most entries are never opened.
    details.addEventListener('toggle', () => {
      if (!details.open || body.firstChild) return;
      for (const part of ['request', 'response']) if (e[part] !== undefined && e[part] !== null) body.append(h('div', { class: 'log-part' }, part), h('pre', {}, pretty(e[part])));
      if (e.note) body.prepend(h('div', { class: 'log-note' }, e.note));
      if (e.event_id) body.append(h('div', { class: 'log-part' }, `event ${e.event_id} `, h('button', { type: 'button', class: 'btn btn-small', onclick: () => this.fault('Redelivery', { redeliver: e.event_id }) }, 'Deliver again')));
      if (!body.firstChild) body.append(h('div', { class: 'muted' }, 'No body.'));
    });
    const li = h('li', {}, details);
    li.words = `${e.kind} ${name} ${e.error ?? ''}`.toLowerCase();
    return li;
  }

  refilter() {
    const want = this.filter.value.trim().toLowerCase();
    for (const li of this.list.children) li.hidden = !!want && !li.words.includes(want);
  }

  clear() { replace(this.list); this.since = 0; }
}

function pretty(value) {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2);
  try { return JSON.stringify(JSON.parse(value), null, 2); } catch { return value; }
}
