"""The broker over HTTP, as a plain ASGI application: what VMs ask, what the controller asks, and GET /healthz.

Owns everything between a socket and a decision: which requests are read at all, how much of them and for how long, and
how an answer is written. Decisions are taken on threads, of which there are few; what would wait for too long is turned
away.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from infra.fleet.broker import audit, errands
from infra.fleet.broker.audit import Story
from infra.fleet.broker.decide import Request
from infra.fleet.broker.errands import Errand
from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.broker.registration import Granted

REGISTRATIONS: Final = "/v1/registrations"
HEALTH: Final = "/healthz"
MAX_BODY: Final = 4096
BODY_SECONDS: Final = 10.0
THREADS: Final = 16
WAITING: Final = 64
"""Requests that may be decided or wait for it at once."""

ERRAND: Final = "errand"
"""What the audit line says of one that cannot be read."""

T = TypeVar("T")
R = TypeVar("R")

LOGGER: Final = logging.getLogger("tidepool.broker")
_NAME: Final = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_PARTS: Final = frozenset({"stack", "vm", "pool"})


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str]


class Service:
    """register: `Broker.register`. run: `Keeper.run`. tell: gets the facts of every decision.

    closing: called at the end, when no decision is being taken any more. body_seconds: what a body may take to come.
    """

    def __init__(
        self,
        register: Callable[[str, Request, Story], Granted],
        run: Callable[[str, Errand, Story], Mapping[str, Any]],
        *,
        clock: Callable[[], datetime],
        tell: Callable[[dict[str, Any]], None],
        closing: Callable[[], None] = lambda: None,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self._register = register
        self._run = run
        self._clock = clock
        self._tell = tell
        self._closing = closing
        self._body_seconds = body_seconds
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="broker")
        self._inside = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise NotImplementedError(f"{scope['type']} is not served")
        names = {name.lower() for name, _ in scope["headers"]}
        if {b"content-length", b"transfer-encoding"} <= names:
            # What stands before the broker may end this request elsewhere, and take its rest for another's.
            await _send(send, _refusal(Refused(Reason.TWO_LENGTHS)))
        elif scope["path"] == HEALTH and scope["method"] in ("GET", "HEAD"):
            await _send(send, _Reply(200, {"status": "ok"}, {}))
        elif scope["path"] == REGISTRATIONS:
            await self._decided(scope, send, Story(), lambda story: self._granted(scope, receive, story))
        elif errands.method(scope["path"]):
            await self._decided(scope, send, Story(event=ERRAND), lambda story: self._done(scope, story))
        else:
            await _send(send, _refusal(Refused(Reason.NOT_FOUND)))

    def close(self) -> None:
        """Begin no more decisions, wait for those that were begun, and give connections back."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._closing()

    async def _decided(
        self, scope: Any, send: Any, story: Story, decide: Callable[[Story], Awaitable[Mapping[str, Any]]]
    ) -> None:
        """Answer, and then tell."""
        began, refused, allowed = time.perf_counter(), None, errands.method(scope["path"]) or "POST"
        try:
            reply = _Reply(200, await decide(story), {})
        except Refused as refusal:
            refused, reply = refusal, _refusal(refusal, allowed)
        except _Gone:
            return
        except Exception as defect:  # noqa: BLE001 - answered and told like every refusal
            # Where it happened, and not what it says: an error may quote the header that it choked on.
            LOGGER.error("a request failed: %s\n%s", type(defect).__name__, _where(defect))  # noqa: TRY400
            refused = Refused(Reason.DEFECT, type(defect).__name__)
            reply = _refusal(refused, allowed)
        milliseconds = (time.perf_counter() - began) * 1000
        self._tell(audit.entry(story, refused, at=self._clock(), milliseconds=milliseconds))
        await _send(send, reply)

    async def _granted(self, scope: Any, receive: Any, story: Story) -> Mapping[str, Any]:
        if scope["method"] != "POST":
            raise Refused(Reason.WRONG_METHOD)
        headers = _headers(scope)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(Reason.NOT_JSON)
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:20]) > MAX_BODY:
            raise Refused(Reason.TOO_LARGE)
        token = _token(headers.get("authorization", ""))
        try:
            content = await asyncio.wait_for(_body(receive), self._body_seconds)
        except TimeoutError:
            raise Refused(Reason.TOO_SLOW) from None
        story.request = _request(content)
        granted = await self._on_a_thread(self._register, token, story.request, story)
        expires = granted.expires.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"runner": granted.runner, "jit": granted.jit, "expires": expires}

    async def _done(self, scope: Any, story: Story) -> Mapping[str, Any]:
        """An errand of the controller's. Its body, if it has one, is not read."""
        if scope["method"] != errands.method(scope["path"]):
            raise Refused(Reason.WRONG_METHOD)
        token = _token(_headers(scope).get("authorization", ""))
        errand = errands.read(scope["path"], scope["query_string"].decode("latin-1"))
        story.errand, story.event = errand, errand.kind.value
        return await self._on_a_thread(self._run, token, errand, story)

    async def _on_a_thread(self, decide: Callable[[str, T, Story], R], token: str, asked: T, story: Story) -> R:
        if self._inside >= WAITING:
            raise Refused(Reason.CROWDED)
        self._inside += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, decide, token, asked, story)
        finally:
            self._inside -= 1


class _Gone(Exception):  # noqa: N818 - nobody is there to be told
    """The caller has gone before its body had come."""


def _where(defect: Exception) -> str:
    return "".join(traceback.format_tb(defect.__traceback__))


def _headers(scope: Any) -> dict[str, str]:
    """By name. One that comes twice is as good as none: who reads the first and who the second would disagree."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        found[key] = "" if key in found else value.decode("latin-1")
    return found


def _token(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Refused(Reason.NO_TOKEN)
    return token.strip()


async def _body(receive: Any) -> bytes:
    content, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        content += message.get("body", b"")
        more = message.get("more_body", False)
        if len(content) > MAX_BODY:
            raise Refused(Reason.TOO_LARGE)
    return content


def _request(content: bytes) -> Request:
    """Names are checked before anything is done with them: they become part of paths."""
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        raise Refused(Reason.MALFORMED) from None
    if not isinstance(said, dict) or said.keys() != _PARTS:
        raise Refused(Reason.MALFORMED)
    if not all(isinstance(name, str) and _NAME.fullmatch(name) for name in said.values()):
        raise Refused(Reason.MALFORMED)
    return Request(**said)


def _refusal(refused: Refused, allowed: str = "") -> _Reply:
    """allowed: the method of the path."""
    reason = refused.reason
    headers: dict[str, str] = {}
    if refused.again:
        headers["retry-after"] = str(refused.again)
    if reason.status == 401:
        headers["www-authenticate"] = "Bearer"
    if reason is Reason.WRONG_METHOD:
        headers["allow"] = allowed
    if reason.status in (404, 405, 408, 413, 415) or reason in (Reason.NO_TOKEN, Reason.TWO_LENGTHS):
        # The rest of the body is not read, so the connection is good for nothing more.
        headers["connection"] = "close"
    return _Reply(reason.status, {"reason": reason.word, "message": reason.told}, headers)


async def _send(send: Any, reply: _Reply) -> None:
    content = json.dumps(reply.body).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(content)),
        "cache-control": "no-store",
        **reply.headers,
    }
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": pairs})
    await send({"type": "http.response.body", "body": content})
