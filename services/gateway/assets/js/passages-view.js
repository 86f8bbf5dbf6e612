// The passages that a walk holds: their scores, what was kept and dropped, and a dialog that shows one in whole.

import { documentView } from './document-view.js';
import { byId, h, openDialog } from './dom.js';
import { codePoints, count, enumName, probability, webAddress } from './format.js';
import { addressOf, pageOf, placeOf } from './place.js';

const PREVIEW = 240;

/** @param {import('./walk.js').Walk} walk */
export function passagesView(walk) {
  const passages = [...walk.passages.values()];
  if (passages.length === 0) return h('p.dim', {}, 'No passages yet.');
  return h('ul.passages', {}, passages.map((graded) => h('li', {}, card(graded, walk))));
}

function card(graded, walk) {
  const { passage } = graded;
  const graded_ = graded.relevance && graded.relevance !== 'RELEVANCE_UNSPECIFIED';
  const strips = walk.strips.get(passage.id);
  const relevance = enumName(graded.relevance, 'RELEVANCE_');
  const text = codePoints(passage.text ?? '');
  const preview = text.length > PREVIEW ? `${text.slice(0, PREVIEW).join('')}…` : text.join('');
  return h(`button.passage${graded.kept === false && graded_ ? '.dropped' : ''}`,
    { type: 'button', onclick: () => showPassage(graded, { walk }) },
    h('span.row', {},
      h('strong', { dir: 'auto' }, passage.title || passage.source || passage.documentId || 'Untitled'),
      h('span.grow'),
      passage.origin === 'ORIGIN_WEB' && h('span.badge.web', {}, 'web'),
      graded_ && h(`span.badge.${relevance.replaceAll(' ', '-')}`, {},
        graded.score === undefined ? relevance : `${relevance} ${probability(graded.score)}`),
      graded_ && h('span.badge', {}, graded.kept ? 'kept' : 'dropped')),
    h('span.preview', { dir: 'auto' }, preview),
    strips && h('span.dim', {}, `${strips.filter(({ kept }) => kept).length} of ${count(strips.length, 'strip')} kept`));
}

/**
 * Opens a passage, with the quoted characters marked and, where it was refined, the strips that were dropped struck out.
 * @param {object} graded a `GradedPassage`
 * @param {{walk: import('./walk.js').Walk, citation?: object}} shown
 */
export function showPassage(graded, { walk, citation }) {
  const { passage } = graded;
  const address = webAddress(passage.source || passage.documentId || '');
  const source = passage.source || passage.documentId;
  const body = h('div.text', { tabindex: '0', dir: 'auto' }, marked(passage.text ?? '', citation?.span));
  const strips = walk.strips.get(passage.id);
  const place = citation?.documentSpan ?? passage.span;
  const inDocument = placesOf(passage, citation);
  const within = placeOf(passage, citation?.span);
  const link = address && addressOf(address, pageOf(passage, citation?.span));
  const dialog = byId('passage');
  openDialog(dialog, passage.title || source || 'Passage',
    h('p.dim', {},
      passage.origin === 'ORIGIN_WEB' ? 'From the web: ' : 'From your documents: ',
      link ? h('a', { href: link, target: '_blank', rel: 'noopener noreferrer' }, source) : h('span', { dir: 'auto' }, source ?? ''),
      place ? ` · characters ${place.start ?? 0}–${place.end} of the document` : '',
      passage.retrievedAt ? ` · fetched ${new Date(passage.retrievedAt).toLocaleString('en')}` : ''),
    within && h('p.within', { dir: 'auto' }, within),
    body,
    inDocument && passage.origin !== 'ORIGIN_WEB' && documentView({
      collection: walk.question.collection || 'default',
      id: passage.documentId,
      ...inDocument,
      dialog,
    }),
    strips && h('h3', {}, 'Strips of the passage before it was refined'),
    strips && h('div.text', { tabindex: '0', dir: 'auto' }, striped(walk.unrefined.get(passage.id) ?? '', strips)),
    metadata(passage.metadata));
  body.querySelector('mark')?.scrollIntoView({ block: 'center' });
}

/** The places in the document of what is cited, or of the whole passage, and the text there; `null` where they are unknown. */
function placesOf({ text = '', span, pieces = [] }, citation) {
  const slice = (span) => codePoints(text).slice(span?.start ?? 0, span?.end ?? 0).join('');
  if (citation?.documentSpan) return { places: [citation.documentSpan], text: slice(citation.span) };
  if (pieces.length > 0) {
    return { places: pieces.map(({ inDocument }) => inDocument), text: pieces.map(({ inText }) => slice(inText)).join('') };
  }
  return span ? { places: [span], text } : null;
}

function marked(text, span) {
  if (!span) return [text];
  const points = codePoints(text);
  const [start, end] = [span.start ?? 0, span.end ?? 0];
  return [points.slice(0, start).join(''), h('mark', {}, points.slice(start, end).join('')), points.slice(end).join('')];
}

function striped(text, strips) {
  const points = codePoints(text);
  const parts = [];
  let at = 0;
  for (const strip of [...strips].sort((a, b) => (a.span?.start ?? 0) - (b.span?.start ?? 0))) {
    const [start, end] = [strip.span?.start ?? 0, strip.span?.end ?? 0];
    if (start < at) continue;
    parts.push(points.slice(at, start).join(''),
      h(strip.kept ? 'mark' : 'del', {}, points.slice(start, end).join('')),
      h('span.badge.score', { title: strip.error || null }, verdict(strip)));
    at = end;
  }
  return [...parts, points.slice(at).join('')];
}

function verdict({ kept, score }) {
  const grade = score === undefined ? 'not graded' : probability(score);
  return `${kept ? 'kept' : 'dropped'}, ${grade}`;
}

function metadata(fields) {
  const entries = Object.entries(fields ?? {});
  if (entries.length === 0) return null;
  return h('dl', {}, entries.map(([name, value]) => [h('dt', {}, name), h('dd', { dir: 'auto' }, value)]));
}
