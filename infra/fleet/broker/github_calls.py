"""Calls of GitHub's REST API: time limits, one retry, and what its refusals mean to the broker.

Owns the transport alone: which calls are made, and with which token, is `github_app`'s. Nothing here writes a token or
an answer's body anywhere.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import urllib3

from infra.fleet.broker.refusals import LONGEST_WAIT, Reason, Refused
from infra.model.visible import visible_answer

GITHUB: Final = "https://api.github.com"
PATIENCE: Final = 20.0
"""Seconds for all calls of one registration together; shorter than two registrations of a VM are apart."""
_ONE_CALL: Final = 8.0
_LIMITED: Final = frozenset({403, 429})
_FEW: Final = 0.2
"""Of the calls that GitHub gives an installation within an hour."""
_LONGEST_TEXT: Final = 200


@dataclass(frozen=True, slots=True)
class Answered:
    """status: 2xx, or one that the caller said it takes."""

    status: int
    body: Any = field(repr=False)


class GitHubCalls:
    """GitHub at `api`. Safe to share between threads: when GitHub says wait, all of them wait."""

    def __init__(self, api: str, http: urllib3.PoolManager, clock: Callable[[], datetime]) -> None:
        self._api = api.rstrip("/")
        self._http = http
        self._clock = clock
        self._lock = threading.Lock()
        self._resume: datetime | None = None
        self._few_until: datetime | None = None

    def ask(
        self,
        verb: str,
        path: str,
        *,
        token: str,
        deadline: float,
        body: Mapping[str, Any] | None = None,
        takes: frozenset[int] = frozenset(),
    ) -> Answered:
        """One call, tried twice where GitHub has no good answer.

        deadline: by `time.monotonic`. takes: refusals that the caller wants to see. Raises Refused for all others.
        """
        self._wait_is_over()
        for last in (False, True):
            response = self._sent(verb, path, token, deadline, body, last=last)
            if response is not None and (response.status < 500 or last):
                return self._read(response, f"{verb} {path.partition('?')[0]}", takes)
        raise Refused(Reason.GITHUB_DOWN, f"{verb} {path.partition('?')[0]}: no answer")

    def are_few(self) -> bool:
        """Whether little is left of the calls of this hour, as GitHub said last."""
        with self._lock:
            return self._few_until is not None and self._clock() < self._few_until

    def _sent(
        self, verb: str, path: str, token: str, deadline: float, body: Mapping[str, Any] | None, *, last: bool
    ) -> urllib3.BaseHTTPResponse | None:
        """The response, None where none came and another try is left."""
        left = min(deadline - time.monotonic(), _ONE_CALL)
        if left <= 0:
            raise Refused(Reason.GITHUB_DOWN, "it took too long")
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "tidepool-broker",
            **({"Content-Type": "application/json"} if body is not None else {}),
        }
        content = None if body is None else json.dumps(body).encode()
        limits: Any = {"redirect": False, "retries": False, "timeout": urllib3.Timeout(total=left)}
        try:
            return self._http.request(verb, f"{self._api}/{path}", body=content, headers=headers, **limits)
        except urllib3.exceptions.HTTPError as error:
            if last:
                said = f"{verb} {path.partition('?')[0]}: {type(error).__name__}"
                raise Refused(Reason.GITHUB_DOWN, said) from None
            return None

    def _read(self, response: urllib3.BaseHTTPResponse, doing: str, takes: frozenset[int]) -> Answered:
        try:
            body = visible_answer(json.loads(response.data)) if response.data else None
        except ValueError:
            body = None
        self._count(response.headers)
        status = response.status
        if 200 <= status < 300 or status in takes:
            return Answered(status, body)
        said = f"{doing}: {status} {_message(body)}".strip()
        if status in _LIMITED and (seconds := self._pause(response.headers, status)) is not None:
            with self._lock:
                self._resume = self._clock() + timedelta(seconds=seconds)
            raise _limited(said, seconds)
        if status >= 500:
            raise Refused(Reason.GITHUB_DOWN, said)
        raise Refused(Reason.GITHUB_REFUSED, said)

    def _count(self, headers: Mapping[str, str]) -> None:
        """An app's own calls are counted apart; that hour is hardly ever used, and what it says is soon corrected."""
        limit, left, reset = (headers.get(f"x-ratelimit-{name}", "") for name in ("limit", "remaining", "reset"))
        if not (limit.isdigit() and left.isdigit() and reset.isdigit()):
            return
        few = int(left) < int(limit) * _FEW
        with self._lock:
            self._few_until = datetime.fromtimestamp(min(int(reset), 1 << 33), tz=UTC) if few else None

    def _pause(self, headers: Mapping[str, str], status: int) -> float | None:
        """For how long GitHub lets us wait; None where a refusal is no rate limit.

        https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api, read 2026-11.
        """
        again, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
        if again.isdigit():
            return min(float(again), LONGEST_WAIT)
        if headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
            return min(max(float(reset) - self._clock().timestamp(), 1), LONGEST_WAIT)
        return float(Reason.GITHUB_LIMITED.again) if status == 429 else None

    def _wait_is_over(self) -> None:
        """Raises Refused while GitHub lets us wait: asking all the same would make it longer."""
        with self._lock:
            resume, now = self._resume, self._clock()
        if resume is not None and now < resume:
            raise _limited("as it said before", (resume - now).total_seconds())


def _limited(said: str, seconds: float) -> Refused:
    """Not sooner than other refusals, for the broker has a limit of its own."""
    return Refused(Reason.GITHUB_LIMITED, said, again=max(seconds, Reason.GITHUB_LIMITED.again))


def _message(body: Any) -> str:
    """GitHub's own words, on one line."""
    said = body.get("message") if isinstance(body, dict) else None
    return " ".join(said.split())[:_LONGEST_TEXT] if isinstance(said, str) else ""
