// A recorded walk, walked again under other options and thresholds or on another graph.

import { replayWalk } from './api.js';
import { byId, h, openDialog } from './dom.js';
import { chosenOptions, showOptions } from './options.js';

/** The thresholds of the contract's `GradeThresholds`. */
const THRESHOLDS = [
  ['relevant', 'A passage is relevant from this on.'],
  ['lower', 'The evaluation is incorrect if every passage is below this.'],
  ['upper', 'The evaluation is correct if a passage reaches this.'],
  ['fully', 'A sentence is fully supported from this on.'],
  ['partially', 'A sentence is partially supported from this on.'],
  ['useful', 'An answer is useful from this on.'],
  ['quote', 'An answer that quotes its evidence is useful from this on.'],
  ['strip', 'A strip is kept from this on.'],
].map(([name, description]) => ({ name, description, minimum: 0, maximum: 1 }));

/**
 * Asks what is to differ, and replays.
 * @param {object} walk a `WalkResult` with its record
 * @param {string} walked the graph that was walked
 * @param {{describe: (name: string) => Promise<object>, graphs: string[]}} known
 * @param {(graph: string, replayed: object) => void} onReplayed
 */
export function openReplay(walk, walked, { describe, graphs }, onReplayed) {
  const options = h('div.options');
  const thresholds = h('div.options');
  const problem = h('p.problem', { role: 'alert', hidden: true });
  const fail = (error) => {
    problem.textContent = error.message;
    problem.hidden = false;
  };
  const select = h('select', { onchange: () => choose().catch(fail) },
    graphs.map((name) => h('option', { value: name, selected: name === walked }, name)));
  const choose = async () => {
    const described = await describe(select.value);
    showOptions(options, described.options ?? [], select.value === walked ? walk.options : {});
  };
  const submit = async (event) => {
    event.preventDefault();
    problem.hidden = true;
    try {
      const steps = (walk.steps ?? []).map(({ number, node, action, outcome }) => ({ number, node, action, outcome }));
      const replayed = await replayWalk({
        walk: { status: walk.status, options: walk.options, record: walk.record, steps }, graph: select.value, options: chosenOptions(options), thresholds: chosenOptions(thresholds),
      });
      byId('replay').close();
      onReplayed(select.value, replayed);
    } catch (error) {
      fail(error);
    }
  };
  showOptions(thresholds, THRESHOLDS);
  for (const input of thresholds.querySelectorAll('input')) input.placeholder = 'as recorded';
  choose().catch(fail);
  openDialog(byId('replay'), 'Replay with other settings', h('form', { onsubmit: submit },
    h('p.dim', {}, 'No service is called: grades and answers are those of the record.'),
    h('div.row', {}, h('label', {}, 'Graph ', select), h('span.grow'), h('button.primary', { type: 'submit' }, 'Replay')),
    problem, h('h3', {}, 'Options'), options, h('h3', {}, 'Thresholds'), thresholds));
}

/** Where a replay left the recorded path, in words. @param {object} [turn] a `Turn` */
export function turned(turn) {
  if (!turn) return 'Replay: the path is that of the record.';
  const differs = (now, before) => (now === before ? now : `${now} (recorded: ${before})`);
  const to = turn.next && ` → ${differs(turn.next, turn.recordedNext)}`;
  if (!turn.step) return `Replay: the path turned at its beginning${to}.`;
  return `Replay: the path turned at step ${turn.step} ${turn.node}: ${differs(turn.outcome, turn.recordedOutcome)}${to}.`;
}
