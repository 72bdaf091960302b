// Task lines: the same marks in task cards, plans and streams. They are our own elements, outside any text of a model.
import { h } from './dom.js';

const MARKS = { in_progress: ['▸', 'running'], running: ['▸', 'running'], complete: ['✓', 'done'], completed: ['✓', 'done'], error: ['✕', 'failed'], failed: ['✕', 'failed'], pending: ['◌', 'waiting'] };

/** taskLine is one line of work: a mark, a title, what it says about itself. */
export function taskLine({ title, status, details }) {
  const [mark, words] = MARKS[status] ?? ['◌', status || 'waiting'];
  return h('div', { class: `task task-${words}`, data: { status } }, h('span', { class: 'task-mark', role: 'img', 'aria-label': words }, mark), h('span', { class: 'task-title' }, title), details && h('span', { class: 'task-details' }, details));
}
