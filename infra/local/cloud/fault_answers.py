"""What a client sees of faults: lists that are wrong on purpose, and the refusal by a quota of requests a minute.

Owns what the rules of `faults` do to the answer of any method that lists: places that do not answer, entries that are
missing, entries that come late. Google's lists may do all three: google.aip.dev/217 has `unreachable`, and most
services promise no list after a write. Owns the words and details of a rate's refusal too, by which clients tell it
from chips that are used up: this one is over when the minute is. Sources, read 2026-11:
cloud.google.com/apis/design/errors#error_info, cloud.google.com/docs/quotas/troubleshoot and, of Compute Engine's 403,
cloud.google.com/compute/api-quota.
"""

from __future__ import annotations

import re

from infra.local.cloud.clock import seconds_of
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.discovery import Method
from infra.local.cloud.errors import ApiError, JsonObject
from infra.local.cloud.faults import OF_LISTS, Rule, Target
from infra.local.cloud.schema import listed_in

_PLACE = re.compile(r"(?:^|/)projects/[^/]+/(?:locations|zones|regions)/([^/]+)")
_MADE = ("createTime", "creationTimestamp", "timeCreated")
_ENTRY = ("zone", "accelerator", "name")
_MINUTE = 60.0
_HELP = "https://cloud.google.com/docs/quotas/help/request_increase"


def struck(cloud: Cloud, method: Method, target: Target, answer: JsonObject) -> JsonObject:
    """The answer as a client gets it; the same one for a method that lists nothing."""
    key = listed_in(method)
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


def _without_places(rule: Rule, target: Target, answer: JsonObject, key: str) -> JsonObject:
    gone = [each for each in answer.get(key, []) if _matches(rule, each)]
    places = {hit[0].removeprefix("/") for each in gone if (hit := _PLACE.search(_where(each)))}
    asked = Target("", zone=rule.zone if target.zone == "-" else target.zone)
    if "*" not in asked.zone and rule.matches(asked, ("zone",)):
        places.add(f"projects/{target.project}/locations/{asked.zone}")
    kept = _only(answer, key, [each for each in answer.get(key, []) if each not in gone])
    return {**kept, "unreachable": sorted(places)} if places else answer


def _only(answer: JsonObject, key: str, entries: list[JsonObject]) -> JsonObject:
    return {**answer, key: entries} if key in answer else answer


def _is_missing(rule: Rule, entry: JsonObject) -> bool:
    return _matches(rule, entry) and rule.leaves_out(_where(entry))


def _is_late(rule: Rule, entry: JsonObject, oldest: float) -> bool:
    made = next((entry[field] for field in _MADE if field in entry), None)
    return made is not None and seconds_of(made) > oldest and _matches(rule, entry)


def _matches(rule: Rule, entry: JsonObject) -> bool:
    where = _where(entry)
    hit = _PLACE.search(where)
    name, accelerator = where.rpartition("/")[2], entry.get("acceleratorType", "")
    return rule.matches(Target("", zone=hit[1] if hit else "", accelerator=accelerator, name=name), _ENTRY)


def _where(entry: JsonObject) -> str:
    """The full name of an entry, which Compute Engine and Cloud Storage have in their links."""
    return entry.get("selfLink") or entry.get("name") or entry.get("id", "")


def exceeded(cloud: Cloud, method: Method, target: Target, rule: Rule) -> ApiError:
    """What Google answers to a request above the rate of a rule."""
    host = f"{method.api.service}.googleapis.com"
    verb, word = ("read", "Read") if method.verb == "GET" else ("write", "Write")
    number = cloud.project(target.project).number if target.project else 0
    place = "PerProject" if rule.zone == "*" else "PerProjectPerRegion"
    text = rule.message or (
        f"Quota exceeded for quota metric '{word} requests' and limit '{word} requests per minute' of service "
        f"'{host}' for consumer 'project_number:{number}'."
    )
    metadata = {
        "service": host,
        "consumer": f"projects/{number}",
        "quota_metric": f"{host}/{verb}_requests",
        "quota_limit": f"{word}RequestsPerMinute{place}",
        "quota_limit_value": str(rule.per_minute),
        "quota_location": target.zone or "global",
        "quota_unit": "1/min/{project}" if rule.zone == "*" else "1/min/{project}/{region}",
    }
    reason = {"reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com", "metadata": metadata}
    wait = f"{_MINUTE - cloud.now % _MINUTE:.3f}s"
    return ApiError(
        403 if method.api.service == "compute" else 429,
        text,
        details=[
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", **reason},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": wait},
            {
                "@type": "type.googleapis.com/google.rpc.Help",
                "links": [{"description": "Request a higher quota limit.", "url": _HELP}],
            },
        ],
        reason="rateLimitExceeded",
        domain="usageLimits",
    )
