// The answer: drafts while they are written, sentences committed or struck out as they are graded, and at the end the
// result with its citations.

import { h } from './dom.js';
import { cost, count, enumName, probability, seconds, shortTime } from './format.js';
import { showPassage } from './passages-view.js';
import { placeOf } from './place.js';
import { traceLink } from './trace.js';

const ENDINGS = {
  WALK_STATUS_ANSWERED: ['good', 'Answered: graded and passed'],
  WALK_STATUS_UNVERIFIED: ['doubtful', 'Unverified: the best answer so far'],
  WALK_STATUS_UNGROUNDED: ['doubtful', 'Ungrounded: from the model alone, without evidence'],
  WALK_STATUS_ABSTAINED: ['doubtful', 'Abstained: the evidence does not answer the question'],
  WALK_STATUS_FAILED: ['bad', 'Failed: a service that the answer needs did not work'],
};

/**
 * @param {import('./walk.js').Walk} walk
 * @param {boolean} live whether more is to come
 */
export function answerView(walk, live) {
  return walk.result ? finished(walk) : writing(walk, live);
}

function writing(walk, live) {
  const last = walk.attempts.at(-1);
  return h('div.answer', {},
    h('p.status', {}, live && h('span.spinner', { 'aria-hidden': 'true' }), at(walk, live)),
    last && h('p.draft', { dir: 'auto' }, last.judged.length > 0 ? judgedSentences(last) : last.draft),
    withdrawn(walk, last));
}

/** Where a walk is that has no result yet. */
function at(walk, live) {
  const visit = walk.current ?? walk.visits.at(-1);
  const place = visit ? visit.node.replaceAll('_', ' ') : live ? 'starting' : 'the beginning';
  return live ? `${place} …` : `At ${place}`;
}

function judgedSentences(attempt) {
  return attempt.judged.map(({ text, state }) => [h(state === 'committed' ? 'span.committed' : 'del', {}, text), ' ']);
}

/** Everything that was written and taken back. */
function withdrawn(walk, except) {
  const sentences = walk.attempts
    .filter((attempt) => attempt !== except)
    .flatMap((attempt) => attempt.judged.filter(({ state }) => state === 'retracted').map(({ text }) => [attempt.number, text]));
  if (sentences.length === 0) return null;
  return h('details', {},
    h('summary', {}, `${count(sentences.length, 'sentence')} withdrawn`),
    h('ul', {}, sentences.map(([number, text]) => h('li', {}, h('del', { dir: 'auto' }, text), h('span.dim', {}, ` attempt ${number}`)))));
}

function finished(walk) {
  const { result } = walk;
  const [tone, says] = ENDINGS[result.status] ?? ['bad', enumName(result.status, 'WALK_STATUS_')];
  return h('div.answer', {},
    h(`p.status.${tone}`, {}, says),
    result.reason && h('p.dim', {}, result.reason),
    result.failure && h('p.bad', {}, `${result.failure.service}: ${result.failure.cause}`, h('br'), result.failure.advice),
    result.standaloneQuestion && h('p.dim', { dir: 'auto' }, 'Understood as: ', h('q', {}, result.standaloneQuestion)),
    h('p.final', { dir: 'auto' }, sentences(walk)),
    sources(walk),
    withdrawn(walk, null),
    facts(result));
}

function sentences(walk) {
  const { result } = walk;
  if ((result.sentences ?? []).length === 0) return result.answer ?? '';
  return result.sentences.map((sentence) => {
    const support = enumName(sentence.support, 'SUPPORT_');
    const graded = sentence.support && sentence.support !== 'SUPPORT_UNSPECIFIED';
    const title = graded ? `${support}${sentence.supportScore === undefined ? '' : ` (${probability(sentence.supportScore)})`}` : null;
    return [
      h(`span.sentence${graded ? `.${support.replaceAll(' ', '-')}` : ''}`, { title }, sentence.text),
      (sentence.citations ?? []).map((citation) => mark(citation, walk)),
      ' ',
    ];
  });
}

function mark(citation, walk) {
  const graded = walk.documents[citation.number - 1];
  if (!graded) return null;
  const within = placeOf(graded.passage, citation.span);
  const name = [graded.passage.title || graded.passage.source || 'passage', within].filter(Boolean).join(', ');
  return h('button.cite', {
    type: 'button', 'aria-label': `Source ${citation.number}: ${name}`, onclick: () => showPassage(graded, { walk, citation }),
  }, String(citation.number));
}

function sources(walk) {
  const cited = new Map();
  for (const citation of (walk.result.sentences ?? []).flatMap((sentence) => sentence.citations ?? [])) {
    if (!cited.has(citation.number)) cited.set(citation.number, citation);
  }
  const numbers = [...cited.keys()].filter((number) => walk.documents[number - 1]).sort((a, b) => a - b);
  if (numbers.length === 0) return null;
  return h('ul.sources', {}, numbers.map((number) => {
    const { passage } = walk.documents[number - 1];
    const name = [passage.title || passage.source || passage.documentId, placeOf(passage, cited.get(number).span)];
    return h('li', { dir: 'auto' },
      `${number} · ${name.filter(Boolean).join(', ')}`,
      passage.title && passage.source ? h('span.dim', {}, ` ${passage.source}`) : null,
      passage.origin === 'ORIGIN_WEB' ? h('span.badge.web', {}, 'web') : null);
  }));
}

function facts(result) {
  const parts = [
    count((result.steps ?? []).length, 'step'),
    shortTime(seconds(result.duration)),
    cost(result.usage),
    result.groundedness === undefined ? '' : `groundedness ${probability(result.groundedness)}`,
    result.usefulness === undefined ? '' : `usefulness ${probability(result.usefulness)}`,
  ];
  return h('p.dim.facts', {}, parts.filter(Boolean).join(' · '),
    result.traceId ? [' · trace ', traceLink(result.traceId)] : null);
}
