"""What the services offer, from Python. Each function stands by itself; `main` runs them all and checks what they say."""

import argparse
import json
import queue
import secrets
import sys
from pathlib import Path

import grpc
from emend.v1.common_pb2 import SearchMode
from emend.v1.orchestrator_pb2 import AskRequest, AskStreamRequest, Question, WalkStatus
from emend.v1.orchestrator_pb2_grpc import OrchestratorServiceStub
from emend.v1.retriever_pb2 import Document, IngestRequest, IngestStatus, ListCollectionsRequest
from emend.v1.retriever_pb2_grpc import RetrieverServiceStub
from google.protobuf.descriptor_pool import DescriptorPool
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, ResourceInfo, RetryInfo
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status

COLLECTION = "python"
ASKED = "How many days of paid leave does every employee have?"
DOCUMENTS = {
    "leave.md": "# Leave\n\nEvery employee has 25 days of paid leave a year. Leave is approved by the team lead.\n",
    "travel.md": "# Travel\n\nTrains are booked in second class. Receipts are kept for two years.\n",
}


# region connect
def connect(target, ca=None, key=None):
    """A channel to one service: `HOST:PORT`, `dns:///NAME:PORT`, or `ipv4:IP:PORT,IP:PORT` for several addresses."""
    # Calls go to every address in turn; without this, all of them go to the first one that answers.
    config = {"loadBalancingConfig": [{"round_robin": {}}]}
    options = [("grpc.service_config", json.dumps(config))]
    if "," in target:  # a list is no name of a server: HTTP/2 refuses it as one
        options.append(("grpc.default_authority", target.removeprefix("ipv4:").split(",")[0]))
    if ca is None:
        return grpc.insecure_channel(target, options)
    credentials = grpc.ssl_channel_credentials(Path(ca).read_bytes())
    if key is not None:  # goes with every call as `authorization: Bearer KEY`
        credentials = grpc.composite_channel_credentials(credentials, grpc.access_token_call_credentials(key))
    return grpc.secure_channel(target, credentials, options)
# endregion


# region health
def health(channel, service):
    """Whether a service takes calls; Watch in place of Check tells every change."""
    answer = HealthStub(channel).Check(HealthCheckRequest(service=service), timeout=10)
    return HealthCheckResponse.ServingStatus.Name(answer.status)
# endregion


# region ingest
def ingest(channel, documents):
    """Stores documents as they come, and learns of each one when it is on disk."""
    requests = (
        IngestRequest(collection=COLLECTION, document=Document(id=name, content=text.encode()))
        for name, text in documents.items()
    )
    stored = {}
    for answer in RetrieverServiceStub(channel).Ingest(requests, timeout=60):
        status = IngestStatus.Name(answer.status)
        print(f"  {answer.document_id}: {status} {answer.passages} passages {answer.error}")
        stored[answer.document_id] = status
    return stored
# endregion


# region ask
def ask(channel):
    """One question, one answer with its sources."""
    question = Question(question=ASKED, collection=COLLECTION, search=SearchMode.SEARCH_MODE_HYBRID)
    result = OrchestratorServiceStub(channel).Ask(AskRequest(question=question), timeout=30).result
    print(f"  {WalkStatus.Name(result.status)}: {result.answer}")
    for sentence in result.sentences:
        for citation in sentence.citations:
            document = result.documents[citation.number - 1].passage
            print(f"  [{citation.number}] {document.source}: {sentence.text}")
    return result
# endregion


# region stream
def stream(channel):
    """The same as a stream: what the walk does while it does it, and the result as the last event."""
    question = Question(question=ASKED, collection=COLLECTION)
    for message in OrchestratorServiceStub(channel).AskStream(AskStreamRequest(question=question), timeout=30):
        event = message.event
        match event.WhichOneof("event"):
            case "step_finished":
                step = event.step_finished.step
                print(f"  {step.number}. {step.node}: {step.outcome} {step.summary}")
            case "text_delta":  # not graded yet
                print(f"  … {event.text_delta.text}")
            case "sentence_retracted":
                print(f"  withdrawn: {event.sentence_retracted.sentence.text}")
            case "finished":
                return event.finished
