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
const passage = await client.readResource({ uri: answer.structuredContent.citations[0].uri });
assert.match(passage.contents[0].text, /25 days/);
const explained = await client.callTool({ name: "explain_walk", arguments: { walk: answer.structuredContent.walk } });
assert.match(explained.content[0].text, /ANSWERED/);
const wrong = await client.callTool({ name: "ask", arguments: { question: "" } });
assert.equal(wrong.isError, true);
await client.close();
console.log("ok");
