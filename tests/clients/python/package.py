"""The package of proto/python, as it is installed."""

import asyncio
import sys
from pathlib import Path

import grpc

# region package
from emend import AsyncClient, Client, explain

orchestrator, retriever, *files = sys.argv[1:]
# The authority of the services' certificates, and a key; without them calls are neither encrypted nor anybody's.
access = {"ca": Path(files[0]).read_bytes(), "api_key": Path(files[1]).read_text().strip()} if files else {}
leave = {"leave.md": "Every employee has 25 days of paid leave a year."}
asked = "How many days of paid leave does every employee have?"

with Client(orchestrator, retriever=retriever, **access) as emend:
    for stored in emend.ingest(leave, collection="handbook"):
        print(stored.document_id, stored.status, stored.passages)
    result = emend.ask(asked, collection="handbook")
    print(result.answer)
    for event in emend.ask_stream(asked, collection="handbook"):
        print(event.WhichOneof("event"))


async def main():
    async with AsyncClient(orchestrator, retriever=retriever, **access) as emend:
        async for stored in emend.ingest(leave, collection="handbook"):
            print(stored.document_id, stored.status, stored.passages)
        result = await emend.ask(asked, collection="handbook")
        print(result.answer)
        async for event in emend.ask_stream(asked, collection="handbook"):
            print(event.WhichOneof("event"))


# endregion

asyncio.run(main())


def refused(question, **more):
    """What both clients are told of a question that is refused."""

    async def later():
        async with AsyncClient([orchestrator, orchestrator], **access) as emend:
            await emend.ask(question, **more)

    with Client([orchestrator, orchestrator], **access) as emend:
        told = []
        for ask in (lambda: emend.ask(question, **more), lambda: asyncio.run(later())):
            try:
                ask()
                sys.exit(f"{question!r} {more} was answered")
            except grpc.RpcError as error:
                told.append(explain(error))
    assert told[0] == told[1], told
    return told[0]


with Client([orchestrator, orchestrator], **access) as emend:
    assert emend.ask(asked, collection="handbook").answer == result.answer
    first = emend.ask_stream(asked, collection="handbook")
    assert next(first).WhichOneof("event") == "step_started"
    first.close()
    try:
        emend.ingest(leave)
        sys.exit("documents were stored nowhere")
    except ValueError as error:
        print(error)
said = refused("")
assert said.code is grpc.StatusCode.INVALID_ARGUMENT and said.reason == "FIELD_INVALID", said
assert "question.question" in said.fields, said
for kind in ("collection", "graph"):
    said = refused(asked, **{kind: "absent"})
    assert (said.reason, said.resource) == (f"{kind.upper()}_NOT_FOUND", (kind, "absent")), said
try:
    Client(orchestrator, api_key="emend_key")
    sys.exit("a key would go in the clear")
except ValueError as error:
    print(error)
