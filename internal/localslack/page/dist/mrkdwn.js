// Slack's mrkdwn to DOM nodes. It never builds markup: text stays text, and only < > & are entities.
import { h, append } from './dom.js';
import { link } from './links.js';
import { emojiOf } from './emoji.js';
import { formatDate } from './dates.js';

const MARKS = { '*': 'strong', _: 'em', '~': 's' };
const WORD = /[\p{L}\p{N}]/u;
const BARE_URL = /https?:\/\/[^\s<>"`|]+/y;
const EMOJI = /:([a-z0-9_+'-]+)(?:::skin-tone-[2-6])?:/y;

/** unescape decodes the three entities that Slack escapes, once. */
export function unescape(text) {
  return text.replace(/&(lt|gt|amp);/g, (_, name) => ({ lt: '<', gt: '>', amp: '&' })[name]);
}

/** mrkdwn renders text. names resolves ids: {user(id), channel(id), usergroup(id), me}. */
export function mrkdwn(text, names) {
  const fragment = document.createDocumentFragment();
  const parts = String(text ?? '').split(/```([\s\S]*?)```/);
  parts.forEach((part, i) => {
    if (i % 2) fragment.append(h('pre', { class: 'mk-pre' }, code(part.replace(/^\n/, ''))));
    else if (part) append(fragment, lines(i ? part.replace(/^\n/, '') : part, names));
  });
  return fragment;
}

// lines groups quotes and list items; everything else keeps its line breaks.
function lines(text, names) {
  const out = [];
  let open = null; // {kind, el} of the run of quote or list lines being filled
  const rows = text.split('\n');
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i];
    const rest = row.match(/^(?:&gt;|>){3} ?/);
    if (rest) {
      const body = [row.slice(rest[0].length), ...rows.slice(i + 1)].join('\n');
      out.push(h('blockquote', { class: 'mk-quote' }, lines(body, names)));
      return out;
    }
    const quote = row.match(/^(?:&gt;|>) ?(.*)$/);
    const item = row.match(/^(\s*)([•◦▪]|-|\d{1,3}[.)]) (.*)$/);
    const kind = quote ? 'quote' : item ? 'list' : 'text';
    if (open?.kind !== kind) {
      if (kind === 'text') open = { kind, el: null, first: true };
      else {
        open = { kind, el: kind === 'quote' ? h('blockquote', { class: 'mk-quote' }) : h('ul', { class: 'mk-list' }), first: true };
        out.push(open.el);
      }
    }
    if (kind === 'quote') {
      if (!open.first) open.el.append(h('br'));
      append(open.el, inline(quote[1], names));
    } else if (kind === 'list') {
      open.el.append(h('li', { class: item[1].length > 1 ? 'mk-item mk-deeper' : 'mk-item' }, h('span', { class: 'mk-marker' }, item[2]), h('span', {}, inline(item[3], names))));
    } else {
      if (!open.first) out.push(row === '' ? h('span', { class: 'mk-gap' }) : h('br'));
      out.push(...inline(row, names));
    }
    open.first = false;
  }
  return out;
}

