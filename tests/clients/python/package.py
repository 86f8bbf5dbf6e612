"""The package of proto/python, as it is installed."""

import asyncio
import sys

import grpc

# region package
from emend import AsyncClient, Client, explain

orchestrator, retriever = sys.argv[1:]
leave = {"leave.md": "Every employee has 25 days of paid leave a year."}
asked = "How many days of paid leave does every employee have?"

with Client(orchestrator, retriever=retriever) as emend:
    for stored in emend.ingest(leave, collection="handbook"):
        print(stored.document_id, stored.status, stored.passages)
    result = emend.ask(asked, collection="handbook")
    print(result.answer)
    for event in emend.ask_stream(asked, collection="handbook"):
        print(event.WhichOneof("event"))


async def main():
    async with AsyncClient(orchestrator, retriever=retriever) as emend:
        async for stored in emend.ingest(leave, collection="handbook"):
            print(stored.document_id, stored.status, stored.passages)
        result = await emend.ask(asked, collection="handbook")
        print(result.answer)
        async for event in emend.ask_stream(asked, collection="handbook"):
            print(event.WhichOneof("event"))


# endregion

asyncio.run(main())


async def refused():
    try:
        async with AsyncClient([orchestrator, orchestrator]) as emend:
            await emend.ask("")
    except grpc.RpcError as error:
        return explain(error)


try:
    with Client([orchestrator, orchestrator]) as emend:
        assert emend.ask(asked, collection="handbook").answer == result.answer
        first = emend.ask_stream(asked, collection="handbook")
        assert next(first).WhichOneof("event") == "step_started"
        first.close()
        emend.ask("")
    sys.exit("an empty question was answered")
except grpc.RpcError as error:
    said = explain(error)
assert said == asyncio.run(refused()), said
assert said.code is grpc.StatusCode.INVALID_ARGUMENT and said.reason == "emend/INVALID_ARGUMENT", said
assert "question.question" in said.fields, said
try:
    Client(orchestrator, api_key="emend_key")
    sys.exit("a key would go in the clear")
except ValueError as error:
    print(error)
