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

from bench.cloud import schema
from bench.cloud.clock import seconds_of
from bench.cloud.cloud import HANDLERS, ApiCall, Cloud
from bench.cloud.differences import MEDIA_PREFIXES
from bench.cloud.discovery import Method
from bench.cloud.errors import ApiError, JsonObject
from bench.cloud.faults import OF_LISTS, FaultRule, FaultTarget
from bench.cloud.requestlog import LoggedRequest
from bench.cloud.router import Match, Router
from bench.cloud.wire import HttpRequest, Media, Reply, multipart, parsed_json, refused, sent

_PLACE = re.compile(r"(?:^|/)projects/[^/]+/(?:locations|zones|regions)/([^/]+)")
_MADE = ("createTime", "creationTimestamp", "timeCreated")
_ENTRY = ("zone", "accelerator", "name")
_MINUTE = 60.0


class Gateway:
    """strict_answers: refuse an answer that its discovery document does not allow; for tests of handlers."""

    def __init__(self, cloud: Cloud, *, strict_answers: bool = False) -> None:
        self.cloud = cloud
        self._router = Router(frozenset(HANDLERS))
        self._strict = strict_answers

    def reply(self, request: HttpRequest) -> Reply:
        """Answer one request, whatever it is."""
        path = _served_path(request.path)
        service = path.partition("/")[0]

        def work(entry: LoggedRequest) -> Reply:
            nonlocal service
            match = self._router.match(request.verb, path)
            service, entry.method = match.method.api.service, match.method.id
            return self._handled(request, match)

        return self.cloud.log.answered(request, lambda: self.cloud.now, work, lambda refusal: refused(refusal, service))

    def _handled(self, request: HttpRequest, match: Match) -> Reply:
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
                answer = _struck_list(self.cloud, match.method, target, answer)
            if self._strict and isinstance(answer, dict) and (wrong := schema.problems_of_answer(match.method, answer)):
                raise AssertionError("; ".join(wrong))
        return replace(sent(answer, call.params.get("fields")), delay=slow, broken=lost)

    def _struck(self, method: Method, target: FaultTarget) -> tuple[ApiError | None, float, bool]:
        """What fault rules do here: the error in place of an answer, the seconds one is late, whether one is lost."""
        faults, now = self.cloud.faults, self.cloud.now
        if faults.any and (rule := faults.above_rate(target, now)):
            return _exceeded(self.cloud, method, target, rule), 0.0, False
        error, slow, lost = faults.of_request(target, now)
        return (error.as_error() if error else None), slow, lost


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
    if names_places and (rule := cloud.faults.strike("unreachable", target, cloud.now, OF_LISTS)):
        answer = _without_places(rule, target, answer, key)
    if rule := cloud.faults.strike("missing", target, cloud.now, OF_LISTS):
        answer = _only(answer, key, [each for each in answer.get(key, []) if not _is_missing(rule, each)])
    if rule := cloud.faults.strike("lag", target, cloud.now, OF_LISTS):
        oldest = cloud.now - rule.seconds
        answer = _only(answer, key, [each for each in answer.get(key, []) if not _is_late(rule, each, oldest)])
    return answer


def _without_places(rule: FaultRule, target: FaultTarget, answer: JsonObject, key: str) -> JsonObject:
    gone = [each for each in answer.get(key, []) if _matches(rule, each)]
    places = {hit[0].removeprefix("/") for each in gone if (hit := _PLACE.search(_where(each)))}
    asked = FaultTarget("", zone=rule.zone if target.zone == "-" else target.zone)
    if "*" not in asked.zone and rule.matches(asked, ("zone",)):
        places.add(f"projects/{target.project}/locations/{asked.zone}")
    kept = _only(answer, key, [each for each in answer.get(key, []) if each not in gone])
    return {**kept, "unreachable": sorted(places)} if places else answer


def _only(answer: JsonObject, key: str, entries: list[JsonObject]) -> JsonObject:
    return {**answer, key: entries} if key in answer else answer


def _is_missing(rule: FaultRule, entry: JsonObject) -> bool:
    return _matches(rule, entry) and rule.leaves_out(_where(entry))


def _is_late(rule: FaultRule, entry: JsonObject, oldest: float) -> bool:
    made = next((entry[field] for field in _MADE if field in entry), None)
    return made is not None and seconds_of(made) > oldest and _matches(rule, entry)


def _matches(rule: FaultRule, entry: JsonObject) -> bool:
    where = _where(entry)
    hit = _PLACE.search(where)
    name, accelerator = where.rpartition("/")[2], entry.get("acceleratorType", "")
    return rule.matches(FaultTarget("", zone=hit[1] if hit else "", accelerator=accelerator, name=name), _ENTRY)


def _where(entry: JsonObject) -> str:
    """The full name of an entry, which Compute Engine and Cloud Storage have in their links."""
    return entry.get("selfLink") or entry.get("name") or entry.get("id", "")


def _exceeded(cloud: Cloud, method: Method, target: FaultTarget, rule: FaultRule) -> ApiError:
    """What Google answers to a request above the rate of a rule."""
    host, word = f"{method.api.service}.googleapis.com", "Read" if method.verb == "GET" else "Write"
    text = rule.message or (
        f"Quota exceeded for quota metric '{word} requests' and limit '{word} requests per minute' of service '{host}'."
    )
    metadata = {
        "service": host,
        "quota_limit_value": str(rule.per_minute),
        "quota_location": target.zone or "global",
    }
    reason = {"reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com", "metadata": metadata}
    wait = f"{_MINUTE - cloud.now % _MINUTE:.3f}s"
    return ApiError(
        403 if method.api.service == "compute" else 429,
        text,
        details=[
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", **reason},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": wait},
        ],
        reason="rateLimitExceeded",
        domain="usageLimits",
    )
