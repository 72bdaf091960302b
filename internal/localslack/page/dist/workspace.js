// What the page knows of the workspace: people, channels, who is looking. It resolves ids to names for every renderer.

/** Workspace is the answer of /_local/state, with look-ups. */
export class Workspace {
  constructor() {
    this.users = new Map();
    this.channels = new Map();
    this.commands = [];
    this.shortcuts = [];
    this.bot = {};
    this.apps = [];
    this.team = {};
    this.me = '';
  }

  /** load takes a fresh state. */
  load(state) {
    this.team = state.team ?? {};
    this.banner = state.banner ?? '';
    this.bot = state.bot ?? {};
    this.users = new Map((state.users ?? []).map((u) => [u.id, u]));
    this.channels = new Map((state.channels ?? []).map((c) => [c.id, c]));
    this.commands = state.commands ?? [];
    this.shortcuts = state.shortcuts ?? [];
    this.home = state.home ?? {};
    this.apps = state.apps ?? [{ ...this.bot, home: this.home.enabled !== false }];
  }

  /** user is a person's (or the bot's) name, or undefined. */
  user(id) { return id === this.bot.user_id ? this.bot.name : this.users.get(id)?.name; }

  /** channel is a channel's name without #, a DM's by its other person. */
  channel(id) {
    const c = this.channels.get(id);
    return c && (c.is_im ? this.user(c.im_user) ?? c.name : c.name);
  }

  /** title is a channel's name as a heading. */
  title(id) { const c = this.channels.get(id); return c?.is_im || c?.is_mpim ? this.channel(id) : `${c?.is_private ? '' : '#'}${this.channel(id) ?? id}`; }

  /** app is an installed app by its id; without one, the first. */
  app(id) { return this.apps.find((a) => a.app_id === id) ?? this.apps[0] ?? this.bot; }

  /** appOf is the app whose bot that user is. */
  appOf(user) { return this.apps.find((a) => a.user_id === user); }

  usergroup(id) { return id; }
  people() { return [...this.users.values()].filter((u) => !u.is_bot); }
  rooms() { return [...this.channels.values()]; }

  /** author is who a message is from: {name, bot, id, owner}. */
  author(m) {
    const bot = !!m.bot_id || !!this.appOf(m.user) || !!this.users.get(m.user)?.is_bot;
    if (bot) return { name: m.username || m.bot_profile?.name || this.user(m.user) || this.bot.name || 'app', bot: true, id: m.bot_id || m.user };
    return { name: this.user(m.user) || m.username || m.user || 'someone', bot: false, id: m.user, owner: this.users.get(m.user)?.owner };
  }
}
