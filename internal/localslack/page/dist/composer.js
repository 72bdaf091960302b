// Where a person types: Enter sends, Shift+Enter breaks the line, @ and / complete, files attach by button, paste or drop.
import { h, replace, iconButton, icon } from './dom.js';
import { encode, decode } from './encode.js';
import { readFile } from './inputs.js';
import { bytes } from './files.js';
import { toast, pickEmoji } from './popups.js';
import { emojiOf, searchEmoji } from './emoji.js';

const LARGEST = 20 * 1024 * 1024;
const COMMAND = /^(\/\S+)\s*([\s\S]*)$/;
let serial = 0;

/** Composer sends to a channel, or to a thread when threadTs is given. */
export class Composer {
  constructor(env, { channel, threadTs, placeholder, testid }) {
    Object.assign(this, { env, channel, threadTs });
    this.files = [];
    this.leaving = []; // what was sent and not answered
    this.draftKey = `${env.ws.me}/${channel}/${threadTs ?? ''}`;
    const listId = `suggest-${++serial}`;
    this.suggest = h('div', { class: 'suggest', role: 'listbox', id: listId, 'aria-label': 'Suggestions', hidden: true });
    this.input = h('textarea', { class: 'composer-input', rows: 1, placeholder, 'aria-label': placeholder, data: { testid }, 'aria-autocomplete': 'list', 'aria-controls': listId,
      oninput: () => this.typed(), onkeydown: (event) => this.key(event), onbeforeinput: noBreak, onblur: () => setTimeout(() => { if (document.activeElement !== this.input) this.close(); }, 150), onpaste: (event) => { if (event.clipboardData.files.length) { event.preventDefault(); this.attach(event.clipboardData.files); } } });
    this.chips = h('div', { class: 'composer-files' });
    this.picker = h('input', { type: 'file', multiple: true, hidden: true, data: { testid: 'file-picker' }, 'aria-label': 'Attach files', onchange: () => { this.attach(this.picker.files); this.picker.value = ''; } });
    const smile = iconButton('smile', 'Emoji', () => pickEmoji(smile, (name) => this.insert(emojiOf(name) ?? `:${name}:`)));
    this.send = h('button', { type: 'button', class: 'send', 'aria-label': 'Send', title: 'Send (Enter)', data: { testid: 'send' }, onclick: () => this.submit() }, icon('send'));
    this.el = h('div', { class: 'composer' }, this.suggest, h('div', { class: 'composer-box' }, this.chips, this.input,
      h('div', { class: 'composer-bar' }, iconButton('clip', 'Attach files', () => this.picker.click()), smile, !threadTs && env.shortcutButton(), this.picker, h('span', { class: 'composer-hint', 'aria-hidden': 'true' }, threadTs ? '' : 'Enter sends · Shift+Enter breaks the line'), this.send)));
    this.input.value = env.drafts.get(this.draftKey) ?? '';
    this.typed(true);
    requestAnimationFrame(() => grow(this.input));
  }

