// A column of messages in ts order: it holds what was loaded, adds what arrives, and keeps the reader's place.
import { h } from './dom.js';
import { MessageView } from './message.js';
import { dayKey, dayName } from './dates.js';

const KEPT = 300; // rows kept while the reader is at the bottom; older ones load again on scroll
const GROUP_SECONDS = 300;

/** MessageList shows messages; loadEarlier(ts) is called when the reader comes to the top. */
export class MessageList {
  constructor(env, { place, label, loadEarlier }) {
    this.env = env;
    this.place = place;
    this.views = new Map();
    this.order = [];
    this.hasMore = false;
    this.loadEarlier = loadEarlier;
    // What is not loaded lies above all rows of a channel, and between a thread's parent and its replies.
    this.top = h(place === 'thread' ? 'li' : 'div', { class: 'list-top', hidden: place === 'thread' });
    this.list = h('ol', { class: 'messages', 'aria-label': label });
    this.jump = h('button', { type: 'button', class: 'jump', hidden: true, onclick: () => this.toBottom() });
    this.scroller = h('div', { class: 'scroller', tabindex: -1 }, place !== 'thread' && this.top, this.list);
    this.el = h('div', { class: 'list' }, this.scroller, this.jump);
    this.unseen = 0;
    this.stuck = true;
    this.lastTop = 0;
    this.scroller.addEventListener('scroll', () => this.scrolled(), { passive: true });
    this.scroller.addEventListener('load', () => { if (this.stuck) this.scroller.scrollTop = this.scroller.scrollHeight; }, true);
    this.list.addEventListener('keydown', (event) => this.key(event));
    this.resize = new ResizeObserver(() => { if (this.stuck) this.scroller.scrollTop = this.scroller.scrollHeight; });
    this.resize.observe(this.list);
    this.resize.observe(this.scroller);
  }

  /** destroy lets the observer go. */
  destroy() { this.resize.disconnect(); }

  get(ts) { return this.views.get(ts)?.m; }
  get last() { return this.order.at(-1); }

  /** oldest is the row below what is not loaded. */
  get oldest() { return this.order[this.place === 'thread' ? 1 : 0]; }

  /** upsert adds messages or updates them in place; fresh marks what arrived just now. */
  upsert(messages, { fresh = false } = {}) {
    if (!messages.length) return;
    const touched = new Set();
    let added = 0;
    for (const m of messages) {
      const old = this.views.get(m.ts);
      if (old) { old.update(m); continue; }
      const view = new MessageView(this.env, m, this.place);
      const at = this.position(m.ts);
      this.list.insertBefore(view.el, this.views.get(this.order[at])?.el ?? null);
      this.order.splice(at, 0, m.ts);
      this.views.set(m.ts, view);
      touched.add(at);
      added++;
    }
    if (added) this.regroup(touched, added);
    if (fresh && added && !this.stuck) { this.unseen += added; this.showJump(); }
    if (this.stuck) this.trim();
  }

  /** remove takes a message away; a parent with replies stays as a stone (the caller sends that as an update). */
  remove(ts) {
    const view = this.views.get(ts);
    if (!view) return;
    view.el.remove();
    this.views.delete(ts);
    this.order.splice(this.order.indexOf(ts), 1);
    this.regroup(new Set([0]), this.order.length);
  }

  /**
   * refresh brings the list to what was read again: messages is the newest page of it (whole: all of it). What went in the
   * meantime goes here too; where the page does not reach what is shown, the old rows would leave a hole, and go as well.
   * touched are the messages that events have brought since: newer than what was read.
   */
  refresh(messages, { whole, touched }) {
    const read = new Set(messages.map((m) => m.ts));
    const from = whole || !messages.length ? '' : messages[0].ts;
    const hole = !whole && messages.length && this.order.length && this.last < from;
    for (const ts of [...this.order]) {
      const { m } = this.views.get(ts);
      if (hole ? !touched.has(ts) : ts >= from && !read.has(ts) && !touched.has(ts) && !m.ephemeral) this.remove(ts);
    }
    this.upsert(messages.filter((m) => !touched.has(m.ts)));
    if (hole || !this.filled) { this.hasMore = !whole; this.drawTop(); }
    this.filled = true;
  }

  /** prepend adds an earlier page without moving what the reader looks at. */
  prepend(messages, hasMore) {
    const before = this.scroller.scrollHeight - this.scroller.scrollTop;
    const stuck = this.stuck;
    this.stuck = false;
    this.upsert(messages);
    this.hasMore = hasMore;
    this.drawTop();
    this.scroller.scrollTop = this.scroller.scrollHeight - before;
    this.stuck = stuck;
  }

