// Every link on the page is built here: http, https and mailto only, in a new tab without opener or referrer,
// and with its host in sight whenever the label says something else.
import { h } from './dom.js';

const SCHEMES = new Set(['http:', 'https:', 'mailto:']);

/** parseUrl is the URL when its scheme is one a person may follow, otherwise null. */
export function parseUrl(raw) {
  try {
    const url = new URL(String(raw).trim());
    return SCHEMES.has(url.protocol) ? url : null;
  } catch {
    return null;
  }
}

/** hostOf is what a person should see of a destination; names outside ASCII stay in their xn-- form, so that look-alikes show. */
export function hostOf(url) {
  if (url.protocol !== 'mailto:') return url.host;
  try { return decodeURIComponent(url.pathname); } catch { return url.pathname; }
}

/** permalink is {channel, thread} when url points into this workspace, otherwise null. */
export function permalink(raw) {
  let url;
  try { url = new URL(raw, location.origin); } catch { return null; }
  if (url.origin !== location.origin) return null;
  const hash = new URLSearchParams(url.hash.slice(1));
  const archive = url.pathname.match(/\/archives\/([A-Z0-9]+)(?:\/p(\d{10,})(\d{6}))?/);
  if (archive) {
    const ts = archive[2] ? `${archive[2]}.${archive[3]}` : undefined;
    return { channel: archive[1], thread: url.searchParams.get('thread_ts') || ts };
  }
  if (!hash.get('channel')) return null;
  return { channel: hash.get('channel'), thread: hash.get('thread') || undefined };
}

/** openPermalink asks the page to show a channel or thread. */
export function openPermalink(target) {
  document.dispatchEvent(new CustomEvent('workspace:open', { detail: target }));
}

function sameAsLabel(url, raw, label) {
  const bare = (s) => s.trim().replace(/^(https?:\/\/|mailto:)/i, '').replace(/\/$/, '').toLowerCase();
  return bare(label) === bare(raw) || bare(label) === bare(url.href);
}

/** link is an anchor for a destination with its label (nodes or a string), followed by the host if the label hides it. */
export function link(raw, label) {
  const url = parseUrl(raw);
  const nodes = Array.isArray(label) ? label : [label || String(raw)];
  if (!url) return h('span', { class: 'bad-link', title: 'Not a web or mail address: not a link here' }, nodes, typeof label === 'string' && label !== raw ? ` (${raw})` : '');
  const inside = permalink(url.href);
  const a = h('a', { href: inside ? `/#channel=${inside.channel}${inside.thread ? `&thread=${inside.thread}` : ''}` : url.href, title: url.href }, nodes);
  if (inside) {
    a.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      openPermalink(inside);
    });
    return a;
  }
  a.target = '_blank';
  a.rel = 'noopener noreferrer';
  if (sameAsLabel(url, String(raw), a.textContent)) return a;
  return h('span', { class: 'link' }, a, h('span', { class: 'link-host' }, ` (${hostOf(url)})`));
}

/** remoteImage stands for an image elsewhere: named and linked, never fetched. */
export function remoteImage(raw, alt) {
  return h('span', { class: 'remote-image' }, h('span', { class: 'remote-image-mark', 'aria-hidden': 'true' }, '▣ '), link(raw, `image: ${alt || 'no description'}`));
}