# endregion


# region errors
def explain(error):
    """What an error says besides its code and message: reason, what that is about, wrong fields, when to come back."""
    said = {"code": error.code().name, "message": error.details(), "reason": "", "fields": {}}
    status = rpc_status.from_call(error)  # google.rpc.Status, None where the server sent none
    for detail in status.details if status else ():
        if detail.Is(ErrorInfo.DESCRIPTOR):
            info = ErrorInfo()
            detail.Unpack(info)
            said["reason"] = info.reason  # an `ErrorReason` without its prefix
        elif detail.Is(ResourceInfo.DESCRIPTOR):
            about = ResourceInfo()
            detail.Unpack(about)
            said["resource"] = about.resource_type, about.resource_name
        elif detail.Is(BadRequest.DESCRIPTOR):
            bad = BadRequest()
            detail.Unpack(bad)
            said["fields"] = {violation.field: violation.description for violation in bad.field_violations}
        elif detail.Is(RetryInfo.DESCRIPTOR):
            retry = RetryInfo()
            detail.Unpack(retry)
            said["retry_after"] = retry.retry_delay.ToTimedelta().total_seconds()
    return said
# endregion


def refused(channel, question):
    """What is said of a question that is refused."""
    try:
        OrchestratorServiceStub(channel).Ask(AskRequest(question=question), timeout=10)
    except grpc.RpcError as error:
        return explain(error)
    raise AssertionError(f"{question} was answered")


def too_many_streams(channel):
    """An error that says when to try again: a retriever takes so many streams of documents at once and no more."""
    held = []
    try:
        for number in range(100):
            requests = queue.SimpleQueue()
            answers = RetrieverServiceStub(channel).Ingest(iter(requests.get, None), timeout=60)
            held.append(answers)
            document = Document(id=f"held-{number}", content=b"This stream stays open.")
            requests.put(IngestRequest(collection=COLLECTION, document=document))
            next(answers)
    except grpc.RpcError as error:
        return explain(error)
    finally:
        for answers in held:
            answers.cancel()
    raise AssertionError("there is no end of streams")


# region deadline
def deadline(channel):
    """A deadline is sent along and holds at every service: a walk ends before it with what it has."""
    question = Question(question=ASKED, collection=COLLECTION)
    try:
        result = OrchestratorServiceStub(channel).Ask(AskRequest(question=question), timeout=3).result
        return WalkStatus.Name(result.status), result.reason
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
            raise
        return error.code().name, error.details()
# endregion


# region cancel
def cancel(channel):
    """Whoever has seen enough cancels: the walk stops at every service."""
    question = Question(question=ASKED, collection=COLLECTION)
    events = OrchestratorServiceStub(channel).AskStream(AskStreamRequest(question=question), timeout=60)
    first = next(events).event.WhichOneof("event")
    events.cancel()
    try:
        for _ in events:
            pass
    except grpc.RpcError as error:
        return first, error.code()
    return first, events.code()
# endregion


# region balance
def balance(addresses, ca=None, key=None):
    """Calls over several addresses. Here each has a collection of its own, which shows who answered."""
    seen = set()
    with connect("ipv4:" + ",".join(addresses), ca, key) as channel:
        retriever = RetrieverServiceStub(channel)
        for _ in range(10_000):  # until both connections stand
            answer = retriever.ListCollections(ListCollectionsRequest(), timeout=10, wait_for_ready=True)
            seen.add(tuple(collection.name for collection in answer.collections))
            if len(seen) == len(addresses):
                break
    return seen
# endregion


