// Events to panes. They are gathered and applied once a frame, so that a stream, or a flood, costs one drawing a frame.
import { frame } from './dom.js';
import { HomePane } from './home.js';

const FLOOD = 250; // new messages in one frame beyond which only the newest are drawn; the rest load on scroll

/** Updates gathers events and brings the panes up to date. */
export class Updates {
  constructor(app) {
    this.app = app;
    this.queue = new Map(); // by channel and ts: the newest word on a message
    this.reactions = [];
    this.views = 0; // view events so far
    this.apply = frame(() => this.flush());
  }

  take(name, data) {
    const { app } = this;
    switch (name) {
      case 'message': case 'ephemeral': {
        const m = { ...data.message, channel: data.channel ?? data.message.channel };
        if (name === 'ephemeral') m.ephemeral = true;
        const id = `${m.channel} ${m.ts}`;
        const op = data.op ?? 'new';
        const waiting = this.queue.get(id);
        this.queue.set(id, { op: op === 'changed' && waiting?.op === 'new' ? 'new' : op, m });
        this.apply();
        break;
      }
      case 'reaction': this.reactions.push(data); this.apply(); break;
      case 'view':
        this.views++;
        if (data.op === 'publish') { if (app.pane instanceof HomePane) app.pane.show(data.view); } else app.modals.apply(data.op, data.view);
        break;
      case 'status': {
        const id = `${data.channel} ${data.thread_ts ?? ''}`;
        if (data.status) app.statuses.set(id, data); else app.statuses.delete(id);
        if (data.title) app.titles.set(id, data.title);
        this.drawStatus();
        break;
      }
      case 'prompts': app.prompts.set(`${data.channel} ${data.thread_ts ?? ''}`, data); this.drawStatus(); break;
      case 'state': app.again(); break;
      default: // a newer workspace may say more; what is shown stays right without it
    }
  }

  flush() {
    const { app } = this;
    const batch = [...this.queue.values()];
    this.queue.clear();
    const inChannel = { fresh: [], changed: [] };
    const inThread = { fresh: [], changed: [] };
    const unread = new Map();
    for (const { op, m } of batch) {
      const reply = !!m.thread_ts && m.thread_ts !== m.ts;
      const here = app.pane?.list && app.pane.channel === m.channel;
      const inThisThread = app.thread?.channel === m.channel && (m.thread_ts || m.ts) === app.thread.ts;
      if (op === 'deleted') { this.gone(m, reply, here, inThisThread); continue; }
      if (here) {
        app.pane.touched.add(m.ts);
        if ((!reply || m.subtype === 'thread_broadcast') || (m.ephemeral && !m.thread_ts)) this.sort(app.pane.list, op, m, inChannel);
        if (reply && op === 'new' && !m.ephemeral) this.replied(app.pane.list, m);
      }
      if (inThisThread) { app.thread.touched.add(m.ts); this.sort(app.thread.list, op, m, inThread); }
      if (op === 'new' && m.user !== app.ws.me) {
        if (!here && (!reply || m.subtype === 'thread_broadcast' || app.ws.channels.get(m.channel)?.is_im)) unread.set(m.channel, (unread.get(m.channel) ?? 0) + 1);
        else if (here || inThisThread) announce(app.ws.author(m).name, m);
      }
    }
    if (app.pane?.list) {
      const list = app.pane.list;
      if (inChannel.fresh.length > FLOOD) { inChannel.fresh.sort((a, b) => (a.ts < b.ts ? -1 : 1)); inChannel.fresh = inChannel.fresh.slice(-FLOOD); list.hasMore = true; }
      list.upsert(inChannel.changed);
      list.upsert(inChannel.fresh, { fresh: true });
    }
    if (app.thread) {
      app.thread.list.upsert(inThread.changed);
      app.thread.list.upsert(inThread.fresh, { fresh: true });
    }
    for (const [channel, n] of unread) if (app.ws.channels.has(channel)) app.sidebar.bump(channel, n);
    for (const r of this.reactions.splice(0)) this.reacted(r);
  }

