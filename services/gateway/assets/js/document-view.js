// A document read back around the places that a passage or a citation has in it.

import { storedDocument } from './api.js';
import { h } from './dom.js';
import { codePoints } from './format.js';

/** How many sections are asked for at once. */
const PAGE_SIZE = 50;

/**
 * A button that shows the document in its place, with the places of a passage or a citation marked.
 * @param {object} wanted
 * @param {string} wanted.collection
 * @param {string} wanted.id the document's
 * @param {{start?: number, end?: number}[]} wanted.places in code points of the document, in order
 * @param {string} wanted.text what stood there when the question was answered
 * @param {HTMLDialogElement} wanted.dialog what it is shown in: closing it ends the reading
 */
export function documentView({ collection, id, places, text, dialog }) {
  const left = new AbortController();
  dialog.addEventListener('close', () => left.abort(), { once: true });
  const status = h('p.dim', { role: 'status' });
  const sections = h('div.text', { tabindex: '0', dir: 'auto', role: 'region', 'aria-label': 'The document' });
  const more = h('button', { type: 'button' }, 'More of the document');
  const show = h('button', { type: 'button' }, 'Show in the document');
  const view = h('div.document', {}, show, status);
  let token = '';
  const read = async () => {
    const page = await storedDocument(collection, id, { pageSize: PAGE_SIZE, pageToken: token, signal: left.signal });
    token = page.nextPageToken ?? '';
    more.hidden = !token;
    return page.passages ?? [];
  };
  const reading = (button, next) => button.addEventListener('click', async () => {
    button.disabled = true;
    status.textContent = 'Reading the document…';
    try {
      status.textContent = await next();
    } catch (error) {
      if (error.name !== 'AbortError') status.textContent = error.message;
    }
    button.disabled = false;
  });
  reading(show, async () => {
    token = '';
    let page = await read();
    let skipped = false;
    const end = () => page.at(-1)?.span?.end ?? 0;
    while (token && end() <= (places[0].start ?? 0)) {
      skipped = true;
      page = await read();
    }
    while (token && end() < places.at(-1).end) page.push(...await read());
    const shown = page.map((section) => marked(section, places));
    const found = shown.map(({ within }) => within).join('');
    sections.replaceChildren(...shown.map(({ element }) => element));
    show.replaceWith(sections, more);
    const mark = sections.querySelector('mark');
    mark?.scrollIntoView({ block: 'center' });
    if (!mark || words(found) !== words(text)) return 'The document was changed since this answer: other words stand here now.';
    return skipped ? 'What comes before these sections is left out.' : '';
  });
  reading(more, async () => {
    const page = await read();
    sections.append(...page.map((section) => marked(section, places).element));
    return '';
  });
  return view;
}

/** A section as an element, with what of the places is in it marked, and the text of that. */
function marked({ span, text = '' }, places) {
  const points = codePoints(text);
  const inside = (place) => Math.min(Math.max((place ?? 0) - (span?.start ?? 0), 0), points.length);
  const parts = [];
  let within = '';
  let at = 0;
  for (const place of places) {
    const [start, end] = [Math.max(inside(place.start), at), inside(place.end)];
    if (start >= end) continue;
    const words = points.slice(start, end).join('');
    parts.push(points.slice(at, start).join(''), h('mark', {}, words));
    within += words;
    at = end;
  }
  return { element: h('p', {}, parts, points.slice(at).join('')), within };
}

/** White space between sections is not stored. */
const words = (text) => text.split(/\s+/).join('');