# region trace
def trace(channel):
    """A W3C `traceparent` makes the walk a part of the caller's trace. OpenTelemetry's instrumentation of gRPC sends it."""
    trace_id, span_id = secrets.token_hex(16), secrets.token_hex(8)
    result = OrchestratorServiceStub(channel).Ask(
        AskRequest(question=Question(question=ASKED, collection=COLLECTION)),
        timeout=30,
        metadata=[("traceparent", f"00-{trace_id}-{span_id}-01")],
    ).result
    return trace_id, result.trace_id
# endregion


# region reflection
def reflection(channel):
    """What a server offers, without any stub: the services that it names, and their contracts."""
    database = ProtoReflectionDescriptorDatabase(channel)
    service = DescriptorPool(database).FindServiceByName("emend.v1.OrchestratorService")
    return database.get_services(), [method.name for method in service.methods]
# endregion


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--orchestrator", required=True, metavar="HOST:PORT")
    arguments.add_argument("--retriever", required=True, metavar="HOST:PORT")
    arguments.add_argument("--slow", required=True, metavar="HOST:PORT", help="an orchestrator that never has an answer")
    arguments.add_argument("--balance", required=True, metavar="HOST:PORT,…", help="retrievers with different collections")
    arguments.add_argument("--ca", metavar="FILE", help="PEM of the authority; without it nothing is encrypted")
    arguments.add_argument("--api-key-file", metavar="FILE", help="file of the API key")
    given = arguments.parse_args()
    key = Path(given.api_key_file).read_text().strip() if given.api_key_file else None
    orchestrator = connect(given.orchestrator, given.ca, key)
    retriever = connect(given.retriever, given.ca, key)
    slow = connect(given.slow, given.ca, key)

    failed = []

    def check(name, call, *right):
        """Runs a call, shows what it returned, and notes which of the conditions does not hold of it."""
        print(f"{name}:")
        try:
            value = call()
            print(f"  {value!r}"[:400])
            wrong = [index for index, holds in enumerate(right) if not holds(value)]
            problem = f"condition {wrong} does not hold of {value!r}" if wrong else None
        except Exception as error:  # an example goes on with the next one
            problem = f"{type(error).__name__}: {error}"
        if problem:
            failed.append(f"{name}: {problem}")

    check("health", lambda: health(orchestrator, "emend.v1.OrchestratorService"), lambda status: status == "SERVING")
    check(
        "reflection",
        lambda: reflection(orchestrator),
        lambda told: {"emend.v1.OrchestratorService", "grpc.health.v1.Health"} <= set(told[0]),
        lambda told: "AskStream" in told[1],
    )
    check(
        "ingest",
        lambda: ingest(retriever, DOCUMENTS),
        lambda stored: stored == dict.fromkeys(DOCUMENTS, "INGEST_STATUS_INGESTED"),
    )
    check("ask", lambda: ask(orchestrator), lambda result: "25 days" in result.answer, lambda result: result.documents)
    check("stream", lambda: stream(orchestrator), lambda result: "25 days" in result.answer)
    check(
        "errors",
        lambda: refused(orchestrator, Question(question="", options={"no_such_option": 1})),
        lambda said: said["code"] == "INVALID_ARGUMENT" and said["reason"] == "FIELD_INVALID",
        lambda said: "question.question" in said["fields"],
    )
    check(
        "unknown",
        lambda: refused(orchestrator, Question(question=ASKED, collection="absent")),
        lambda said: said["reason"] == "COLLECTION_NOT_FOUND" and said["resource"] == ("collection", "absent"),
    )
    check(
        "retry",
        lambda: too_many_streams(retriever),
        lambda said: said["code"] == "RESOURCE_EXHAUSTED" and said["retry_after"] > 0,
    )
    check("deadline", lambda: deadline(slow), lambda end: end[0] == "WALK_STATUS_FAILED")
    check("cancel", lambda: cancel(slow), lambda end: end == ("step_started", grpc.StatusCode.CANCELLED))
    check("balance", lambda: balance(given.balance.split(","), given.ca, key), lambda seen: len(seen) == 2)
    check("trace", lambda: trace(orchestrator), lambda ids: ids[0] == ids[1])

    for line in failed:
        print(f"FAILED {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
