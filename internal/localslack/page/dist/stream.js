// A streaming message: text and task lines in the order they came. Only what changed is drawn again.
import { h } from './dom.js';
import { markdown } from './markdown.js';
import { taskLine } from './tasks.js';
import { blocks } from './blocks.js';

/** StreamView shows one message's stream and grows with it. */
export class StreamView {
  constructor(surface) {
    this.surface = surface;
    this.el = h('div', { class: 'stream' });
    this.parts = [];
  }

  /** update brings the view to stream {state, chunks}. */
  update(stream) {
    const chunks = stream.chunks ?? [];
    chunks.forEach((chunk, i) => {
      const key = JSON.stringify(chunk);
      const old = this.parts[i];
      if (old?.key === key) return;
      const node = this.draw(chunk, old);
      if (old) { if (old.node !== node) old.node.replaceWith(node); } else this.el.append(node);
      this.parts[i] = { key, node, type: chunk.type };
    });
    while (this.parts.length > chunks.length) this.parts.pop().node.remove();
    this.el.classList.toggle('stream-live', stream.state === 'streaming');
    if (stream.state === 'streaming' && !chunks.length) { if (!this.wait) this.el.append(this.wait = h('div', { class: 'muted' }, '…')); } else { this.wait?.remove(); this.wait = null; }
    if (stream.state === 'stopped' && !this.stopped) this.el.append(this.stopped = h('div', { class: 'stream-stopped' }, 'Stopped'));
  }

  draw(chunk, old) {
    switch (chunk.type) {
      case 'markdown_text': {
        const node = old?.type === 'markdown_text' ? old.node : h('div', { class: 'md' });
        node.replaceChildren(markdown(chunk.text, this.surface.names));
        return node;
      }
      case 'task_update': return this.task(chunk, old);
      case 'plan_update': return h('div', { class: 'plan-title' }, chunk.title);
      case 'blocks': return h('div', {}, blocks(chunk.blocks, this.surface));
      default: return h('pre', { class: 'unknown-block', data: { unknownBlock: chunk.type } }, JSON.stringify(chunk, null, 2));
    }
  }

  // task is its line; what it put out is one press away, and stays open across updates.
  task(chunk, old) {
    const line = taskLine({ title: chunk.title ?? chunk.id, status: chunk.status, details: chunk.output ? '' : chunk.details });
    const sources = chunk.sources?.length ? h('div', { class: 'task-sources' }, chunk.sources.map((s) => s.text || s.url).join(' · ')) : null;
    if (!chunk.output && !sources) return h('div', { class: 'task-box' }, line);
    const open = old?.node.querySelector?.('details')?.open ?? false;
    return h('details', { class: 'task-box', open }, h('summary', {}, line), chunk.details && h('div', { class: 'task-more pt' }, chunk.details), chunk.output && h('div', { class: 'task-more pt' }, chunk.output), sources);
  }
}
