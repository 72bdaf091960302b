// The left column: who is looking, channels, direct messages, the app, and the page's own switches.
import { h, replace, icon, iconButton } from './dom.js';
import { arrows, menu } from './popups.js';
import { initials, avatarClass } from './message.js';

const THEMES = [['auto', 'Theme: as the system'], ['light', 'Theme: light'], ['dark', 'Theme: dark']];

/** Sidebar lists where one can go. */
export class Sidebar {
  constructor(env) {
    this.env = env;
    this.unread = new Map();
    this.nav = h('div', { class: 'side-nav' });
    this.head = h('div', { class: 'side-head' });
    this.foot = h('div', { class: 'side-foot' });
    this.el = h('nav', { class: 'sidebar', 'aria-label': 'Channels and people' }, this.head, this.nav, this.foot);
    arrows(this.nav, '.channel-item, .home-item');
    this.drawFoot();
  }

  draw() {
    const { env } = this;
    const { ws } = env;
    const me = ws.users.get(ws.me);
    replace(this.head, h('h1', { class: 'team-name' }, ws.team.name || 'Local workspace'),
      h('label', { class: 'who' }, h('span', { class: `avatar avatar-small ${avatarClass({ id: ws.me, name: me?.name ?? '' })}`, 'aria-hidden': 'true' }, initials(me?.name ?? '?')), h('span', { class: 'sr-only' }, 'You are'),
        h('select', { class: 'who-select', data: { testid: 'user-switch' }, title: 'Look at the workspace as somebody else', onchange: (event) => env.become(event.target.value) },
          ws.people().map((u) => h('option', { value: u.id, selected: u.id === ws.me }, `${u.name}${u.owner ? ' (owner)' : ''}`)))));
    const rooms = ws.rooms();
    const section = (title, items) => items.length && h('div', { class: 'side-section' }, h('h2', { class: 'side-title' }, title), h('ul', {}, items.map((el) => h('li', {}, el))));
    replace(this.nav,
      section('Channels', rooms.filter((c) => !c.is_im && !c.is_mpim).map((c) => this.item(c))),
      section('Direct messages', rooms.filter((c) => c.is_im || c.is_mpim).map((c) => this.item(c))),
      section(ws.apps.length > 1 ? 'Apps' : 'App', ws.apps.filter((a) => a.home).map((a) => {
        const home = a === ws.apps[0] ? true : a.app_id;
        return h('button', { type: 'button', class: 'home-item side-item', data: { testid: 'home-tab', home: String(home) }, onclick: () => env.go({ home }) }, icon('home'), h('span', { class: 'side-name' }, `${a.name ?? 'App'} Home`));
      })));
    this.mark();
  }

  item(c) {
    const { ws } = this.env;
    const name = c.is_im ? ws.channel(c.id) : c.name;
    return h('button', { type: 'button', class: 'channel-item side-item', data: { testid: 'channel-item', id: c.id }, onclick: () => this.env.go({ channel: c.id }) },
      c.is_im ? h('span', { class: `avatar avatar-tiny ${avatarClass({ id: c.im_user, name, bot: !!ws.appOf(c.im_user) })}`, 'aria-hidden': 'true' }, initials(name)) : icon(c.is_mpim ? 'people' : c.is_private ? 'lock' : 'hash'),
      h('span', { class: 'side-name' }, name, c.is_private && h('span', { class: 'sr-only' }, ' (private)'), c.is_archived && h('span', { class: 'muted' }, ' archived')), h('span', { class: 'unread', hidden: true }));
  }

  /** mark shows where we are and what is unread. */
  mark() {
    const { route } = this.env;
    for (const el of this.nav.querySelectorAll('.side-item')) {
      const id = el.dataset.id;
      const current = id ? id === route.channel && !route.home : el.dataset.home === String(route.home);
      if (current) el.setAttribute('aria-current', 'page'); else el.removeAttribute('aria-current');
      const n = id ? this.unread.get(id) ?? 0 : 0;
      el.classList.toggle('has-unread', n > 0);
      const badge = el.querySelector('.unread');
      if (badge) { badge.hidden = !n; badge.textContent = n > 99 ? '99+' : String(n); badge.setAttribute('aria-label', `${n} unread`); }
    }
    this.entitle();
  }

  // entitle gives the tab its name: what is unread, where we are, which workspace.
  entitle() {
    const { route, ws } = this.env;
    const n = [...this.unread.values()].reduce((sum, each) => sum + each, 0);
    const where = route.home ? `${ws.app(route.home === true ? undefined : route.home).name ?? 'App'} Home` : route.channel && `${route.thread ? 'Thread in ' : ''}${ws.title(route.channel)}`;
    document.title = `${n ? `(${n}) ` : ''}${[where, ws.team.name || 'Local workspace'].filter(Boolean).join(' · ')}`;
  }

  seen(channel) { this.unread.delete(channel); this.mark(); }
  bump(channel, n) { this.unread.set(channel, (this.unread.get(channel) ?? 0) + n); this.mark(); }

  drawFoot() {
    const theme = iconButton('sun', 'Theme', () => menu(theme, THEMES.map(([value, label]) => ({ label: `${currentTheme() === value ? '• ' : ''}${label}`, run: () => setTheme(value) })), 'Theme'), { 'aria-haspopup': 'menu', 'data-testid': 'theme' });
    replace(this.foot, theme, iconButton('pulse', 'Inspector: every API call and envelope', () => this.env.inspector.toggle(), { 'data-testid': 'inspector-toggle', 'aria-expanded': 'false' }));
  }
}

function currentTheme() {
  try { return localStorage.getItem('mecha.theme') ?? 'auto'; } catch { return 'auto'; }
}

function setTheme(value) {
  try { localStorage.setItem('mecha.theme', value); } catch { /* private window: the choice lasts for this page */ }
  applyTheme(value);
}

/** applyTheme sets the chosen theme on the document; auto leaves it to the system. */
export function applyTheme(value = currentTheme()) {
  if (value === 'auto') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset.theme = value;
}
