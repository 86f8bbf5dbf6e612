// A walk that was never walked: its first answer is struck out in part, its second one stands, and a language model wrote both.

export const QUESTION = 'How much leave is there?';
export const KEPT = 'Leave is approved by the team lead.';
export const WITHDRAWN = 'Every employee has 40 days of leave.';
export const ANSWER = 'Every employee has 25 days of paid leave a year.';
export const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

const TEXT = `# Leave\n\n${ANSWER} ${KEPT}`;
const PASSAGE = { id: 'leave.md#p0', documentId: 'leave.md', text: TEXT, origin: 'ORIGIN_LOCAL', source: 'leave.md' };
const usage = (modelCalls, inputTokens, outputTokens) =>
  ({ modelCalls, inputTokens: String(inputTokens), outputTokens: String(outputTokens) });
const sentence = (text, support, supportScore) => ({ text, support: `SUPPORT_${support}`, supportScore, citations: [] });

let clock = 0;
const events = [];
const happens = (event, ms = 0) => {
  clock += ms;
  events.push({ elapsed: `${(clock / 1000).toFixed(3)}s`, ...event });
};

/** A step that takes some milliseconds, what happens within it, and the edge after it. */
function step(number, node, outcome, ms, { within = [], to, condition, ...rest }) {
  happens({ stepStarted: { step: number, node, action: node } });
  for (const event of within) happens(event);
  happens({ stepFinished: { step: { number, node, action: node, outcome, duration: `${(ms / 1000).toFixed(3)}s`, ...rest } } }, ms);
  const reason = `\`${node}\` ended in \`${outcome}\`${condition ? ` while \`${condition}\`` : ''}`;
  happens({ edgeTaken: { from: node, to, outcome, condition: condition ?? '', reason } });
}

const text = (attempt, text) => ({ textDelta: { attempt, text } });
step(1, 'retrieve', 'passages', 12, { to: 'grade_documents', summary: 'found 1', passages: [{ passage: PASSAGE, kept: true }] });
step(2, 'grade_documents', 'all_relevant', 7, {
  to: 'generate', summary: 'kept 1 of 1',
  passages: [{ passage: { ...PASSAGE, text: '' }, relevance: 'RELEVANCE_RELEVANT', score: 0.76, kept: true }],
});
step(3, 'generate', 'generated', 640, {
  to: 'grade_generation', usage: usage(1, 500, 30), within: [text(1, `${KEPT} `), text(1, WITHDRAWN)],
});
step(4, 'grade_generation', 'not_supported', 220, {
  to: 'generate', condition: 'visits(generate) <= max_retries', usage: usage(1, 200, 5),
  within: [
    { sentenceCommitted: { attempt: 1, sentence: sentence(KEPT, 'FULLY_SUPPORTED', 0.97) } },
    { sentenceRetracted: { attempt: 1, sentence: sentence(WITHDRAWN, 'NOT_SUPPORTED', 0.04) } },
  ],
});
step(5, 'generate', 'generated', 510, { to: 'grade_generation', usage: usage(1, 520, 20), within: [text(2, ANSWER)] });
step(6, 'grade_generation', 'useful', 200, {
  to: 'finalize_response', usage: usage(2, 410, 10),
  within: [{ sentenceCommitted: { attempt: 2, sentence: sentence(ANSWER, 'FULLY_SUPPORTED', 0.99) } }],
});
step(7, 'finalize_response', 'verified', 0, { to: 'finish' });
const cited = { number: 1, passageId: PASSAGE.id, span: { start: 9, end: 9 + ANSWER.length } };
happens({
  finished: {
    status: 'WALK_STATUS_ANSWERED', answer: ANSWER, graph: 'self-corrective-rag', traceId: TRACE, duration: '1.589s',
    sentences: [{ ...sentence(ANSWER, 'FULLY_SUPPORTED', 0.99), citations: [cited] }],
    documents: [{ passage: PASSAGE, relevance: 'RELEVANCE_RELEVANT', score: 0.76, kept: true }],
    steps: events.flatMap(({ stepFinished }) => (stepFinished ? [stepFinished.step] : [])),
    usage: usage(5, 1630, 65), groundedness: 0.99, usefulness: 0.9,
  },
});

/** Its `WalkEvent`s, in order. */
export const EVENTS = events;

/** How many events there are until the first one that is so, with it. */
export const until = (is) => EVENTS.findIndex(is) + 1;

/** The walk as the page saves it, with another trace if one is named. */
export function saved(traceId = TRACE) {
  const told = EVENTS.map((event) => (event.finished ? { ...event, finished: { ...event.finished, traceId } } : event));
  return { format: 1, at: '2026-01-02T03:04:05Z', graph: 'self-corrective-rag', question: { question: QUESTION }, events: told };
}
