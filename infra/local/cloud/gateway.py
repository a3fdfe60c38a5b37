"""From a request to a Google API to its reply: route, check, strike with faults, handle, log.

Owns the order of these steps. Leaves sockets to `server`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from infra.local.cloud import fault_answers, schema
from infra.local.cloud.cloud import HANDLERS, Call, Cloud
from infra.local.cloud.differences import MEDIA_PREFIXES
from infra.local.cloud.discovery import Method
from infra.local.cloud.errors import ApiError
from infra.local.cloud.faults import Target
from infra.local.cloud.requestlog import Entry
from infra.local.cloud.router import Match, Router
from infra.local.cloud.uploads import Uploads
from infra.local.cloud.wire import Media, Reply, Request, multipart, parsed_json, refused, sent


class Gateway:
    """strict_answers: refuse an answer that its discovery document does not allow; for tests of handlers."""

    def __init__(self, cloud: Cloud, *, strict_answers: bool = False) -> None:
        self.cloud = cloud
        self._router = Router(frozenset(HANDLERS))
        self._uploads = Uploads(cloud.store)
        self._strict = strict_answers

    def reply(self, request: Request) -> Reply:
        """Answer one request, whatever it is."""
        request = _meant(request)
        path = _served_path(request.path)
        service = path.partition("/")[0]

        def work(entry: Entry) -> Reply:
            nonlocal service
            whole = self._uploads.step(request, self.cloud.now) if path != request.path[1:] else request
            if isinstance(whole, Reply):
                return whole
            match = self._router.match(whole.verb, path)
            service, entry.method = match.method.api.service, match.method.id
            return self._handled(whole, match)

        return self.cloud.log.answered(request, lambda: self.cloud.now, work, lambda refusal: refused(refusal, service))

    def _handled(self, request: Request, match: Match) -> Reply:
        call = _call(self.cloud, request, match)
        with self.cloud.store.transaction():
            self.cloud.settle()
            target = _target(call)
            refusal, slow, lost = self._struck(match.method, target)
        if refusal:
            raise refusal
        with self.cloud.store.transaction():
            answer = HANDLERS[call.method](call)
            if isinstance(answer, dict):
                answer = fault_answers.struck(self.cloud, match.method, target, answer)
            if self._strict and isinstance(answer, dict) and (wrong := schema.problems_of_answer(match.method, answer)):
                raise AssertionError("; ".join(wrong))
        if isinstance(answer, dict) and match.method.response and _wants_numbers(call):
            answer = match.method.api.as_numbers(match.method.response, answer)
        return replace(sent(answer, call.params.get("fields")), delay=slow, broken=lost)

    def _struck(self, method: Method, target: Target) -> tuple[ApiError | None, float, bool]:
        """What fault rules do here: the error in place of an answer, the seconds one is late, whether one is lost."""
        faults, now = self.cloud.faults, self.cloud.now
        if faults.any and (rule := faults.above_rate(target, now)):
            return fault_answers.exceeded(self.cloud, method, target, rule), 0.0, False
        error, slow, lost = faults.of_request(target, now)
        return (error.as_error() if error else None), slow, lost


def _meant(request: Request) -> Request:
    """A query that is too long for a URL comes as the body of a POST that says what verb it means."""
    verb = request.headers.get("x-http-method-override", "").upper()
    if not verb or request.verb != "POST":
        return request
    form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    return replace(request, verb=verb, **({"query": request.data.decode("latin-1"), "data": b""} if form else {}))


def _served_path(path: str) -> str:
    """Without the slash at its beginning and what marks an upload or a download."""
    path = path.removeprefix("/")
    for prefix in MEDIA_PREFIXES:
        path = path.removeprefix(prefix)
    return path


def _wants_numbers(call: Call) -> bool:
    return "enum-encoding=int" in call.params.get("alt", "").split(";")


def _call(cloud: Cloud, request: Request, match: Match) -> Call:
    method = match.method
    query = schema.checked_query(method, parse_qsl(request.query, keep_blank_values=True))
    if "x-goog-fieldmask" in request.headers:
        query.setdefault("fields", request.headers["x-goog-fieldmask"])
    described, attached = _content(method, request, query)
    return Call(
        method=method.id,
        version=method.api.version,
        params={**query, **match.params},
        ids=match.ids,
        body=schema.checked_body(method, described),
        cloud=cloud,
        media=attached,
        headers=request.headers,
        root=request.root,
        listed=schema.listed(method),
    )


def _content(method: Method, request: Request, query: Mapping[str, Any]) -> tuple[Any, Media | None]:
    content_type = request.headers.get("content-type", "")
    if not method.upload or not request.path.removeprefix("/").startswith(MEDIA_PREFIXES):
        return parsed_json(request.data), None
    if query.get("uploadType") == "multipart" or content_type.startswith("multipart/"):
        return multipart(content_type, request.data)
    return None, Media(content_type or "application/octet-stream", request.data)


def _target(call: Call) -> Target:
    """What fault rules are matched with; the last variable of a path is the name of what it is about."""
    ids = call.ids
    name = call.params.get("nodeId") or next(reversed(list(ids.values())), "")
    accelerator = call.body.get("acceleratorType", "")
    if "nodesId" in ids and (node := call.cloud.store.find("tpu.node", call.params["name"])):
        accelerator = node.body["public"]["acceleratorType"]
    return Target(
        method=call.method,
        project=ids.get("projectsId") or ids.get("project", ""),
        zone=ids.get("locationsId") or ids.get("zone") or ids.get("region", ""),
        accelerator=accelerator,
        name=name,
    )
