// The app's Home tab.
import { h, replace, iconButton } from './dom.js';
import { blocks } from './blocks.js';
import { Inputs } from './inputs.js';

/** HomePane shows the Home view that the app published for this user. */
export class HomePane {
  constructor(env, appId) {
    this.env = env;
    this.app = env.ws.app(appId);
    this.inputs = new Inputs();
    this.body = h('div', { class: 'home-body' });
    const { ws } = env;
    const dm = ws.rooms().find((c) => c.is_im && c.im_user === this.app.user_id);
    this.el = h('section', { class: 'pane pane-main', 'aria-label': 'Home', data: { testid: 'home-view' } },
      h('header', { class: 'pane-head' }, iconButton('back', 'Back to the channels', () => env.go({}), { class: 'icon-btn phone-only' }), h('div', { class: 'pane-words' }, h('h1', { class: 'pane-title' }, this.app.name ?? 'App')),
        h('div', { class: 'tabs' }, dm && h('button', { type: 'button', class: 'tab', onclick: () => env.go({ channel: dm.id }) }, 'Messages'), h('span', { class: 'tab tab-on', 'aria-current': 'page' }, 'Home'))),
      h('div', { class: 'scroller' }, this.body));
    this.show(null);
  }

  /** load tells the app that Home was opened and shows what is published. */
  async load() {
    await this.env.post('home', { app_id: this.app.app_id });
    const answer = await this.env.get('views', { app_id: this.app.app_id });
    if (answer) this.show(answer.home);
  }

  show(view) {
    if (view && view.app_id !== undefined && this.app.app_id && view.app_id !== this.app.app_id) return; // another app's
    if (!view) { replace(this.body, h('div', { class: 'beginning' }, h('div', { class: 'beginning-title' }, 'Nothing here yet'), h('div', { class: 'muted' }, 'The app has not published a Home view for you.'))); return; }
    const key = JSON.stringify(view.blocks);
    if (this.key === key) return;
    this.key = key;
    const had = this.body.contains(document.activeElement) ? document.activeElement.dataset.actionId : undefined;
    this.inputs.renew();
    replace(this.body, blocks(view.blocks, { names: this.env.ws, kind: 'home', inputs: this.inputs, files: [], act: async (action) => this.env.act({ view_id: view.id }, { ...action, values: await this.inputs.values({ files: false }) }), suggest: (q) => this.env.suggest({ view_id: view.id }, q) }));
    if (had) this.body.querySelector(`[data-action-id="${CSS.escape(had)}"]`)?.focus();
  }

  destroy() {}
}
