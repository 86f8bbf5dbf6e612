"""Asks through OpenAI's own package: openai_client.py GATEWAY. What is wrong ends it."""

import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
MODEL = "self-rag@handbook"
ASKED = "How many days of paid leave does every employee have?"

models = [model.id for model in client.models.list()]
assert MODEL in models, models
assert client.models.retrieve(MODEL).owned_by == "emend"

completion = client.chat.completions.create(
    model=MODEL,
    messages=[{"role": "system", "content": "Answer like a pirate."}, {"role": "user", "content": ASKED}],
    temperature=0.2,
    max_tokens=200,
)
message = completion.choices[0].message
assert "25 days of paid leave a year. [1]" in message.content, message
assert completion.choices[0].finish_reason == "stop"
assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens
cited = message.annotations[0].url_citation
assert message.content[cited.start_index : cited.end_index] == "[1]", cited
assert cited.url.endswith("leave.md"), cited

# A conversation: the question refers to what was said before.
followed = client.chat.completions.create(
    model=MODEL,
    messages=[
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": "Who approves leave?"},
    ],
)
assert "team lead" in followed.choices[0].message.content, followed

streamed, usage, drafts = "", None, ""
stream = client.chat.completions.create(
    model=MODEL,
    messages=[{"role": "user", "content": ASKED}],
    stream=True,
    stream_options={"include_usage": True},
    extra_body={"emend": {"drafts": True, "options": {"top_k": 2}}},
)
for chunk in stream:
    usage = chunk.usage or usage
    for choice in chunk.choices:
        streamed += choice.delta.content or ""
        drafts += getattr(choice.delta, "reasoning_content", None) or ""
assert streamed == message.content, streamed
assert "25 days" in drafts, drafts
assert usage is not None

abstained = client.chat.completions.create(
    model=MODEL, messages=[{"role": "user", "content": "Which comet passes near Jupiter?"}]
)
assert abstained.emend["status"] == "ABSTAINED", abstained
assert abstained.choices[0].message.content

for wrong, error in [
    ({"model": "self-rga@handbook"}, openai.NotFoundError),
    ({"model": "self-rag@nothing"}, openai.NotFoundError),
    ({"n": 2}, openai.BadRequestError),
    ({"extra_body": {"temprature": 1}}, openai.BadRequestError),
]:
    given = {"model": MODEL, "messages": [{"role": "user", "content": ASKED}], **wrong}
    for stream in (False, True):
        try:
            client.chat.completions.create(**given, stream=stream)
        except error as refused:
            assert refused.body["message"] and refused.body["param"], refused.body
            if error is openai.NotFoundError:
                assert refused.body["code"] == "model_not_found" and MODEL in refused.body["message"], refused.body
        else:
            raise AssertionError(f"{wrong} was taken")
print("ok")
