"""From a request to the local GitHub to its reply: who asks, what is left of the rate, faults, the handler, the page.

Owns the order of these steps, pagination with Link headers, rate limits and the words of their refusals. The faults
are those of the local cloud: their `method` is `github.` and a handler's name, `project` the repository or the
organisation, `name` the last variable of the path. An `error` of 403 or 429 is a secondary rate limit that asks to come
again after `seconds`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from urllib.parse import parse_qsl, urlencode

from bench.cloud.cloud import Cloud
from bench.cloud.errors import ApiError, JsonObject
from bench.cloud.faults import FaultRule, FaultTarget
from bench.cloud.github import apps, records
from bench.cloud.github.routes import Ask, GitHubAnswer, GitHubError, Handler, Made, Paged, User, find, missing
from bench.cloud.requestlog import LoggedRequest
from bench.cloud.wire import HttpRequest, Reply, parsed_json

BASE = "/github/api/v3"
# https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api, read 2026-11-21.
REQUESTS_AN_HOUR = 5000
HOUR = 3600.0
_JSON = {"content-type": "application/json; charset=utf-8", "x-github-media-type": "github.v3; format=json"}


class Hub:
    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def reply(self, request: HttpRequest) -> Reply:
        """Answer one request below `BASE`, whatever it is."""

        def work(entry: LoggedRequest) -> Reply:
            handler, ids = find(request.verb, request.path.removeprefix(BASE))
            entry.method = f"github.{getattr(handler, '__name__', '')}"
            return self._handled(request, entry.method, handler, ids)

        return self._cloud.log.answered(request, lambda: self._cloud.now, work, _refused)

    def _handled(self, request: HttpRequest, method: str, handler: Handler, ids: Mapping[str, str]) -> Reply:
        place = ids.get("org") or "/".join(ids[name] for name in ("owner", "name") if name in ids)
        with self._cloud.request():
            user, account = apps.holder(self._cloud, request.headers.get("authorization", ""))
            spent, rate = self._counted(account)
            target = FaultTarget(method=method, project=place, name=["", *ids.values()][-1])
            error, slow, lost = (None, 0.0, False) if spent else self._cloud.faults.of_request(target, self._cloud.now)
        if spent:
            raise GitHubError(403, "API rate limit exceeded for user ID 1.", headers=rate)
        if error:
            raise _struck(error, rate)
        with self._cloud.store.transaction():
            ask = self._ask(request, user, ids, place)
            reply = _sent(ask, request, handler(ask))
        return replace(reply, headers={**reply.headers, **rate}, delay=slow, broken=lost)

    def _counted(self, account: str) -> tuple[bool, dict[str, str]]:
        """Takes one request off what the account has left in this hour: whether there was none, and the headers that
        say so."""
        now = self._cloud.now
        found = self._cloud.store.find(records.RATE, account)
        rate = found.body if found and found.body["reset"] > now else {"used": 0, "reset": now + HOUR}
        spent = rate["used"] >= REQUESTS_AN_HOUR
        rate["used"] += not spent
        self._cloud.store.put(records.RATE, account, rate, now=now)
        left = {"limit": REQUESTS_AN_HOUR, "remaining": REQUESTS_AN_HOUR - rate["used"], "reset": ceil(rate["reset"])}
        return spent, {f"x-ratelimit-{name}": str(each) for name, each in left.items()}

    def _ask(self, request: HttpRequest, user: User, ids: Mapping[str, str], place: str) -> Ask:
        body = parsed_json(request.data)
        if not user.reaches(place):
            raise missing()
        return Ask(
            cloud=self._cloud,
            user=user,
            ids=ids,
            query=dict(parse_qsl(request.query)),
            # GitHub takes labels as a bare array too, and its clients send them so.
            body={"labels": body} if isinstance(body, list) else body or {},
            base=f"{request.root}{BASE}",
            where=records.place(self._cloud, place) if place else "",
        )


def _refused(refusal: ApiError) -> Reply:
    """In GitHub's shape, what the wire refused too."""
    told = refusal if isinstance(refusal, GitHubError) else GitHubError(refusal.code, refusal.message)
    return Reply(told.code, _text(told.to_json()), {**_JSON, **told.headers})


def _struck(rule: FaultRule, rate: Mapping[str, str]) -> GitHubError:
    if rule.code not in (403, 429):
        return GitHubError(rule.code, rule.message or "Server Error", headers=rate)
    said = rule.message or "You have exceeded a secondary rate limit. Please wait a few minutes."
    return GitHubError(rule.code, said, headers={**rate, "retry-after": str(ceil(rule.seconds))})


def _sent(ask: Ask, request: HttpRequest, answer: GitHubAnswer) -> Reply:
    match answer:
        case None:
            return Reply(204, b"", {})
        case Made():
            return Reply(201, _text(answer.body), _JSON)
        case Paged():
            return _page(ask, request, answer)
        case _:
            return Reply(200, _text(answer), _JSON)


def _page(ask: Ask, request: HttpRequest, listing: Paged) -> Reply:
    """The page that `page` and `per_page` name; one past the end is empty, as on GitHub."""
    size, page = min(int(ask.query.get("per_page", 30)), 100), int(ask.query.get("page", 1))
    total = len(listing.items)
    shown = list(listing.items[(page - 1) * size : page * size])
    following = f"{request.root}{request.path}?{urlencode({**ask.query, 'page': page + 1})}"
    more = {"link": f'<{following}>; rel="next"'} if page * size < total else {}
    return Reply(200, _text({"total_count": total, listing.key: shown} if listing.key else shown), {**_JSON, **more})


def _text(body: JsonObject | list[JsonObject]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
