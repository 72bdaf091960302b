// The address of the page: the key is taken out of it at once; what stays is where we are.
import { permalink } from './links.js';

/** takeKey moves #key=… into this tab's storage and out of the address. */
export function takeKey() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const given = hash.get('key');
  if (given) {
    hash.delete('key');
    const rest = hash.toString();
    history.replaceState(null, '', location.pathname + location.search + (rest ? `#${rest}` : ''));
    try { sessionStorage.setItem('mecha.key', given); } catch { /* the key then lives as long as this page */ }
    return given;
  }
  try { return sessionStorage.getItem('mecha.key'); } catch { return null; }
}

/** readRoute is the route that the address names: ours (#channel=…&thread=…) or Slack's (/archives/C…/p…). */
export function readRoute() {
  if (location.pathname.startsWith('/archives/')) {
    const route = permalink(location.href);
    history.replaceState(null, '', `/${route ? hashOf(route) : ''}`);
    if (route) return route;
  }
  const hash = new URLSearchParams(location.hash.slice(1));
  if (hash.has('home')) return { home: hash.get('home') || true };
  return { channel: hash.get('channel') ?? undefined, thread: hash.get('thread') ?? undefined };
}

/** hashOf is the address of a route. */
export function hashOf({ channel, thread, home }) {
  if (home) return home === true ? '#home' : `#home=${home}`;
  return channel ? `#channel=${channel}${thread ? `&thread=${thread}` : ''}` : '';
}
