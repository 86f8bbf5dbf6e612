"""The client whose calls wait."""

from collections.abc import Iterable, Iterator, Mapping

import grpc

from emend._channel import Connected, documents_of, ingest_request, question_of
from emend.v1.orchestrator_pb2 import AskRequest, AskStreamRequest, Question, WalkEvent, WalkResult
from emend.v1.retriever_pb2 import Document, IngestResponse


class Client(Connected):
    """Asks an orchestrator, and stores documents in a retriever.

    Without `retriever`, there is nothing to store documents in. `ca` is a PEM, `api_key` goes with every call, `timeout`
    holds for each call, in seconds.
    """

    _grpc = grpc

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
        self,
        documents: Mapping[str, str | bytes] | Iterable[Document],
        *,
        collection: str = "",
        timeout: float | None = None,
    ) -> Iterator[IngestResponse]:
        """Stores documents, given by their ids or as they are, and tells of each one when it is on disk.

        Read all answers: what is not answered may not be stored. `timeout` is for all documents together.
        """
        requests = (ingest_request(collection, document) for document in documents_of(documents))
        return self.retriever.Ingest(requests, timeout=timeout or self._timeout)

    def close(self) -> None:
        for channel in self._channels:
            channel.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
