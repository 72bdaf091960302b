// The app's Home tab.
import { h, replace, iconButton } from './dom.js';
import { blocks } from './blocks.js';
import { Inputs } from './inputs.js';

/** HomePane shows the Home view that the app published for this user. */
export class HomePane {
  constructor(env) {
    this.env = env;
    this.inputs = new Inputs();
    this.body = h('div', { class: 'home-body' });
    const { ws } = env;
    const dm = ws.rooms().find((c) => c.is_im && c.im_user === ws.bot.user_id);
    this.el = h('main', { class: 'pane pane-main', 'aria-label': 'Home', data: { testid: 'home-view' } },
      h('header', { class: 'pane-head' }, iconButton('back', 'Back to the channels', () => env.go({}), { class: 'icon-btn phone-only' }), h('div', { class: 'pane-words' }, h('h1', { class: 'pane-title' }, ws.bot.name ?? 'App')),
        h('div', { class: 'tabs' }, dm && h('button', { type: 'button', class: 'tab', onclick: () => env.go({ channel: dm.id }) }, 'Messages'), h('span', { class: 'tab tab-on', 'aria-current': 'page' }, 'Home'))),
      h('div', { class: 'scroller' }, this.body));
    this.show(null);
  }

  /** load tells the app that Home was opened and shows what is published. */
  async load() {
    await this.env.post('home', {});
    const answer = await this.env.get('views', {});
    if (answer) this.show(answer.home);
  }

  show(view) {
    if (!view) { replace(this.body, h('div', { class: 'beginning' }, h('div', { class: 'beginning-title' }, 'Nothing here yet'), h('div', { class: 'muted' }, 'The app has not published a Home view for you.'))); return; }
    const key = JSON.stringify(view.blocks);
    if (this.key === key) return;
    this.key = key;
    const had = this.body.contains(document.activeElement) ? document.activeElement.dataset.actionId : undefined;
    this.inputs.renew();
    replace(this.body, blocks(view.blocks, { names: this.env.ws, kind: 'home', inputs: this.inputs, files: [], act: async (action) => this.env.act({ view_id: view.id }, { ...action, values: await this.inputs.values({ files: false }) }) }));
    if (had) this.body.querySelector(`[data-action-id="${CSS.escape(had)}"]`)?.focus();
  }

  destroy() {}
}
