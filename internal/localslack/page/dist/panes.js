// The two columns of conversation: a channel and a thread, each with its list, status line and composer.
import { h, replace, icon, iconButton } from './dom.js';
import { MessageList } from './list.js';
import { Composer } from './composer.js';

const REPLIES = 100; // of a thread, drawn at a time

/** StatusLine says what the app is doing, with a Stop, and turns through its loading messages. */
export class StatusLine {
  constructor(env) {
    this.env = env;
    this.el = h('div', { class: 'status-line', role: 'status', hidden: true, data: { testid: 'status' } });
  }

  /** show takes a status {channel, thread_ts, status, loading_messages} or null. */
  show(s) {
    clearInterval(this.timer);
    const text = s?.status;
    this.el.hidden = !text;
    if (!text) { replace(this.el); return; }
    const name = this.env.ws.bot.name ?? 'app';
    const words = h('span', { class: 'status-words' }, `${name} ${text}`);
    replace(this.el, h('span', { class: 'dots', 'aria-hidden': 'true' }, h('i'), h('i'), h('i')), words,
      s.thread_ts && h('button', { type: 'button', class: 'link-btn', data: { testid: 'stop-status' }, onclick: () => this.env.stop(s.channel, s.thread_ts) }, 'Stop'));
    const turns = s.loading_messages ?? [];
    if (turns.length) {
      let i = 0;
      const turn = () => replace(words, `${name} ${text} ${turns[i++ % turns.length]}`);
      turn();
      this.timer = setInterval(turn, 3000);
    }
  }
}

/** Prompts are what the app suggests to ask: one press sends it. */
export class Prompts {
  constructor(send) {
    this.send = send;
    this.el = h('div', { class: 'prompts', role: 'group', 'aria-label': 'Suggestions', hidden: true, data: { testid: 'prompts' } });
  }

  show(p) {
    if (this.shown === p) return;
    this.shown = p;
    this.el.hidden = !p?.prompts?.length;
    replace(this.el, p?.title && h('div', { class: 'muted' }, p.title), (p?.prompts ?? []).map((each) => h('button', { type: 'button', class: 'btn btn-small', title: each.message, onclick: () => { this.el.hidden = true; this.send(each.message); } }, each.title)));
  }
}

/** ChannelPane is the middle column for one channel. */
export class ChannelPane {
  constructor(env, channel) {
    this.env = env;
    this.channel = channel;
    const { ws } = env;
    const c = ws.channels.get(channel);
    const title = ws.title(channel);
    this.list = new MessageList(env, { place: 'channel', label: `Messages in ${title}`, loadEarlier: (before) => this.page(before) });
    this.list.beginning = h('div', { class: 'beginning' }, h('div', { class: 'beginning-title' }, title), h('div', { class: 'muted' }, c?.is_im ? `This is the beginning of your conversation with ${ws.channel(channel)}.` : `This is the beginning of ${title}.`), ws.bot.name && h('div', { class: 'muted' }, ws.appOf(c?.im_user) ? 'What you write here goes to it; it answers in a thread below your message.' : !c?.is_im && `Mention @${ws.bot.name} in a message, and it answers in a thread.`));
    this.status = new StatusLine(env);
    this.composer = new Composer(env, { channel, placeholder: `Message ${title}`, testid: 'composer-channel' });
    this.head = h('header', { class: 'pane-head' }, iconButton('back', 'Back to the channels', () => env.go({}), { class: 'icon-btn phone-only' }),
      h('div', { class: 'pane-words' }, h('h1', { class: 'pane-title' }, title), (c?.topic || c?.is_private) && h('div', { class: 'pane-topic' }, [c.is_private && 'private channel', c.topic].filter(Boolean).join(' · '))),
      ws.appOf(c?.is_im && c.im_user)?.home && h('div', { class: 'tabs' }, h('span', { class: 'tab tab-on', 'aria-current': 'page' }, 'Messages'), h('button', { type: 'button', class: 'tab', onclick: () => env.go({ home: ws.apps[0].user_id === c.im_user ? true : ws.appOf(c.im_user).app_id }) }, 'Home')));
    this.el = h('section', { class: 'pane pane-main', 'aria-label': title, data: { channel } }, this.head, this.list.el, this.status.el, this.composer.el);
    this.composer.catches(this.el);
    this.touched = new Set();
  }

  /** load reads the newest page. What events brought meanwhile is newer and stays. */
  async load() {
    this.touched.clear();
    const answer = await this.env.get('history', { channel: this.channel, limit: 50 });
    if (!answer) return;
    this.list.refresh((answer.messages ?? []).map((m) => ({ ...m, channel: this.channel })), { whole: !answer.has_more, touched: this.touched });
    if (!this.loaded) this.list.toBottom();
    this.loaded = true;
  }

  async page(before) {
    const answer = await this.env.get('history', { channel: this.channel, limit: 50, before });
    if (answer) this.list.prepend((answer.messages ?? []).map((m) => ({ ...m, channel: this.channel })), answer.has_more);
  }

  destroy() { this.list.destroy(); this.status.show(null); }
}

/** ThreadPane is the right column: a parent and its replies. */
export class ThreadPane {
  constructor(env, channel, ts) {
    Object.assign(this, { env, channel, ts });
    const title = env.ws.title(channel);
    this.list = new MessageList(env, { place: 'thread', label: 'Messages in the thread', loadEarlier: (before) => this.page(before) });
    this.status = new StatusLine(env);
    this.prompts = new Prompts((text) => env.post('message', { channel, text, thread_ts: ts }));
    this.topic = h('div', { class: 'pane-topic' }, title);
    this.composer = new Composer(env, { channel, threadTs: ts, placeholder: 'Reply…', testid: 'composer-thread' });
    this.el = h('section', { class: 'pane pane-thread', 'aria-label': 'Thread', data: { testid: 'thread-pane', thread: ts, channel } },
      h('header', { class: 'pane-head' }, iconButton('back', 'Back', () => env.go({ channel }), { class: 'icon-btn phone-only' }),
        h('div', { class: 'pane-words' }, h('h1', { class: 'pane-title' }, 'Thread'), this.topic), h('button', { type: 'button', class: 'icon-btn wide-only', 'aria-label': 'Close thread', title: 'Close thread', data: { testid: 'thread-close' }, onclick: () => env.go({ channel }) }, icon('close'))),
      this.list.el, this.prompts.el, this.status.el, this.composer.el);
    this.composer.catches(this.el);
    this.touched = new Set();
  }

  /** load reads the thread and shows its parent and its newest replies, and as far back as rows are there. */
  async load() {
    this.touched.clear();
    const all = await this.read();
    if (!all) return;
    const [parent, ...replies] = all;
    const from = this.list.oldest ?? replies.at(-REPLIES)?.ts ?? '';
    const shown = replies.filter((m) => m.ts >= from);
    this.list.refresh(parent ? [parent, ...shown] : [], { whole: true, touched: this.touched });
    this.list.hasMore = shown.length < replies.length;
    this.list.drawTop();
    if (!this.loaded) this.list.toBottom();
    this.loaded = true;
  }

  async page(before) {
    const earlier = (await this.read())?.slice(1).filter((m) => m.ts < before);
    if (earlier) this.list.prepend(earlier.slice(-REPLIES), earlier.length > REPLIES);
  }

  async read() {
    const answer = await this.env.get('messages', { channel: this.channel, thread_ts: this.ts });
    return answer?.messages?.map((m) => ({ ...m, channel: this.channel }));
  }

  destroy() { this.list.destroy(); this.status.show(null); }
}
