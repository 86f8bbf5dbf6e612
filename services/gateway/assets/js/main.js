// The page: the form, and what becomes of a question.

import * as api from './api.js';
import { add, droppedFiles, openDocuments } from './documents.js';
import { byId, h, openDialog } from './dom.js';
import { openHistory, remember, save, saved } from './history.js';
import { chosenOptions, showOptions } from './options.js';
import { openReplay, turned } from './replay.js';
import { setUpTheme } from './theme.js';
import { setTraceUrl } from './trace.js';

const DEFAULT_GRAPH = 'self-corrective-rag';
const DEFAULT_COLLECTION = 'default';

/** What shows walks, and draws graphs: most of the page, and not needed to begin with. */
const walkView = () => import('./walk-view.js');

/** Graphs that were asked for, by name. */
const described = new Map();
/** The conversation so far: what a follow-up belongs to. */
let conversation = [];
let running = null;
/** Collections that were made here and have no document yet, so that nobody else knows them. */
const made = new Set();
/** Collections that the store has. */
let stored = new Set();

function problem(message) {
  const place = byId('problem');
  place.textContent = message ?? '';
  place.hidden = !message;
}

async function describe(name) {
  if (!described.has(name)) described.set(name, await api.graph(name));
  return described.get(name);
}

/** Fills a selection, keeping what was chosen. */
function fill(select, names, preferred) {
  const before = select.value;
  const fixed = [...select.options].filter((option) => option.value === '');
  select.replaceChildren(...fixed, ...names.map(([value, label]) => h('option', { value }, label)));
  const wanted = [before, preferred].find((value) => value && names.some(([name]) => name === value));
  if (wanted) select.value = wanted;
}

async function loadGraphs() {
  const names = (await api.graphs()).map(({ name }) => [name, name]);
  fill(byId('graph'), names, DEFAULT_GRAPH);
  fill(byId('compare'), names, '');
  await showGraph();
}

async function loadCollections() {
  const collections = await api.collections();
  stored = new Set(collections.map(({ name }) => name));
  const names = collections.map(({ name, documents }) => [name, `${name} (${Number(documents ?? 0)})`]);
  for (const name of [DEFAULT_COLLECTION, ...made]) {
    if (!names.some(([known]) => known === name)) names.unshift([name, `${name} (0)`]);
  }
  fill(byId('collection'), names, DEFAULT_COLLECTION);
}

async function loadTraceUrl() {
  setTraceUrl((await api.about()).traceUrl);
}

async function showGraph() {
  const { graph, options } = await describe(byId('graph').value);
  byId('graph-description').textContent = graph.description;
  showOptions(byId('options'), options ?? []);
}

async function load() {
  const results = await Promise.allSettled([loadGraphs(), loadCollections(), loadTraceUrl()]);
  const failed = results.find(({ status }) => status === 'rejected');
  problem(failed?.reason.message);
  if (failed?.reason.details?.status === 401) openKey();
}

/** The question as the form says it. */
function question() {
  const asked = {
    question: byId('question').value.trim(),
    graph: byId('graph').value,
    collection: byId('collection').value,
    options: chosenOptions(byId('options')),
    record: true,
  };
  if (byId('search').value) asked.search = byId('search').value;
  if (byId('no-web').checked) asked.budget = { webSearches: 0 };
  if (byId('follow-up').checked) asked.history = conversation;
  return asked;
}

async function submit(event) {
  event.preventDefault();
  if (running || !byId('question').value.trim()) return;
  problem(null);
  const asked = question();
  const graphs = [asked.graph, byId('compare').value].filter((name, index, all) => name && all.indexOf(name) === index);
  running = new AbortController();
  busy(true);
  try {
    const { WalkView } = await walkView();
    const views = await Promise.all(graphs.map(async (graph) => {
      // The options are those of the first graph; another one may not have them.
      const own = graph === asked.graph ? asked : { ...asked, graph, options: {} };
      return new WalkView(await describe(graph), own);
    }));
    byId('walks').replaceChildren(...views.map((view) => view.element));
    byId('walks').classList.toggle('compared', views.length > 1);
    byId('hint').hidden = true;
    await Promise.all(views.map((view) => walk(view, running.signal)));
  } catch (error) {
    problem(error.message);
    if (error.details?.status === 401) openKey();
  } finally {
    running = null;
    busy(false);
  }
}

async function walk(view, signal) {
  try {
    await api.ask(view.question, { signal, onEvent: (event) => view.apply(event) });
  } catch (error) {
    view.fail(error.name === 'AbortError' ? 'Stopped.' : error.message);
    if (error.details?.status === 401) openKey();
  }
  const kept = saved(view.graphName, view.question, view.events);
  remember(kept);
  offer(view, kept);
  const message = view.events.at(-1)?.finished?.message;
  if (message) follow(view.question, message);
}

