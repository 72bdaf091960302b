// Block Kit's blocks to DOM. A block this page does not know, or cannot draw, is shown as JSON: nothing is hidden.
import { h } from './dom.js';
import { element, textOf, plain, jsonBox, imageElement } from './elements.js';
import { richText, richElement } from './richtext.js';
import { markdown } from './markdown.js';
import { link, remoteImage } from './links.js';
import { fileCard } from './files.js';
import { table, dataTable, dataVisualization } from './tables.js';
import { taskLine } from './tasks.js';

/** blocks renders a list of blocks on a surface (see elements.js). */
export function blocks(list, surface) {
  return (list ?? []).map((block) => {
    const make = BLOCKS[block?.type];
    let inner;
    try {
      inner = make ? make(block, surface) : jsonBox(block);
    } catch (err) {
      inner = jsonBox(block, `${block?.type}: could not be drawn (${err.message})`);
    }
    return h('div', { class: `block block-${String(block?.type).replace(/\W/g, '')}`, data: { block: block?.block_id } }, inner);
  });
}

const BLOCKS = {
  section: (b, s) => h('div', { class: b.accessory ? 'section with-accessory' : 'section' },
    h('div', { class: 'section-main' }, b.text && h('div', { class: 'section-text' }, textOf(b.text, s)),
      b.fields && h('div', { class: 'fields' }, b.fields.map((f) => h('div', { class: 'field' }, textOf(f, s))))),
    b.accessory && h('div', { class: `accessory accessory-${String(b.accessory.type).replace(/\W/g, '')}` }, element(b.accessory, s, b.block_id))),
  header: (b) => h('div', { class: `block-heading level-${b.level ?? 1}`, role: 'heading', 'aria-level': Math.min(6, 1 + (b.level ?? 1)) }, plain(b.text)),
  divider: () => h('hr', { class: 'block-line' }),
  context: (b, s) => h('div', { class: 'context' }, (b.elements ?? []).map((el) => h('span', { class: 'context-item' }, element(el, s, b.block_id)))),
  actions: (b, s) => h('div', { class: 'actions' }, (b.elements ?? []).map((el) => element(el, s, b.block_id))),
  context_actions: (b, s) => h('div', { class: 'actions actions-quiet' }, (b.elements ?? []).map((el) => element(el, s, b.block_id))),
  image: (b, s) => h('figure', { class: 'figure' }, b.title && plain(b.title).trim() && h('figcaption', {}, plain(b.title)), imageElement(b, s, true)),
  input,
  markdown: (b, s) => h('div', { class: 'md' }, markdown(b.text, s.names)),
  rich_text: (b, s) => richText(b, s.names),
  file: (b, s) => {
    const file = s.files?.find((f) => f.id === (b.file_id ?? b.external_id) || (b.external_id && f.external_id === b.external_id));
    return file ? fileCard(file) : h('div', { class: 'file-card' }, h('span', { class: 'file-name' }, `file ${b.external_id ?? b.file_id ?? ''}`), h('span', { class: 'file-meta' }, b.source ?? ''));
  },
  video: (b) => h('div', { class: 'card' }, h('div', { class: 'card-title' }, link(b.title_url || b.video_url, plain(b.title))), b.description && h('div', {}, plain(b.description)),
    h('div', { class: 'card-sub' }, [b.author_name, b.provider_name].filter(Boolean).join(' · ')), h('div', {}, link(b.video_url, `video: ${b.alt_text || b.video_url}`)), b.thumbnail_url && remoteImage(b.thumbnail_url, 'thumbnail')),
  table: (b, s) => table(b, s, cell),
  data_table: (b, s) => dataTable(b, s, cell),
  data_visualization: (b) => dataVisualization(b),
  task_card: (b, s) => task(b, s),
  plan: (b, s) => h('div', { class: 'plan' }, h('div', { class: 'plan-title' }, plain(b.title)), h('div', { class: 'plan-tasks' }, (b.tasks ?? []).map((t) => task(t, s)))),
  card,
  carousel: (b, s) => h('div', { class: 'carousel', tabindex: 0, role: 'group', 'aria-label': 'Cards' }, (b.elements ?? []).map((c) => (c.type === 'card' ? card(c, s) : jsonBox(c)))),
  alert: (b, s) => h('div', { class: `alert alert-${['info', 'success', 'warning', 'error'].includes(b.level) ? b.level : 'default'}`, role: 'note' },
    h('span', { class: 'alert-mark', 'aria-label': b.level ?? 'note' }, { success: '✓', warning: '!', error: '✕' }[b.level] ?? 'i'), h('div', {}, textOf(b.text, s))),
  container,
};