  // sort puts a message with the new or the changed; a change above what is loaded is left to loading.
  sort(list, op, m, into) {
    const old = list.get(m.ts);
    if (!old && list.hasMore && list.oldest && m.ts < list.oldest) return;
    // A reply count travels with the parent only in histories: an event without one does not mean none.
    const whole = old ? { ...m, reply_count: m.reply_count ?? old.reply_count, reply_users: m.reply_users ?? old.reply_users, latest_reply: m.latest_reply ?? old.latest_reply } : m;
    (op === 'new' ? into.fresh : into.changed).push(whole);
  }

  // replied counts a reply on its parent, unless the parent's own update already did.
  replied(list, m) {
    const parent = list.get(m.thread_ts);
    if (!parent || (parent.latest_reply ?? '') >= m.ts) return;
    const users = [...new Set([...(parent.reply_users ?? []), m.user ?? m.bot_id])];
    list.upsert([{ ...parent, reply_count: (parent.reply_count ?? 0) + 1, latest_reply: m.ts, reply_users: users }]);
  }

  gone(m, reply, here, inThisThread) {
    const { app } = this;
    const list = here ? app.pane.list : null;
    const stone = (old) => ({ ...old, subtype: 'tombstone', text: '', blocks: undefined, attachments: undefined, files: undefined, reactions: undefined, stream: undefined });
    if (list) {
      const old = list.get(m.ts);
      if (old?.reply_count) list.upsert([stone(old)]); else list.remove(m.ts);
      const parent = reply && list.get(m.thread_ts);
      if (parent?.reply_count) list.upsert([{ ...parent, reply_count: parent.reply_count - 1 }]);
    }
    if (inThisThread) {
      const old = app.thread.list.get(m.ts);
      if (old && !reply && app.thread.list.order.length > 1) app.thread.list.upsert([stone(old)]); else app.thread.list.remove(m.ts);
    }
  }

  reacted(r) {
    for (const pane of [this.app.pane, this.app.thread]) {
      const m = pane?.channel === r.channel && pane.list?.get(r.ts);
      if (!m) continue;
      const all = (m.reactions ?? []).map((each) => ({ ...each, users: [...(each.users ?? [])] }));
      let one = all.find((each) => each.name === r.reaction);
      if (!one && r.op === 'added') all.push(one = { name: r.reaction, users: [] });
      if (!one) continue;
      one.users = r.op === 'added' ? [...new Set([...one.users, r.user])] : one.users.filter((u) => u !== r.user);
      one.count = one.users.length;
      pane.list.upsert([{ ...m, reactions: all.filter((each) => each.count > 0) }]);
    }
  }

  /** drawStatus shows what the app is doing where one would look for it. */
  drawStatus() {
    const { app } = this;
    if (app.thread) {
      const id = `${app.thread.channel} ${app.thread.ts}`;
      app.thread.status.show(app.statuses.get(id) ?? null);
      app.thread.prompts.show(app.prompts.get(id));
      if (app.titles.has(id)) app.thread.topic.textContent = `${app.titles.get(id)} · ${app.ws.title(app.thread.channel)}`;
    }
    if (!app.pane?.status) return;
    const mine = [...app.statuses.values()].filter((s) => s.channel === app.pane.channel && s.thread_ts !== app.thread?.ts);
    app.pane.status.show(mine.at(-1) ?? null);
  }
}

const waiting = [];
let speaking = 0;

// announce tells a screen reader of new messages, twice a second at most and the newest three of a flood.
function announce(name, m) {
  waiting.push(`${name}: ${(m.text || 'a message').slice(0, 200)}`);
  speaking ||= setTimeout(() => {
    speaking = 0;
    document.getElementById('announcer').textContent = waiting.splice(0).slice(-3).join('. ');
  }, 500);
}