/** Offers to save a walk that has ended and, where it has a record, to replay it. */
function offer(view, kept) {
  const result = view.events.at(-1)?.finished;
  const replay = () => openReplay(result, view.graphName, { describe, graphs: [...byId('graph').options].map(({ value }) => value) },
    (graph, replayed) => showReplay(view, graph, replayed).catch((error) => problem(error.message)));
  view.offer(
    result?.record && h('button', { type: 'button', onclick: replay }, 'Replay with…'),
    h('button', { type: 'button', onclick: () => save(kept) }, 'Save'));
}

/** Shows a replay beside its walk. */
async function showReplay(view, graph, { events = [], turn, end }) {
  const { WalkView } = await walkView();
  const replayed = new WalkView(await describe(graph), view.question);
  for (const event of events) replayed.apply(event);
  replayed.note(turned(turn));
  if (end) replayed.fail(`Here the record ends: step ${end.step} ${end.node} calls ${end.method}: ${end.missing}.`);
  replayed.offer();
  byId('walks').replaceChildren(view.element, replayed.element);
  byId('walks').classList.add('compared');
}

function follow(asked, message) {
  conversation = [...(asked.history ?? []), { role: 'ROLE_USER', content: asked.question }, message];
  byId('follow-up-label').hidden = false;
}

function busy(is) {
  byId('submit').hidden = is;
  byId('cancel').hidden = !is;
  if (is) byId('cancel').focus();
  else byId('question').focus();
}

/** Shows a walk that was kept. */
async function show(kept) {
  problem(null);
  try {
    const { WalkView } = await walkView();
    const view = new WalkView(await describe(kept.graph), kept.question);
    for (const event of kept.events) view.apply(event);
    offer(view, kept);
    byId('walks').replaceChildren(view.element);
    byId('walks').classList.remove('compared');
    byId('question').value = kept.question.question;
  } catch (error) {
    problem(error.message);
  }
}

function openKey() {
  const input = h('input', { type: 'password', id: 'key-value', value: api.apiKey(), autocomplete: 'off' });
  const form = h('form', {
    onsubmit: (event) => {
      event.preventDefault();
      api.setApiKey(input.value.trim());
      byId('key').close();
      load();
    },
  }, h('p', {}, h('label', { for: 'key-value' }, 'The key that this service gave you. It is kept until the tab is closed.')),
  h('div.row', {}, input, h('button.primary', { type: 'submit' }, 'Use')));
  openDialog(byId('key'), 'API key', form);
}

/** Opens the documents of the collection that is chosen. */
function showDocuments() {
  const select = byId('collection');
  const collection = select.value;
  openDocuments(collection, {
    known: [...select.options].map(({ value }) => value),
    stored: stored.has(collection),
    onChange: loadCollections,
    onMade: (name) => {
      made.add(name);
      select.append(h('option', { value: name }, `${name} (0)`));
      select.value = name;
      showDocuments();
    },
    onRemoved: () => {
      made.delete(collection);
      if (collection !== DEFAULT_COLLECTION) select.selectedOptions[0].remove();
      select.value = DEFAULT_COLLECTION;
      loadCollections().catch((error) => problem(error.message));
    },
  });
}

function setUpDrop() {
  const veil = byId('drop');
  const files = (event) => event.dataTransfer?.types.includes('Files');
  document.addEventListener('dragover', (event) => {
    if (!files(event)) return;
    event.preventDefault();
    veil.hidden = false;
  });
  document.addEventListener('dragleave', (event) => {
    if (!event.relatedTarget) veil.hidden = true;
  });
  document.addEventListener('drop', async (event) => {
    if (!files(event)) return;
    event.preventDefault();
    veil.hidden = true;
    try {
      const dropped = await droppedFiles(event.dataTransfer);
      if (dropped.length > 0) await add(byId('collection').value, dropped, { onChange: loadCollections });
    } catch (error) {
      problem(error.message);
    }
  });
}

byId('ask').addEventListener('submit', submit);
byId('cancel').addEventListener('click', () => running?.abort());
byId('graph').addEventListener('change', () => showGraph().catch((error) => problem(error.message)));
byId('question').addEventListener('keydown', (event) => {
  // While a word is being composed, as in Korean, Enter ends the word.
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    byId('ask').requestSubmit();
  }
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !document.querySelector('dialog[open]')) running?.abort();
});
byId('open-documents').addEventListener('click', showDocuments);
byId('open-history').addEventListener('click', () => openHistory(show, (error) => problem(error.message)));
byId('open-key').addEventListener('click', openKey);
setUpTheme(byId('theme'));
setUpDrop();
load();
// Fetched by the time that somebody asks; if it cannot be had, asking says so.
(window.requestIdleCallback ?? setTimeout)(() => walkView().catch(() => {}));
