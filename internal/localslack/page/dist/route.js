// The address of the page: the key is taken out of it at once; what stays is where we are.

/** takeKey moves #key=… into this tab's storage and out of the address. */
export function takeKey() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const given = hash.get('key');
  if (given) {
    hash.delete('key');
    const rest = hash.toString();
    history.replaceState(null, '', rest ? `#${rest}` : location.pathname);
    try { sessionStorage.setItem('mecha.key', given); } catch { /* the key then lives as long as this page */ }
    return given;
  }
  try { return sessionStorage.getItem('mecha.key'); } catch { return null; }
}

/** readRoute is the route that the address names. */
export function readRoute() {
  const hash = new URLSearchParams(location.hash.slice(1));
  if (hash.has('home')) return { home: true };
  return { channel: hash.get('channel') ?? undefined, thread: hash.get('thread') ?? undefined };
}

/** hashOf is the address of a route. */
export function hashOf({ channel, thread, home }) {
  if (home) return '#home';
  return channel ? `#channel=${channel}${thread ? `&thread=${thread}` : ''}` : '';
}
