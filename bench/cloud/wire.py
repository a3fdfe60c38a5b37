"""Requests and replies as bytes and headers, and what is read from the one and written into the other.

Owns bodies of requests (JSON, and the multipart form in which Google's clients send bytes beside it), answers other
than 200 with JSON, and partial responses: the `fields` query of every Google API, such as `services/name,nextPageToken`
or `items(id,name)`. Uploads in several requests (resumable ones) are not served: no client of the fleet sends so much.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any, Protocol, TypeAlias

from bench.cloud.errors import ApiError, JsonObject, invalid

_JSON = "application/json; charset=UTF-8"
# A selection is the names wanted on one level; an empty one wants everything below.
Selection = dict[str, "Selection"]


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


def sent(answer: ApiAnswer, fields: object = None) -> Reply:
    """An answer as it goes over the wire; `fields` is the query of that name, a partial response."""
    if isinstance(answer, bytes):
        return Reply(200, answer, {"content-type": "application/octet-stream"})
    if isinstance(answer, Response):
        return _special(answer)
    shown = selected(answer, fields) if isinstance(fields, str) else answer
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
    opening = b"--" + str(_header(content_type).get_param("boundary", "")).strip("'").encode()
    # google-api-python-client ends lines with a bare newline; RFC 2046 and everybody else with both characters.
    end = b"\r\n" if opening + b"\r\n" in data else b"\n"
    parts = [piece.removeprefix(end) for piece in (end + data).split(end + opening)[1:-1]]
    if len(parts) != 2:
        raise invalid("A multipart upload has two parts: JSON, then the media.")
    described, attached = (part.split(end + end, 1) for part in parts)
    if len(described) != 2 or len(attached) != 2:
        raise invalid("A part of a multipart upload has headers, an empty line and a body.")
    return parsed_json(described[1]), Media(_content_type(attached[0]), attached[1])


def _header(content_type: str) -> Message:
    message = Message()
    message["Content-Type"] = content_type
    return message


def _content_type(headers: bytes) -> str:
    for line in headers.decode("latin-1").splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-type":
            return value.strip()
    return "application/octet-stream"


def selected(answer: Any, expression: str) -> Any:
    """The part of an answer that a `fields` expression names. Raises 400 for one that cannot be read."""
    selection, end = _parsed(expression, 0)
    if end != len(expression):
        raise invalid(f"Invalid field selection {expression}", field="fields")
    return _cut(answer, selection)


def _parsed(text: str, at: int) -> tuple[Selection, int]:
    chosen: Selection = {}
    while True:
        at = _one(text, at, chosen)
        if at >= len(text) or text[at] != ",":
            return chosen, at
        at += 1


def _one(text: str, at: int, chosen: Selection) -> int:
    begin = at
    while at < len(text) and text[at] not in ",/()":
        at += 1
    name = text[begin:at].strip()
    if not name:
        raise invalid(f"Invalid field selection {text}", field="fields")
    below = chosen.setdefault(name, {})
    if at < len(text) and text[at] == "/":
        return _one(text, at + 1, below)
    if at < len(text) and text[at] == "(":
        inner, at = _parsed(text, at + 1)
        if at >= len(text) or text[at] != ")":
            raise invalid(f"Invalid field selection {text}", field="fields")
        below.update(inner)
        return at + 1
    return at


def _cut(value: Any, selection: Selection) -> Any:
    if not selection or ("*" in selection and not selection["*"]):
        return value
    if isinstance(value, list):
        return [_cut(inner, selection) for inner in value]
    if not isinstance(value, dict):
        return value
    everything = selection.get("*")
    return {
        key: _cut(inner, selection.get(key, everything or {}))
        for key, inner in value.items()
        if key in selection or everything is not None
    }