  /** drawTop says where the list begins. */
  drawTop(note) {
    const thread = this.place === 'thread';
    this.top.replaceChildren(this.hasMore ? h('button', { type: 'button', class: 'btn btn-small', data: { testid: 'load-earlier' }, onclick: () => this.more() }, thread ? 'Load earlier replies' : 'Load earlier messages') : note ?? this.beginning ?? '');
    if (!thread) return;
    this.top.hidden = !this.hasMore;
    this.views.get(this.order[0])?.el.after(this.top);
  }

  toBottom() {
    this.stuck = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.unseen = 0;
    this.showJump();
  }

  /** reveal scrolls a message into view and marks it for a moment. */
  reveal(ts) {
    const view = this.views.get(ts);
    if (!view) return false;
    this.stuck = false;
    view.el.scrollIntoView({ block: 'center' });
    view.el.classList.add('msg-found');
    setTimeout(() => view.el.classList.remove('msg-found'), 2500);
    return true;
  }

  // position is where ts belongs; ts compare as strings.
  position(ts) {
    let low = 0, high = this.order.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.order[mid] < ts) low = mid + 1; else high = mid;
    }
    return low;
  }

  // regroup draws day lines and folds messages of one author that follow each other, around the touched places.
  regroup(touched, span) {
    const places = new Set();
    for (const at of touched) for (let i = at; i <= Math.min(at + span, this.order.length - 1); i++) places.add(i);
    for (const i of places) {
      const view = this.views.get(this.order[i]);
      const before = i ? this.views.get(this.order[i - 1]) : null;
      const newDay = !before || dayKey(before.m.ts) !== dayKey(view.m.ts);
      view.day.hidden = this.place === 'thread' || !newDay;
      if (!view.day.hidden) view.day.firstChild.textContent = dayName(view.m.ts);
      const fold = !newDay && before.author.id === view.author.id && before.author.name === view.author.name && !!before.m.ephemeral === !!view.m.ephemeral
        && parseFloat(view.m.ts) - parseFloat(before.m.ts) < GROUP_SECONDS && !(this.place === 'thread' && i === 1) && !before.m.reply_count;
      view.el.classList.toggle('msg-folded', fold);
    }
    for (const el of this.list.querySelectorAll(':scope > [tabindex="0"]')) el.tabIndex = -1;
    const newest = this.views.get(this.last);
    if (newest) newest.el.tabIndex = 0;
  }

  trim() {
    if (this.place !== 'channel' || this.order.length <= KEPT + 50) return;
    for (const ts of this.order.splice(0, this.order.length - KEPT)) {
      this.views.get(ts).el.remove();
      this.views.delete(ts);
    }
    this.hasMore = true;
    this.drawTop();
    this.regroup(new Set([0]), 1);
  }

  scrolled() {
    const s = this.scroller;
    // Content that grows below must not look like a reader who scrolled up: only an upward move lets go of the bottom.
    if (s.scrollHeight - s.scrollTop - s.clientHeight < 60) this.stuck = true;
    else if (s.scrollTop < this.lastTop - 1) this.stuck = false;
    this.lastTop = s.scrollTop;
    if (this.stuck && this.unseen) { this.unseen = 0; this.showJump(); }
    if (s.scrollTop < 120 && this.place !== 'thread') this.more(); // a thread's top is its parent: there one asks
  }

  async more() {
    if (!this.hasMore || this.loading || !this.loadEarlier || !this.oldest) return;
    this.loading = true;
    try { await this.loadEarlier(this.oldest); } finally { this.loading = false; }
  }

  showJump() {
    this.jump.hidden = !this.unseen;
    this.jump.textContent = `${this.unseen} new ${this.unseen === 1 ? 'message' : 'messages'} ↓`;
  }

  // key moves between messages with the arrows while a message itself has the focus.
  key(event) {
    const at = this.order.findIndex((ts) => this.views.get(ts).el === document.activeElement);
    if (at < 0) return;
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: this.order.length - 1 }[event.key];
    if (to === undefined) {
      if (event.key === 'Enter' && event.target === document.activeElement && this.place === 'channel') { const { m } = this.views.get(this.order[at]); this.env.openThread(m.channel, m.thread_ts || m.ts); }
      return;
    }
    event.preventDefault();
    this.views.get(this.order[Math.max(0, Math.min(this.order.length - 1, to))])?.el.focus();
  }
}

