"""What an error says besides its code and message."""

from dataclasses import dataclass, field

import grpc
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, ResourceInfo, RetryInfo
from google.rpc.status_pb2 import Status


@dataclass
class Explained:
    """An error of a service."""

    code: grpc.StatusCode
    message: str
    reason: str = ""
    """Name of an `ErrorReason` of the contracts without its prefix, such as `COLLECTION_NOT_FOUND`; empty where there is
    none, or it is not of Emend."""
    resource: tuple[str, str] | None = None
    """What the reason is about: `collection`, `document` or `graph`, and its name."""
    fields: dict[str, str] = field(default_factory=dict)
    """What is wrong, by field."""
    retry_after: float | None = None
    """Seconds until it makes sense to try again; `None` where it makes none, or nobody knows."""


def explain(error: grpc.RpcError) -> Explained:
    """Reads what a service says about an error, of either client."""
    said = Explained(error.code(), error.details() or "")
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        for detail in Status.FromString(value).details:
            if detail.Is(ErrorInfo.DESCRIPTOR):
                info = ErrorInfo.FromString(detail.value)
                said.reason = info.reason if info.domain == "emend" else ""
            elif detail.Is(ResourceInfo.DESCRIPTOR):
                about = ResourceInfo.FromString(detail.value)
                said.resource = about.resource_type, about.resource_name
            elif detail.Is(BadRequest.DESCRIPTOR):
                bad = BadRequest.FromString(detail.value)
                said.fields = {violation.field: violation.description for violation in bad.field_violations}
            elif detail.Is(RetryInfo.DESCRIPTOR):
                said.retry_after = RetryInfo.FromString(detail.value).retry_delay.ToTimedelta().total_seconds()
    return said
