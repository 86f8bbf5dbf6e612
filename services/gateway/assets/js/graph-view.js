// A graph as a drawing: nodes light up as they are visited, and the edges that were taken stay drawn.

import { Graph, layout } from '../vendor/dagre-3.1.3.js';
import { h, svg } from './dom.js';
import { enumName, seconds, shortTime } from './format.js';

const NODE_HEIGHT = 42;
const END_HEIGHT = 30;
/** Widths of a character in a node's name and in what stands below it. */
const CHARACTER = 7.4;
const SMALL_CHARACTER = 6.2;
/** Room below a name for a time beside an outcome. */
const TIME = ' · 9999 ms';
const START = '(start)';

/** The drawing of a graph. */
export class GraphView {
  /** @param {object} described a `GetGraphResponse` of the contract */
  constructor(described) {
    this.nodes = new Map();
    this.edges = new Map();
    this.described = described;
    const placed = place(described);
    const { x, y, width, height } = bounds(placed);
    this.left = x;
    this.width = width;
    const edges = placed.edges().map((edge) => this.#edge(edge, placed.edge(edge)));
    const nodes = placed.nodes().map((name) => this.#node(name, placed.node(name)));
    const title = `The graph ${described.graph.name}: its steps are listed below it`;
    this.firstNode = nodes[0];
    this.drawing = svg('svg.graph', { viewBox: `${x} ${y} ${width} ${height}`, role: 'group', 'aria-label': title },
      svg('defs', {}, arrow('arrow'), arrow('arrow-taken')),
      edges, nodes);
    this.drawing.style.maxHeight = `${Math.min(height, 800)}px`;
    // On a narrow screen it is wider than its place.
    this.element = h('div.drawing', { tabindex: '0', role: 'group', 'aria-label': 'Graph' }, this.drawing);
  }

  #edge({ v, w }, edge) {
    const path = svg('path', { d: curve(edge.points), 'marker-end': 'url(#arrow)' });
    const { x, y } = middle(edge.points);
    const label = svg('text', { x, y: y - 4, 'text-anchor': 'middle' });
    const title = svg('title', {}, edge.says);
    const group = svg('g.edge', {}, title, path, label);
    this.edges.set(`${v}→${w}`, { group, path, label, title, head: `${v} → ${w}`, says: edge.says });
    return group;
  }

  #node(name, node) {
    const box = svg('rect', {
      x: node.x - node.width / 2, y: node.y - node.height / 2, width: node.width, height: node.height, rx: node.end ? 15 : 6,
    });
    const text = svg('text', { x: node.x, y: node.y + 4.5, 'text-anchor': 'middle' }, node.label);
    const detail = svg('text.detail', { x: node.x, y: node.y + 13.5, 'text-anchor': 'middle' });
    const visits = svg('text.visits', { x: node.x + node.width / 2 - 4, y: node.y - node.height / 2 - 3, 'text-anchor': 'end' });
    const title = svg('title', {}, node.says);
    const group = svg(node.end ? 'g.node.end' : 'g.node', {}, title, box, text, detail, visits);
    this.nodes.set(name, { group, text, detail, visits, title, says: node.says, x: node.x, y: node.y });
    return group;
  }

  /** Shows where a walk is and was. @param {import('./walk.js').Walk} walk */
  update(walk) {
    const visited = new Map();
    const taken = new Map();
    const mark = (map, name, value) => map.set(name, [...(map.get(name) ?? []), value].filter(Boolean));
    if (walk.visits.length > 0) {
      mark(visited, START, null);
      mark(taken, `${START}→${this.described.start}`, null);
    }
    for (const visit of walk.visits) {
      const { node, edge } = visit;
      mark(visited, node, visit);
      if (edge) mark(taken, `${edge.from}→${this.#target(edge)}`, edge);
      if (edge?.to === 'finish') mark(visited, this.#target(edge), null);
    }
    for (const [name, node] of this.nodes) drawVisits(node, name, visited.get(name), walk);
    for (const [name, edge] of this.edges) {
      drawTaken(edge, taken.get(name));
      // What was taken is drawn over what was not.
      if (taken.has(name) && edge.group.nextElementSibling?.classList.contains('edge')) this.drawing.insertBefore(edge.group, this.firstNode);
    }
    this.#follow(walk.visits.at(-1)?.node);
  }

  /** Brings a node into sight where the drawing is wider than its place. */
  #follow(name) {
    const node = this.nodes.get(name);
    const { scrollWidth, clientWidth } = this.element;
    if (node && name !== this.followed && scrollWidth > clientWidth) {
      this.element.scrollLeft = ((node.x - this.left) / this.width) * scrollWidth - clientWidth / 2;
    }
    this.followed = name;
  }

  /** The place in the drawing that an edge leads to: the ends of a graph are one place for each status. */
  #target(edge) {
    if (edge.to !== 'finish') return edge.to;
    const from = this.described.nodes.find((node) => node.name === edge.from);
    const same = from?.edges?.find((other) =>
      other.to === 'finish' && other.outcome === edge.outcome && (other.condition ?? '') === (edge.condition ?? ''));
    return same ? end(same) : edge.to;
  }
}

