// Uses the gateway as a page does, on stubs that were generated for browsers: grpc_web_client.mjs GATEWAY, with the stubs in
// `gen` beside this file. What is wrong ends it.
import assert from "node:assert/strict";

// region web
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";

import { OrchestratorService, WalkStatus } from "./gen/emend/v1/orchestrator_pb.js";
import { RetrieverService } from "./gen/emend/v1/retriever_pb.js";
import { BadRequestSchema, ErrorInfoSchema, ResourceInfoSchema } from "./gen/google/rpc/error_details_pb.js";

/** Clients of both services behind a gateway. */
function connect(gateway) {
  const transport = createGrpcWebTransport({ baseUrl: gateway });
  return { orchestrator: createClient(OrchestratorService, transport), retriever: createClient(RetrieverService, transport) };
}

/** One question, one answer. */
async function ask(orchestrator, question) {
  const { result } = await orchestrator.ask({ question }, { timeoutMs: 30_000 });
  return result;
}

/** The same as a stream: each event of the walk, and the result as the last. */
async function* stream(orchestrator, question) {
  for await (const { event } of orchestrator.askStream({ question }, { timeoutMs: 30_000 })) yield event.event;
}

/** What an error says besides its code and message. */
function explain(error) {
  const { code, rawMessage } = ConnectError.from(error);
  const [info] = error.findDetails(ErrorInfoSchema);
  const [about] = error.findDetails(ResourceInfoSchema);
  const wrong = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  const fields = Object.fromEntries(wrong.map(({ field, description }) => [field, description]));
  return { code: Code[code], message: rawMessage, reason: info?.reason, resource: about?.resourceName, fields };
}
// endregion

const { orchestrator, retriever } = connect(process.argv[2]);
const asked = { question: "How many days of paid leave does every employee have?", collection: "handbook", graph: "self-rag" };

const { collections } = await retriever.listCollections({});
assert.deepEqual(collections.map(({ name }) => name), ["handbook"]);
const { passages } = await retriever.retrieve({ query: "trains", collection: "handbook", topK: 2 });
assert.ok(passages.some(({ text }) => text.includes("second class")), passages);

const result = await ask(orchestrator, asked);
assert.equal(result.status, WalkStatus.ANSWERED);
assert.match(result.answer, /25 days of paid leave a year\./);
const [citation] = result.sentences[0].citations;
assert.match(result.documents[citation.number - 1].passage.source, /leave\.md$/);

/** All events of a walk. */
async function walked(question) {
  const events = [];
  for await (const event of stream(orchestrator, question)) events.push(event);
  return events;
}
const events = await walked(asked);
assert.equal(events[0].case, "stepStarted");
assert.equal(events[0].value.node, "retrieve");
const ended = events.filter(({ case: name }) => name === "finished");
assert.equal(ended.length, 1);
assert.equal(events.at(-1), ended[0]);
assert.equal(ended[0].value.answer, result.answer);

/** What is said of a question that is refused. */
async function refused(question) {
  try {
    await ask(orchestrator, question);
  } catch (error) {
    return explain(error);
  }
  throw new Error(`${JSON.stringify(question)} was answered`);
}
const wrong = await refused({ ...asked, question: "", options: { no_such_option: 1 } });
assert.equal(wrong.code, "InvalidArgument");
assert.equal(wrong.reason, "FIELD_INVALID");
assert.ok(wrong.fields["question.question"], wrong);
const unknown = await refused({ ...asked, collection: "absent" });
assert.deepEqual([unknown.code, unknown.reason, unknown.resource], ["NotFound", "COLLECTION_NOT_FOUND", "absent"]);
// A stream that breaks off has the same details.
await assert.rejects(walked({ ...asked, collection: "absent" }), (error) => {
  assert.equal(explain(error).reason, "COLLECTION_NOT_FOUND");
  return true;
});
console.log("ok");
