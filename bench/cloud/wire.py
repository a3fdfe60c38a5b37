"""Requests and replies as bytes and headers, and what is read from the one and written into the other.

Owns bodies of requests (JSON, and the multipart form in which Google's clients send bytes beside it), answers other
than 200 with JSON, and partial responses: the `fields` query of every Google API, such as `services/name,nextPageToken`
or `items(id,name)`. Owns resumable uploads too, sessions that collect bytes over several requests, with their 308
answers: when the last byte is there, the session becomes one ordinary multipart upload, so no handler knows of them.
Source: cloud.google.com/storage/docs/performing-resumable-uploads. 2026-09.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email.message import Message
from typing import Any, Protocol, TypeAlias
from urllib.parse import parse_qs, urlencode

from bench.cloud.errors import ApiError, JsonObject, invalid
from bench.cloud.store import Resource, Store

_JSON = "application/json; charset=UTF-8"
# A selection is the names wanted on one level; an empty one wants everything below.
Selection = dict[str, "Selection"]
_KIND = "upload.session"
_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")


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
    """A body that goes on. seconds: how long at most. ended: whether nothing comes any more."""

    seconds: float
    ended: bool

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


def composed(described: bytes, attached: Media) -> tuple[str, bytes]:
    """Content type and body of a multipart upload; the reverse of `multipart`."""
    boundary = "part"
    while boundary.encode() in attached.data or boundary.encode() in described:
        boundary += "-part"
    parts = (
        f"--{boundary}\r\nContent-Type: application/json\r\n\r\n".encode() + described,
        f"\r\n--{boundary}\r\nContent-Type: {attached.content_type}\r\n\r\n".encode() + attached.data,
        f"\r\n--{boundary}--".encode(),
    )
    return f"multipart/related; boundary={boundary}", b"".join(parts)


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


class Uploads:
    def __init__(self, store: Store) -> None:
        self._store = store

    def step(self, request: HttpRequest, now: float) -> Reply | HttpRequest:
        """The answer that a session gives itself, or the request to go on with: the same one, or a completed upload."""
        query = parse_qs(request.query)
        if "upload_id" in query:
            with self._store.transaction():
                return self._continued(request, self._store.get(_KIND, query["upload_id"][0]), now)
        if query.get("uploadType") == ["resumable"]:
            with self._store.transaction():
                return self._begun(request, now)
        return request

    def _begun(self, request: HttpRequest, now: float) -> Reply:
        number = self._store.next_number("upload")
        name = hashlib.sha256(f"upload {number} {now}".encode()).hexdigest()[:32]
        content_type = request.headers.get("x-upload-content-type", "application/octet-stream")
        session = {
            "path": request.path,
            "query": request.query,
            "described": (request.data or b"{}").decode(),
            "contentType": content_type,
        }
        self._store.insert(_KIND, name, session, now=now, data=b"")
        location = f"{request.root}{request.path}?{urlencode({'uploadType': 'resumable', 'upload_id': name})}"
        return Reply(200, b"", {"location": location, "x-guploader-uploadid": name})

    def _continued(self, request: HttpRequest, session: Resource, now: float) -> Reply | HttpRequest:
        if request.verb == "DELETE":
            self._store.delete(_KIND, session.name)
            return Reply(499, b"", {})
        held = self._store.data(_KIND, session.name)
        first, total = _sent_range(request.headers, len(held), len(request.data))
        if first is not None:
            if first > len(held):
                raise invalid(f"Bytes {len(held)} to {first - 1} are missing.")
            held = held[:first] + request.data
        if total is None or len(held) < total:
            self._store.replace(session, session.body, now=now, data=held)
            received = {"range": f"bytes=0-{len(held) - 1}"} if held else {}
            # Go's client takes a 308 for a redirect, so it asks for another answer that means the same.
            if request.headers.get("x-guploader-no-308") == "yes":
                return Reply(200, b"", {**received, "x-http-status-code-override": "308"})
            return Reply(308, b"", received)
        self._store.delete(_KIND, session.name)
        return _completed(request, session, held)


def _completed(request: HttpRequest, session: Resource, data: bytes) -> HttpRequest:
    described = session.body["described"].encode()
    content_type, body = composed(described, Media(session.body["contentType"], data))
    query = {**parse_qs(session.body["query"]), "uploadType": ["multipart"]}
    return replace(
        request,
        verb="POST",
        path=session.body["path"],
        query=urlencode(query, doseq=True),
        headers={**request.headers, "content-type": content_type},
        data=body,
    )


def _sent_range(headers: Mapping[str, str], held: int, sent: int) -> tuple[int | None, int | None]:
    """Where the sent bytes begin (None for a question how far it is) and how many there will be, once that is known."""
    text = headers.get("content-range")
    if text is None:
        return held, held + sent
    match = _RANGE.fullmatch(text)
    if match is None:
        raise invalid(f"Invalid Content-Range: {text}.")
    first, _, total = match.groups()
    return (None if first is None else int(first)), (None if total == "*" else int(total))
