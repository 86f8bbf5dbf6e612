"""The client whose calls wait."""

from collections.abc import Iterable, Iterator, Mapping

import grpc

from emend._channel import Address, channel_credentials, documents_of, ingest_request, question_of, target_and_options
from emend.v1.orchestrator_pb2 import AskRequest, AskStreamRequest, Question, WalkEvent, WalkResult
from emend.v1.orchestrator_pb2_grpc import OrchestratorServiceStub
from emend.v1.retriever_pb2 import Document, IngestResponse
from emend.v1.retriever_pb2_grpc import RetrieverServiceStub


class Client:
    """Asks an orchestrator, and stores documents in a retriever.

    Without `retriever`, there is nothing to store documents in. `ca` is a PEM, `api_key` goes with every call, `timeout`
    holds for each call, in seconds.
    """

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
        self._channels: list[grpc.Channel] = []
        credentials = channel_credentials(ca, api_key)
        self.orchestrator = OrchestratorServiceStub(self._connect(orchestrator, credentials))
        self.retriever = RetrieverServiceStub(self._connect(retriever, credentials)) if retriever else None

    def _connect(self, address: Address, credentials: grpc.ChannelCredentials | None) -> grpc.Channel:
        target, options = target_and_options(address)
        if credentials is None:
            channel = grpc.insecure_channel(target, options)
        else:
            channel = grpc.secure_channel(target, credentials, options)
        self._channels.append(channel)
        return channel

    def ask(
        self,
        question: str | Question,
        *,
        collection: str = "",
        graph: str = "",
        options: Mapping[str, float] | None = None,
    ) -> WalkResult:
        """Asks a question; the others are for one that is a text."""
        request = AskRequest(question=question_of(question, collection, graph, options))
        return self.orchestrator.Ask(request, timeout=self._timeout).result

    def ask_stream(
        self,
        question: str | Question,
        *,
        collection: str = "",
        graph: str = "",
        options: Mapping[str, float] | None = None,
    ) -> Iterator[WalkEvent]:
        """The same as events; the last one is `finished`. Leaving the iteration by `close` cancels the walk."""
        request = AskStreamRequest(question=question_of(question, collection, graph, options))
        call = self.orchestrator.AskStream(request, timeout=self._timeout)
        try:
            for message in call:
                yield message.event
        finally:
            call.cancel()

    def ingest(
        self, documents: Mapping[str, str | bytes] | Iterable[Document], *, collection: str = ""
    ) -> Iterator[IngestResponse]:
        """Stores documents, given by their ids or as they are, and tells of each one when it is on disk.

        The answers have to be read for the documents to be sent.
        """
        if self.retriever is None:
            raise ValueError("documents are stored by a retriever: give Client its address")
        requests = (ingest_request(collection, document) for document in documents_of(documents))
        return self.retriever.Ingest(requests, timeout=self._timeout)

    def close(self) -> None:
        for channel in self._channels:
            channel.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
