// What a walk's events say, put together. A saved walk is its question and its events; showing it again is applying them.

import { seconds } from './format.js';

/**
 * @typedef {{number: number, node: string, action: string, start: number, end: number|null, step: object|null, edge: object|null}} Visit
 * @typedef {{text: string, state: 'committed'|'retracted', sentence: object}} Judged
 * @typedef {{number: number, draft: string, judged: Judged[]}} Attempt
 */

export class Walk {
  /** @param {object} question a `Question` of the contract */
  constructor(question) {
    this.question = question;
    /** @type {Visit[]} */
    this.visits = [];
    /** @type {Attempt[]} */
    this.attempts = [];
    /** The passages that the walk holds, by their ids, best first. */
    this.passages = new Map();
    /** @type {Map<string, object[]>} strips of a passage's text, by the passage's id */
    this.strips = new Map();
    /** The texts that strips count in, by the passage's id: those before a refinement. */
    this.unrefined = new Map();
    this.result = null;
    this.elapsed = 0;
  }

  /** The visit that is under way. */
  get current() {
    const last = this.visits.at(-1);
    return last && last.end === null && !this.result ? last : null;
  }

  /** @param {object} event a `WalkEvent` of the contract in JSON */
  apply(event) {
    this.elapsed = Math.max(this.elapsed, seconds(event.elapsed));
    if (event.stepStarted) this.#started(event.stepStarted);
    else if (event.stepFinished) this.#stepFinished(event.stepFinished.step);
    else if (event.edgeTaken) this.#edge(event.edgeTaken);
    else if (event.textDelta) this.#attempt(event.textDelta.attempt).draft += event.textDelta.text ?? '';
    else if (event.sentenceCommitted) this.#judged(event.sentenceCommitted, 'committed');
    else if (event.sentenceRetracted) this.#judged(event.sentenceRetracted, 'retracted');
    else if (event.finished) this.#finished(event.finished);
  }

  #started({ step, node, action }) {
    this.visits.push({ number: step, node, action, start: this.elapsed, end: null, step: null, edge: null });
  }

  #stepFinished(step) {
    const visit = this.visits.find((visit) => visit.number === step.number);
    if (!visit) return;
    visit.end = this.elapsed;
    visit.step = step;
    for (const strip of step.strips ?? []) {
      if (!this.strips.get(strip.passageId)?.step || this.strips.get(strip.passageId).step !== step.number) {
        this.strips.set(strip.passageId, Object.assign([], { step: step.number }));
        this.unrefined.set(strip.passageId, this.passages.get(strip.passageId)?.passage.text ?? '');
      }
      this.strips.get(strip.passageId).push(strip);
    }
    if ((step.passages ?? []).length > 0) this.#hold(step.passages);
  }

  #hold(graded) {
    const held = new Map();
    for (const next of graded) {
      held.set(next.passage.id, this.#whole(next));
    }
    this.passages = held;
  }

  /** A graded passage with the text that an earlier step brought, where it comes without. */
  #whole(graded) {
    const known = this.passages.get(graded.passage.id);
    if (!known || graded.passage.text) return graded;
    const { id, origin, score } = graded.passage;
    return { ...graded, passage: { ...known.passage, id, origin, score } };
  }

  #edge(edge) {
    const visit = this.visits.at(-1);
    if (visit) visit.edge = edge;
  }

  #attempt(number) {
    let attempt = this.attempts.find((attempt) => attempt.number === number);
    if (!attempt) {
      attempt = { number, draft: '', judged: [] };
      this.attempts.push(attempt);
    }
    return attempt;
  }

  #judged({ sentence, attempt }, state) {
    const { judged } = this.#attempt(attempt);
    const earlier = judged.find((other) => other.text === sentence.text);
    if (earlier) Object.assign(earlier, { state, sentence });
    else judged.push({ text: sentence.text, state, sentence });
  }

  #finished(result) {
    this.result = result;
    // What a step already brought whole is not in the result again.
    this.documents = (result.documents ?? []).map((graded) => this.#whole(graded));
  }
}

/** The state of a walk after the first `count` events. */
export function replay(question, events, count = events.length) {
  const walk = new Walk(question);
  for (const event of events.slice(0, count)) walk.apply(event);
  return walk;
}
