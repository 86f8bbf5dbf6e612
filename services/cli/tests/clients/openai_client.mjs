// Asks through OpenAI's own package: openai_client.mjs GATEWAY. What is wrong ends it.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.CLIENTS + "/");
const { default: OpenAI } = await import(pathToFileURL(require.resolve("openai")).href);

const client = new OpenAI({ baseURL: process.argv[2] + "/v1", apiKey: "none", maxRetries: 0 });
const model = "self-rag@handbook";
const messages = [{ role: "user", content: "How many days of paid leave does every employee have?" }];

const models = [];
for await (const listed of client.models.list()) models.push(listed.id);
assert.ok(models.includes(model), models);

const completion = await client.chat.completions.create({ model, messages });
const { content, annotations } = completion.choices[0].message;
assert.match(content, /25 days of paid leave a year\. \[1\]/);
assert.equal(content.slice(annotations[0].url_citation.start_index, annotations[0].url_citation.end_index), "[1]");

let streamed = "";
for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
}
assert.equal(streamed, content);

const runner = client.chat.completions.stream({ model, messages });
assert.equal(await runner.finalContent(), content);

await assert.rejects(client.chat.completions.create({ model: "nothing", messages }), (error) => {
  assert.equal(error.status, 404);
  assert.equal(error.code, "model_not_found");
  return true;
});
console.log("ok");
