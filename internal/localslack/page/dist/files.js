// Files of a message: raster images inline, small text with a preview, everything else as a download.
// Links are signed and short-lived; the workspace serves them as attachments, so nothing in a file runs here.
import { h, icon } from './dom.js';
import { markdown } from './markdown.js';
import { toast } from './popups.js';

const SMALL = 64 * 1024;
const TEXTUAL = /^(text\/|application\/(json|xml|toml|yaml|x-yaml|x-sh))/;
const TEXT_NAME = /\.(txt|md|markdown|csv|tsv|json|jsonl|toml|ya?ml|xml|html?|svg|log|diff|patch|go|py|js|ts|css|sh|sql|rs|c|h|ini|cfg|eml)$/i;

/** size in words. */
export function bytes(n) {
  if (n === undefined || n === null) return '';
  if (n < 1024) return `${n} B`;
  return n < 1024 * 1024 ? `${(n / 1024).toFixed(1)} KB` : `${(n / 1024 / 1024).toFixed(1)} MB`;
}

// own is url if it is a path of this origin: a file link never leads elsewhere.
function own(url) {
  if (!/^(\/[^/\\]|https?:\/\/)/.test(url ?? '')) return null;
  try { return new URL(url, location.origin).origin === location.origin ? url : null; } catch { return null; }
}

/** fileCard shows one file. names (optional) lets a Markdown preview resolve mentions. */
export function fileCard(file, names) {
  const href = own(file.page_url);
  const thumb = own(file.thumb_page_url);
  const name = file.name || file.title || file.id || 'file';
  if (file.mode === 'tombstone' || file.deleted) return h('div', { class: 'file-card' }, h('span', { class: 'muted' }, 'This file was deleted.'));
  const head = h('div', { class: 'file-card' }, icon('file'), h('div', { class: 'file-words' }, h('bdi', { class: 'file-name' }, name), h('span', { class: 'file-meta' }, [file.title && file.title !== name ? file.title : null, file.filetype || file.mimetype, bytes(file.size)].filter(Boolean).join(' · '))),
    href && h('a', { class: 'icon-btn', href, download: name, rel: 'noreferrer', 'aria-label': `Download ${name}`, title: 'Download', onclick: (event) => fresh(event, href) }, icon('down')));
  if (thumb) {
    const image = h('img', { class: 'file-image', src: thumb, alt: file.alt_txt || name, loading: 'lazy' });
    return h('figure', { class: 'file', data: { file: file.id } }, href ? h('a', { href, download: name, rel: 'noreferrer' }, image) : image, head);
  }
  const textual = TEXTUAL.test(file.mimetype ?? '') || TEXT_NAME.test(name);
  if (!href || !textual || !(file.size <= SMALL)) return h('div', { class: 'file', data: { file: file.id } }, head);
  const body = h('div', { class: 'file-body' }, h('div', { class: 'file-preview muted' }, 'Loading preview…'));
  const fold = h('button', { type: 'button', class: 'icon-btn', 'aria-expanded': 'true', 'aria-label': `Preview of ${name}`, title: 'Preview', onclick: () => {
    body.hidden = !body.hidden;
    fold.setAttribute('aria-expanded', String(!body.hidden));
  } }, icon('eye'));
  head.insertBefore(fold, head.lastChild);
  const box = h('div', { class: 'file file-open', data: { file: file.id } }, head, body);
  const observer = new IntersectionObserver((seen) => {
    if (!seen.some((e) => e.isIntersecting)) return;
    observer.disconnect();
    preview(href, name, file, names).then((node) => body.replaceChildren(node), () => { body.firstChild.textContent = 'No preview: the link has expired. Reload the page to renew it.'; });
  }, { scrollMargin: '800px' });
  observer.observe(box);
  return box;
}

// fresh stops a press on a link that has expired and asks for new ones.
function fresh(event, href) {
  const until = Number(new URL(href, location.origin).searchParams.get('e'));
  if (!until || Date.now() / 1000 < until) return;
  event.preventDefault();
  toast('That link had expired. It is being renewed; press again.');
  document.dispatchEvent(new CustomEvent('workspace:stale'));
}

async function preview(href, name, file, names) {
  const response = await fetch(href, { credentials: 'omit', referrerPolicy: 'no-referrer' });
  if (!response.ok) throw new Error(String(response.status));
  const text = (await response.text()).slice(0, SMALL);
  const kind = `${file.mimetype ?? ''} ${name}`.toLowerCase();
  if (/markdown|\.md\b/.test(kind) && names) return h('div', { class: 'file-preview md' }, markdown(text, names));
  if (/csv|\.tsv/.test(kind)) return csvTable(text, /\.tsv/.test(kind) ? '\t' : ',');
  return h('pre', { class: 'file-preview' }, text);
}

// csvTable reads quoted CSV; the first 50 rows are enough to know a file by.
function csvTable(text, separator) {
  const rows = [[]];
  let field = '', quoted = false;
  for (let i = 0; i <= text.length; i++) {
    const c = text[i];
    if (quoted && c !== undefined) {
      if (c === '"' && text[i + 1] === '"') { field += '"'; i++; } else if (c === '"') quoted = false; else field += c;
    } else if (c === '"' && field === '') quoted = true;
    else if (c === separator || c === '\n' || c === undefined) {
      rows.at(-1).push(field.replace(/\r$/, ''));
      field = '';
      if (c === '\n') rows.push([]);
    } else field += c;
  }
  if (rows.at(-1).length <= 1 && !rows.at(-1)[0]) rows.pop();
  const [head, ...rest] = rows;
  return h('div', { class: 'file-preview table-scroll', tabindex: 0, role: 'region', 'aria-label': 'CSV preview' }, h('table', {}, h('thead', {}, h('tr', {}, (head ?? []).map((c) => h('th', {}, c)))), h('tbody', {}, rest.slice(0, 50).map((r) => h('tr', {}, r.map((c) => h('td', {}, c)))))),
    rest.length > 50 && h('div', { class: 'muted' }, `${rest.length - 50} more rows in the file`));
}
