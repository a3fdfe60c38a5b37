"""Calls to Google's REST APIs below one root URL.

Owns connections, JSON, Google's error shape, and which answers are tried again: 429, 500, 502, 503 and broken
connections, with growing waits until the action's deadline, as the official provider does. Everything else that is not
a success fails at once, and so does a 429 that says a quota is used up: it would say so all day.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

import urllib3

from bench.engine.provider import Cancel, CancelledError
from bench.providers.google.fields import JsonObject

DEFAULT_TIMEOUT: Final = 20 * 60.0
"""Seconds that an action may take where the program sets no custom timeout; the official provider's own."""

_RETRIED: Final = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
    }
)
_CONNECTIONS = 64
"""How many calls may be under way at once on kept-alive connections."""
_PATIENCE = urllib3.Timeout(connect=10.0, read=300.0)
_UNREACHABLE_SECONDS = (
    15.0  # A cloud that is being started again is back sooner; twenty minutes would look like a hang.
)
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0

_RATE: Final = re.compile(r"\bper (second|minute|hour|day)\b|rate limit", re.IGNORECASE)

Monotonic = Callable[[], float]


class CallError(Exception):
    """What was asked of Google Cloud did not come to be."""


class ApiError(CallError):
    """An answer that is no success, in Google's own words.

    doubtful: an earlier attempt of this call got no answer, and may have been carried out. unreachable: nothing took
    the call at all. exhausted: a quota or a reservation has nothing left, which no further attempt changes. reason: the
    API's own word for it, such as `failedPrecondition`. passing: the same call may succeed a little later.
    """

    def __init__(
        self, code: int, message: str, *, reason: str = "", unreachable: bool = False, exhausted: bool = False
    ) -> None:
        super().__init__(f"googleapi: Error {code}: {message}" + (f", {reason}" if reason else ""))
        self.code, self.reason, self.doubtful = code, reason, False
        self.unreachable = unreachable
        self.passing = code in _RETRIED and not exhausted


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """How long one action may take, and whether somebody wants it to stop."""

    ends: float
    seconds: float
    cancel: Cancel
    now: Monotonic

    def left(self) -> float:
        return self.ends - self.now()

    def pause(self, seconds: float) -> None:
        """Wait, no longer than the deadline; raises CancelledError as soon as the run is given up."""
        if self.cancel.wait(max(0.0, min(seconds, self.left()))):
            raise CancelledError("the run was cancelled while Google Cloud was still working on this")

    def pause_before_asking_again(self, seconds: float) -> bool:
        """Wait as `pause` does; False where the run begins nothing new any more, whatever is left of the wait."""
        return not self.cancel.wait_to_begin(max(0.0, min(seconds, self.left())))


@dataclass(frozen=True, slots=True)
class RestApi:
    """One root URL and its kept-alive connections; safe for many threads.

    now: the clock of deadlines. idle: how a call waits that nobody can cancel.
    """

    url: str
    now: Monotonic = time.monotonic
    idle: Cancel = field(default_factory=Cancel)
    _pool: urllib3.HTTPConnectionPool = field(init=False, repr=False)
    _turns: dict[str, threading.Lock] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        pool = urllib3.connectionpool.connection_from_url(self.url, maxsize=_CONNECTIONS, retries=False)
        object.__setattr__(self, "_pool", pool)

    def deadline(self, seconds: float | None = None, cancel: Cancel | None = None) -> Deadline:
        allowed = DEFAULT_TIMEOUT if seconds is None else seconds
        return Deadline(ends=self.now() + allowed, seconds=allowed, cancel=cancel or self.idle, now=self.now)

    def turn(self, subject: str) -> AbstractContextManager[bool]:
        """One at a time for what is read, changed and written back as a whole: a policy, a router's NATs."""
        return self._turns.setdefault(subject, threading.Lock())

    def call(
        self,
        method: str,
        path: str,
        deadline: Deadline,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content: str = "application/json",
    ) -> JsonObject:
        """The answer's JSON object, `{}` for an empty answer. body: JSON, or bytes of the kind that `content` says.

        Raises ApiError, CancelledError.
        """
        target = f"/{path}?{urlencode(query)}" if query else f"/{path}"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {} if body is None else {"content-type": content}
        wait, doubtful, began = _FIRST_WAIT, False, self.now()
        while True:
            error = self._attempt(method, target, data, headers)
            if not isinstance(error, ApiError):
                return error
            lost = error.unreachable and self.now() - began > _UNREACHABLE_SECONDS
            if not error.passing or deadline.left() <= wait or lost:
                error.doubtful = doubtful
                raise error
            doubtful = doubtful or not (error.unreachable or error.code == HTTPStatus.TOO_MANY_REQUESTS)
            if method == "GET":
                deadline.pause(wait)
            elif not deadline.pause_before_asking_again(wait):
                if doubtful:
                    raise CancelledError(f"the run was cancelled before this was tried again, after {error}")
                raise error
            wait = min(2 * wait, _LONGEST_WAIT)

    def _attempt(self, method: str, target: str, data: bytes | None, headers: dict[str, str]) -> JsonObject | ApiError:
        try:
            answer = self._pool.urlopen(method, target, body=data, headers=headers, timeout=_PATIENCE)
        except urllib3.exceptions.NewConnectionError:
            message = f"nothing answers at {self.url}; `./tidepool cloud status` says whether the local cloud runs"
            return ApiError(HTTPStatus.SERVICE_UNAVAILABLE, message, unreachable=True)
        except urllib3.exceptions.HTTPError as broken:
            return ApiError(HTTPStatus.SERVICE_UNAVAILABLE, f"no answer from {self.url} ({type(broken).__name__})")
        if answer.status < HTTPStatus.MULTIPLE_CHOICES:
            return json.loads(answer.data) if answer.data else {}
        return _error(answer.status, answer.data)


def _error(code: int, data: bytes) -> ApiError:
    """Google's error shape, both generations of it: `error.status`, or `error.errors[0].reason`."""
    try:
        error = json.loads(data)["error"]
        (first,) = (error.get("errors") or [{}])[:1]
        message, reason = error["message"], first.get("reason", "")
    except (ValueError, KeyError, TypeError):
        return ApiError(code, data.decode(errors="replace").strip() or HTTPStatus(code).phrase)
    # Whether a 429 is about how much there may be: the TPU API says `Quota limit` or details a QuotaFailure. A rate is
    # limited in time, and says of what: `Requests per minute`.
    of_amount = "Quota limit" in message or "QuotaFailure" in json.dumps(error.get("details"))
    exhausted = code == HTTPStatus.TOO_MANY_REQUESTS and of_amount and not _RATE.search(message)
    return ApiError(code, message, reason=reason, exhausted=exhausted)
