"""Requests and replies as bytes and headers, and what is read from the one and written into the other.

Owns bodies of requests (JSON, and the multipart form in which Google's clients send bytes beside it), answers other
than 200 with JSON, and partial responses: the `fields` query of every Google API, such as `services/name,nextPageToken`
or `items(id,name)`. Uploads in several requests (resumable ones) are not served: no client of the fleet sends so much.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any, Protocol, TypeAlias

from bench.cloud.errors import ApiError, JsonObject, invalid

_JSON = "application/json; charset=UTF-8"
# A name, and what is wanted below it: between parentheses, which may be nested once, or behind a slash.
_FIELD = re.compile(r"([^,/()]+)(?:\(((?:[^()]|\([^()]*\))*)\)|/([^,]+))?")


@dataclass(frozen=True, slots=True)
class Media:
    """Bytes that came with a request (an upload) beside its JSON."""

    content_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """An answer other than 200 with JSON. `body` of None is an empty body."""

    status: int = 200
    body: JsonObject | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/octet-stream"


ApiAnswer: TypeAlias = JsonObject | bytes | Response


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """path: as it came, percent-encoded. headers: lower-case names. root: scheme, host and port the client used."""

    verb: str
    path: str
    query: str
    headers: Mapping[str, str]
    data: bytes
    root: str


class Stream(Protocol):
    """A body that goes on. seconds: how long at most."""

    seconds: float

    def read(self) -> bytes:
        """What has come since the last time."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """delay: real seconds to wait before it is sent. broken: half of it is sent, and then the connection ends.

    stream: what follows `data`, as it comes.
    """

    status: int
    data: bytes
    headers: Mapping[str, str]
    delay: float = 0.0
    broken: bool = False
    stream: Stream | None = None


def sent(answer: Any, fields: str | None = None) -> Reply:
    """An answer as it goes over the wire; `fields` is the query of that name, a partial response."""
    if isinstance(answer, bytes):
        answer = Response(body=answer)
    if not isinstance(answer, Response):
        return Reply(200, _json(selected(answer, fields or "")), {"content-type": _JSON})
    if isinstance(answer.body, dict):
        return Reply(answer.status, _json(answer.body), {"content-type": _JSON, **answer.headers})
    kind = {} if answer.body is None else {"content-type": answer.media_type}
    return Reply(answer.status, answer.body or b"", {**kind, **answer.headers})


def refused(refusal: ApiError, service: str) -> Reply:
    """A refusal in the flavour of a service."""
    return Reply(refusal.code, _json(refusal.rendered(service)), {"content-type": _JSON})


def _json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def parsed_json(data: bytes) -> Any:
    """None for no bytes. Raises 400."""
    if not data:
        return None
    try:
        return json.loads(data)
    except ValueError as error:
        raise invalid(f"Invalid JSON payload received. {error}") from None


def multipart(content_type: str, data: bytes) -> tuple[Any, Media]:
    """The JSON and the media of a `multipart/related` body. Raises 400."""
    # gcloud puts the boundary between apostrophes, which mean nothing in a header.
    opening = b"--" + content_type.partition("boundary=")[2].strip("'\"").encode()
    # google-api-python-client ends lines with a bare newline; RFC 2046 and everybody else with both characters.
    end = b"\r\n" if opening + b"\r\n" in data else b"\n"
    parts = [piece.removeprefix(end).partition(end + end) for piece in (end + data).split(end + opening)[1:-1]]
    if len(parts) != 2 or not all(edge for _, edge, _ in parts):
        raise invalid("A multipart upload has two parts with headers: JSON, then the media.")
    (_, _, described), (headers, _, content) = parts
    declared = message_from_bytes(headers).get("Content-Type", "application/octet-stream")
    return parsed_json(described), Media(declared, content)


def selected(answer: Any, expression: str) -> Any:
    """The part of an answer that a `fields` expression names: `a,b/c,d(e,f/g)`; empty or `*` names all of it."""
    if isinstance(answer, list):
        return [selected(each, expression) for each in answer]
    if expression in ("", "*") or not isinstance(answer, dict):
        return answer
    return {
        name: selected(answer[name], nested or below)
        for name, nested, below in _FIELD.findall(expression)
        if name in answer
    }
