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
from bench.cloud.github.routes import (
    Ask,
    GitHubAnswer,
    GitHubError,
    Made,
    Paged,
    Route,
    User,
    find,
    missing,
)
from bench.cloud.requestlog import LoggedRequest
from bench.cloud.wire import HttpRequest, Reply, parsed_json

BASE = "/github/api/v3"
# https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api, read 2026-11-21.
REQUESTS_AN_HOUR = 5000
HOUR = 3600.0
_PAGE, _LONGEST_PAGE = 30, 100
_JSON = {"content-type": "application/json; charset=utf-8", "x-github-media-type": "github.v3; format=json"}


class Hub:
    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def reply(self, request: HttpRequest) -> Reply:
        """Answer one request below `BASE`, whatever it is."""

        def work(entry: LoggedRequest) -> Reply:
            route, ids = find(request.verb, request.path.removeprefix(BASE))
            entry.method = route.name
            return self._handled(request, route, ids)

        return self._cloud.log.answered(request, lambda: self._cloud.now, work, _refused)

    def _handled(self, request: HttpRequest, route: Route, ids: Mapping[str, str]) -> Reply:
        with self._cloud.store.transaction():
            self._cloud.settle()
            user, account = apps.holder(self._cloud, request.headers.get("authorization", ""))
            refusal, rate = self._counted(account)
        if refusal:
            raise refusal
        with self._cloud.store.transaction():
            target = FaultTarget(method=route.name, project=_where(ids), name=next(reversed(list(ids.values())), ""))
            error, slow, lost = self._cloud.faults.of_request(target, self._cloud.now)
        if error:
            raise _struck(error, rate)
        with self._cloud.store.transaction():
            ask = self._ask(request, user, ids)
            reply = _sent(ask, request, route.handler(ask))
        return replace(reply, headers={**reply.headers, **rate}, delay=slow, broken=lost)

    def _counted(self, account: str) -> tuple[GitHubError | None, dict[str, str]]:
        """Takes one request off what the account has left in this hour; the headers that say so."""
        now = self._cloud.now
        found = self._cloud.store.find(records.RATE, account)
        rate = found.body if found and found.body["reset"] > now else {"used": 0, "reset": now + HOUR}
        spent = rate["used"] >= REQUESTS_AN_HOUR
        rate["used"] = min(rate["used"] + 1, REQUESTS_AN_HOUR)
        self._cloud.store.put(records.RATE, account, rate, now=now)
        headers = {
            "x-ratelimit-limit": str(REQUESTS_AN_HOUR),
            "x-ratelimit-remaining": str(REQUESTS_AN_HOUR - rate["used"]),
            "x-ratelimit-reset": str(ceil(rate["reset"])),
        }
        said = "API rate limit exceeded for user ID 1."
        return (GitHubError(403, said, headers=headers) if spent else None), headers

    def _ask(self, request: HttpRequest, user: User, ids: Mapping[str, str]) -> Ask:
        body = parsed_json(request.data)
        if isinstance(body, list):
            # GitHub takes labels as a bare array too, and its clients send them so.
            body = {"labels": body}
        repo = records.repository(self._cloud, _where(ids))["full_name"] if "owner" in ids else ""
        if not user.reaches(repo or ids.get("org", "")):
            raise missing()
        return Ask(
            cloud=self._cloud,
            user=user,
            ids=ids,
            query=dict(parse_qsl(request.query, keep_blank_values=True)),
            body=body or {},
            base=f"{request.root}{BASE}",
            repo=repo,
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


def _where(ids: Mapping[str, str]) -> str:
    return ids["org"] if "org" in ids else f"{ids.get('owner', '')}/{ids.get('name', '')}"


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
    size = min(max(_whole(ask.query.get("per_page"), _PAGE), 1), _LONGEST_PAGE)
    page = max(_whole(ask.query.get("page"), 1), 1)
    total = len(listing.items)
    shown = list(listing.items[(page - 1) * size : page * size])
    following = f"{request.root}{request.path}?{urlencode({**ask.query, 'page': page + 1})}"
    more = {"link": f'<{following}>; rel="next"'} if page * size < total else {}
    body = shown if listing.key is None else {"total_count": total, listing.key: shown}
    return Reply(200, _text(body), {**_JSON, **more})


def _whole(text: str | None, default: int) -> int:
    return int(text) if text and text.isdigit() else default


def _text(body: JsonObject | list[JsonObject]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