function input(b, s) {
  const node = element(b.element, s, b.block_id, { dispatch: !!b.dispatch_action });
  const grouped = ['radio_buttons', 'checkboxes'].includes(b.element?.type) || String(b.element?.type).startsWith('multi_');
  const control = node.matches?.('input,textarea,select') ? node : node.querySelector('input,textarea,select');
  const label = [plain(b.label), b.optional && h('span', { class: 'optional' }, ' (optional)')];
  const id = control && !grouped ? (control.id = `in-${crypto.randomUUID()}`) : null;
  const error = h('div', { class: 'field-error', role: 'alert', hidden: true });
  const body = [b.hint && h('div', { class: 'hint' }, plain(b.hint)), error];
  if (control) error.id = `err-${crypto.randomUUID()}`, control.setAttribute('aria-describedby', error.id);
  const legend = `legend-${crypto.randomUUID()}`;
  if (grouped) node.setAttribute('aria-labelledby', legend);
  return grouped
    ? h('fieldset', { class: 'field-box', data: { input: b.block_id } }, h('legend', { class: 'field-label', id: legend }, label), node, body)
    : h('div', { class: 'field-box', data: { input: b.block_id } }, h('label', { class: 'field-label', for: id }, label), node, body);
}

function card(b, s) {
  return h('div', { class: 'card', data: { block: b.block_id } },
    b.hero_image && h('div', { class: 'card-hero' }, imageElement(b.hero_image, s)),
    (b.icon || b.slack_icon) && h('div', { class: 'card-icon' }, b.icon ? element(b.icon, s, b.block_id) : h('span', { class: 'chip' }, b.slack_icon.name)),
    b.title && h('div', { class: 'card-title' }, textOf(b.title, s)), b.subtitle && h('div', { class: 'card-sub' }, textOf(b.subtitle, s)),
    b.body && h('div', { class: 'card-text' }, textOf(b.body, s)), b.subtext && h('div', { class: 'card-sub' }, textOf(b.subtext, s)),
    b.actions?.length > 0 && h('div', { class: 'actions' }, b.actions.map((el) => element(el, s, b.block_id))));
}

function container(b, s) {
  const head = [h('span', { class: 'card-title' }, plain(b.title)), b.subtitle && h('span', { class: 'card-sub' }, textOf(b.subtitle, s))];
  const body = h('div', { class: 'container-body' }, blocks(b.child_blocks, s));
  const cls = `container${b.has_header_divider ? ' with-line' : ''}`;
  return b.is_collapsible ? h('details', { class: cls, open: !b.default_collapsed }, h('summary', { class: 'container-head' }, head), body) : h('div', { class: cls }, h('div', { class: 'container-head' }, head), body);
}

// task is a task card: its line, then what it found.
function task(t, s) {
  const rich = (value) => (value?.type === 'rich_text' ? richText(value, s.names) : value ? h('span', { class: 'pt' }, plain(value)) : null);
  return h('div', { class: 'task-card' }, taskLine({ title: plain(t.title), status: t.status }), t.details && h('div', { class: 'task-more' }, rich(t.details)), t.output && h('div', { class: 'task-more' }, rich(t.output)),
    t.sources?.length > 0 && h('div', { class: 'task-sources' }, t.sources.map((src) => (src.url ? link(src.url, src.text || src.url) : jsonBox(src)))));
}

/** cell renders one table cell. */
function cell(c, s) {
  switch (c?.type) {
    case 'raw_text': return [c.text ?? ''];
    case 'raw_number': return [c.text ?? String(c.value)];
    case 'rich_text': return [richText(c, s.names)];
    case 'mrkdwn': case 'plain_text': return [textOf(c, s)];
    default: return [c && String(c.type).startsWith('rich_text') ? richElement(c, s.names) : jsonBox(c ?? {})];
  }
}