/** Shows the visits of a node: their numbers, and below its name the outcome and the time of the last. */
function drawVisits({ group, text, detail, visits, title, says, y }, name, visited, walk) {
  const is = Boolean(visited);
  const steps = (visited ?? []).map(({ number, step }) =>
    `step ${number}: ${step ? outcomeAndTime(step, ', ') : 'under way'}`);
  const last = visited?.at(-1);
  group.classList.toggle('visited', is);
  group.classList.toggle('current', walk.current?.node === name);
  show(group, is);
  title.textContent = steps.length > 0 ? `${name.replaceAll('_', ' ')}, ${steps.join('; ')}` : says;
  visits.textContent = (visited ?? []).map(({ number }) => number).join(', ');
  detail.textContent = last ? (last.step ? outcomeAndTime(last.step, ' · ') : '…') : '';
  text.setAttribute('y', last ? y - 2.5 : y + 4.5);
}

/** Shows whether an edge was taken, and why: its outcome on it, and the reason as its title. */
function drawTaken({ group, path, label, title, head, says }, taken) {
  const is = Boolean(taken);
  const each = (values) => [...new Set(values)];
  group.classList.toggle('taken', is);
  show(group, is);
  title.textContent = is ? [head, ...each(taken.map(({ reason, outcome }) => reason || outcome))].join('\n') : says;
  path.setAttribute('marker-end', is ? 'url(#arrow-taken)' : 'url(#arrow)');
  label.textContent = is ? each(taken.map(({ outcome }) => outcome)).join(', ').replaceAll('_', ' ') : '';
}

/** Lets screen readers read what a walk came by, and pass over the rest. */
function show(group, is) {
  if (is) {
    group.setAttribute('role', 'img');
    group.removeAttribute('aria-hidden');
  } else {
    group.removeAttribute('role');
    group.setAttribute('aria-hidden', 'true');
  }
}

function outcomeAndTime({ outcome, duration }, between) {
  return `${outcome.replaceAll('_', ' ')}${between}${shortTime(seconds(duration))}`;
}

function end(edge) {
  return `finish ${enumName(edge.finish, 'WALK_STATUS_')}`;
}

function place(described) {
  const graph = new Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 34, ranksep: 40, edgesep: 14 });
  graph.setDefaultEdgeLabel(() => ({}));
  const add = (name, label, says, { isEnd = false, outcomes = [] } = {}) => {
    const below = Math.max(0, ...outcomes.map((outcome) => (outcome.length + TIME.length) * SMALL_CHARACTER));
    const width = Math.max(64, Math.max(label.length * CHARACTER, below) + 24);
    graph.setNode(name, { label, says, end: isEnd, width, height: isEnd ? END_HEIGHT : NODE_HEIGHT });
  };
  add(START, 'start', 'Every walk begins here', { isEnd: true });
  for (const { name, action, edges } of described.nodes) {
    const outcomes = (edges ?? []).map(({ outcome }) => outcome);
    add(name, name.replaceAll('_', ' '), name === action ? `Runs ${action}` : `${name} runs ${action}`, { outcomes });
  }
  const says = new Map();
  for (const { name, edges } of described.nodes) {
    for (const edge of edges ?? []) {
      const to = edge.to === 'finish' ? end(edge) : edge.to;
      if (!graph.hasNode(to)) add(to, to.replace('finish ', ''), `The walk ends: ${to.replace('finish ', '')}`, { isEnd: true });
      const line = edge.condition ? `${edge.outcome} while ${edge.condition}` : edge.outcome;
      const key = `${name}→${to}`;
      says.set(key, [...(says.get(key) ?? []), line]);
      graph.setEdge(name, to, {});
    }
  }
  graph.setEdge(START, described.start, {});
  layout(graph);
  for (const edge of graph.edges()) {
    graph.edge(edge).says = `${edge.v} → ${edge.w}\n${(says.get(`${edge.v}→${edge.w}`) ?? []).join('\n')}`;
  }
  return graph;
}

/** The smallest box around all nodes and edges: edges may lie outside of the size that the layout tells. */
function bounds(placed) {
  const corners = placed.nodes().map((name) => placed.node(name)).flatMap(({ x, y, width, height }) => [
    { x: x - width / 2, y: y - height / 2 }, { x: x + width / 2, y: y + height / 2 },
  ]);
  const points = placed.edges().flatMap((edge) => placed.edge(edge).points).concat(corners);
  const [left, top] = [Math.min(...points.map(({ x }) => x)) - 6, Math.min(...points.map(({ y }) => y)) - 6];
  const [right, bottom] = [Math.max(...points.map(({ x }) => x)) + 6, Math.max(...points.map(({ y }) => y)) + 6];
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** The middle of a {@link curve}. */
function middle(points) {
  const index = Math.floor(points.length / 2);
  const half = (a, b) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
  const [before, here, after] = [points[index - 1], points[index], points[index + 1]];
  if (!after) return half(before, here);
  return half(half(index === 1 ? before : half(before, here), here), half(here, half(here, after)));
}

function curve(points) {
  const [first, ...rest] = points;
  let path = `M${first.x},${first.y}`;
  for (let index = 0; index < rest.length - 1; index += 1) {
    const [here, next] = [rest[index], rest[index + 1]];
    path += `Q${here.x},${here.y} ${(here.x + next.x) / 2},${(here.y + next.y) / 2}`;
  }
  const last = rest.at(-1);
  return `${path}L${last.x},${last.y}`;
}

function arrow(id) {
  return svg('marker', { id, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto-start-reverse' },
    svg('path', { d: 'M0,0 8,4 0,8z', class: id }));
}
