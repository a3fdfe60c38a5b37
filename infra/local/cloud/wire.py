"""Requests and replies as bytes and headers: what passes between the server and whoever answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from infra.local.cloud import partial
from infra.local.cloud.errors import ApiError
from infra.local.cloud.registry import Answer, JsonObject, Response

_JSON = "application/json; charset=UTF-8"


@dataclass(frozen=True, slots=True)
class Request:
    """path: as it came, percent-encoded. headers: lower-case names. root: scheme, host and port the client used."""

    verb: str
    path: str
    query: str
    headers: Mapping[str, str]
    data: bytes
    root: str


@dataclass(frozen=True, slots=True)
class Reply:
    """delay: real seconds to wait before it is sent. broken: half of it is sent, and then the connection ends."""

    status: int
    data: bytes
    headers: Mapping[str, str]
    delay: float = 0.0
    broken: bool = False


def sent(answer: Answer, fields: object = None) -> Reply:
    """An answer as it goes over the wire; `fields` is the query of that name, a partial response."""
    if isinstance(answer, bytes):
        return Reply(200, answer, {"content-type": "application/octet-stream"})
    if isinstance(answer, Response):
        return _special(answer)
    shown = partial.selected(answer, fields) if isinstance(fields, str) else answer
    return Reply(200, _json(shown), {"content-type": _JSON})


def refused(refusal: ApiError, service: str) -> Reply:
    """A refusal in the flavour of a service."""
    return Reply(refusal.code, _json(refusal.rendered(service)), {"content-type": _JSON})


def _special(answer: Response) -> Reply:
    if isinstance(answer.body, dict):
        return Reply(answer.status, _json(answer.body), {"content-type": _JSON, **answer.headers})
    if answer.body is None:
        return Reply(answer.status, b"", answer.headers)
    return Reply(answer.status, answer.body, {"content-type": answer.media_type, **answer.headers})


def _json(body: JsonObject) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
