// Uses the tools through MCP's own package: mcp_client.mjs GATEWAY, or mcp_client.mjs COMMAND ARGUMENT…
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.CLIENTS + "/");
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/client/${name}.js`)).href);
const { Client } = await load("index");

const [where, ...more] = process.argv.slice(2);
const overHttp = where.startsWith("http");
let transport;
if (overHttp) {
  const { StreamableHTTPClientTransport } = await load("streamableHttp");
  transport = new StreamableHTTPClientTransport(new URL(where + "/mcp"));
} else {
  const { StdioClientTransport } = await load("stdio");
  transport = new StdioClientTransport({ command: where, args: more, env: process.env });
}
const collection = overHttp ? { collection: "handbook" } : {};
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name).sort(), ["ask", "explain_walk", "ingest", "list_collections", "search"]);

const told = [];
const asked = { question: "How many days of paid leave does every employee have?", graph: "self-rag", ...collection };
const answer = await client.callTool({ name: "ask", arguments: asked }, undefined, {
  onprogress: (progress) => told.push(progress.message),
});
assert.match(answer.content[0].text, /25 days of paid leave a year\. \[1\]/);
assert.equal(answer.structuredContent.status, "ANSWERED");
assert.ok(told.some((message) => message.includes("retrieve")), told);
const { uri } = answer.structuredContent.citations[0];
const passage = await client.readResource({ uri });
assert.match(passage.contents[0].text, /25 days/);
// Over HTTP nobody sees what others asked.
const { resources } = await client.listResources();
assert.equal(resources.some((resource) => resource.uri === uri), !overHttp);
const { resourceTemplates } = await client.listResourceTemplates();
assert.deepEqual(resourceTemplates.map((template) => template.uriTemplate), ["emend://walks/{walk}/passages/{number}"]);

/** What a tool says. */
const call = (name, given) => client.callTool({ name, arguments: given });
const explained = await call("explain_walk", { walk: answer.structuredContent.walk });
assert.match(explained.content[0].text, /retrieve/);
assert.match(explained.content[0].text, /ANSWERED/);

const found = await call("search", { query: "trains", topK: 2, ...collection });
assert.ok(found.structuredContent.passages.some(({ text }) => text.includes("second class")), found);

const stored = await call("ingest", { documents: [{ id: "canteen", text: "The canteen closes at three." }], ...collection });
assert.match(stored.structuredContent.documents[0].status, /^(INGESTED|UNCHANGED)$/);
const listed = await call("list_collections", {});
const names = listed.structuredContent.collections.map(({ name }) => name);
assert.equal(names.length, 1);
if (overHttp) assert.deepEqual(names, ["handbook"]);

const empty = await call("ask", { question: "" });
assert.equal(empty.isError, true);
const wrong = await call("ask", { question: asked.question, graph: "nothing", ...collection });
assert.equal(wrong.isError, true);
assert.match(wrong.content[0].text, /self-rag/);
await assert.rejects(call("nothing", {}), /explain_walk/);
await client.close();
console.log("ok");
