// The page: holds the key, the route and the panes, and carries every event to the message it concerns.
import { h, replace, frame, iconButton } from './dom.js';
import { Api, APIError } from './api.js';
import { Workspace } from './workspace.js';
import { Sidebar, applyTheme } from './sidebar.js';
import { ChannelPane, ThreadPane } from './panes.js';
import { HomePane } from './home.js';
import { Modals } from './modals.js';
import { Inspector } from './inspector.js';
import { Updates } from './updates.js';
import { menu, toast } from './popups.js';
import { takeKey, readRoute, hashOf } from './route.js';
import { Drafts } from './drafts.js';

const REFUSED = 'The workspace refused this key. It changes when the workspace is started again.';
const TAB = 'mecha.tab'; // the lock that every tab of the page holds
const AWAKE = 3; // tabs that keep their events when they are hidden
const OWNER = 'alice'; // seeded in every local workspace; who we are until somebody else is chosen

/** App is the env that every part of the page gets: the workspace, and what can be done in it. */
class App {
  constructor(key) {
    this.api = new Api(key);
    this.ws = new Workspace();
    this.drafts = new Drafts();
    this.statuses = new Map(); // by channel and thread: what the app says it is doing,
    this.titles = new Map(); // what it calls the conversation,
    this.prompts = new Map(); // and what it suggests to ask
    this.route = {};
    this.updates = new Updates(this);
    this.sidebar = new Sidebar(this);
    this.modals = new Modals(this);
    this.inspector = new Inspector(this);
    this.banner = h('div', { class: 'banner', role: 'region', 'aria-label': 'About this workspace', hidden: true, data: { testid: 'banner' } });
    this.link = h('div', { class: 'link-state', role: 'status', data: { testid: 'link-state' } });
    this.main = h('div', { class: 'slot slot-main' });
    this.side = h('div', { class: 'slot slot-thread' });
    const work = h('main', { class: 'work' }, this.main, this.side); // one landmark, whichever of the two a phone shows
    replace(document.getElementById('app'), this.banner, this.link, h('div', { class: 'columns' }, this.sidebar.el, work, this.inspector.el));
    // Another address of the terminal's brings another key: the page begins anew.
    for (const moved of ['popstate', 'hashchange']) addEventListener(moved, () => { if (/(^#|&)key=/.test(location.hash)) location.reload(); else this.follow(readRoute()); });
    document.addEventListener('workspace:stale', () => { this.pane?.load(); this.thread?.load(); });
    document.addEventListener('workspace:open', (event) => this.go(event.detail));
    // A file that misses every pane must not take the page's place in the tab.
    for (const name of ['dragover', 'drop']) addEventListener(name, (event) => { if (event.dataTransfer?.types.includes('Files') && event.target.type !== 'file') event.preventDefault(); });
    document.addEventListener('keydown', (event) => this.key(event));
    document.addEventListener('visibilitychange', () => this.rest());
    navigator.locks?.request(TAB, { mode: 'shared' }, () => new Promise(() => {})); // held as long as the tab is there, so that tabs can be counted
    this.again = frame(() => this.reload());
  }

  async start() {
    this.ws.me = remembered() ?? '';
    await this.reload();
    this.listen();
    const route = readRoute();
    this.follow(route.channel || route.home ? route : { channel: this.firstChannel() });
  }

  firstChannel() { return this.ws.rooms().find((c) => !c.is_im)?.id ?? this.ws.rooms()[0]?.id; }

  /** reload reads the state again: people, channels, banner, commands. */
  async reload() {
    let state;
    try {
      state = await this.api.get('state', { user: this.ws.me || OWNER });
    } catch (err) {
      if (err.code !== 'unknown_user' || !this.ws.me) throw err;
      state = await this.api.get('state', { user: OWNER }); // remembered from another workspace
    }
    this.ws.me = state.user;
    this.ws.load(state);
    this.banner.hidden = !this.ws.banner;
    this.banner.textContent = this.ws.banner;
    this.sidebar.draw();
  }

  listen() {
    this.stopListening?.abort();
    const stop = this.stopListening = new AbortController();
    let opened = false;
    this.api.events(this.ws.me, {
      signal: stop.signal,
      onState: (state) => this.connection(state),
      onDenied: () => { this.connection('denied'); door(REFUSED); },
      onEvent: (name, data) => {
        if (name !== 'hello') { this.updates.take(name, data); return; }
        if (opened) this.catchUp(); else this.readViews();
        opened = true;
      },
    });
  }

  // rest lets a hidden tab's events go where several are open: a browser has six connections to one address, and a tab
  // that is looked at needs two. What was missed is read when somebody looks again.
  async rest() {
    if (document.hidden) {
      const tabs = (await navigator.locks?.query())?.held.filter((lock) => lock.name === TAB).length ?? 1;
      if (tabs <= AWAKE || !document.hidden) return;
      this.stopListening?.abort();
      document.body.dataset.connection = 'resting';
    } else if (document.body.dataset.connection === 'resting') {
      this.listen();
      this.catchUp();
    }
  }

  /** connection shows that events no longer arrive, once for as long as it lasts. */
  connection(state) {
    document.body.dataset.connection = state;
    if (state === 'lost' && !this.link.firstChild) replace(this.link, 'The workspace does not answer. What you see may be old; I am trying again…');
    if (state === 'open') replace(this.link);
  }

  // catchUp reads what was missed while the events were gone.
  async catchUp() {
    await this.reload().catch(() => {});
    this.readViews();
    this.pane?.load();
    this.thread?.load();
  }

  async readViews() {
    const seen = this.updates.views;
    const views = await this.get('views', { app_id: this.pane instanceof HomePane ? this.pane.app.app_id : undefined });
    if (!views) return;
    if (this.updates.views !== seen) { this.readViews(); return; } // an event was faster: what was read may be older
    this.modals.load(views.modals ?? []);
    if (this.pane instanceof HomePane) this.pane.show(views.home);
  }

  /** become looks at the workspace as another person. */
  async become(user) {
    this.ws.me = user;
    try { sessionStorage.setItem('mecha.user', user); } catch { /* lasts for this page */ }
    this.modals.load([]);
    this.statuses.clear();
    this.sidebar.unread.clear();
    await this.reload();
    this.listen();
    const route = this.route;
    this.closePanes();
    this.follow(route.home || this.ws.channels.has(route.channel) ? route : { channel: this.firstChannel() });
  }

  /** go changes the route: {channel, thread}, {home} or {} for the list of channels on a phone. */
  go(route) {
    const hash = hashOf(route);
    if (hash !== location.hash) history.pushState(null, '', `/${hash || '#list'}`);
    this.follow(route);
  }

  follow(route) {
    if (!route.channel && !route.home) { this.route = { ...this.route, list: true }; document.body.dataset.pane = 'sidebar'; this.sidebar.mark(); return; }
    this.route = route;
    if (route.home) {
      const home = this.ws.app(route.home === true ? undefined : route.home);
      if (!(this.pane instanceof HomePane) || this.pane.app !== home) this.show(new HomePane(this, home.app_id));
    } else if (!(this.pane instanceof ChannelPane) || this.pane.channel !== route.channel) this.show(new ChannelPane(this, route.channel));
    if (route.thread && (this.thread?.ts !== route.thread || this.thread.channel !== route.channel)) this.showThread(new ThreadPane(this, route.channel, route.thread));
    if (!route.thread && this.thread) this.showThread(null);
    document.body.dataset.pane = route.thread ? 'thread' : 'main';
    if (route.channel) this.sidebar.seen(route.channel);
    this.sidebar.mark();
    this.updates.drawStatus();
  }

  show(pane) {
    this.pane?.destroy();
    this.pane = pane;
    replace(this.main, pane.el);
    pane.load();
    if (pane.composer && !this.route.thread && matchMedia('(pointer: fine)').matches) pane.composer.focus();
  }

  showThread(thread) {
    this.thread?.destroy();
    const from = this.thread?.ts;
    this.thread = thread;
    document.body.classList.toggle('with-thread', !!thread);
    replace(this.side, thread?.el);
    thread?.load();
    if (thread && matchMedia('(pointer: fine)').matches) thread.composer.focus();
    if (!thread && from) this.pane?.list?.views.get(from)?.el.focus({ preventScroll: true });
  }

  closePanes() {
    this.pane?.destroy();
    this.thread?.destroy();
    this.pane = this.thread = null;
    document.body.classList.remove('with-thread');
    replace(this.main);
    replace(this.side);
  }

  openThread(channel, ts) { this.go({ channel, thread: ts }); }

  key(event) {
    if (event.key !== 'Escape' || event.defaultPrevented || document.querySelector('dialog[open], :popover-open')) return;
    if (!this.inspector.el.hidden) this.inspector.toggle(false);
    else if (this.thread) this.go({ channel: this.thread.channel });
  }

  // What follows talks to the workspace; a refusal becomes a notice and null.

  async get(path, params) { return this.tried(() => this.api.get(path, { user: this.ws.me, ...params })); }
  async post(path, body) {
    const answer = await this.tried(() => this.api.post(path, { user: this.ws.me, ...body }));
    if (answer?.ok === false) { toast(answer.what || notAnswered(answer.error ?? answer.status, this.ws.bot.name), 'error'); return null; }
    return answer;
  }

  async tried(call) {
    try { return await call(); } catch (err) {
      if (!(err instanceof APIError)) throw err;
      toast(err.message, 'error');
      return null;
    }
  }

  /** act presses a button or makes a choice on target ({channel, ts} or {view_id}). */
  async act(target, { quiet, ...action }) {
    const answer = await this.tried(() => this.api.post('click', { user: this.ws.me, ...target, ...action }));
    if (answer?.ok === false && !quiet) toast(notAnswered(answer.error ?? answer.status, this.ws.bot.name), 'error');
    return answer;
  }

  /** suggest asks the app for an external select's options; null when it gave none. */
  async suggest(target, question) {
    const answer = await this.tried(() => this.api.post('suggest', { user: this.ws.me, ...target, ...question }));
    return answer?.ok ? answer.ack : null;
  }

  react(m, name, remove) { return this.post('react', { channel: m.channel, ts: m.ts, name, remove: remove || undefined }); }
  stop(channel, threadTs) { return this.post('stop', { channel, thread_ts: threadTs }); }

  /** dismiss hides an ephemeral here; it lives nowhere else. */
  dismiss(m) { for (const pane of [this.pane, this.thread]) pane?.list?.remove(m.ts); }

  /** sent is called after a message went out: the sender looks at the newest. */
  sent(channel, threadTs) { (threadTs ? this.thread : this.pane)?.list?.toBottom(); }

  /** editLast opens the editor on one's own newest message. */
  editLast(channel, threadTs) {
    const list = (threadTs ? this.thread : this.pane)?.list;
    const ts = list?.order.findLast((each) => list.get(each).user === this.ws.me && !list.get(each).ephemeral);
    if (!ts) return false;
    list.views.get(ts).edit();
    return true;
  }

  /** shortcutButton opens the app's global shortcuts. */
  shortcutButton() {
    const button = iconButton('bolt', 'Shortcuts', () => {
      const global = this.ws.shortcuts.filter((s) => s.type === 'global');
      const items = global.map((s) => ({ label: s.name, hint: s.app ?? this.ws.bot.name, data: { callback: s.callback_id }, run: () => this.post('shortcut', { callback_id: s.callback_id, app_id: s.app_id }) }));
      menu(button, items.length ? items : [{ heading: 'The app has no global shortcuts' }], 'Shortcuts');
    }, { 'aria-haspopup': 'menu', 'data-testid': 'shortcuts' });
    return button;
  }
}

function notAnswered(code, bot) {
  if (code === 'operation_timeout') return `${bot ?? 'The app'} did not answer within 3 seconds.`;
  if (code === 'no_socket') return `${bot ?? 'The app'} is not connected, so nobody heard that.`;
  return code ? `The workspace answered: ${code}` : 'That did not work.';
}

function remembered() {
  try { return sessionStorage.getItem('mecha.user'); } catch { return null; }
}

// door is what somebody without a key sees.
function door(text) {
  const input = h('input', { class: 'input', type: 'password', 'aria-label': 'Address or key', placeholder: 'http://127.0.0.1:8484/#key=…', autocomplete: 'off' });
  const open = () => {
    const key = input.value.match(/key=([^&\s]+)/)?.[1] ?? input.value.trim();
    if (!key) return;
    const back = hashOf(readRoute()).slice(1); // where one was when the workspace went away
    location.hash = `${back ? `${back}&` : ''}key=${key}`;
    location.reload();
  };
  replace(document.getElementById('app'), h('main', { class: 'door', data: { testid: 'door' } }, h('h1', {}, 'Local workspace'), h('p', {}, text), h('p', { class: 'muted' }, 'Open the address that the terminal printed, or paste it here.'),
    h('form', { onsubmit: (event) => { event.preventDefault(); open(); } }, input, h('button', { class: 'btn btn-primary' }, 'Open'))));
}

applyTheme();
const key = takeKey();
if (!key) door('This page opens with a key.');
else {
  const app = new App(key);
  app.start().catch((err) => {
    if (err instanceof APIError && (err.status === 401 || err.status === 403)) door(REFUSED);
    else { door(err.message); if (!(err instanceof APIError)) throw err; }
  });
}
