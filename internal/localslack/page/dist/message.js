// One message. The row (avatar, name, badge, time, marks, buttons) is ours; the author's words live in .msg-body only,
// so that no text can look like a badge or a system line.
import { h, replace, icon } from './dom.js';
import { mrkdwn } from './mrkdwn.js';
import { blocks } from './blocks.js';
import { textOf, jsonBox } from './elements.js';
import { swatch } from './richtext.js';
import { link, remoteImage } from './links.js';
import { fileCard } from './files.js';
import { StreamView } from './stream.js';
import { emojiOf } from './emoji.js';
import { clockTime, fullTime, ago } from './dates.js';
import { messageTools } from './actions.js';
import { editor } from './composer.js';

const LINK_LIFE = 13 * 60 * 1000; // a little less than the workspace's signed links live

/** MessageView draws a message and updates in place. place is "channel" or "thread". */
export class MessageView {
  constructor(env, message, place) {
    this.env = env;
    this.place = place;
    this.body = h('div', { class: 'msg-body' });
    this.files = h('div', { class: 'msg-files' });
    this.reactions = h('div', { class: 'reactions' });
    this.replies = h('div', { class: 'msg-replies' });
    this.head = h('div', { class: 'msg-head' });
    this.avatar = h('div', { 'aria-hidden': 'true' });
    this.note = h('div', { class: 'msg-note' });
    this.main = h('div', { class: 'msg-main' }, this.note, this.head, this.body, this.files, this.reactions, this.replies);
    this.day = h('div', { class: 'day', hidden: true }, h('span', {}));
    this.tools = h('div', { class: 'msg-tools', role: 'toolbar', 'aria-label': 'Message actions' });
    this.row = h('article', { class: 'msg-row' }, this.avatar, this.main, this.tools);
    this.el = h('li', { class: 'msg', tabindex: -1, data: { testid: 'message', ts: message.ts, channel: message.channel } }, this.day, this.row);
    this.drawn = {};
    // The toolbar is built when somebody comes near: a thousand rows need no thousand toolbars.
    this.row.addEventListener('pointerenter', () => this.drawTools());
    this.el.addEventListener('focusin', () => this.drawTools());
    this.update(message);
  }

  /** update draws what differs between the last message and this one. */
  update(message) {
    this.m = message;
    const m = message;
    const part = (name, value, draw) => {
      const key = JSON.stringify(value ?? null);
      if (this.drawn[name] === key) return;
      this.drawn[name] = key;
      // One message that cannot be drawn must neither vanish nor stop the ones after it.
      try { draw(); } catch (err) { replace(this.body, jsonBox(m, `this message could not be drawn (${err.message})`)); }
    };
    part('head', [m.user, m.bot_id, m.username, m.edited?.ts, m.ephemeral, m.subtype, this.env.ws.user(m.user)], () => this.drawHead());
    if (m.subtype === 'tombstone') replace(this.tools);
    if (m.stream) {
      this.stream ??= new StreamView(this.surface());
      part('stream', m.stream, () => {
        if (this.stream.el.parentNode !== this.body) replace(this.body, this.stream.el);
        this.stream.update(m.stream);
      });
      part('streamState', m.stream.state, () => this.drawStop());
      part('after', [m.blocks, m.attachments], () => this.drawAfter());
    } else {
      part('body', [m.text, m.blocks, m.attachments, m.subtype], () => this.drawBody());
    }
    if (m.files?.length && Date.now() - (this.linked ?? 0) > LINK_LIFE) this.linked = Date.now(); // old links: draw the new ones
    part('files', m.files?.map?.((f) => [f.id, f.name, f.size, f.title, f.mode, this.linked]), () => replace(this.files, (m.files ?? []).map((f) => fileCard(f, this.env.ws))));
    part('reactions', m.reactions, () => this.drawReactions());
    part('replies', [m.reply_count, m.reply_users, m.latest_reply], () => this.drawReplies());
    this.el.classList.toggle('msg-ephemeral', !!m.ephemeral);
    this.row.setAttribute('aria-label', `${this.author.name}${this.author.bot ? ', app' : ''}, ${clockTime(m.ts)}`);
  }

  surface() {
    const { env, m } = this;
    return { names: env.ws, kind: 'message', channel: m.channel, files: m.files, act: (action) => env.act({ channel: m.channel, ts: m.ts }, action), suggest: (q) => env.suggest({ channel: m.channel, ts: m.ts }, q) };
  }

  drawHead() {
    const { m, env } = this;
    const a = this.author = env.ws.author(m);
    this.avatar.className = `avatar ${avatarClass(a)}`;
    this.avatar.textContent = initials(a.name);
    replace(this.head, h('bdi', { class: 'msg-name' }, a.name), a.bot && h('span', { class: 'badge' }, 'APP'),
      h('time', { class: 'msg-time', datetime: new Date(parseFloat(m.ts) * 1000).toISOString(), title: fullTime(m.ts) }, clockTime(m.ts)), m.edited && h('span', { class: 'msg-edited', title: m.edited.ts ? fullTime(m.edited.ts) : '' }, '(edited)'));
    replace(this.note, m.ephemeral && [icon('eye'), h('span', {}, 'Only visible to you'), h('button', { type: 'button', class: 'link-btn', onclick: () => env.dismiss(m) }, 'Dismiss')],
      m.subtype === 'thread_broadcast' && h('span', {}, 'also sent to the channel'));
  }

