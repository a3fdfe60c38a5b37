"""The token broker beside the local cloud, and the guests that register with it, let live by who looks at the fleet.

Owns the broker's made-up settings, that one is served while a command needs it, and that one command at a time lets
guests live. What a broker decides is `infra.fleet.broker`, what a guest does `bench.guests`.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from bench.cloud.control import Control
from bench.guests.guests import Guests, Look
from bench.guests.runs import RunGuests
from bench.operations.cloud import cloud_clock
from bench.operations.github import keep_served, local_app, repositories_served
from infra.fleet.broker import settings
from infra.fleet.broker.serve import server_config, service
from infra.fleet.broker.service import Service
from infra.model.errors import ConfigError
from infra.operations.declared.stack_file import declared
from infra.operations.errors import Failure, Refusal
from infra.tools.processes import one_at_a_time

LOOPBACK = "127.0.0.1"
_PAUSE = 0.002


def local_settings(stack: str, url: str, audience: str) -> dict[str, str]:
    """Settings for the local cloud, where GitHub knows the repositories that the stack serves, its runner groups, and
    an app for them."""
    config = declared(stack).config
    serves, groups = repositories_served(config), config.runners.groups or {}
    if not serves:
        raise Refusal(f"no pool of {stack} serves a repository, so there is nothing to register runners with")
    keep_served(Control(url), serves, groups.values())
    app = local_app(url, config.project, slug=f"tidepool-{stack}", account=serves[0].partition("/")[0])
    return {
        settings.AUDIENCE: audience,
        settings.PROJECT: config.project,
        settings.BUCKET: config.bucket.name,
        settings.APP: str(app.id),
        settings.INSTALLATION: str(app.installation),
        settings.KEY_SECRET: app.key_secret,
        settings.GROUPS: json.dumps({trust.value: group for trust, group in groups.items()}),
        settings.GITHUB_API: app.api,
        settings.GOOGLE_ENDPOINT: url,
    }


class Brokers:
    """The brokers of a local cloud's stacks, each served from when its address is first asked for until `close`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._served: dict[str, _Served | None] = {}

    def address(self, stack: str) -> str | None:
        """Where the broker of a stack listens; None where no stack file declares the stack or it serves nobody."""
        if stack not in self._served:
            self._served[stack] = self._serve(stack)
        found = self._served[stack]
        return found.url if found else None

    def close(self) -> None:
        for served in self._served.values():
            if served is not None:
                served.close()
        self._served.clear()

    def _serve(self, stack: str) -> _Served | None:
        listener = socket.create_server((LOOPBACK, 0))
        address = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        try:
            found = settings.read(stack, local_settings(stack, self._url, address))
        except (ConfigError, Refusal, Failure):
            listener.close()
            return None
        application = service(found, lambda _: None, clock=cloud_clock(self._url))
        return _Served(application, listener, address)


class _Served:
    """One broker in a thread of this process."""

    def __init__(self, application: Service, listener: socket.socket, url: str) -> None:
        self.url = url
        self._application = application
        self._server = _Server(server_config(application, host=LOOPBACK, port=0))
        serving: Any = self._server.serve(sockets=[listener])
        self._thread = threading.Thread(target=asyncio.run, args=[serving], daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(_PAUSE)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._application.close()


class _Server(uvicorn.Server):
    """uvicorn beside a command, which keeps the signals for itself."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalGuests:
    """Those of one local cloud. home: its home folder. url: its root."""

    home: Path
    url: str

    def settle(self) -> Look:
        """Let every guest do what it had time for."""
        self.settle_runs()
        with self.turn() as guests:
            return guests.settle()

    def settle_runs(self) -> None:
        """The same for VMs of one run alone, which have no broker."""
        with one_at_a_time(self._lock):
            RunGuests(Control(self.url), self.home / "cloud" / "runs").settle()

    def advance(self, seconds: float) -> None:
        """Move the cloud's clock, and let the guests live meanwhile."""
        with self.turn() as guests:
            guests.advance(seconds)
        self.settle_runs()

    @property
    def _lock(self) -> Path:
        return self.home / "cloud" / "guests.lock"

    @contextmanager
    def turn(self) -> Generator[Guests]:
        """The guests, for this command alone; their brokers are served for as long."""
        brokers = Brokers(self.url)
        with one_at_a_time(self._lock):
            try:
                yield Guests(Control(self.url), brokers.address)
            finally:
                brokers.close()
