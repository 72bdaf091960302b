// Talking to the workspace: JSON with the key in Authorization, and server-sent events read with fetch,
// because EventSource cannot carry a header and a cookie would reach every port of this machine.

/** APIError says what the workspace answered: code is its short name, message is for a person. */
export class APIError extends Error {
  constructor(status, code, what) {
    super(what || code || `the workspace answered ${status}`);
    this.status = status;
    this.code = code;
  }
}

/** Api is one page's door to /_local/. */
export class Api {
  constructor(key) { this.key = key; }

  async request(method, path, { params, body, signal } = {}) {
    const query = params ? '?' + new URLSearchParams(Object.entries(params).filter(([, v]) => v !== undefined && v !== '')) : '';
    let response;
    try {
      response = await fetch(`/_local/${path}${query}`, {
        method, signal, cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer',
        headers: { Authorization: `Bearer ${this.key}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
        body: body ? JSON.stringify(body) : undefined,
      });
    } catch (err) {
      if (err.name === 'AbortError') throw err;
      throw new APIError(0, 'unreachable', 'The workspace does not answer. Is it still running?');
    }
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new APIError(response.status, answer.error, answer.what || answer.error);
    return answer;
  }

  get(path, params) { return this.request('GET', path, { params }); }
  post(path, body) { return this.request('POST', path, { body: body ?? {} }); }

  /**
   * events calls onEvent(name, data) for every event of user until signal aborts, reconnecting with backoff.
   * onState hears "connecting", "open" and "lost". A refused key (401, 403) ends it through onDenied.
   */
  async events(user, { onEvent, onState, onDenied, signal }) {
    let wait = 300;
    while (!signal.aborted) {
      onState('connecting');
      try {
        const response = await fetch(`/_local/events?user=${encodeURIComponent(user)}`, {
          signal, cache: 'no-store', credentials: 'omit', headers: { Authorization: `Bearer ${this.key}`, Accept: 'text/event-stream' },
        });
        if (response.status === 401 || response.status === 403) { onDenied(); return; }
        if (!response.ok || !response.body) throw new Error(`events: ${response.status}`);
        await readEvents(response.body, (name, data) => {
          if (name === 'hello') { wait = 300; onState('open'); }
          onEvent(name, data);
        });
      } catch {
        if (signal.aborted) return;
      }
      onState('lost');
      await pause(wait + Math.random() * 200, signal);
      wait = Math.min(wait * 2, 8000);
    }
  }
}

/** readEvents parses a text/event-stream body. */
export async function readEvents(body, onEvent) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '', name = 'message', data = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += value;
    const lines = buffer.split(/\r\n|\n/);
    buffer = lines.pop();
    for (const line of lines) {
      if (line === '') {
        if (data.length) {
          let parsed = null;
          try { parsed = JSON.parse(data.join('\n')); } catch { /* not ours: skipped, the next read of state repairs */ }
          if (parsed !== null) onEvent(name, parsed);
        }
        name = 'message';
        data = [];
      } else if (line.startsWith('event:')) name = line.slice(6).trim();
      else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
    }
  }
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}
