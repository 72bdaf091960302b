// Standard Markdown (stream text, markdown blocks): markdown-it without HTML, then DOMPurify, then our own links.
// No raw HTML, no images from elsewhere, no classes or ids of the author's choosing.
import MarkdownIt from './vendor/markdown-it.js';
import DOMPurify from './vendor/purify.js';
import { link, remoteImage } from './links.js';
import { emojiOf } from './emoji.js';
import { mention } from './mrkdwn.js';
import { h, words } from './dom.js';

const parser = new MarkdownIt({ html: false, linkify: true, breaks: true, typographer: false });
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

// Slack's own tokens are alive in Markdown too. Entities decode later than this rule looks, so &lt;@U1&gt; stays text.
parser.inline.ruler.before('autolink', 'slack_token', (state, silent) => {
  const found = /^<(?:@([UWB][A-Z0-9]+)|#([CGD][A-Z0-9]+)|!(here|channel|everyone))(?:\|[^>]*)?>/.exec(state.src.slice(state.pos, state.pos + 120));
  if (!found) return false;
  if (!silent) state.push('slack_token', '', 0).meta = found;
  state.pos += found[0].length;
  return true;
});
parser.renderer.rules.slack_token = (tokens, i) => {
  const [, user, channel, broadcast] = tokens[i].meta;
  return `<span data-token="${user ? 'user' : channel ? 'channel' : 'broadcast'}" data-id="${user || channel || broadcast}"></span>`;
};
// An image is a request to another host: it becomes a link that says so.
parser.renderer.rules.image = (tokens, i) => {
  const e = parser.utils.escapeHtml;
  return `<span data-token="image" data-url="${e(tokens[i].attrGet('src') || '')}" data-alt="${e(tokens[i].content)}"></span>`;
};
parser.renderer.rules.fence = (tokens, i) => `<pre><code>${parser.utils.escapeHtml(tokens[i].content)}</code></pre>\n`;
// markdown-it aligns cells with a style attribute, which our policy forbids.
for (const cell of ['th', 'td']) {
  parser.renderer.rules[`${cell}_open`] = (tokens, i) => {
    const align = /text-align:(left|center|right)/.exec(tokens[i].attrGet('style') || '');
    return `<${cell}${align ? ` class="align-${align[1]}"` : ''}>`;
  };
}

const POLICY = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS: ['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'strong', 'em', 's', 'del', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li', 'a', 'span', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ALLOWED_ATTR: ['href', 'class', 'start', 'data-token', 'data-id', 'data-url', 'data-alt'],
  ALLOW_DATA_ATTR: false,
  ADD_URI_SAFE_ATTR: ['start', 'data-token', 'data-id', 'data-url', 'data-alt'], // words, not addresses: checked where they are used
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
};

/** markdown renders text into a fragment. names resolves ids as for mrkdwn. */
export function markdown(text, names) {
  const fragment = DOMPurify.sanitize(parser.render(String(text ?? '')), POLICY);
  const anchors = [...fragment.querySelectorAll('a')];
  for (const el of fragment.querySelectorAll('[data-token]')) {
    const { token, id, url, alt } = el.dataset;
    if (token !== 'image') el.replaceWith(mention(token, id, names, ''));
    else el.replaceWith(el.closest('a') ? `▣ image: ${alt || 'no description'}` : remoteImage(url, alt));
  }
  for (const a of anchors) {
    const href = a.getAttribute('href');
    const label = [...a.childNodes];
    a.replaceWith(href ? link(href, label) : h('span', { class: 'bad-link' }, label));
  }
  for (const table of fragment.querySelectorAll('table')) {
    const box = h('div', { class: 'table-scroll', tabindex: 0, role: 'region', 'aria-label': 'Table' });
    table.replaceWith(box);
    box.append(table);
  }
  // Headings inside a message must not enter the page's outline above the message's own.
  for (const el of fragment.querySelectorAll('h1,h2,h3,h4,h5,h6')) {
    el.replaceWith(h('div', { class: `md-h md-${el.localName}`, role: 'heading', 'aria-level': Math.min(6, Number(el.localName[1]) + 1) }, [...el.childNodes]));
  }
  emojis(fragment);
  reveal(fragment);
  return fragment;
}

// reveal shows what is invisible, in code as well.
function reveal(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const all = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement?.closest('.hidden-char')) all.push(walker.currentNode);
  for (const node of all) { const parts = words(node.data); if (parts.length > 1) node.replaceWith(...parts); }
}

// emojis replaces known :names: outside code.
function emojis(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT, (node) => (node.parentElement?.closest('code, pre') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT));
  const found = [];
  while (walker.nextNode()) if (/:[a-z0-9_+-]+:/.test(walker.currentNode.data)) found.push(walker.currentNode);
  for (const node of found) node.data = node.data.replace(/:([a-z0-9_+-]+):/g, (whole, name) => emojiOf(name) ?? whole);
}
