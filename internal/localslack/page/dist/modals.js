// Modals: the stack the workspace holds, of which the top one is shown in a native dialog (focus trap, Esc, the rest inert).
import { h, replace } from './dom.js';
import { blocks } from './blocks.js';
import { plain } from './elements.js';
import { Inputs } from './inputs.js';
import { APIError } from './api.js';
import { trap } from './popups.js';

/** Modals mirrors one user's stack of views. */
export class Modals {
  constructor(env) {
    this.env = env;
    this.stack = []; // {view, inputs, errors, busy}
    this.body = h('div', { class: 'dialog-body' });
    this.title = h('h2', { class: 'dialog-title', id: 'modal-title' });
    this.foot = h('div', { class: 'dialog-foot' });
    this.notices = h('div', { class: 'toasts-inner', 'aria-live': 'assertive' });
    this.x = h('button', { type: 'button', class: 'icon-btn dialog-x', 'aria-label': 'Close', data: { testid: 'modal-close' }, onclick: () => this.close(true) }, '×');
    this.el = h('dialog', { class: 'dialog', 'aria-labelledby': 'modal-title', data: { testid: 'modal' } }, h('div', { class: 'dialog-head' }, this.title, this.x), this.body, this.notices, this.foot);
    this.el.addEventListener('cancel', (event) => { event.preventDefault(); this.close(); });
    trap(this.el);
    document.body.append(this.el);
  }

  get top() { return this.stack.at(-1); }

  /** load replaces the whole stack, keeping what was typed into views that stay. */
  load(views) {
    const old = new Map(this.stack.map((s) => [s.view.id, s]));
    this.stack = views.map((view) => { const s = old.get(view.id) ?? { inputs: new Inputs(), errors: {} }; s.view = view; return s; });
    this.draw();
  }

  /** apply takes one view event. */
  apply(op, view) {
    if (op === 'clear') this.stack = [];
    else if (op === 'close') this.stack = this.stack.filter((s) => s.view.id !== view?.id);
    else {
      const at = this.stack.find((s) => s.view.id === view.id);
      if (at) { at.view = view; at.errors = {}; } else this.stack.push({ view, inputs: new Inputs(), errors: {} });
    }
    this.draw();
  }

  draw() {
    const top = this.top;
    if (!top) {
      if (this.el.open) this.el.close();
      this.shown = null;
      replace(this.body);
      return;
    }
    const { view } = top;
    const same = this.shown === view.id;
    const scroll = same ? this.body.scrollTop : 0;
    const focused = same ? document.activeElement?.dataset : null;
    top.inputs.renew();
    const surface = {
      names: this.env.ws, kind: 'modal', inputs: top.inputs, files: [],
      act: async (action) => this.env.act({ view_id: view.id }, { ...action, values: await top.inputs.values({ files: false }) }),
      suggest: (q) => this.env.suggest({ view_id: view.id }, q),
    };
    replace(this.title, plain(view.title) || 'Modal');
    replace(this.body, this.stack.length > 1 && h('div', { class: 'modal-trail' }, this.stack.map((s) => plain(s.view.title)).join(' › ')), blocks(view.blocks, surface));
    this.submit = view.submit ? h('button', { type: 'button', class: 'btn btn-primary', data: { testid: 'modal-submit' }, onclick: () => this.send(top) }, plain(view.submit)) : null;
    replace(this.foot, h('button', { type: 'button', class: 'btn', data: { testid: 'modal-cancel' }, onclick: () => this.close() }, plain(view.close) || (view.submit ? 'Cancel' : 'Close')), this.submit);
    this.el.dataset.viewId = view.id;
    this.el.dataset.callbackId = view.callback_id ?? '';
    this.showErrors(top);
    if (!this.el.open) this.el.showModal();
    this.body.scrollTop = scroll;
    if (focused?.actionId) this.body.querySelector(`[data-action-id="${CSS.escape(focused.actionId)}"][data-block-id="${CSS.escape(focused.blockId ?? '')}"]`)?.focus();
    // A loading view that becomes a form takes the focus along to its first field.
    else if (!same || document.activeElement === this.x || !this.el.contains(document.activeElement)) (this.body.querySelector('[data-focus]') ?? this.body.querySelector('input, textarea, select, summary') ?? this.submit ?? this.x).focus();
    this.shown = view.id;
  }

  async send(top) {
    if (top.busy) return;
    const optional = new Set((top.view.blocks ?? []).filter((b) => b.type === 'input' && b.optional).map((b) => b.block_id));
    top.errors = top.inputs.problems(optional);
    this.showErrors(top);
    if (Object.keys(top.errors).length) return;
    top.busy = true;
    this.submit.setAttribute('aria-busy', 'true');
    this.submit.disabled = true;
    const button = this.submit;
    try {
      const answer = await this.env.api.post('submit', { user: this.env.ws.me, view_id: top.view.id, values: await top.inputs.values() });
      if (answer.ok === false) top.errors = { '': trouble(answer.error) };
      else if (answer.ack?.response_action === 'errors') top.errors = answer.ack.errors ?? { '': trouble() };
      else if (!answer.ack?.response_action) this.apply('close', top.view);
    } catch (err) {
      top.errors = { '': err instanceof APIError && err.status ? err.message : trouble() };
    } finally {
      top.busy = false;
      button.removeAttribute('aria-busy');
      button.disabled = false;
    }
    if (this.top === top) this.showErrors(top);
  }

  // showErrors puts each error under its input, and what belongs to none at the foot.
  showErrors(top) {
    const loose = [];
    for (const box of this.body.querySelectorAll('[data-input]')) {
      const error = box.querySelector('.field-error');
      const text = top.errors[box.dataset.input];
      error.hidden = !text;
      error.textContent = text ?? '';
      box.classList.toggle('has-error', !!text);
      for (const control of box.querySelectorAll('input,textarea,select')) control.setAttribute('aria-invalid', String(!!text));
    }
    for (const [block, text] of Object.entries(top.errors)) {
      if (!this.body.querySelector(`[data-input="${CSS.escape(block)}"]`)) loose.push(block ? `${block}: ${text}` : text);
    }
    replace(this.notices, loose.map((text) => h('div', { class: 'modal-error' }, text)));
    this.body.querySelector('.has-error :is(input,textarea,select)')?.focus();
  }

  /** close takes the top view away, or, by the cross, the whole stack. */
  async close(all = false) {
    const { top } = this;
    if (!top || top.busy) return;
    const whole = all && this.stack.length > 1;
    this.apply(whole ? 'clear' : 'close', top.view);
    await this.env.post('close', { view_id: top.view.id, all: whole || undefined });
  }
}

function trouble(code) {
  if (code === 'no_socket') return 'The app is not connected, so nobody heard that.';
  return code === 'operation_timeout' ? 'The app did not answer within 3 seconds. Try again.' : `We had some trouble connecting. Try again?${code ? ` (${code})` : ''}`;
}
