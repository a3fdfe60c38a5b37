"""GitHub's REST API as everything here calls it: time limits, retries, rate limits, and what a refusal says.

Owns the transport alone: which calls are made, and with which token, is its callers'. Nothing here writes a token
anywhere. https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api and
.../best-practices-for-using-the-rest-api, read 2026-11.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from infra.model.clock import machine_clock  # noqa: TID251 - GitHub says in this time when a rate limit ends
from infra.model.errors import OutsideError
from infra.model.visible import visible, visible_json

LIMIT_PAUSE: Final = 60.0
"""Seconds to wait for a rate limit that does not say how long."""
_LONGEST_LIMIT: Final = 3600.0
"""GitHub counts by the hour, so that no limit lasts longer."""
_REFUSING: Final = frozenset({403, 429})
_CONNECTIONS: Final = 8
"""As many as parts of a long list are read at a time (`infra.fleet.github_lists.READERS`)."""
_FEW: Final = 0.2
"""Of the calls that GitHub gives within an hour."""
_LONGEST_TEXT: Final = 200
_PERHAPS_DONE: Final = frozenset({500, 502, 504})
"""What GitHub or a gateway before it answers also where the call was done."""
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_NOT_SENT: Final = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a caller can wait, in seconds. tries: of one call, each of which takes `answer` at most.

    backoff: before the second try, and doubled before each further one. limit: the longest pause for a rate limit; one
    that lasts longer fails the call. between_writes: GitHub's advice against secondary rate limits.
    repeats: whether a POST whose answer was lost, with a connection or at a gateway, is sent once more; it may have
    been done.
    """

    tries: int = 2
    answer: float = 8.0
    backoff: float = 0.0
    limit: float = 0.0
    between_writes: float = 0.0
    repeats: bool = True


class CallError(OutsideError):
    """A call that GitHub refused or did not answer; its text names the call.

    status: None where no answer came. wait: seconds that a rate limit lasts, None where it is none.
    """

    def __init__(self, said: str, *, status: int | None = None, wait: float | None = None) -> None:
        self.status = status
        self.wait = wait
        super().__init__(said)


@dataclass(frozen=True, slots=True)
class Answered:
    """status: 2xx, or one that the caller said it takes."""

    status: int
    body: Any = field(repr=False)


