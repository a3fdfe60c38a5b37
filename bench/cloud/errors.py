"""How the local cloud says no: one exception, rendered in the shape of the API that refuses.

Owns the mapping between HTTP codes, canonical status names, rpc codes and the two JSON flavours Google has: the
common one (`status`, `details`) and the older one of Compute Engine and Cloud Storage (`errors` with a `reason`).
Does not own when to refuse.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import ConfigDict, ValidationError

# How what people declare to the cloud is read: nothing is converted, nothing unknown is dropped.
STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

JsonObject = dict[str, Any]

# google/rpc/code.proto: canonical names in the order of their rpc codes, from 0. 2026-11.
CANONICAL = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip

_STATUS_OF_HTTP: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}

_REASON_OF_HTTP: Mapping[int, str] = {
    400: "invalid",
    401: "authError",
    403: "forbidden",
    404: "notFound",
    409: "alreadyExists",
    412: "conditionNotMet",
    429: "rateLimitExceeded",
    501: "notImplemented",
    503: "backendError",
}

_OLDER_FLAVOUR = frozenset({"compute", "storage"})
# The GKE API writes both, and Google's provider knows a cluster that is busy by the older one.
_BOTH_FLAVOURS = frozenset({"container"})


class ApiError(Exception):
    """A refusal that a client of a Google API can read.

    code: HTTP code. message: text for people. status: canonical name, derived from the code when left out.
    details: `google.rpc` detail objects, each with its `@type`. reason, domain: the words of the older flavour
        (`notFound`, `global`).
    """

    def __init__(
        self,
        code: int,
        message: str,
        *,
        status: str | None = None,
        details: Sequence[JsonObject] = (),
        reason: str | None = None,
        domain: str = "global",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status or _STATUS_OF_HTTP.get(code, "UNKNOWN")
        self.details = tuple(details)
        self.domain = domain
        self.reason = reason or _REASON_OF_HTTP.get(code, "backendError")

    def rendered(self, service: str) -> JsonObject:
        """The JSON body in the flavour of `service` (`tpu`, `compute`, `storage`...)."""
        error: JsonObject = {"code": self.code, "message": self.message}
        if service in _OLDER_FLAVOUR | _BOTH_FLAVOURS:
            error["errors"] = [{"message": self.message, "domain": self.domain, "reason": self.reason}]
        if service not in _OLDER_FLAVOUR:
            error["status"] = self.status
        if self.details:
            error["details"] = list(self.details)
        return {"error": error}

    def as_rpc(self) -> JsonObject:
        """The same refusal as a `google.rpc.Status`, as a finished operation carries it."""
        return rpc_status(self.status, self.message, self.details)


def rpc_status(status: str, message: str, details: Sequence[JsonObject] = ()) -> JsonObject:
    """A `google.rpc.Status` object; `status` is a canonical name."""
    body: JsonObject = {"code": CANONICAL.index(status), "message": message}
    if details:
        body["details"] = list(details)
    return body


def not_found(name: str) -> ApiError:
    return ApiError(404, f"Resource '{name}' was not found")


def already_exists(name: str) -> ApiError:
    return ApiError(409, f"Resource '{name}' already exists")


def invalid(message: str, *, field: str | None = None) -> ApiError:
    """400 INVALID_ARGUMENT; `field` is the path of the offending field and becomes a BadRequest detail."""
    details: list[JsonObject] = []
    if field is not None:
        violation = {"field": field, "description": message}
        details.append({"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]})
    return ApiError(400, message, details=details)


def failed_precondition(message: str) -> ApiError:
    return ApiError(400, message, status="FAILED_PRECONDITION", reason="failedPrecondition")


def aborted(message: str) -> ApiError:
    """409 ABORTED: a concurrent change, such as an etag that is no longer the current one."""
    return ApiError(409, message, status="ABORTED", reason="conflict")


def condition_not_met(message: str) -> ApiError:
    """412: a generation or metageneration precondition of Cloud Storage, or a Compute Engine fingerprint."""
    return ApiError(412, message, reason="conditionNotMet")


@contextmanager
def refusing(noun: str) -> Generator[None]:
    """400 for what pydantic does not take, by the first field. noun: what is read: `a fault`."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise invalid(
            f"{first['input']!r} is not a value for {field} of {noun}: {first['msg']}.", field=field
        ) from None