  /** catches has files that are dropped anywhere on el wait in the composer. */
  catches(el) {
    for (const name of ['dragover', 'dragleave', 'drop']) el.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      this.el.classList.toggle('dropping', name === 'dragover');
      if (name === 'drop') this.attach(event.dataTransfer.files);
    });
  }

  focus() { this.input.focus(); }

  insert(text) {
    const { selectionStart: a, selectionEnd: b, value } = this.input;
    this.input.value = value.slice(0, a) + text + value.slice(b);
    this.input.setSelectionRange(a + text.length, a + text.length);
    this.input.focus();
    this.typed();
  }

  attach(list) {
    for (const file of list) {
      if (file.size > LARGEST) toast(`${file.name} is larger than ${bytes(LARGEST)}.`, 'error');
      else this.files.push(file);
    }
    this.drawFiles();
    this.input.focus();
  }

  drawFiles() {
    replace(this.chips, this.files.map((file) => h('span', { class: 'composer-file' }, h('bdi', {}, file.name), h('span', { class: 'muted' }, ` ${bytes(file.size)}`), h('button', { type: 'button', class: 'toast-close', 'aria-label': `Remove ${file.name}`, onclick: () => { this.files.splice(this.files.indexOf(file), 1); this.drawFiles(); } }, '×'))));
    this.ready();
  }

  ready() { this.send.classList.toggle('send-ready', !!(this.input.value.trim() || this.files.length)); }

  typed(quiet) {
    grow(this.input);
    this.env.drafts.set(this.draftKey, this.input.value);
    this.ready();
    if (!quiet) this.complete();
  }

  // complete offers names, channels, emoji, or commands for the word at the caret.
  complete() {
    const before = this.input.value.slice(0, this.input.selectionStart);
    const { ws } = this.env;
    const found = before.match(/(?:^|[\s(])([@#:])([\w.+-]*)$/);
    const command = !this.threadTs && before.match(/^\/([\w-]*)$/);
    let options = [];
    if (command) options = ws.commands.filter((c) => c.command.startsWith(before)).map((c) => ({ text: c.command, shown: c.command, hint: [c.usage_hint, c.description].filter(Boolean).join(' · ') }));
    else if (found?.[1] === '@') {
      const all = [...ws.apps.map((a) => ({ name: ws.user(a.user_id) ?? a.name, real_name: 'app' })), ...ws.people()];
      options = all.filter((u) => u.name?.toLowerCase().startsWith(found[2].toLowerCase())).map((u) => ({ text: `@${u.name}`, shown: `@${u.name}`, hint: u.real_name }));
    } else if (found?.[1] === '#') options = ws.rooms().filter((c) => !c.is_im && !c.is_mpim && c.name.startsWith(found[2])).map((c) => ({ text: `#${c.name}`, shown: `#${c.name}`, hint: c.topic }));
    else if (found?.[1] === ':' && found[2].length > 1) options = searchEmoji(found[2], 8).map(([name, char]) => ({ text: char, shown: `${char} :${name}:` }));
    this.token = command ? before : found ? found[1] + found[2] : '';
    // A word that is already whole needs no help, so that Enter sends it.
    if (!options.length || options.some((o) => o.text.toLowerCase() === this.token.toLowerCase())) { this.close(); return; }
    this.options = options.slice(0, 8);
    this.at = 0;
    this.suggest.hidden = false;
    replace(this.suggest, this.options.map((o, i) => h('div', { class: 'suggestion', role: 'option', id: `${this.suggest.id}-${i}`, onmousedown: (event) => { event.preventDefault(); this.take(i); } }, h('span', { class: 'suggestion-name' }, o.shown), h('span', { class: 'menu-hint' }, o.hint ?? ''))));
    this.mark();
  }

  mark() {
    [...this.suggest.children].forEach((el, i) => el.setAttribute('aria-selected', String(i === this.at)));
    this.input.setAttribute('aria-activedescendant', `${this.suggest.id}-${this.at}`);
  }

  close() {
    this.suggest.hidden = true;
    this.options = null;
    this.input.removeAttribute('aria-activedescendant');
  }

  take(i) {
    const { value, selectionStart: caret } = this.input;
    const start = caret - this.token.length;
    const text = `${this.options[i].text} `;
    this.input.value = value.slice(0, start) + text + value.slice(caret);
    this.input.setSelectionRange(start + text.length, start + text.length);
    this.close();
    this.typed(true);
  }

  key(event) {
    if (event.isComposing) return;
    if (this.options) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) { event.preventDefault(); this.at = (this.at + step + this.options.length) % this.options.length; this.mark(); return; }
      if (event.key === 'Enter' || event.key === 'Tab') { event.preventDefault(); this.take(this.at); return; }
      if (event.key === 'Escape') { event.stopPropagation(); this.close(); return; }
    }
    if (event.key === 'Enter' && !event.shiftKey) { event.preventDefault(); this.submit(); }
    if (event.key === 'ArrowUp' && !this.input.value) { if (this.env.editLast(this.channel, this.threadTs)) event.preventDefault(); }
  }

  /** submit sends what was written, after what is still on its way; what did not arrive comes back to be sent again. */
  async submit() {
    const text = this.input.value;
    if (!text.trim() && !this.files.length) return;
    if (this.threadTs && COMMAND.test(text)) { toast('Slack does not run slash commands in threads. Mention the app instead, or use the channel.', 'error'); return; }
    this.leaving.push({ text, files: this.files });
    this.write('', []);
    this.close();
    if (this.leaving.length > 1) return; // the one before sends it too
    this.send.setAttribute('aria-busy', 'true');
    while (this.leaving.length) {
      if (!(await this.deliver(this.leaving[0]))) {
        const back = this.leaving.splice(0);
        this.write([...back.map((each) => each.text), this.input.value].filter(Boolean).join('\n'), [...back.flatMap((each) => each.files), ...this.files]);
        break;
      }
      this.leaving.shift();
      this.env.sent(this.channel, this.threadTs);
    }
    this.send.removeAttribute('aria-busy');
  }

  async deliver({ text, files }) {
    const { env, channel, threadTs } = this;
    const command = text.match(COMMAND);
    if (command) return env.post('command', { channel, command: command[1], text: command[2] });
    return env.post('message', { channel, text: encode(text.trim(), env.ws), thread_ts: threadTs, files: files.length ? await Promise.all(files.map(readFile)) : undefined });
  }

  write(text, files) {
    this.input.value = text;
    this.files = files;
    this.drawFiles();
    this.typed(true);
  }
}

// noBreak refuses the line break of an Enter without Shift, which some keyboards send apart from the key itself.
function noBreak(event) {
  if (event.inputType === 'insertLineBreak' && !shiftHeld) event.preventDefault();
}

let shiftHeld = false;
addEventListener('keydown', (event) => { shiftHeld = event.shiftKey; }, { capture: true, passive: true });

function grow(area) {
  if (!area.isConnected) return; // nothing to measure yet; the style's least height holds
  area.style.height = 'auto';
  area.style.height = `${Math.min(area.scrollHeight, 220)}px`;
}

/** editor is the box in which a person changes their own message. */
export function editor(env, m, done) {
  const save = async () => {
    if (await env.post('edit', { channel: m.channel, ts: m.ts, text: encode(input.value.trim(), env.ws) })) done();
  };
  const input = h('textarea', { class: 'composer-input', 'aria-label': 'Edit message', data: { testid: 'edit-input' }, oninput: () => grow(input), onbeforeinput: noBreak, onkeydown: (event) => {
    if (event.isComposing) return;
    if (event.key === 'Escape') { event.stopPropagation(); done(); }
    if (event.key === 'Enter' && !event.shiftKey) { event.preventDefault(); save(); }
  } });
  input.value = decode(m.text, env.ws);
  requestAnimationFrame(() => grow(input));
  return h('div', { class: 'composer-box edit-box' }, input, h('div', { class: 'edit-bar' }, h('button', { type: 'button', class: 'btn btn-small', onclick: done }, 'Cancel'), h('button', { type: 'button', class: 'btn btn-small btn-primary', onclick: save }, 'Save')));
}