  drawBody() {
    const { m } = this;
    const had = this.body.contains(document.activeElement) ? document.activeElement.dataset.actionId : undefined;
    if (m.subtype === 'tombstone') { replace(this.body, h('span', { class: 'muted' }, 'This message was deleted.')); return; }
    // A client sends a person's text twice, as mrkdwn and as one rich text block: the text is the one with the marks.
    const typed = !this.author.bot && m.text && m.blocks?.length === 1 && m.blocks[0].type === 'rich_text';
    const text = m.text && (typed || !m.blocks?.length) ? h('div', { class: 'msg-text mk' }, mrkdwn(m.text, this.env.ws)) : null;
    replace(this.body, text, typed ? null : blocks(m.blocks, this.surface()), this.attachments());
    if (had) this.body.querySelector(`[data-action-id="${CSS.escape(had)}"]`)?.focus();
  }

  // drawAfter shows the blocks with which a stream was closed, below its text.
  drawAfter() {
    this.after?.remove();
    this.after = h('div', { class: 'stream-after' }, blocks(this.m.blocks, this.surface()), this.attachments());
    this.body.append(this.after);
  }

  drawStop() {
    const { m, env } = this;
    this.stop?.remove();
    if (m.stream.state !== 'streaming' || m.stream.no_stop) return; // as with Slack, whose app must have asked to hear of it
    this.stop = h('button', { type: 'button', class: 'btn btn-small stop', data: { testid: 'stop' }, onclick: () => env.stop(m.channel, m.thread_ts || m.ts) }, icon('stop'), 'Stop');
    this.main.insertBefore(this.stop, this.files);
  }

  attachments() {
    const s = this.surface();
    return (this.m.attachments ?? []).map((a) => {
      const bar = swatch(a.color);
      bar.className = 'attachment-bar';
      return h('div', { class: 'attachment' }, bar, h('div', { class: 'attachment-main' },
        a.pretext && h('div', { class: 'mk' }, mrkdwn(a.pretext, s.names)), a.author_name && h('div', { class: 'card-sub' }, a.author_link ? link(a.author_link, a.author_name) : a.author_name),
        a.title && h('div', { class: 'card-title' }, a.title_link ? link(a.title_link, a.title) : a.title), a.text && h('div', { class: 'mk' }, mrkdwn(a.text, s.names)),
        a.fields && h('div', { class: 'fields' }, a.fields.map((f) => h('div', { class: 'field' }, h('strong', {}, f.title), h('div', { class: 'mk' }, mrkdwn(f.value ?? '', s.names))))),
        a.blocks && blocks(a.blocks, s), !a.text && !a.blocks && !a.title && a.fallback && textOf({ type: 'plain_text', text: a.fallback }, s), a.image_url && remoteImage(a.image_url, a.title), a.footer && h('div', { class: 'card-sub' }, a.footer)));
    });
  }

  drawReactions() {
    const { m, env } = this;
    replace(this.reactions, (m.reactions ?? []).map((r) => {
      const mine = r.users?.includes(env.ws.me);
      return h('button', { type: 'button', class: mine ? 'reaction mine' : 'reaction', 'aria-pressed': String(!!mine), title: `${(r.users ?? []).map((u) => env.ws.user(u) ?? u).join(', ')} reacted with :${r.name}:`, 'aria-label': `:${r.name}:, ${r.count ?? r.users?.length}`, onclick: () => env.react(m, r.name, mine) }, emojiOf(r.name) ?? `:${r.name}:`, h('span', { class: 'reaction-count' }, String(r.count ?? r.users?.length ?? 1)));
    }));
  }

  drawReplies() {
    const { m, env } = this;
    if (this.place !== 'channel' || !m.reply_count) { replace(this.replies); return; }
    const faces = (m.reply_users ?? []).slice(0, 4).map((id) => {
      const a = env.ws.author({ user: id, bot_id: id.startsWith('B') ? id : undefined });
      return h('span', { class: `avatar avatar-small ${avatarClass(a)}`, 'aria-hidden': 'true', title: a.name }, initials(a.name));
    });
    replace(this.replies, h('button', { type: 'button', class: 'replies', data: { testid: 'replies' }, onclick: () => env.openThread(m.channel, m.ts) }, faces, h('span', { class: 'replies-count' }, `${m.reply_count} ${m.reply_count === 1 ? 'reply' : 'replies'}`), m.latest_reply && h('span', { class: 'replies-last' }, ago(m.latest_reply))));
  }

  drawTools() {
    if (!this.tools.children.length && this.m.subtype !== 'tombstone') replace(this.tools, messageTools(this.env, this));
  }

  /** edit swaps the words for an editor until they are saved or left. */
  edit() {
    const from = document.activeElement; // the composer, for those who came by the arrow key
    const box = editor(this.env, this.m, () => {
      const here = box.contains(document.activeElement); // saving takes a moment, in which one may have gone on
      box.remove();
      this.body.hidden = false;
      if (here) (from.matches('textarea') ? from : this.el).focus({ preventScroll: true });
    });
    this.body.hidden = true;
    this.main.insertBefore(box, this.files);
    box.querySelector('textarea').focus();
  }
}

/** initials of a name, one or two letters. */
export function initials(name) {
  const words = String(name).replace(/[^\p{L}\p{N}\s_-]/gu, '').split(/[\s_-]+/).filter(Boolean);
  return ((words[0]?.[0] ?? '?') + (words[1]?.[0] ?? '')).toUpperCase();
}

/** avatarClass is a colour that stays with a name. */
export function avatarClass(author) {
  if (author.bot) return 'avatar-bot';
  let sum = 0;
  for (const c of author.id ?? author.name) sum = (sum * 31 + c.codePointAt(0)) >>> 0;
  return `avatar-${sum % 8}`;
}
