"""How services are reached, and what they are sent: the same for both clients."""

import json
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, TypeAlias

import grpc

from emend.v1.orchestrator_pb2 import Question
from emend.v1.orchestrator_pb2_grpc import OrchestratorServiceStub
from emend.v1.retriever_pb2 import Document, IngestRequest
from emend.v1.retriever_pb2_grpc import RetrieverServiceStub

Address: TypeAlias = str | Sequence[str]
"""`HOST:PORT` or a target of gRPC such as `dns:///NAME:PORT`, or several `IP:PORT`, which get calls in turn."""


class Connected:
    """Channels to the services, and the stubs over them."""

    _grpc: ClassVar[ModuleType]
    """What makes the channels: `grpc`, or `grpc.aio`."""

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
        self._channels: list[Any] = []
        credentials = channel_credentials(ca, api_key)
        self.orchestrator = OrchestratorServiceStub(self._connect(orchestrator, credentials))
        self._retriever = RetrieverServiceStub(self._connect(retriever, credentials)) if retriever else None

    def _connect(self, address: Address, credentials: grpc.ChannelCredentials | None) -> Any:
        target, options = target_and_options(address)
        if credentials is None:
            channel = self._grpc.insecure_channel(target, options)
        else:
            channel = self._grpc.secure_channel(target, credentials, options)
        self._channels.append(channel)
        return channel

    @property
    def retriever(self) -> RetrieverServiceStub:
        """The stub of the retriever; a `ValueError` where the client has no address of one."""
        if self._retriever is None:
            raise ValueError(f"documents are stored by a retriever: give {type(self).__name__} its address")
        return self._retriever


def target_and_options(address: Address) -> tuple[str, list[tuple[str, str]]]:
    """What gRPC takes for an address."""
    options = [("grpc.service_config", json.dumps({"loadBalancingConfig": [{"round_robin": {}}]}))]
    if isinstance(address, str):
        return address, options
    if not address:
        raise ValueError("no address is given")
    # A list is no name of a server: HTTP/2 refuses it as one.
    options.append(("grpc.default_authority", address[0]))
    family = "ipv6" if address[0].startswith("[") else "ipv4"
    return f"{family}:{','.join(address)}", options


def channel_credentials(ca: bytes | None, api_key: str | None) -> grpc.ChannelCredentials | None:
    """TLS by this authority, and the key with every call; `None` without TLS."""
    if ca is None:
        if api_key is not None:
            raise ValueError("a key without ca would be sent in the clear: give ca too")
        return None
    credentials = grpc.ssl_channel_credentials(ca)
    if api_key is None:
        return credentials
    return grpc.composite_channel_credentials(credentials, grpc.access_token_call_credentials(api_key))


def question_of(question: str | Question, collection: str, graph: str, options: Mapping[str, float] | None) -> Question:
    """A question as the contract has it; one that is such already stays as it is."""
    if isinstance(question, Question):
        return question
    return Question(question=question, collection=collection, graph=graph, options=options or {})


def documents_of(documents: Mapping[str, str | bytes] | Iterable[Document]) -> Iterable[Document]:
    """Documents by their ids as the contract has them; others stay as they are."""
    if not isinstance(documents, Mapping):
        return documents
    return (
        Document(id=name, content=content.encode() if isinstance(content, str) else content)
        for name, content in documents.items()
    )


def ingest_request(collection: str, document: Document) -> IngestRequest:
    return IngestRequest(collection=collection, document=document)
