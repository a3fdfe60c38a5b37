"""Resumable uploads: a session that collects bytes over several requests.

Owns the sessions and their 308 answers. When the last byte is there, the session becomes one ordinary multipart
upload, so no handler knows of sessions. Source: cloud.google.com/storage/docs/performing-resumable-uploads. 2026-09.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import parse_qs, urlencode

from infra.local.cloud.errors import invalid
from infra.local.cloud.store import Resource, Store
from infra.local.cloud.wire import Media, Reply, Request, composed

_KIND = "upload.session"
_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")


class Uploads:
    def __init__(self, store: Store) -> None:
        self._store = store

    def step(self, request: Request, now: float) -> Reply | Request:
        """The answer that a session gives itself, or the request to go on with: the same one, or a completed upload."""
        query = parse_qs(request.query)
        if "upload_id" in query:
            with self._store.transaction():
                return self._continued(request, self._store.get(_KIND, query["upload_id"][0]), now)
        if query.get("uploadType") == ["resumable"]:
            with self._store.transaction():
                return self._begun(request, now)
        return request

    def _begun(self, request: Request, now: float) -> Reply:
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

    def _continued(self, request: Request, session: Resource, now: float) -> Reply | Request:
        if request.verb == "DELETE":
            self._store.delete(_KIND, session.name)
            return Reply(499, b"", {})
        held = self._store.data(_KIND, session.name)
        first, total = _range(request.headers, len(held), len(request.data))
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
        return _whole(request, session, held)


def _whole(request: Request, session: Resource, data: bytes) -> Request:
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


def _range(headers: Mapping[str, str], held: int, sent: int) -> tuple[int | None, int | None]:
    """Where the sent bytes begin (None for a question how far it is) and how many there will be, once that is known."""
    text = headers.get("content-range")
    if text is None:
        return held, held + sent
    match = _RANGE.fullmatch(text)
    if match is None:
        raise invalid(f"Invalid Content-Range: {text}.")
    first, _, total = match.groups()
    return (None if first is None else int(first)), (None if total == "*" else int(total))
