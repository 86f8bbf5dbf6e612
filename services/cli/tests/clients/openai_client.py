"""Asks through OpenAI's own package: openai_client.py GATEWAY GATEWAY_OF_A_MODEL. What is wrong ends it."""

import json
import sys

import openai


def connect(address):
    return openai.OpenAI(base_url=address + "/v1", api_key="none", max_retries=0)


client = connect(sys.argv[1])
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



def streamed(client, **more):
    """What a stream says, put together."""
    content, drafts, annotations, usage = "", "", [], None
    messages = [{"role": "user", "content": ASKED}]
    for chunk in client.chat.completions.create(model=MODEL, messages=messages, stream=True, **more):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            content += choice.delta.content or ""
            drafts += getattr(choice.delta, "reasoning_content", None) or ""
            annotations += getattr(choice.delta, "annotations", None) or []
    return content, drafts, annotations, usage


plain = streamed(client)
assert plain == (message.content, "", [annotation.model_dump() for annotation in message.annotations], None), plain
content, drafts, _, _ = streamed(client, extra_body={"emend": {"drafts": True, "options": {"top_k": 2}}})
assert content == message.content, content
assert "25 days" in drafts, drafts

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

# What the model was asked and said, in whole answers and in streams.
of_a_model = connect(sys.argv[2])
usage = of_a_model.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": ASKED}]).usage
assert usage.prompt_tokens > 0 and usage.completion_tokens > 0, usage
assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens, usage
*_, again = streamed(of_a_model, stream_options={"include_usage": True})
assert again == usage, (again, usage)
print(json.dumps(usage.model_dump()))
print("ok")
