// Tables, and charts shown as the numbers they stand for.
import { h, replace } from './dom.js';

const box = (...children) => h('div', { class: 'table-scroll', tabindex: 0, role: 'region', 'aria-label': 'Table' }, children);

/** table renders a table block; its first row is the header. */
export function table(b, surface, cell) {
  const settings = b.column_settings ?? [];
  const row = (r, tag) => h('tr', {}, r.map((c, i) => h(tag, { class: [settings[i]?.align && `align-${settings[i].align}`, settings[i]?.is_wrapped === false && 'nowrap'].filter(Boolean).join(' ') || undefined }, cell(c, surface))));
  const [head, ...rest] = b.rows ?? [];
  return box(h('table', {}, head && h('thead', {}, row(head, 'th')), h('tbody', {}, rest.map((r) => row(r, 'td')))));
}

/** dataTable renders a data_table block page by page. */
export function dataTable(b, surface, cell) {
  const [head, ...rest] = b.rows ?? [];
  const size = Math.max(1, b.page_size ?? 10);
  const pages = Math.max(1, Math.ceil(rest.length / size));
  const body = h('tbody');
  const at = h('span', { class: 'table-at', 'aria-live': 'polite' });
  const back = h('button', { type: 'button', class: 'btn btn-small', onclick: () => show(page - 1) }, 'Previous');
  const next = h('button', { type: 'button', class: 'btn btn-small', onclick: () => show(page + 1) }, 'Next');
  let page = 0;
  function show(n) {
    page = Math.max(0, Math.min(pages - 1, n));
    replace(body, rest.slice(page * size, (page + 1) * size).map((r) => h('tr', {}, r.map((c, i) => h(i === b.row_header_column_index ? 'th' : 'td', { scope: i === b.row_header_column_index ? 'row' : undefined, class: c?.type === 'raw_number' ? 'align-right' : undefined }, cell(c, surface))))));
    at.textContent = `page ${page + 1} of ${pages}, ${rest.length} rows`;
    back.disabled = page === 0;
    next.disabled = page === pages - 1;
  }
  show(0);
  return h('div', {}, box(h('table', {}, b.caption && h('caption', {}, b.caption), head && h('thead', {}, h('tr', {}, head.map((c) => h('th', { scope: 'col' }, cell(c, surface))))), body)),
    pages > 1 && h('div', { class: 'table-pager' }, back, at, next));
}

/** dataVisualization shows a chart's numbers, each with a bar as long as its share of the largest. */
export function dataVisualization(b) {
  const chart = b.chart ?? {};
  const series = chart.series ?? [{ name: 'Value', data: chart.segments ?? [] }];
  const labels = [...new Set([...(chart.axis_config?.categories ?? []), ...series.flatMap((s) => (s.data ?? []).map((d) => d.label))])];
  const most = Math.max(1e-9, ...series.flatMap((s) => (s.data ?? []).map((d) => Math.abs(d.value))));
  const sum = chart.type === 'pie' ? series[0].data.reduce((a, d) => a + d.value, 0) : 0;
  const value = (s, label) => s.data?.find((d) => d.label === label)?.value;
  const number = (v) => (v === undefined ? '' : sum ? `${v.toLocaleString()} (${Math.round((100 * v) / sum)} %)` : v.toLocaleString());
  return h('figure', { class: 'figure' }, h('figcaption', {}, b.title, h('span', { class: 'muted' }, ` · ${chart.type ?? 'chart'}`, chart.axis_config?.y_label && `, ${chart.axis_config.y_label}`)),
    box(h('table', { class: 'chart-table' }, h('thead', {}, h('tr', {}, h('th', {}, chart.axis_config?.x_label ?? ''), series.map((s) => h('th', { scope: 'col' }, s.name)))),
      h('tbody', {}, labels.map((label) => h('tr', {}, h('th', { scope: 'row' }, label), series.map((s) => h('td', {}, h('meter', { min: 0, max: most, value: Math.abs(value(s, label) ?? 0), 'aria-hidden': 'true' }), h('span', { class: 'meter-number' }, number(value(s, label)))))))))));
}
