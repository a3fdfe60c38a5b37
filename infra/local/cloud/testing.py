"""A local cloud for tests: a real loopback port in a thread of this process, with a clock that only the test moves."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.control import Control
from infra.local.cloud.process import LOOPBACK, Server, bound
from infra.local.cloud.server import Application
from infra.local.cloud.store import Store

# Where the virtual wall clock stands still: 2026-11-21T08:00:00Z.
EPOCH = 1_795_248_000.0


@dataclass(slots=True)
class Wall:
    """A wall clock in hand. Operations end only when it moves, or when `Control.advance` moves the cloud's."""

    seconds: float = EPOCH

    def __call__(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass(frozen=True, slots=True)
class TestCloud:
    """url: root without a slash at the end. project: an id to use where any will do."""

    __test__ = False

    url: str
    control: Control
    wall: Wall
    project: str = "tidepool-test"


class _Host:
    """A server in a thread of its own, which serves one cloud after another: ending one costs a fifth of a second."""

    def __init__(self) -> None:
        self.application: Application | None = None
        listener = bound(0)
        self.url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        server = Server(self._serve)
        threading.Thread(target=asyncio.run, args=[server.serve([listener])], daemon=True).start()
        while not server.started:
            time.sleep(0.001)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        if self.application is None:
            raise RuntimeError("this cloud has ended")
        await self.application(scope, receive, send)


_IDLE: list[_Host] = []


@contextmanager
def running_cloud(path: Path | None = None, *, ticking: float = 0.0) -> Generator[TestCloud]:
    """Serve a cloud, in memory or from a file, and check every answer against its discovery document.

    ticking: seconds the wall clock moves by itself at each reading, for clients that poll until an operation ends.
    """
    wall = Wall()

    def read() -> float:
        wall.advance(ticking)
        return wall.seconds

    store = Store(path)
    host = _IDLE.pop() if _IDLE else _Host()
    host.application = Application(Cloud(store, wall=read), strict_answers=True)
    try:
        yield TestCloud(host.url, Control(host.url), wall)
    finally:
        host.application = None
        store.close()
        _IDLE.append(host)
