// What can be done with a message: react, reply, copy, edit and delete one's own, and the app's message shortcuts.
import { iconButton } from './dom.js';
import { menu, pickEmoji, confirmDialog, toast } from './popups.js';
import { unescape } from './mrkdwn.js';

/** messageTools is the row of buttons over a message. */
export function messageTools(env, view) {
  const { m } = view;
  const tools = [];
  if (!m.ephemeral && m.subtype !== 'tombstone') {
    const react = iconButton('smile', 'Add a reaction', () => pickEmoji(react, (name) => env.react(m, name, false)), { 'data-testid': 'react' });
    tools.push(react);
    if (view.place === 'channel') tools.push(iconButton('reply', 'Reply in thread', () => env.openThread(m.channel, m.thread_ts || m.ts, true), { 'data-testid': 'reply' }));
  }
  const more = iconButton('more', 'More actions', () => menu(more, items(env, view), 'Message actions'), { 'aria-haspopup': 'menu', 'data-testid': 'message-more' });
  tools.push(more);
  return tools;
}

function items(env, view) {
  const { m } = view;
  const mine = m.user === env.ws.me && !m.bot_id;
  const list = [];
  for (const s of env.ws.shortcuts.filter((each) => each.type === 'message')) {
    if (!m.ephemeral) list.push({ label: s.name, hint: s.app ?? env.ws.bot.name, data: { callback: s.callback_id }, run: () => env.post('shortcut', { callback_id: s.callback_id, app_id: s.app_id, channel: m.channel, ts: m.ts }) });
  }
  if (list.length) list.push(null);
  list.push({ label: 'Copy text', run: () => copy(unescape(m.text || (m.stream?.chunks ?? []).map((c) => c.text ?? c.title ?? '').join('\n'))) });
  if (m.ephemeral) { list.push({ label: 'Dismiss', run: () => env.dismiss(m) }); return list; }
  list.push({ label: 'Copy link', run: () => copy(`${location.origin}/#channel=${m.channel}&thread=${m.thread_ts || m.ts}`) });
  if (mine) {
    list.push(null, { label: 'Edit message', data: { testid: 'edit-message' }, run: () => view.edit() }, {
      label: 'Delete message…', danger: true, data: { testid: 'delete-message' },
      run: async () => {
        if (await confirmDialog({ title: 'Delete this message?', text: 'It goes for everybody. The app hears about it.', confirm: 'Delete', danger: true })) env.post('delete', { channel: m.channel, ts: m.ts });
      },
    });
  }
  return list;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied.');
  } catch {
    toast('The browser did not allow copying.', 'error');
  }
}
