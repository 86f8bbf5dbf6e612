// The steps of a walk in order, each with its time in the whole, what it did, and the edge that was taken after it.

import { h } from './dom.js';
import { cost, seconds, shortTime } from './format.js';

/** @param {import('./walk.js').Walk} walk */
export function stepsView(walk) {
  const total = Math.max(walk.elapsed, 0.001);
  return h('ol.steps', {}, walk.visits.map((visit) => row(visit, walk, total)));
}

function row(visit, walk, total) {
  const { step, edge } = visit;
  const end = visit.end ?? walk.elapsed;
  const bar = h('span.bar', { 'aria-hidden': 'true' }, h('span', {}));
  bar.firstChild.style.left = `${(visit.start / total) * 100}%`;
  bar.firstChild.style.width = `${Math.max(((end - visit.start) / total) * 100, 0.6)}%`;
  const duration = step ? shortTime(seconds(step.duration)) : '…';
  return h(`li${step?.error ? '.failed' : ''}${walk.current === visit ? '.current' : ''}`, {},
    h('div.row', {},
      h('span.number', {}, String(visit.number)),
      h('strong', {}, visit.node.replaceAll('_', ' ')),
      step && h('span.outcome', {}, step.outcome.replaceAll('_', ' ')),
      h('span.grow'),
      h('span.dim', {}, duration)),
    bar,
    step?.summary && h('p', { dir: 'auto' }, step.summary),
    step?.query && step.query !== step.previousQuery && h('p', { dir: 'auto' }, 'Query: ', h('q', {}, step.query)),
    step?.error && h('p.bad', {}, step.error),
    step && cost(step.usage) && h('p.dim', {}, cost(step.usage)),
    edge && h('p.dim', {}, `→ ${edge.to.replaceAll('_', ' ')}: ${why(edge, step)}`));
}

/** Why an edge was taken, without the error of the step, which stands above it. */
function why(edge, step) {
  const reason = edge.reason || edge.outcome;
  return step?.error ? reason.replace(`: ${step.error}`, '') : reason;
}
