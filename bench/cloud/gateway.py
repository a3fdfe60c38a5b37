"""From a request to a Google API to its reply: route, check, strike with faults, handle, log.

Owns the order of these steps, what the rules of `faults` do to the answer of any method that lists (places that do not
answer, entries that are missing, entries that come late), and the words of the refusal by a quota of requests a minute,
by which clients tell it from chips that are used up: this one is over when the minute is. Google's lists may do all
three: google.aip.dev/217 has `unreachable`, and most services promise no list after a write. Leaves sockets to
`server`. Sources, read 2026-11: cloud.google.com/apis/design/errors#error_info,
cloud.google.com/docs/quotas/troubleshoot and, of Compute Engine's 403, cloud.google.com/compute/api-quota.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from bench.cloud import router, schema
from bench.cloud.clock import seconds_of
from bench.cloud.cloud import HANDLERS, ApiCall, Cloud
from bench.cloud.differences import MEDIA_PREFIXES
from bench.cloud.discovery import Method
from bench.cloud.errors import ApiError, JsonObject
from bench.cloud.faults import OF_LISTS, FaultRule, FaultTarget
from bench.cloud.requestlog import LoggedRequest
from bench.cloud.router import Match
from bench.cloud.wire import HttpRequest, Media, Reply, multipart, parsed_json, refused, sent

_PLACE = re.compile(r"(?:^|/)projects/[^/]+/(?:locations|zones|regions)/([^/]+)")
_MADE = ("createTime", "creationTimestamp", "timeCreated")
_ENTRY = ("zone", "accelerator", "name")


class Gateway:
    """strict_answers: refuse an answer that its discovery document does not allow; for tests of handlers."""

    def __init__(self, cloud: Cloud, *, strict_answers: bool = False) -> None:
        self.cloud = cloud
        self._strict = strict_answers

    def reply(self, request: HttpRequest) -> Reply:
        """Answer one request, whatever it is."""
        path = _served_path(request.path)
        service = path.partition("/")[0]

        def work(entry: LoggedRequest) -> Reply:
            nonlocal service
            match = router.match(request.verb, path)
            service, entry.method = match.method.api.service, match.method.id
            return self._handled(request, match)

        return self.cloud.log.answered(request, lambda: self.cloud.now, work, lambda refusal: refused(refusal, service))

    def _handled(self, request: HttpRequest, match: Match) -> Reply:
        call = _call(self.cloud, request, match)
        with self.cloud.store.transaction():
            self.cloud.settle()
            target, faults = _target(call), self.cloud.faults
            rate = faults.above_rate(target, self.cloud.now)
            error, slow, lost = (None, 0.0, False) if rate else faults.of_request(target, self.cloud.now)
        if rate:
            raise _exceeded(match.method, rate)
        if error:
            raise error.as_error()
        with self.cloud.store.transaction():
            answer = HANDLERS[call.method](call)
            if isinstance(answer, dict):
                answer = _struck_list(self.cloud, match.method, target, answer)
            if self._strict and isinstance(answer, dict):
                schema.check_answer(match.method, answer)
        return replace(sent(answer, call.params.get("fields")), delay=slow, broken=lost)


def _served_path(path: str) -> str:
    """Without the slash at its beginning and what marks an upload or a download."""
    path = path.removeprefix("/")
    for prefix in MEDIA_PREFIXES:
        path = path.removeprefix(prefix)
    return path


def _call(cloud: Cloud, request: HttpRequest, match: Match) -> ApiCall:
    method = match.method
    query = schema.checked_query(method, parse_qsl(request.query, keep_blank_values=True))
    described, attached = _content(method, request, query)
    return ApiCall(
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


def _content(method: Method, request: HttpRequest, query: Mapping[str, Any]) -> tuple[Any, Media | None]:
    content_type = request.headers.get("content-type", "")
    if not method.upload or not request.path.removeprefix("/").startswith(MEDIA_PREFIXES):
        return parsed_json(request.data), None
    if query.get("uploadType") == "resumable":
        raise ApiError(501, "The local cloud takes an upload in one request, not in several (resumable).")
    if query.get("uploadType") == "multipart" or content_type.startswith("multipart/"):
        return multipart(content_type, request.data)
    return None, Media(content_type or "application/octet-stream", request.data)


def _target(call: ApiCall) -> FaultTarget:
    """What fault rules are matched with; the last variable of a path is the name of what it is about."""
    ids = call.ids
    name = call.params.get("nodeId") or next(reversed(list(ids.values())), "")
    accelerator = call.body.get("acceleratorType", "")
    if "nodesId" in ids and (node := call.cloud.store.find("tpu.node", call.params["name"])):
        accelerator = node.body["public"]["acceleratorType"]
    return FaultTarget(
        method=call.method,
        project=ids.get("projectsId") or ids.get("project", ""),
        zone=ids.get("locationsId") or ids.get("zone") or ids.get("region", ""),
        accelerator=accelerator,
        name=name,
    )


def _struck_list(cloud: Cloud, method: Method, target: FaultTarget, answer: JsonObject) -> JsonObject:
    """The answer as a client gets it; the same one for a method that lists nothing."""
    key = method.lists
    if key is None or not cloud.faults.any:
        return answer
    names_places = "unreachable" in method.api.schemas[method.response or ""]["properties"]
    for kind in ("unreachable", "missing", "lag") if names_places else ("missing", "lag"):
        if rule := cloud.faults.strike(kind, target, cloud.now, OF_LISTS):
            gone = [each for each in answer.get(key, ()) if _is_gone(rule, each, cloud.now)]
            kept = [each for each in answer.get(key, ()) if each not in gone]
            places = _places(rule, target, gone) if kind == "unreachable" else ()
            answer = {**answer, **({key: kept} if key in answer else {}), **({"unreachable": places} if places else {})}
    return answer


def _is_gone(rule: FaultRule, entry: JsonObject, now: float) -> bool:
    """Whether a rule that struck a list takes this entry out of it."""
    if rule.kind == "missing" and not rule.leaves_out(_where(entry)):
        return False
    made = next((seconds_of(entry[field]) for field in _MADE if field in entry), 0.0)
    return _matches(rule, entry) and (rule.kind != "lag" or made > now - rule.seconds)


def _places(rule: FaultRule, target: FaultTarget, gone: list[JsonObject]) -> list[str]:
    """Where the entries are that do not answer, and the place that was asked for."""
    places = {hit[0].removeprefix("/") for each in gone if (hit := _PLACE.search(_where(each)))}
    asked = FaultTarget("", zone=rule.zone if target.zone == "-" else target.zone)
    if "*" not in asked.zone and rule.matches(asked, ("zone",)):
        places.add(f"projects/{target.project}/locations/{asked.zone}")
    return sorted(places)


def _matches(rule: FaultRule, entry: JsonObject) -> bool:
    where = _where(entry)
    hit = _PLACE.search(where)
    name, accelerator = where.rpartition("/")[2], entry.get("acceleratorType", "")
    return rule.matches(FaultTarget("", zone=hit[1] if hit else "", accelerator=accelerator, name=name), _ENTRY)


def _where(entry: JsonObject) -> str:
    """The full name of an entry, which Compute Engine and Cloud Storage have in their links."""
    return entry.get("selfLink") or entry.get("name") or entry.get("id", "")


def _exceeded(method: Method, rule: FaultRule) -> ApiError:
    """What Google answers to a request above the rate of a rule."""
    host, word = f"{method.api.service}.googleapis.com", "Read" if method.verb == "GET" else "Write"
    text = rule.message or (
        f"Quota exceeded for quota metric '{word} requests' and limit '{word} requests per minute' of service '{host}'."
    )
    info = {"reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com", "metadata": {"service": host}}
    return ApiError(
        403 if method.api.service == "compute" else 429,
        text,
        details=[{"@type": "type.googleapis.com/google.rpc.ErrorInfo", **info}],
        reason="rateLimitExceeded",
        domain="usageLimits",
    )
