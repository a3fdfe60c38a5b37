"""The broker over HTTP: what VMs ask, what the controller asks, and GET /healthz.

Owns everything between a server and a decision: which requests are read at all, how much of them and for how long, and
how an answer is written. Decisions are taken on threads, of which there are few; what would wait for too long is turned
away.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from infra.fleet.broker import audit
from infra.fleet.broker.audit import REGISTRATION, AuditedRequest
from infra.fleet.broker.decide import RegistrationRequest
from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.broker.registration import Granted
from infra.fleet.broker.requests import ControllerRequest, RequestKind, controller_request, registration_request

MAX_BODY: Final = 4096
BODY_SECONDS: Final = 10.0
THREADS: Final = 16
WAITING: Final = 64
"""Requests that may be decided or wait for it at once."""

UNREAD: Final = "errand"
"""What the audit line calls a request of the controller's that cannot be read."""

T = TypeVar("T")
R = TypeVar("R")

LOGGER: Final = logging.getLogger("tidepool.broker")
_LENGTHS: Final = frozenset({b"content-length", b"transfer-encoding"})
_PLAIN: Final = re.compile(r"[a-z0-9/]+")
"""A path. The patterns of routes end at `$`, which a line feed may follow."""
_CONTROLLERS: Final = (
    ("/v1/runners", "GET", RequestKind.RUNNERS),
    ("/v1/runners/{number}", "DELETE", RequestKind.REMOVAL),
    ("/v1/queue", "GET", RequestKind.QUEUE),
)


class Service:
    """An ASGI application. register: `Registrar.register`. run: `Keeper.run`. tell: gets the facts of every decision.

    closing: called at the end, when no decision is being taken any more. body_seconds: what a body may take to come.
    """

    def __init__(
        self,
        register: Callable[[str, RegistrationRequest, AuditedRequest], Granted],
        run: Callable[[str, ControllerRequest, AuditedRequest], Mapping[str, Any]],
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
        asked = [self._route(path, verb, partial(self._asked, kind)) for path, verb, kind in _CONTROLLERS]
        routes = [Route("/healthz", _healthy), self._route("/v1/registrations", "POST", self._registered), *asked]
        self._application = Starlette(routes=routes, exception_handlers={HTTPException: _not_there})
        self._application.router.redirect_slashes = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if {name.lower() for name, _ in scope["headers"]} >= _LENGTHS:
            # What stands before the broker may end this request elsewhere, and take its rest for another's.
            await _refusal(Refused(Reason.TWO_LENGTHS))(scope, receive, send)
        elif not _PLAIN.fullmatch(scope["path"]):
            await _refusal(Refused(Reason.NOT_FOUND))(scope, receive, send)
        else:
            await self._application(scope, receive, send)

    def close(self) -> None:
        """Begin no more decisions, wait for those that were begun, and give connections back."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._closing()

    def _route(self, path: str, verb: str, decide: Callable[[Request, AuditedRequest], Awaitable[Any]]) -> Route:
        """What is at a path, which has one method: `decide` gives the answer's body."""

        async def answered(request: Request) -> Response:
            began, refused = time.perf_counter(), None
            audited = AuditedRequest(event=REGISTRATION if verb == "POST" else UNREAD)
            try:
                _check_method(request, verb)
                response = _json(200, await decide(request, audited))
            except ClientDisconnect:
                return Response()
            except Refused as refusal:
                refused, response = refusal, _refusal(refusal, verb)
            except Exception as defect:  # noqa: BLE001 - answered and told like every refusal
                # Where it happened, and not what it says: an error may quote the header that it choked on.
                where = "".join(traceback.format_tb(defect.__traceback__))
                LOGGER.error("a request failed: %s\n%s", type(defect).__name__, where)  # noqa: TRY400
                refused = Refused(Reason.DEFECT, type(defect).__name__)
                response = _refusal(refused)
            milliseconds = (time.perf_counter() - began) * 1000
            self._tell(audit.entry(audited, refused, at=self._clock(), milliseconds=milliseconds))
            return response

        route = Route(path, answered)
        # Starlette's own refusal of a method would be told nowhere, and for it GET has HEAD too.
        route.methods = None
        return route

    async def _registered(self, request: Request, audited: AuditedRequest) -> Mapping[str, Any]:
        if _once(request, "content-type").partition(";")[0].strip().lower() != "application/json":
            raise Refused(Reason.NOT_JSON)
        length = _once(request, "content-length") or "0"
        if not length.isascii() or not length.isdigit() or int(length[:20]) > MAX_BODY:
            raise Refused(Reason.TOO_LARGE)
        token = _token(request)
        try:
            content = await asyncio.wait_for(_body(request), self._body_seconds)
        except TimeoutError:
            raise Refused(Reason.TOO_SLOW) from None
        audited.registration = registration_request(content)
        granted = await self._on_a_thread(self._register, token, audited.registration, audited)
        expires = granted.expires.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"runner": granted.runner, "jit": granted.jit, "expires": expires}

    async def _asked(self, kind: RequestKind, request: Request, audited: AuditedRequest) -> Mapping[str, Any]:
        """What the controller asks for. A body, if there is one, is not read."""
        token = _token(request)
        number = request.path_params.get("number", "")
        audited.asked = controller_request(kind, request.query_params.multi_items(), number)
        audited.event = kind.value
        return await self._on_a_thread(self._run, token, audited.asked, audited)

    async def _on_a_thread(
        self, decide: Callable[[str, T, AuditedRequest], R], token: str, asked: T, audited: AuditedRequest
    ) -> R:
        if self._inside >= WAITING:
            raise Refused(Reason.CROWDED)
        self._inside += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, decide, token, asked, audited)
        finally:
            self._inside -= 1


async def _healthy(_: Request) -> JSONResponse:
    return _json(200, {"status": "ok"})


async def _not_there(_: Request, __: Exception) -> JSONResponse:
    return _refusal(Refused(Reason.NOT_FOUND))


def _check_method(request: Request, verb: str) -> None:
    if request.method != verb:
        raise Refused(Reason.WRONG_METHOD)


def _once(request: Request, name: str) -> str:
    """A header. One that comes twice is as good as none: who reads the first and who the second would disagree."""
    found = request.headers.getlist(name)
    return found[0] if len(found) == 1 else ""


def _token(request: Request) -> str:
    scheme, _, token = _once(request, "authorization").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Refused(Reason.NO_TOKEN)
    return token.strip()


async def _body(request: Request) -> bytes:
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > MAX_BODY:
            raise Refused(Reason.TOO_LARGE)
    return content


def _refusal(refused: Refused, allowed: str = "") -> JSONResponse:
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
    return _json(reason.status, {"reason": reason.word, "message": reason.told}, headers)


def _json(status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse(body, status, {"cache-control": "no-store", **(headers or {})})
