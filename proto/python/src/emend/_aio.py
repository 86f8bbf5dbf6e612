"""The client for asyncio."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping

import grpc
import grpc.aio

from emend._channel import Address, channel_credentials, documents_of, ingest_request, question_of, target_and_options
from emend.v1.orchestrator_pb2 import AskRequest, AskStreamRequest, Question, WalkEvent, WalkResult
from emend.v1.orchestrator_pb2_grpc import OrchestratorServiceStub
from emend.v1.retriever_pb2 import Document, IngestRequest, IngestResponse
from emend.v1.retriever_pb2_grpc import RetrieverServiceStub


class AsyncClient:
    """[`Client`][emend.Client] for asyncio: the same arguments and methods. It is made where an event loop runs."""

    def __init__(
        self,
        orchestrator: Address = "localhost:50050",
        *,
        retriever: Address | None = None,
        ca: bytes | None = None,
        api_key: str | None = None,
        timeout: float = 60,
    ) -> None:
        self._timeout = timeout
        self._channels: list[grpc.aio.Channel] = []
        credentials = channel_credentials(ca, api_key)
        self.orchestrator = OrchestratorServiceStub(self._connect(orchestrator, credentials))
        self.retriever = RetrieverServiceStub(self._connect(retriever, credentials)) if retriever else None

    def _connect(self, address: Address, credentials: grpc.ChannelCredentials | None) -> grpc.aio.Channel:
        target, options = target_and_options(address)
        if credentials is None:
            channel = grpc.aio.insecure_channel(target, options)
        else:
            channel = grpc.aio.secure_channel(target, credentials, options)
        self._channels.append(channel)
        return channel

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
    ) -> AsyncIterator[IngestResponse]:
        """Stores documents, given by their ids or as they are, and tells of each one when it is on disk."""
        if self.retriever is None:
            raise ValueError("documents are stored by a retriever: give AsyncClient its address")

        async def requests() -> AsyncIterator[IngestRequest]:
            given = documents_of(documents)
            if isinstance(given, AsyncIterable):
                async for document in given:
                    yield ingest_request(collection, document)
            else:
                for document in given:
                    yield ingest_request(collection, document)

        call = self.retriever.Ingest(requests(), timeout=self._timeout)
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
