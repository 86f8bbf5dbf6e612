// One walk: its answer beside the graph, and below them the steps and the passages.

import { answerView } from './answer-view.js';
import { h } from './dom.js';
import { GraphView } from './graph-view.js';
import { passagesView } from './passages-view.js';
import { stepsView } from './steps-view.js';
import { replay } from './walk.js';

export class WalkView {
  /**
   * @param {object} described the graph, a `GetGraphResponse`
   * @param {object} question a `Question`
   */
  constructor(described, question) {
    this.question = question;
    this.graphName = described.graph.name;
    /** All events so far, in order. */
    this.events = [];
    this.shown = null;
    /** Whether events are still to come. */
    this.live = true;
    this.graph = new GraphView(described);
    this.answer = h('div', { 'aria-live': 'polite' });
    this.steps = h('div');
    this.passages = h('div');
    this.remark = h('p.remark', { role: 'status', hidden: true });
    this.problem = h('p.problem', { role: 'alert', hidden: true });
    this.tools = h('div.row.tools', { hidden: true });
    this.element = h('article.card.walk', { 'aria-label': `Walk of ${this.graphName}` },
      h('div.row', {}, h('h2', { dir: 'auto' }, question.question), h('span.grow'), h('span.badge', {}, this.graphName)),
      h('div.columns', {},
        h('div', {}, this.remark, this.answer, this.problem, this.tools,
          h('h3', {}, 'Passages'), this.passages),
        h('div', {}, this.graph.element, h('h3', {}, 'Steps'), this.steps)));
    this.#draw();
  }

  /** The state that is shown. */
  get walk() {
    return replay(this.question, this.events, this.shown ?? this.events.length);
  }

  /** Takes an event of the walk; what it changes is drawn with the next frame. */
  apply(event) {
    this.events.push(event);
    this.#drawSoon();
  }

  /** Says something of the walk as a whole. */
  note(message) {
    this.remark.textContent = message;
    this.remark.hidden = false;
  }

  /** Shows what ended the walk without a result. */
  fail(message) {
    this.problem.textContent = message;
    this.problem.hidden = false;
  }

  /** Offers what can be done with a walk that has ended. @param {...(Node|false|undefined)} tools */
  offer(...tools) {
    this.live = false;
    this.#draw();
    const count = this.events.length;
    const slider = h('input', {
      type: 'range', min: '0', max: String(count), value: String(count), 'aria-label': 'Show the walk at an earlier event',
      oninput: () => {
        this.shown = Number(slider.value);
        this.#drawSoon();
      },
    });
    this.tools.replaceChildren(h('span.dim', {}, 'Replay'), slider, h('span.grow'), ...tools.filter(Boolean));
    this.tools.hidden = false;
  }

  #drawSoon() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.#draw();
    });
  }

  #draw() {
    const { walk } = this;
    this.graph.update(walk);
    this.answer.replaceChildren(answerView(walk, this.live));
    this.steps.replaceChildren(stepsView(walk));
    const focused = this.passages.contains(document.activeElement);
    if (!focused) this.passages.replaceChildren(passagesView(walk));
  }
}
