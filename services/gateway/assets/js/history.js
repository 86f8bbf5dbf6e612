// Walks that were asked here, kept in the browser; and walks as files.

import { byId, h, openDialog } from './dom.js';
import { enumName } from './format.js';

const STORE = 'emend-history';
const MAX_WALKS = 30;
const MAX_CHARACTERS = 3_000_000;
const FORMAT = 1;

/**
 * A walk as it is kept and saved.
 * @typedef {{format: number, at: string, graph: string, question: object, events: object[]}} SavedWalk
 */

/** @returns {SavedWalk} */
export function saved(graph, question, events) {
  return { format: FORMAT, at: new Date().toISOString(), graph, question, events };
}

function stored() {
  try {
    return JSON.parse(localStorage.getItem(STORE) ?? '[]');
  } catch {
    return [];
  }
}

/** Keeps a walk; the oldest go when there are too many or they are too large for the browser. */
export function remember(walk) {
  let walks = [walk, ...stored()].slice(0, MAX_WALKS);
  for (;;) {
    const text = JSON.stringify(walks);
    if (text.length <= MAX_CHARACTERS) {
      try {
        localStorage.setItem(STORE, text);
        return;
      } catch {
        // The browser has less room than that.
      }
    }
    if (walks.length === 0) return;
    walks = walks.slice(0, -1);
  }
}

/** Writes a walk to a file of the user's. */
export function save(walk) {
  const url = URL.createObjectURL(new Blob([JSON.stringify(walk, null, 1)], { type: 'application/json' }));
  const name = (walk.question.question ?? 'walk').replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 60);
  const link = h('a', { href: url, download: `walk-${name}.json` });
  link.click();
  URL.revokeObjectURL(url);
}

/**
 * Reads a walk from a file.
 * @param {File} file
 * @returns {Promise<SavedWalk>}
 */
export async function load(file) {
  let walk;
  try {
    walk = JSON.parse(await file.text());
  } catch {
    throw new Error(`${file.name} is not JSON: choose a file that “Save” of this page wrote.`);
  }
  if (walk?.format !== FORMAT || !Array.isArray(walk.events) || typeof walk.graph !== 'string' || !walk.question?.question) {
    throw new Error(`${file.name} is not a walk of this version (format ${FORMAT}): choose a file that “Save” of this page wrote.`);
  }
  return walk;
}

/** Opens the list of walks. @param {(walk: SavedWalk) => void} onChoose */
export function openHistory(onChoose, onProblem) {
  const dialog = byId('history');
  const choose = (walk) => {
    dialog.close();
    onChoose(walk);
  };
  const walks = stored();
  const file = h('input', {
    type: 'file', accept: 'application/json,.json', 'aria-label': 'Open a saved walk',
    onchange: () => load(file.files[0]).then(choose, (error) => {
      dialog.close();
      onProblem(error);
    }),
  });
  const clear = h('button', {
    type: 'button',
    onclick: () => {
      localStorage.removeItem(STORE);
      dialog.close();
    },
  }, 'Forget all');
  openDialog(dialog, 'History',
    h('div.row', {}, h('label', {}, 'Open a saved walk ', file), h('span.grow'), walks.length > 0 && clear),
    walks.length === 0 ? h('p.dim', {}, 'No walks yet. They stay in this browser.') : h('ul.list', {}, walks.map((walk) => {
      const status = walk.events.at(-1)?.finished?.status;
      return h('li', {}, h('button', { type: 'button', onclick: () => choose(walk) },
        h('span', { dir: 'auto' }, walk.question.question),
        h('span.dim', {}, ` ${walk.graph} · ${enumName(status, 'WALK_STATUS_') || 'stopped'} · ${new Date(walk.at).toLocaleString('en')}`)));
    })));
}
