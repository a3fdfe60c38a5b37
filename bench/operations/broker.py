"""The token broker beside the local cloud, and the guests that register with it, let live by who looks at the fleet.

Owns the broker's made-up settings, that one is served while a command needs it, and that one command at a time lets
guests live. What a broker decides is `infra.fleet.broker`, what a guest does `bench.guests`.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import uvicorn

from bench.cloud.control import Control
from bench.guests.guests import Guests, Look
from bench.guests.runs import RunGuests
from bench.operations.cloud import cloud_clock
from bench.operations.github import keep_served, local_app, repositories_served
from infra.fleet.broker import settings
from infra.fleet.broker.serve import server_config, service
from infra.model.errors import ConfigError
from infra.operations.declared.stack_file import declared
from infra.operations.errors import Failure, Refusal
from infra.tools.processes import one_at_a_time

LOOPBACK = "127.0.0.1"


def local_settings(stack: str, url: str, audience: str) -> dict[str, str]:
    """Settings for the local cloud, where GitHub knows the repositories that the stack serves, its runner groups, and
    an app for them."""
    config = declared(stack).config
    serves, groups = repositories_served(config), config.runners.groups or {}
    if not serves:
        raise Refusal(f"no pool of {stack} serves a repository, so there is nothing to register runners with")
    keep_served(Control(url), serves, groups.values())
    return {
        settings.AUDIENCE: audience,
        settings.PROJECT: config.project,
        settings.BUCKET: config.bucket.name,
        settings.GROUPS: json.dumps({trust.value: group for trust, group in groups.items()}),
        settings.GOOGLE_ENDPOINT: url,
        **local_app(url, config.project, slug=f"tidepool-{stack}", account=serves[0].partition("/")[0]),
    }


@contextmanager
def served_broker(stack: str, url: str) -> Generator[str | None]:
    """Where a stack's broker listens meanwhile; None where no stack file declares the stack or it serves nobody."""
    listener = socket.create_server((LOOPBACK, 0))
    address = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
    try:
        found = settings.read(stack, local_settings(stack, url, address))
    except (ConfigError, Refusal, Failure):
        listener.close()
        yield None
        return
    application = service(found, lambda _: None, clock=cloud_clock(url))
    server = uvicorn.Server(server_config(application, host=LOOPBACK, port=0))
    thread = threading.Thread(target=server.run, args=[[listener]], daemon=True)
    thread.start()
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join()
        application.close()


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
        """The guests, for this command alone; the broker of each stack is served from when it is first asked for."""
        with one_at_a_time(self._lock), ExitStack() as brokers:
            address = cache(lambda stack: brokers.enter_context(served_broker(stack, self.url)))
            yield Guests(Control(self.url), address)