class GitHubClient:
    """GitHub at `api`. Safe to share between threads: when GitHub says wait, all of them wait.

    agent: who calls. verbatim: whether texts of answers stay as they are; else what hides or steers in them is shown.
    """

    def __init__(
        self,
        api: str,
        agent: str,
        patience: Patience = Patience(),
        *,
        http: urllib3.PoolManager | None = None,
        clock: Callable[[], datetime] = machine_clock,
        verbatim: bool = False,
    ) -> None:
        self._api = api.rstrip("/")
        self._agent = agent
        self._patience = patience
        self._http = http or _pool(api)
        self._clock = clock
        self._verbatim = verbatim
        self._lock = threading.Lock()
        self._resume = datetime.min.replace(tzinfo=UTC)
        self._few_until = datetime.min.replace(tzinfo=UTC)
        self._written = -math.inf

    def ask(
        self,
        verb: str,
        path: str,
        *,
        token: str,
        deadline: float = math.inf,
        body: Mapping[str, Any] | None = None,
        takes: frozenset[int] = frozenset(),
    ) -> Answered:
        """One call, tried again where GitHub has no good answer.

        deadline: by `time.monotonic`. takes: refusals that the caller wants to see, of which no rate limit is one.
        Raises CallError for all others.
        """
        doing, patience, tries = f"{verb} {path.partition('?')[0]}", self._patience, 0
        while True:
            self._pause(doing, verb)
            tries += 1
            try:
                return self._read(self._sent(doing, verb, path, token, deadline, body), doing, takes)
            except urllib3.exceptions.HTTPError as error:
                done = verb == "POST" and not patience.repeats and not isinstance(error, _NOT_SENT)
                if done or tries >= patience.tries:
                    raise CallError(f"{doing}: no answer ({type(error).__name__})") from None
            except CallError as refusal:
                passing = (refusal.status or 0) >= 500 or (refusal.wait is not None and refusal.wait <= patience.limit)
                done = verb == "POST" and not patience.repeats and refusal.status in _PERHAPS_DONE
                if done or not passing or tries >= patience.tries:
                    raise
            time.sleep(patience.backoff * 2 ** (tries - 1))

    def are_few(self) -> bool:
        """Whether little is left of the calls of this hour, as GitHub said last."""
        with self._lock:
            return self._clock() < self._few_until

    def _pause(self, doing: str, verb: str) -> None:
        """Asking while GitHub lets us wait would make it longer."""
        with self._lock:
            seconds = (self._resume - self._clock()).total_seconds()
            written = self._written + self._patience.between_writes - time.monotonic() if verb != "GET" else 0.0
        if seconds > max(self._patience.limit, 0.0):
            raise CallError(f"{doing}: rate limit, as GitHub said before", status=429, wait=seconds)
        time.sleep(max(seconds, written, 0.0))

    def _sent(
        self, doing: str, verb: str, path: str, token: str, deadline: float, body: Mapping[str, Any] | None
    ) -> urllib3.BaseHTTPResponse:
        seconds = min(deadline - time.monotonic(), self._patience.answer)
        if seconds <= 0:
            raise CallError(f"{doing}: it took too long")
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": self._agent,
            **({"Content-Type": "application/json"} if body is not None else {}),
        }
        content = None if body is None else json.dumps(body).encode()
        # A redirect is not followed: the token would go along.
        limits: Any = {"redirect": False, "retries": False, "timeout": urllib3.Timeout(total=seconds)}
        try:
            return self._http.request(verb, f"{self._api}/{path}", body=content, headers=headers, **limits)
        finally:
            if verb != "GET":
                with self._lock:
                    self._written = time.monotonic()

    def _read(self, response: urllib3.BaseHTTPResponse, doing: str, takes: frozenset[int]) -> Answered:
        try:
            read = json.loads if self._verbatim else visible_json
            body = read(response.data) if response.data else None
        except ValueError:
            body = None
        status = response.status
        self._count(response.headers)
        message = _message(body)
        wait = self._limit(response.headers, status, message) if status in _REFUSING else None
        if wait is None and (200 <= status < 300 or status in takes):
            return Answered(status, body)
        if wait is not None:
            with self._lock:
                self._resume = self._clock() + timedelta(seconds=wait)
        raise CallError(f"{doing}: {status} {message}".strip(), status=status, wait=wait)

    def _count(self, headers: Mapping[str, str]) -> None:
        """An app's own calls are counted apart; that hour is hardly ever used, and what it says is soon corrected."""
        limit, left, reset = (headers.get(f"x-ratelimit-{name}", "") for name in ("limit", "remaining", "reset"))
        if not (limit.isdigit() and left.isdigit() and reset.isdigit()):
            return
        until = min(int(reset), 1 << 33) if int(left) < int(limit) * _FEW else 0
        with self._lock:
            self._few_until = datetime.fromtimestamp(until, tz=UTC)

    def _limit(self, headers: Mapping[str, str], status: int, message: str) -> float | None:
        """For how many seconds GitHub lets us wait; None where a refusal is no rate limit."""
        again, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
        if again.isdigit():
            return min(float(again), _LONGEST_LIMIT)
        if headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
            return min(max(float(reset) - self._clock().timestamp(), 1), _LONGEST_LIMIT)
        return LIMIT_PAUSE if status == 429 or "rate limit" in message.lower() else None


def _pool(api: str) -> urllib3.PoolManager:
    """Through the proxy that HTTPS_PROXY or HTTP_PROXY names, but for what NO_PROXY names and what is on loopback."""
    address = urlsplit(api)
    host, proxy = address.hostname or "", getproxies().get(address.scheme)
    if not proxy or host in _LOOPBACK or proxy_bypass(host):
        return urllib3.PoolManager(num_pools=2, maxsize=_CONNECTIONS)
    proxy = proxy if "://" in proxy else f"http://{proxy}"  # As curl reads a bare HOST:PORT.
    user = urllib3.util.parse_url(proxy).auth
    headers = urllib3.make_headers(proxy_basic_auth=unquote(user)) if user else None
    return urllib3.ProxyManager(proxy, num_pools=2, maxsize=_CONNECTIONS, proxy_headers=headers)


def _message(body: Any) -> str:
    """GitHub's own words, on one line."""
    said = body.get("message") if isinstance(body, dict) else None
    return visible(" ".join(said.split())[:_LONGEST_TEXT]) if isinstance(said, str) else ""
