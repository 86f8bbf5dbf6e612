// The gateway's HTTP interface. Every failure is a Problem.

const KEY = 'emend-api-key';

/** What went wrong: the problem details of the gateway, or why there is no answer of it. */
export class Problem extends Error {
  /** @param {{title?: string, detail?: string, status?: number, code?: string, errors?: {field: string, description: string}[], retryAfter?: number}} details */
  constructor(details) {
    const wrong = (details.errors ?? []).map((error) => `${error.field}: ${error.description}`);
    const again = details.retryAfter ? `Try again in ${details.retryAfter} s.` : '';
    super([details.detail || details.title || 'The request failed', ...wrong, again].filter(Boolean).join('\n'));
    this.details = details;
  }
}

export function apiKey() {
  return sessionStorage.getItem(KEY) ?? '';
}

/** Keeps a key until the tab is closed; an empty one is forgotten. */
export function setApiKey(key) {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
}

async function request(path, options = {}) {
  const headers = new Headers(options.headers);
  if (apiKey()) headers.set('Authorization', `Bearer ${apiKey()}`);
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem({ detail: 'The gateway does not answer. Is it still running?' });
  }
  if (response.ok) return response;
  let details = { status: response.status, title: `${response.status} ${response.statusText}` };
  if (response.headers.get('Content-Type')?.includes('json')) {
    details = { ...details, ...(await response.json().catch(() => ({}))) };
  }
  throw new Problem(details);
}

async function json(path, options) {
  const response = await request(path, options);
  return response.json();
}

/** What the gateway says of itself: its version, and `traceUrl`, where its traces are shown, if it was told. */
export function about() {
  // The same address is the page, so nothing of it is kept.
  return json('./', { headers: { Accept: 'application/json' }, cache: 'no-store' });
}

export async function graphs() {
  return (await json('v1/graphs')).graphs ?? [];
}

/** A graph with its nodes, edges and options. */
export function graph(name) {
  return json(`v1/graphs/${encodeURIComponent(name)}`);
}

export async function collections() {
  return (await json('v1/collections')).collections ?? [];
}

/** Removes a collection. @returns {Promise<{documents?: string}>} how many documents it had */
export function deleteCollection(name) {
  return json(`v1/collections/${encodeURIComponent(name)}`, { method: 'DELETE' });
}

/** A page of the documents of a collection. */
export function documents(collection, pageToken = '') {
  const query = new URLSearchParams({ pageSize: '100', pageToken });
  return json(`v1/collections/${encodeURIComponent(collection)}/documents?${query}`);
}

/** A page of what is stored of a document: its sections in order, with their places. */
export function storedDocument(collection, id, { pageSize, pageToken, signal }) {
  const query = new URLSearchParams({ pageSize, pageToken });
  return json(`v1/collections/${encodeURIComponent(collection)}/documents/${encodeURIComponent(id)}?${query}`, { signal });
}

export function deleteDocument(collection, id) {
  const path = `v1/collections/${encodeURIComponent(collection)}/documents/${encodeURIComponent(id)}`;
  return json(path, { method: 'DELETE' });
}

/**
 * Asks, and hands over the walk's events as they come. Returns when the last one came.
 * @param {object} question a `Question` of the contract
 * @param {{signal: AbortSignal, onEvent: (event: object) => void}} options aborting it stops the walk
 */
export async function ask(question, { signal, onEvent }) {
  const response = await request('v1/ask', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' },
    body: JSON.stringify(question),
    signal,
  });
  let finished = false;
  for await (const { event, data } of events(response.body)) {
    if (event === 'error') throw new Problem(data);
    onEvent(data);
    finished ||= event === 'finished';
  }
  if (!finished) throw new Problem({ detail: 'The answer broke off: the gateway ended the stream before the walk was done.' });
}

/** Walks a recorded walk again. @param {object} replay a `ReplayWalkRequest` of the contract */
export function replayWalk(replay) {
  return json('v1/replay', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(replay) });
}

/**
 * Adds files to a collection.
 * @param {string} collection
 * @param {{path: string, file: File}[]} files
 * @param {{signal: AbortSignal, onDocument: (document: object) => void}} options
 * @returns {Promise<object>} the counts
 */
export async function upload(collection, files, { signal, onDocument }) {
  const body = new FormData();
  body.append('collection', collection);
  for (const { path, file } of files) body.append('file', file, path);
  const response = await request('v1/documents', {
    method: 'POST',
    headers: { Accept: 'text/event-stream' },
    body,
    signal,
  });
  let counts = null;
  for await (const { event, data } of events(response.body)) {
    if (event === 'error') throw new Problem(data);
    if (event === 'finished') counts = data;
    else onDocument(data);
  }
  if (!counts) throw new Problem({ detail: 'The upload broke off before all files were stored.' });
  return counts;
}

/** The server-sent events of a body, with their data as JSON. */
export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) {
        const parsed = parseEvent(block);
        if (parsed) yield parsed;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parseEvent(block) {
  let event = 'message';
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith('event:')) event = line.slice(6).trim();
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  return data.length > 0 ? { event, data: JSON.parse(data.join('\n')) } : null;
}