// inline renders one line.
function inline(text, names) {
  const out = [];
  let plain = '';
  const flush = () => { if (plain) out.push(unescape(plain)); plain = ''; };
  const emit = (node, next) => { flush(); out.push(node); return next; };
  for (let i = 0; i < text.length;) {
    const c = text[i];
    const before = i ? text[i - 1] : ' ';
    if (c === '<') {
      const end = text.indexOf('>', i);
      const node = end > i + 1 ? reference(text.slice(i + 1, end), names) : null;
      if (node) { i = emit(node, end + 1); continue; }
    } else if (c === '`') {
      const end = text.indexOf('`', i + 1);
      if (end > i + 1) { i = emit(h('code', {}, code(text.slice(i + 1, end))), end + 1); continue; }
    } else if (MARKS[c] && !WORD.test(before)) {
      const end = closing(text, i);
      if (end > 0) { i = emit(h(MARKS[c], {}, inline(text.slice(i + 1, end), names)), end + 1); continue; }
    } else if (c === ':') {
      EMOJI.lastIndex = i;
      const found = EMOJI.exec(text);
      const char = found && emojiOf(found[1]);
      if (char) { i = emit(h('span', { class: 'emoji', role: 'img', 'aria-label': found[1], title: found[0] }, char), EMOJI.lastIndex); continue; }
    } else if (c === 'h' && !WORD.test(before)) {
      BARE_URL.lastIndex = i;
      const found = BARE_URL.exec(text);
      if (found) {
        const raw = found[0].replace(/[.,;:!?'")\]]+$/, '');
        i = emit(link(unescape(raw), unescape(raw)), i + raw.length);
        continue;
      }
    }
    plain += c;
    i++;
  }
  flush();
  return out;
}

// closing finds the mark that ends the one at start, by Slack's rules: no space inside the marks, no letter after.
function closing(text, start) {
  const mark = text[start];
  if (start + 1 >= text.length || /\s/.test(text[start + 1]) || text[start + 1] === mark) return -1;
  for (let j = start + 2; j < text.length; j++) {
    const c = text[j];
    if (c === '<') { const end = text.indexOf('>', j); if (end > 0) j = end; continue; }
    if (c === '`') { const end = text.indexOf('`', j + 1); if (end > 0) j = end; continue; }
    if (c !== mark || /\s/.test(text[j - 1])) continue;
    if (j + 1 === text.length || !(WORD.test(text[j + 1]) || text[j + 1] === mark)) return j;
  }
  return -1;
}

// code is text inside code marks: entities decoded, <url|label> shown as what it stands for.
function code(text) {
  return unescape(text.replace(/<((?:https?|mailto):[^|>]+)(?:\|([^>]*))?>/g, (_, url, label) => label || url));
}

// reference renders what stands between < and >, or null when it is no token of Slack's.
function reference(body, names) {
  const bar = body.indexOf('|');
  const target = bar < 0 ? body : body.slice(0, bar);
  const label = bar < 0 ? '' : unescape(body.slice(bar + 1));
  if (/^@[UWB][A-Z0-9]*$/.test(target)) return mention('user', target.slice(1), names, label);
  if (/^#[CGD][A-Z0-9]*$/.test(target)) return mention('channel', target.slice(1), names, label);
  if (/^!subteam\^\w+$/.test(target)) return mention('usergroup', target.slice(9), names, label);
  if (/^!(here|channel|everyone)$/.test(target)) return mention('broadcast', target.slice(1), names, label);
  const date = target.match(/^!date\^(\d+)\^([^^]*)(?:\^(.+))?$/);
  if (date) {
    const shown = h('time', { title: label }, formatDate(date[1], unescape(date[2])));
    return date[3] ? link(unescape(date[3]), [shown]) : shown;
  }
  if (/^(https?:\/\/|mailto:)/i.test(target)) return link(unescape(target), label || unescape(target).replace(/^mailto:/, ''));
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return h('span', { class: 'bad-link' }, label || unescape(target));
  return null;
}

/** mention is a chip for a person, channel, group or broadcast; a channel opens when pressed. */
export function mention(kind, id, names, label) {
  if (kind === 'channel') {
    return h('button', { type: 'button', class: 'chip chip-link', onclick: () => document.dispatchEvent(new CustomEvent('workspace:open', { detail: { channel: id } })) }, `#${names.channel(id) || label || id}`);
  }
  const text = kind === 'user' ? names.user(id) || label || id : kind === 'usergroup' ? label.replace(/^@/, '') || id : id;
  return h('span', { class: kind === 'broadcast' || id === names.me ? 'chip chip-me' : 'chip', title: kind === 'user' ? id : undefined }, `@${text}`);
}
