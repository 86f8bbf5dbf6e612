// The package of proto/typescript, as it is installed.

// region package
import { readFileSync } from "node:fs";

import { Client, explain } from "emend-client";

const [orchestrator, retriever, ca, keyFile] = process.argv.slice(2);
// The authority of the services' certificates, and a key; without them calls are neither encrypted nor anybody's.
const access = ca ? { ca: readFileSync(ca), apiKey: readFileSync(keyFile, "utf8").trim() } : {};
const emend = new Client({ orchestrator, retriever, ...access });

const leave = { id: "leave.md", content: "Every employee has 25 days of paid leave a year." };
for await (const stored of emend.ingest([leave], "handbook")) {
  console.log(stored.documentId, stored.status, stored.passages);
}

const asked = "How many days of paid leave does every employee have?";
const result = await emend.ask(asked, { collection: "handbook" });
console.log(result.status, result.answer);

for await (const { event } of emend.askStream(asked, { collection: "handbook" })) {
  if (event?.$case === "textDelta") console.log(event.value.text);
}
// endregion

let last: string | undefined;
for await (const { event } of emend.askStream(asked, { collection: "handbook" })) last = event?.$case;
if (last !== "finished") throw new Error(`the last event is ${last}`);
for await (const _event of emend.askStream(asked, { collection: "handbook" })) break; // cancels

const refused = await emend.ask("").catch(explain);
if (!("fields" in refused) || !refused.fields["question.question"] || refused.code !== "INVALID_ARGUMENT") {
  throw new Error(`not refused: ${JSON.stringify(refused)}`);
}
for (const [kind, reason] of [["collection", "COLLECTION_NOT_FOUND"], ["graph", "GRAPH_NOT_FOUND"]]) {
  const unknown = await emend.ask(asked, { [kind]: "absent" }).catch(explain);
  if (!("resource" in unknown) || unknown.reason !== reason || unknown.resource?.type !== kind) {
    throw new Error(`not refused: ${JSON.stringify(unknown)}`);
  }
}
if (!retriever) throw new Error("give the addresses of an orchestrator and a retriever");
const several = new Client({ orchestrator: [orchestrator, orchestrator], retriever: [retriever, retriever], ...access });
const again = await several.ask(asked, { collection: "handbook" });
if (again.answer !== result.answer) throw new Error(`${again.answer} is not ${result.answer}`);

async function* endless() {
  yield leave;
  throw new Error("no more documents");
}
async function stored() {
  for await (const _stored of several.ingest(endless(), "handbook"));
  return "all of them";
}
const wrong = await stored().catch(String);
if (!wrong.includes("no more documents")) throw new Error(`not told: ${wrong}`);
several.close();
emend.close();
