// Asks through OpenAI's own package: openai_client.mjs GATEWAY GATEWAY_OF_A_MODEL. What is wrong ends it.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.CLIENTS + "/");
const { default: OpenAI } = await import(pathToFileURL(require.resolve("openai")).href);

const [gateway, gatewayOfAModel] = process.argv.slice(2);
const connect = (address) => new OpenAI({ baseURL: address + "/v1", apiKey: "none", maxRetries: 0 });
const client = connect(gateway);
const model = "self-rag@handbook";
const asked = "How many days of paid leave does every employee have?";
const messages = [{ role: "user", content: asked }];

const models = [];
for await (const listed of client.models.list()) models.push(listed.id);
assert.ok(models.includes(model), models);
assert.equal((await client.models.retrieve(model)).owned_by, "emend");

const completion = await client.chat.completions.create({
  model,
  messages: [{ role: "system", content: "Answer like a pirate." }, ...messages],
  temperature: 0.2,
  max_tokens: 200,
});
const [choice] = completion.choices;
const { content, annotations } = choice.message;
assert.match(content, /25 days of paid leave a year\. \[1\]/);
assert.equal(choice.finish_reason, "stop");
const cited = annotations[0].url_citation;
assert.equal(content.slice(cited.start_index, cited.end_index), "[1]");
assert.match(cited.url, /leave\.md$/);

// A conversation: the question refers to what was said before.
const followed = await client.chat.completions.create({
  model,
  messages: [...messages, { role: "assistant", content }, { role: "user", content: "Who approves leave?" }],
});
assert.match(followed.choices[0].message.content, /team lead/);

/** What a stream says, put together. */
async function streamed(client, more) {
  const all = { content: "", drafts: "", annotations: [], usage: null, ended: [] };
  for await (const chunk of await client.chat.completions.create({ model, messages, stream: true, ...more })) {
    all.usage = chunk.usage ?? all.usage;
    for (const { delta, finish_reason } of chunk.choices) {
      all.content += delta.content ?? "";
      all.drafts += delta.reasoning_content ?? "";
      all.annotations.push(...(delta.annotations ?? []));
      if (finish_reason) all.ended.push(finish_reason);
    }
  }
  return all;
}
const plain = await streamed(client, {});
assert.deepEqual(plain, { content, drafts: "", annotations, usage: null, ended: ["stop"] });
const drafted = await streamed(client, { emend: { drafts: true, options: { top_k: 2 } } });
assert.equal(drafted.content, content);
assert.match(drafted.drafts, /25 days/);
assert.equal(await client.chat.completions.stream({ model, messages }).finalContent(), content);

const abstained = await client.chat.completions.create({
  model,
  messages: [{ role: "user", content: "Which comet passes near Jupiter?" }],
});
assert.equal(abstained.emend.status, "ABSTAINED");
assert.ok(abstained.choices[0].message.content);

for (const stream of [false, true]) {
  for (const [wrong, status, code] of [
    [{ model: "self-rga@handbook" }, 404, "model_not_found"],
    [{ model: "self-rag@nothing" }, 404, "model_not_found"],
    [{ n: 2 }, 400, "invalid_value"],
    [{ temprature: 1 }, 400, "unknown_parameter"],
  ]) {
    await assert.rejects(client.chat.completions.create({ model, messages, stream, ...wrong }), (error) => {
      assert.deepEqual([error.status, error.code], [status, code]);
      assert.ok(error.param, error);
      if (status === 404) assert.ok(error.message.includes(model), error);
      return true;
    });
  }
}

// What the model was asked and said, in whole answers and in streams.
const ofAModel = connect(gatewayOfAModel);
const { usage } = await ofAModel.chat.completions.create({ model, messages });
assert.ok(usage.prompt_tokens > 0 && usage.completion_tokens > 0, usage);
assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
const again = await streamed(ofAModel, { stream_options: { include_usage: true } });
assert.deepEqual(again.usage, usage);
console.log(JSON.stringify(usage));
console.log("ok");
