"""From an HTTP request to an answer: route, check, strike with faults, handle, log.

Owns the order of these steps and the promise that a client never sees a 500, which Google's clients retry for twenty
minutes: a defect of a handler is answered as 501 and logged with its traceback. Leaves sockets to `server`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

from infra.local.cloud import media, partial, schema
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.differences import MEDIA_PREFIXES
from infra.local.cloud.discovery import Method
from infra.local.cloud.errors import ApiError
from infra.local.cloud.faults import Target
from infra.local.cloud.registry import HANDLERS, Answer, Call, JsonObject, Media, Response
from infra.local.cloud.requestlog import LOGGER, RequestLog
from infra.local.cloud.router import Match, Router

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
    """delay: real seconds to wait before it is sent."""

    status: int
    data: bytes
    headers: Mapping[str, str]
    delay: float = 0.0


class Gateway:
    """strict_answers: refuse an answer that its discovery document does not allow; for tests of handlers."""

    def __init__(self, cloud: Cloud, *, strict_answers: bool = False) -> None:
        self.cloud = cloud
        self.log = RequestLog()
        self._router = Router(frozenset(HANDLERS))
        self._strict = strict_answers

    def reply(self, request: Request) -> Reply:
        """Answer one request, whatever it is."""
        began = time.perf_counter()
        match: Match | None = None
        error = ""
        try:
            match = self._router.match(request.verb, _served_path(request.path))
            reply = self._handled(request, match)
        except ApiError as refusal:
            error = refusal.message
            reply = rendered(refusal, match.method.api.service if match else _service_of(request.path))
        except Exception as defect:  # noqa: BLE001 - the promise of this module
            error = f"{type(defect).__name__}: {defect}"
            LOGGER.exception("%s %s failed", request.verb, request.path)
            refusal = ApiError(501, f"The local cloud failed here, which is a defect of it: {error}")
            reply = rendered(refusal, match.method.api.service if match else "")
        self.log.add(
            time=self.cloud.now,
            verb=request.verb,
            path=request.path,
            method=match.method.id if match else "",
            status=reply.status,
            milliseconds=(time.perf_counter() - began) * 1000,
            error=error,
        )
        return reply

    def _handled(self, request: Request, match: Match) -> Reply:
        method, cloud = match.method, self.cloud
        query = schema.checked_query(method, parse_qsl(request.query, keep_blank_values=True))
        described, attached = _content(method, request, query)
        call = Call(
            method=method.id,
            version=method.api.version,
            params={**query, **match.params},
            ids=match.ids,
            body=schema.checked_body(method, described),
            cloud=cloud,
            media=attached,
            headers=request.headers,
            root=request.root,
        )
        with cloud.store.transaction():
            cloud.settle()
        delay = self._struck(call)
        with cloud.store.transaction():
            answer = HANDLERS[method.id](call)
            if self._strict and isinstance(answer, dict) and (wrong := schema.problems_of_answer(method, answer)):
                raise AssertionError("; ".join(wrong))
        return replace(sent(answer, query.get("fields")), delay=delay)

    def _struck(self, call: Call) -> float:
        """Raise what an `error` rule says; the seconds of a `slow` rule otherwise."""
        with self.cloud.store.transaction():
            if not self.cloud.faults.any:
                return 0.0
            target = _target(call)
            broken = self.cloud.faults.strike("error", target, self.cloud.now)
            slow = None if broken else self.cloud.faults.strike("slow", target, self.cloud.now)
        if broken:
            raise ApiError(broken.code, broken.message or "The service is currently unavailable.")
        return slow.seconds if slow else 0.0


def _served_path(path: str) -> str:
    path = path.lstrip("/")
    for prefix in MEDIA_PREFIXES:
        path = path.removeprefix(prefix)
    return path


def _service_of(path: str) -> str:
    """For the flavour of an error of a path that belongs to no method."""
    return _served_path(path).partition("/")[0]


def _content(method: Method, request: Request, query: Mapping[str, object]) -> tuple[object, Media | None]:
    content_type = request.headers.get("content-type", "")
    if not method.upload or not request.path.lstrip("/").startswith(MEDIA_PREFIXES):
        return media.parsed_json(request.data), None
    if query.get("uploadType") == "multipart" or content_type.startswith("multipart/"):
        return media.multipart(content_type, request.data)
    return None, Media(content_type or "application/octet-stream", request.data)


def _target(call: Call) -> Target:
    ids = call.ids
    zone = ids.get("locationsId") or ids.get("zone") or ids.get("region", "")
    name = list(ids.values())[-1] if ids else ""
    accelerator = call.body.get("acceleratorType", "")
    if call.service == "tpu" and "nodesId" in ids and (node := call.cloud.store.find("tpu.node", call.params["name"])):
        accelerator = node.body["public"]["acceleratorType"]
    if call.method == "tpu.projects.locations.nodes.create":
        name = call.params.get("nodeId", "")
    return Target(call.method, ids.get("projectsId") or ids.get("project", ""), zone, accelerator, name)


def sent(answer: Answer, fields: object = None) -> Reply:
    """An answer as it goes over the wire."""
    if isinstance(answer, bytes):
        return Reply(200, answer, {"content-type": "application/octet-stream"})
    if isinstance(answer, Response):
        if isinstance(answer.body, dict):
            return Reply(answer.status, _json(answer.body), {"content-type": _JSON, **answer.headers})
        if answer.body is None:
            return Reply(answer.status, b"", answer.headers)
        return Reply(answer.status, answer.body, {"content-type": answer.media_type, **answer.headers})
    shown = partial.selected(answer, fields) if isinstance(fields, str) else answer
    return Reply(200, _json(shown), {"content-type": _JSON})


def rendered(refusal: ApiError, service: str) -> Reply:
    """A refusal in the flavour of a service."""
    return Reply(refusal.code, _json(refusal.rendered(service)), {"content-type": _JSON})


def _json(body: JsonObject) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
