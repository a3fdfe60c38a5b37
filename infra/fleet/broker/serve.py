"""A broker put together from its settings, and served.

Owns the joining of its parts, Google's clients one a thread, the app's key with its rotation, and the HTTP server with
the limits that an application cannot set: how many connections, how long and how large their headers.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

import urllib3
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from infra.fleet.broker.fleet import FleetReader
from infra.fleet.broker.github_app import GitHubApp
from infra.fleet.broker.identity import GoogleKeys, Verifier, fetcher
from infra.fleet.broker.keeper import Keeper
from infra.fleet.broker.refusals import Reason, Refused, answered_by_google
from infra.fleet.broker.registration import Registrar
from infra.fleet.broker.service import BODY_SECONDS, THREADS, Service
from infra.fleet.broker.settings import BrokerSettings
from infra.fleet.github_api import GitHubClient
from infra.fleet.google import Api, Clients, clients, execute
from infra.model import names
from infra.model.clock import Clock
from infra.model.errors import OutsideError

HEADER_SECONDS: Final = 10.0
MAX_HEADERS: Final = 16_384
CONNECTIONS: Final = 512
_KEY_KEPT: Final = timedelta(minutes=10)
_KEY_AGAIN: Final = timedelta(minutes=1)


def service(
    settings: BrokerSettings,
    tell: Callable[[dict[str, Any]], None],
    *,
    clock: Clock,
    body_seconds: float = BODY_SECONDS,
) -> Service:
    """The broker of these settings as an application; nothing is asked of anybody yet. Close it at the end.

    tell: gets the facts of every decision. body_seconds: what a body may take to come.
    """
    http = urllib3.PoolManager(num_pools=4, maxsize=THREADS)
    google = _ThreadClients(settings)

    def closing() -> None:
        http.clear()
        google.close()

    broker, keeper = _deciders(settings, http, google, clock)
    return Service(broker.register, keeper.run, clock=clock, tell=tell, closing=closing, body_seconds=body_seconds)


def _deciders(
    settings: BrokerSettings, http: urllib3.PoolManager, google: _ThreadClients, clock: Clock
) -> tuple[Registrar, Keeper]:
    """What decides for VMs and what decides for the controller, with all that they share."""
    keys = GoogleKeys(fetcher(settings.keys_url, http), clock)
    app = GitHubApp(
        client=GitHubClient(settings.github_api, "tidepool-broker", http=http, clock=clock),
        app=settings.app,
        installation=settings.installation,
        key=_AppKey(settings.key_secret, google, clock),
        clock=clock,
    )
    shared: dict[str, Any] = {
        "stack": settings.stack,
        "bucket": settings.bucket,
        "verifier": Verifier(audience=settings.audience, keys=keys),
        "reader": FleetReader(stack=settings.stack, groups=settings.groups, clock=clock),
        "github": app,
        "google": google,
        "clock": clock,
    }
    controller = names.account_email(names.role_account_id(settings.stack, "controller"), settings.project)
    return Registrar(**shared), Keeper(**shared, account=controller)


class NotListeningError(OutsideError):
    """Nothing can listen at an address."""


def serve(
    settings: BrokerSettings, tell: Callable[[dict[str, Any]], None], *, host: str, port: int, clock: Clock
) -> None:
    """Serve the broker of these settings until SIGTERM or SIGINT, which let what is being answered end.

    tell: gets the facts of every decision. Raises NotListeningError.
    """
    application = service(settings, tell, clock=clock)
    try:
        # uvicorn raises the signal once more when it has ended.
        with suppress(KeyboardInterrupt):
            asyncio.run(uvicorn.Server(server_config(application, host=host, port=port)).serve())
    except SystemExit:
        # uvicorn has said so on its logger; nobody listens to that here.
        raise NotListeningError(
            f"nothing can listen at {host}:{port}; is something there already? Try --port"
        ) from None
    finally:
        application.close()


def server_config(application: Any, *, host: str, port: int) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        host=host,
        port=port,
        interface="asgi3",
        loop="asyncio",
        http=HeaderTimeoutProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        h11_max_incomplete_event_size=MAX_HEADERS,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=25,
    )


class HeaderTimeoutProtocol(H11Protocol):
    """HTTP/1.1 whose request lines and headers must have come within a time; uvicorn lets them take for ever."""

    header_seconds = HEADER_SECONDS
    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._limit = self.loop.call_later(self.header_seconds, self._too_slow)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.trailing_data[0]:
            # A part of the next request has come with this one, and nothing may follow.
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Set the time limit, unless a request is there in whole and is being answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._calm()
        elif self._limit is None:
            self._limit = self.loop.call_later(self.header_seconds, self._too_slow)

    def _calm(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _too_slow(self) -> None:
        self._limit = None
        if not self.transport.is_closing():
            self.transport.close()


class _ThreadClients:
    """Google's clients of the thread that asks."""

    def __init__(self, settings: BrokerSettings) -> None:
        self._settings = settings
        self._local = threading.local()
        self._made: list[Clients] = []

    def __call__(self) -> Clients:
        held = getattr(self._local, "clients", None)
        if held is None:
            with answered_by_google():
                held = clients(self._settings.project, self._settings.google_endpoint, hurried=True)
            self._local.clients = held
            self._made.append(held)
        return held

    def close(self) -> None:
        """Close those of all threads, none of which asks any more."""
        for made in self._made:
            made.close()


class _AppKey:
    """The app's key out of Secret Manager, kept for some minutes so that a rotation needs no restart."""

    def __init__(self, version: str, google: Callable[[], Clients], clock: Clock) -> None:
        self._version = version
        self._google = google
        self._clock = clock
        self._lock = threading.Lock()
        self._held: tuple[str, datetime] | None = None

    def __call__(self, fresh: bool) -> str:
        """fresh: as it is now, unless it was read within the last minute."""
        with self._lock:
            age = _KEY_AGAIN if fresh else _KEY_KEPT
            if self._held is None or self._clock() - self._held[1] >= age:
                self._held = (self._read(), self._clock())
            return self._held[0]

    def _read(self) -> str:
        versions = self._google().api(Api.SECRETS).projects().secrets().versions()
        with answered_by_google():
            answer = execute(versions.access(name=self._version), f"reading the app's key, {self._version}")
        try:
            return base64.b64decode(answer["payload"]["data"]).decode()
        except (KeyError, TypeError, binascii.Error, UnicodeDecodeError):
            raise Refused(Reason.GITHUB_REFUSED, f"{self._version} holds no key") from None
