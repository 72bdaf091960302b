// Block Kit's interactive elements. Each is a native control where one exists, so that keyboard, phone and screen reader work.
//
// A surface is {names, act(action), inputs, kind, channel, files}: act sends a press or a choice to the workspace;
// inputs (may be absent) is the register of what a modal submits.
import { h, iconButton, icon } from './dom.js';
import { parseUrl, hostOf, permalink, openPermalink, remoteImage, link } from './links.js';
import { withEmoji } from './emoji.js';
import { mrkdwn } from './mrkdwn.js';
import { menu, confirmDialog, toast } from './popups.js';
import { picker } from './pickers.js';
import { textInput, fileInput } from './inputs.js';

/** plain is the string of a text object, its emoji shown unless it says otherwise. */
export function plain(text) {
  if (typeof text === 'string') return text;
  return text?.emoji === false ? text.text : withEmoji(text?.text ?? '');
}

/** textOf renders a text object. */
export function textOf(text, surface) {
  if (!text) return null;
  if (text.type === 'mrkdwn') return h('span', { class: 'mk' }, mrkdwn(text.text, surface.names));
  return h('span', { class: 'pt' }, plain(text));
}

/** jsonBox shows what this page does not know, whole. */
export function jsonBox(value, note) {
  const type = value?.type ?? 'unknown';
  return h('div', { class: 'unknown-block', data: { unknownBlock: type } }, h('div', { class: 'unknown-head' }, note ?? `${type}: this page does not know this kind`), h('pre', {}, JSON.stringify(value, null, 2)));
}

/** confirmed runs fn after the element's own confirm dialog, if it has one; false when the person declined. */
export async function confirmed(el, surface, fn) {
  const c = el.confirm;
  if (c && !(await confirmDialog({ title: plain(c.title) || 'Are you sure?', text: textOf(c.text, surface), confirm: plain(c.confirm) || 'Yes', deny: plain(c.deny) || 'Cancel', danger: c.style === 'danger' }))) return false;
  await fn();
  return true;
}

/** element renders any element of a block. input is {dispatch} inside an input block, undefined elsewhere. */
export function element(el, surface, blockId, input) {
  switch (el?.type) {
    case 'button': return button(el, surface, blockId);
    case 'workflow_button': return workflowButton(el);
    case 'icon_button': return iconElement(el, surface, blockId);
    case 'feedback_buttons': return feedback(el, surface, blockId);
    case 'overflow': return overflow(el, surface, blockId);
    case 'image': return imageElement(el, surface);
    case 'url': return link(el.url, el.text || el.url);
    case 'mrkdwn': case 'plain_text': return textOf(el, surface);
    case 'icon': return h('span', { class: 'chip', title: 'icon' }, el.name);
    case 'plain_text_input': case 'number_input': case 'email_text_input': case 'url_text_input': case 'rich_text_input':
      return textInput(el, surface, blockId, input);
    case 'file_input': return fileInput(el, surface, blockId);
    default: return picker(el, surface, blockId, input) ?? jsonBox(el);
  }
}

// pressed sends an action and shows on the button that it is on its way.
async function pressed(node, surface, action) {
  if (node.getAttribute('aria-busy') === 'true') return;
  node.setAttribute('aria-busy', 'true');
  try { await surface.act(action); } finally { node.removeAttribute('aria-busy'); }
}

function hooks(el, blockId) { return { actionId: el.action_id, blockId }; }

function button(el, surface, blockId) {
  const style = el.style === 'primary' ? ' btn-primary' : el.style === 'danger' ? ' btn-danger' : '';
  const action = { action_id: el.action_id, block_id: blockId, value: el.value };
  const attrs = { class: `btn${style}`, data: hooks(el, blockId), 'aria-label': el.accessibility_label };
  if (!el.url) {
    const node = h('button', { type: 'button', ...attrs, onclick: () => confirmed(el, surface, () => pressed(node, surface, action)) }, plain(el.text));
    return node;
  }
  const url = parseUrl(el.url);
  if (!url) return h('button', { type: 'button', ...attrs, disabled: true, title: `not a web address: ${el.url}` }, plain(el.text));
  const inside = permalink(url.href);
  const node = h('a', { ...attrs, href: inside ? `/#channel=${inside.channel}${inside.thread ? `&thread=${inside.thread}` : ''}` : url.href, target: inside ? undefined : '_blank', rel: 'noopener noreferrer', title: url.href,
    onclick: (event) => {
      if (inside) { event.preventDefault(); openPermalink(inside); }
      surface.act({ ...action, quiet: true });
    } }, plain(el.text), inside ? null : h('span', { class: 'link-host' }, ` ${hostOf(url)} ↗`));
  return node;
}

function workflowButton(el) {
  return h('button', { type: 'button', class: 'btn', data: hooks(el), onclick: () => toast('Workflows do not run in the local workspace.') }, plain(el.text), h('span', { class: 'link-host' }, ' workflow'));
}

function iconElement(el, surface, blockId) {
  const node = h('button', { type: 'button', class: 'btn btn-quiet', data: hooks(el, blockId), 'aria-label': el.accessibility_label ?? plain(el.text), title: plain(el.text),
    onclick: () => confirmed(el, surface, () => pressed(node, surface, { action_id: el.action_id, block_id: blockId, value: el.value })) },
  el.icon === 'trash' ? icon('trash') : `${el.icon ?? ''} `, h('span', {}, plain(el.text)));
  return node;
}

function feedback(el, surface, blockId) {
  const one = (side, mark, turned) => {
    const b = el[`${side}_button`];
    if (!b) return null;
    const node = h('button', { type: 'button', class: 'btn btn-quiet', 'aria-pressed': 'false', data: { ...hooks(el, blockId), value: b.value }, 'aria-label': b.accessibility_label ?? plain(b.text),
      onclick: async () => {
        await pressed(node, surface, { action_id: el.action_id, block_id: blockId, value: b.value });
        for (const other of box.children) other.setAttribute('aria-pressed', String(other === node));
      } }, h('span', { class: turned ? 'turned' : '' }, icon(mark)), h('span', {}, plain(b.text)));
    return node;
  };
  const box = h('span', { class: 'feedback', role: 'group', 'aria-label': 'Feedback' }, one('positive', 'up', false), one('negative', 'up', true));
  return box;
}

function overflow(el, surface, blockId) {
  const node = iconButton('more', 'More options', () => menu(node, (el.options ?? []).map((option) => ({
    label: plain(option.text), hint: plain(option.description), data: { value: option.value },
    run: () => {
      if (option.url && parseUrl(option.url)) window.open(option.url, '_blank', 'noopener,noreferrer');
      confirmed(el, surface, () => pressed(node, surface, { action_id: el.action_id, block_id: blockId, value: option.value }));
    },
  })), 'More options'), { 'aria-haspopup': 'menu', class: 'icon-btn icon-btn-line', data: hooks(el, blockId) });
  return node;
}

/** imageElement shows an image of this workspace, and names and links any other. */
export function imageElement(el, surface, large) {
  const own = el.slack_file && surface.files?.find((f) => f.id === el.slack_file.id || f.url_private === el.slack_file.url);
  if (own?.thumb_page_url) return h('img', { class: large ? 'image-block' : 'image-el', src: own.thumb_page_url, alt: el.alt_text, loading: 'lazy' });
  if (el.image_url) return remoteImage(el.image_url, el.alt_text);
  return h('span', { class: 'remote-image' }, `▣ ${el.alt_text || 'image'} (file ${own?.name ?? el.slack_file?.id ?? el.slack_file?.url ?? 'unknown'})`);
}
