// Collections and their documents: listed, made, removed, and filled by dropping files on the page.

import { deleteCollection, deleteDocument, documents, upload } from './api.js';
import { byId, h, openDialog } from './dom.js';
import { count, enumName } from './format.js';

/** What the contract takes as the name of a collection. */
const NAME = { pattern: '[A-Za-z0-9_\\-][A-Za-z0-9_.\\-]*', maxlength: '64', title: 'Letters a–z and A–Z, digits, -, _ and . (not at the beginning), at most 64' };

/**
 * Opens the list of a collection's documents, from where collections are made and removed too.
 * @param {string} collection
 * @param {object} options
 * @param {string[]} options.known the names of all collections
 * @param {boolean} options.stored whether the store has the collection, as it does from its first document on
 * @param {() => void} options.onChange called when documents were added or removed
 * @param {(name: string) => void} options.onMade called with the name of a new collection
 * @param {() => void} options.onRemoved called when the collection is gone
 */
export function openDocuments(collection, { known, stored, onChange, onMade, onRemoved }) {
  const list = h('ul.list');
  const status = h('p.dim', { role: 'status' });
  const more = h('button', { type: 'button', hidden: true }, 'More');
  let token = '';
  const next = async () => {
    try {
      const page = await documents(collection, token);
      list.append(...(page.documents ?? []).map((document) => row(collection, document, { onChange, status })));
      token = page.nextPageToken ?? '';
      more.hidden = !token;
      status.textContent = list.children.length === 0 ? 'No documents yet.' : '';
    } catch (error) {
      status.textContent = error.details?.status === 404 ? 'No documents yet.' : error.message;
    }
  };
  more.addEventListener('click', next);
  const file = h('input', {
    type: 'file', multiple: true, 'aria-label': 'Add files',
    onchange: () => add(collection, [...file.files].map((file) => ({ path: file.name, file })), { onChange }),
  });
  openDialog(byId('documents'), `Documents of ${collection}`,
    h('p', {}, h('label', {}, 'Add files ', file), h('span.dim', {}, ' or drop files and folders on the page.')), status, list, more,
    h('h3', {}, 'Collections'), h('div.row', {}, newCollection(known, onMade), h('span.grow'), removal(collection, { stored, status, onRemoved })));
  if (stored) next();
  else status.textContent = 'No documents yet.';
}

/** A form that makes a collection: the store has it from its first document on. */
function newCollection(known, onMade) {
  const name = h('input', { ...NAME, id: 'new-collection', required: true, autocomplete: 'off', spellcheck: 'false', placeholder: 'handbook' });
  const check = () => name.setCustomValidity(known.includes(name.value) ? `There is a collection ${name.value} already.` : '');
  name.addEventListener('input', check);
  const submit = (event) => {
    event.preventDefault();
    onMade(name.value);
  };
  return h('form.row', { onsubmit: submit }, h('label', { for: 'new-collection' }, 'New collection'), name, h('button', { type: 'submit' }, 'Make'));
}

function removal(collection, { stored, status, onRemoved }) {
  const remove = async () => {
    if (!window.confirm(`Remove the collection ${collection} with all its documents? They cannot be brought back.`)) return;
    let had = 0;
    try {
      if (stored) had = Number((await deleteCollection(collection)).documents ?? 0);
    } catch (error) {
      status.textContent = error.message;
      return;
    }
    openDialog(byId('documents'), `Documents of ${collection}`,
      h('p', { role: 'status' }, `The collection ${collection} is removed, with ${count(had, 'document')}.`));
    onRemoved();
  };
  return h('button.danger', { type: 'button', onclick: remove }, `Remove collection ${collection}`);
}

function row(collection, document, { onChange, status }) {
  const name = document.title || document.id;
  const source = document.source || document.id;
  const item = h('li.row', {},
    h('span.name', { dir: 'auto' }, name, h('span.dim', {}, `${source === name ? '' : ` ${source}`} · ${count(document.passages ?? 0, 'passage')}`)),
    h('button', {
      type: 'button', 'aria-label': `Remove ${name}`,
      onclick: async () => {
        if (!window.confirm(`Remove ${name} from ${collection}?`)) return;
        try {
          await deleteDocument(collection, document.id);
          item.remove();
          onChange();
        } catch (error) {
          status.textContent = error.message;
        }
      },
    }, 'Remove'));
  return item;
}

/** Adds files to a collection and shows what becomes of each. */
export async function add(collection, files, { onChange }) {
  const abort = new AbortController();
  const progress = h('progress', { max: String(files.length), value: '0', 'aria-label': 'Files stored' });
  const status = h('p', { role: 'status' }, `${count(files.length, 'file')} on the way to ${collection} …`);
  const list = h('ul.list');
  const stop = h('button', { type: 'button', onclick: () => abort.abort() }, 'Stop');
  const dialog = byId('documents');
  openDialog(dialog, 'Adding documents', h('div.row', {}, progress, stop), status, list);
  let done = 0;
  try {
    const counts = await upload(collection, files, {
      signal: abort.signal,
      onDocument: (document) => {
        done += 1;
        progress.value = done;
        const state = enumName(document.status, /^.*STATUS_/);
        list.append(h(document.error ? 'li.bad' : 'li', { dir: 'auto' }, `${document.documentId}: ${document.error || state}`));
      },
    });
    const failed = Number(counts.failed ?? 0);
    status.textContent = `${count(Number(counts.ingested ?? 0), 'document')} added, ${Number(counts.unchanged ?? 0)} unchanged${failed ? `, ${failed} failed` : ''}.`;
  } catch (error) {
    status.textContent = error.name === 'AbortError' ? 'Stopped. What was stored stays.' : error.message;
  } finally {
    stop.hidden = true;
    onChange();
  }
}

/** The files of a drop, with their paths in the folders that were dropped. */
export async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0) return [...transfer.files].map((file) => ({ path: file.name, file }));
  const files = [];
  const visit = async (entry) => {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      files.push({ path: entry.fullPath.replace(/^\//, ''), file });
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const children = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (children.length === 0) return;
      for (const child of children) await visit(child);
    }
  };
  for (const entry of entries) await visit(entry);
  return files;
}
