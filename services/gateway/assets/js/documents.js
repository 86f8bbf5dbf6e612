// The documents of a collection: listed, removed, and added by dropping files on the page.

import { deleteDocument, documents, upload } from './api.js';
import { byId, h, openDialog } from './dom.js';
import { count, enumName } from './format.js';

/**
 * Opens the list of a collection's documents.
 * @param {string} collection
 * @param {{onChange: () => void}} options called when documents were added or removed
 */
export function openDocuments(collection, { onChange }) {
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
    h('p', {}, h('label', {}, 'Add files ', file), h('span.dim', {}, ' or drop files and folders on the page.')), status, list, more);
  next();
}

function row(collection, document, { onChange, status }) {
  const item = h('li.row', {},
    h('span', { dir: 'auto' }, document.title || document.id, h('span.dim', {}, ` ${document.source || document.id} · ${count(document.passages ?? 0, 'passage')}`)),
    h('span.grow'),
    h('button', {
      type: 'button', 'aria-label': `Remove ${document.title || document.id}`,
      onclick: async () => {
        if (!window.confirm(`Remove ${document.title || document.id} from ${collection}?`)) return;
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
