// A graph as a drawing: nodes light up as they are visited, and the edges that were taken stay drawn.

import { Graph, layout } from '../vendor/dagre-3.1.3.js';
import { svg } from './dom.js';
import { enumName } from './format.js';

const NODE_HEIGHT = 34;
const CHARACTER = 7.4;
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
    const edges = placed.edges().map((edge) => this.#edge(edge, placed.edge(edge)));
    const nodes = placed.nodes().map((name) => this.#node(name, placed.node(name)));
    const title = `The graph ${described.graph.name}: its steps are listed below it`;
    this.firstNode = nodes[0];
    this.element = svg('svg.graph', { viewBox: `${x} ${y} ${width} ${height}`, role: 'img', 'aria-label': title },
      svg('defs', {}, arrow('arrow'), arrow('arrow-taken')),
      edges, nodes);
    this.element.style.maxHeight = `${Math.min(height, 640)}px`;
  }

  #edge({ v, w }, edge) {
    const path = svg('path', { d: curve(edge.points), 'marker-end': 'url(#arrow)' });
    const middle = edge.points[Math.floor(edge.points.length / 2)];
    const label = svg('text', { x: middle.x, y: middle.y - 4, 'text-anchor': 'middle' });
    const group = svg('g.edge', {}, svg('title', {}, edge.says), path, label);
    this.edges.set(`${v}→${w}`, { group, path, label });
    return group;
  }

  #node(name, node) {
    const box = svg('rect', {
      x: node.x - node.width / 2, y: node.y - node.height / 2, width: node.width, height: node.height, rx: node.end ? 17 : 6,
    });
    const text = svg('text', { x: node.x, y: node.y + 4.5, 'text-anchor': 'middle' }, node.label);
    const visits = svg('text.visits', { x: node.x + node.width / 2 - 4, y: node.y - node.height / 2 - 3, 'text-anchor': 'end' });
    const group = svg(node.end ? 'g.node.end' : 'g.node', {}, svg('title', {}, node.says), box, text, visits);
    this.nodes.set(name, { group, visits });
    return group;
  }

  /** Shows where a walk is and was. @param {import('./walk.js').Walk} walk */
  update(walk) {
    const visited = new Map();
    const taken = new Map();
    const mark = (map, name, value) => map.set(name, [...(map.get(name) ?? []), value]);
    if (walk.visits.length > 0) mark(taken, `${START}→${this.described.start}`, '');
    for (const { number, node, edge } of walk.visits) {
      mark(visited, node, number);
      if (edge) mark(taken, `${edge.from}→${this.#target(edge)}`, edge.outcome);
      if (edge?.to === 'finish') mark(visited, this.#target(edge), '');
    }
    for (const [name, { group, visits }] of this.nodes) {
      const numbers = visited.get(name);
      group.classList.toggle('visited', Boolean(numbers) || (name === START && walk.visits.length > 0));
      group.classList.toggle('current', walk.current?.node === name);
      visits.textContent = (numbers ?? []).filter(Boolean).join(', ');
    }
    for (const [name, { group, path, label }] of this.edges) {
      const outcomes = taken.get(name);
      group.classList.toggle('taken', Boolean(outcomes));
      // What was taken is drawn over what was not.
      if (outcomes && group.nextElementSibling?.classList.contains('edge')) this.element.insertBefore(group, this.firstNode);
      path.setAttribute('marker-end', outcomes ? 'url(#arrow-taken)' : 'url(#arrow)');
      label.textContent = outcomes ? [...new Set(outcomes)].join(', ').replaceAll('_', ' ') : '';
    }
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

function end(edge) {
  return `finish ${enumName(edge.finish, 'WALK_STATUS_')}`;
}

function place(described) {
  const graph = new Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 34, ranksep: 40, edgesep: 14 });
  graph.setDefaultEdgeLabel(() => ({}));
  const add = (name, label, says, isEnd = false) => {
    graph.setNode(name, { label, says, end: isEnd, width: Math.max(64, label.length * CHARACTER + 24), height: NODE_HEIGHT });
  };
  add(START, 'start', 'Every walk begins here', true);
  for (const { name, action } of described.nodes) {
    add(name, name.replaceAll('_', ' '), name === action ? `Runs ${action}` : `${name} runs ${action}`);
  }
  const says = new Map();
  for (const { name, edges } of described.nodes) {
    for (const edge of edges ?? []) {
      const to = edge.to === 'finish' ? end(edge) : edge.to;
      if (!graph.hasNode(to)) add(to, to.replace('finish ', ''), `The walk ends: ${to}`, true);
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
