// rich_text blocks and their elements.
import { h } from './dom.js';
import { link } from './links.js';
import { emojiOf } from './emoji.js';
import { mention } from './mrkdwn.js';
import { formatDate } from './dates.js';

/** richText renders a rich_text block. */
export function richText(block, names) {
  return h('div', { class: 'rich-text' }, (block.elements ?? []).map((el) => richElement(el, names)));
}

/** richElement renders any element of rich text, a container or a leaf; an unknown one shows itself as JSON. */
export function richElement(el, names) {
  const inside = () => (el.elements ?? []).map((child) => richElement(child, names));
  switch (el.type) {
    case 'rich_text': return richText(el, names);
    case 'rich_text_section': return h('div', { class: 'rt-section' }, inside());
    case 'rich_text_quote': return h('blockquote', { class: `mk-quote${el.border ? ' rt-border' : ''}` }, inside());
    case 'rich_text_preformatted': return h('pre', { class: 'mk-pre' }, (el.elements ?? []).map((leaf) => leaf.text ?? leaf.url ?? ''));
    case 'rich_text_list': return list(el, names);
    case 'text': return styled(el, [el.text ?? '']);
    case 'link': return styled(el, [link(el.url, el.text || el.url)]);
    case 'emoji': return h('span', { class: 'emoji', role: 'img', 'aria-label': el.name, title: `:${el.name}:` }, fromUnicode(el.unicode) ?? emojiOf(el.name) ?? `:${el.name}:`);
    case 'user': return styled(el, [mention('user', el.user_id, names, '')]);
    case 'channel': return styled(el, [mention('channel', el.channel_id, names, '')]);
    case 'usergroup': return styled(el, [mention('usergroup', el.usergroup_id, names, '')]);
    case 'team': return styled(el, [h('span', { class: 'chip' }, el.team_id)]);
    case 'broadcast': return styled(el, [mention('broadcast', el.range ?? 'here', names, '')]);
    case 'date': {
      const shown = h('time', { title: el.fallback }, formatDate(el.timestamp, el.format ?? '{date_long}'));
      return el.url ? link(el.url, [shown]) : shown;
    }
    case 'color': return h('span', { class: 'rt-color' }, swatch(el.value), el.value);
    default: return h('code', { class: 'unknown-inline', data: { unknownBlock: el.type ?? '' } }, JSON.stringify(el));
  }
}

function list(el, names) {
  const tag = el.style === 'ordered' ? 'ol' : 'ul';
  const node = h(tag, { class: `rt-list rt-indent-${Math.min(el.indent ?? 0, 6)}${el.border ? ' rt-border' : ''}`, start: tag === 'ol' && el.offset ? el.offset + 1 : undefined });
  for (const item of el.elements ?? []) node.append(h('li', {}, richElement(item, names)));
  return node;
}

// styled wraps nodes in the marks of el.style.
function styled(el, nodes) {
  const style = el.style ?? {};
  let out = nodes;
  for (const [flag, tag] of [['code', 'code'], ['strike', 's'], ['italic', 'em'], ['bold', 'strong'], ['underline', 'u'], ['highlight', 'mark']]) {
    if (style[flag]) out = [h(tag, {}, out)];
  }
  return out.length === 1 && typeof out[0] !== 'string' ? out[0] : h('span', {}, out);
}

function fromUnicode(hex) {
  if (!hex || !/^[0-9a-f-]+$/i.test(hex)) return undefined;
  try { return String.fromCodePoint(...hex.split('-').map((part) => parseInt(part, 16))); } catch { return undefined; }
}

/** swatch is a small square of a colour, set through the CSSOM and only if it is a plain hex colour. */
export function swatch(value) {
  const el = h('span', { class: 'swatch', 'aria-hidden': 'true' });
  if (/^#?[0-9a-f]{3,8}$/i.test(value ?? '')) el.style.backgroundColor = value.startsWith('#') ? value : `#${value}`;
  return el;
}
