"""The client for asyncio."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping

import grpc.aio

from emend._channel import Connected, documents_of, ingest_request, question_of
from emend.v1.orchestrator_pb2 import AskRequest, AskStreamRequest, Question, WalkEvent, WalkResult
from emend.v1.retriever_pb2 import Document, IngestRequest, IngestResponse


class AsyncClient(Connected):
    """`Client` for asyncio: the same arguments and methods. It is made where an event loop runs."""

    _grpc = grpc.aio

    async def ask(
        self,
        question: str | Question,
        *,
        collection: str = "",
        graph: str = "",
        options: Mapping[str, float] | None = None,
    ) -> WalkResult:
        """Asks a question; the others are for one that is a text."""
        request = AskRequest(question=question_of(question, collection, graph, options))
        return (await self.orchestrator.Ask(request, timeout=self._timeout)).result

    async def ask_stream(
        self,
        question: str | Question,
        *,
        collection: str = "",
        graph: str = "",
        options: Mapping[str, float] | None = None,
    ) -> AsyncIterator[WalkEvent]:
        """The same as events; the last one is `finished`. Leaving the iteration by `aclose` cancels the walk."""
        request = AskStreamRequest(question=question_of(question, collection, graph, options))
        call = self.orchestrator.AskStream(request, timeout=self._timeout)
        try:
            async for message in call:
                yield message.event
        finally:
            call.cancel()

    async def ingest(
        self,
        documents: Mapping[str, str | bytes] | Iterable[Document] | AsyncIterable[Document],
        *,
        collection: str = "",
        timeout: float | None = None,
    ) -> AsyncIterator[IngestResponse]:
        """Stores documents, given by their ids or as they are, and tells of each one when it is on disk.

        Read all answers: what is not answered may not be stored. `timeout` is for all documents together.
        """

        async def requests() -> AsyncIterator[IngestRequest]:
            if isinstance(documents, AsyncIterable):
                async for document in documents:
                    yield ingest_request(collection, document)
            else:
                for document in documents_of(documents):
                    yield ingest_request(collection, document)

        call = self.retriever.Ingest(requests(), timeout=timeout or self._timeout)
        try:
            async for answer in call:
                yield answer
        finally:
            call.cancel()

    async def close(self) -> None:
        for channel in self._channels:
            await channel.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
