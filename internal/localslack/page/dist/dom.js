// The only place that makes elements. Strings become text nodes, never markup, and what is invisible in them is shown;
// inline styles and inner HTML do not exist.
import { hidden } from './hidden.js';

const PROPERTIES = new Set(['value', 'checked', 'disabled', 'selected', 'hidden', 'multiple', 'readOnly', 'open', 'required', 'indeterminate', 'textContent']);

/** h builds an element. attrs: attributes, data (a dataset), listeners as onclick etc., a few properties. */
export function h(tag, attrs, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') el.addEventListener(name.slice(2).toLowerCase(), value);
    else if (name === 'class') el.className = value;
    else if (name === 'data') for (const [k, v] of Object.entries(value)) { if (v !== undefined && v !== null) el.dataset[k] = v; }
    else if (PROPERTIES.has(name)) el[name] = value;
    else if (name === 'style' || name.startsWith('on') || name === 'innerHTML') throw new Error(`h: ${name} is not allowed`);
    else el.setAttribute(name, value === true ? '' : String(value));
  }
  append(el, children);
  return el;
}

/** words is text as nodes: itself, with a mark for each character that is not seen. */
export function words(text) {
  return hidden(text)?.map((part) => (typeof part === 'string' ? part : h('span', { class: 'hidden-char', title: 'not visible otherwise' }, part.shown))) ?? [text];
}

/** append adds nodes and strings, skipping what is empty. */
export function append(el, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false && child !== '') el.append(...(typeof child === 'string' ? words(child) : [child]));
  }
  return el;
}

/** replace swaps all children of el. */
export function replace(el, ...children) {
  el.replaceChildren();
  return append(el, children);
}

const SVG = 'http://www.w3.org/2000/svg';
const ICONS = {
  hash: 'M6 3 4.5 17M13.5 3 12 17M3 7.5h14M2.5 12.5h14',
  lock: 'M5 9h10v8H5zM7 9V6.500a3 3 0 0 1 6 0V9',
  people: 'M7.5 9.500a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.600M2.5 16.500c0-3 2-4.800 5-4.800s5 1.800 5 4.800M13 4.200a2.6 2.6 0 0 1 0 5M14.5 12c2 .6 3 2.200 3 4.500',
  home: 'M3 9.5 10 3l7 6.5M5 8v9h10V8M8.5 17v-5h3v5',
  close: 'm5 5 10 10M15 5 5 15',
  back: 'M12.5 4 6.5 10l6 6',
  send: 'M3 3.5 17.5 10 3 16.5 5 10zM5 10h6',
  clip: 'm15.5 9-6 6a3.5 3.5 0 0 1-5-5l6.5-6.500a2.3 2.3 0 0 1 3.3 3.300L8 13a1 1 0 0 1-1.6-1.600L12 6',
  smile: 'M10 17.500a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15M7 12.200c1.5 2 4.5 2 6 0M7.3 8h.01M12.7 8h.01',
  reply: 'M3 4.500h14v9H9l-3.5 3v-3H3z',
  more: 'M10 4.500v.01M10 10v.01M10 15.500v.01',
  bolt: 'M11 2.5 4.5 11H9.500L9 17.5 15.5 9H10.500z',
  stop: 'M5.5 5.500h9v9h-9z',
  sun: 'M10 13.500a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M10 1.500v2M10 16.500v2M1.5 10h2M16.5 10h2M4 4l1.4 1.400M14.6 14.6 16 16M16 4l-1.4 1.400M5.4 14.6 4 16',
  pulse: 'M2 10.500h4l2-6 4 11 2-5h4',
  file: 'M5 2.500h6.500L15 6v11.500H5zM11.5 2.500V6H15',
  down: 'M10 3.500v10M5.5 9.5 10 14l4.5-4.500M4 17h12',
  edit: 'm4 16 .7-3.300L13.5 4l2.5 2.5-8.7 8.700zM12 5.5 14.5 8',
  trash: 'M4 5.500h12M8 5.500v-2h4v2M5.5 5.500l.8 11.500h7.400l.8-11.5',
  link: 'M8.5 11.500a3 3 0 0 0 4.5.300l2.5-2.500a3 3 0 0 0-4.3-4.300L10 6.200M11.5 8.500a3 3 0 0 0-4.5-.300l-2.5 2.500a3 3 0 0 0 4.3 4.300L10 13.8',
  eye: 'M2 10s3-5 8-5 8 5 8 5-3 5-8 5-8-5-8-5M10 12.200a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4',
  up: 'M7 9V17H4V9zM7 9l3.5-6c1.5 0 2 1 1.7 2.200L11.7 8h4.300l-1.2 8.2-.8.800H7',
};

/** icon is a small line drawing, hidden from screen readers: its button carries the label. */
export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  for (const [k, v] of Object.entries({ viewBox: '0 0 20 20', class: 'icon', 'aria-hidden': 'true', fill: 'none', stroke: 'currentColor', 'stroke-width': '1.6', 'stroke-linecap': 'round', 'stroke-linejoin': 'round' })) svg.setAttribute(k, v);
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', ICONS[name] ?? ICONS.more);
  if (name === 'more') path.setAttribute('stroke-width', '2.6'); // dots
  svg.append(path);
  return svg;
}

/** iconButton is a square button with a name for screen readers and a tooltip. */
export function iconButton(name, label, onclick, attrs) {
  return h('button', { type: 'button', class: 'icon-btn', 'aria-label': label, title: label, onclick, ...attrs }, icon(name));
}

/** frame coalesces calls into one a frame (a slow timer while the tab is hidden, where frames stand still). */
export function frame(fn) {
  let planned = false;
  return () => {
    if (planned) return;
    planned = true;
    const run = () => { planned = false; fn(); };
    if (document.hidden) setTimeout(run, 200);
    else requestAnimationFrame(run);
  };
}
