"""A local cloud for tests: a real loopback port in a thread of this process, with a clock that only the test moves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.control import Control
from infra.local.cloud.process import LOOPBACK, bound, configured
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
    listener = bound(0)
    server = uvicorn.Server(configured(Application(Cloud(store, wall=read), strict_answers=True)))
    # Signals belong to the test process.
    thread = threading.Thread(target=lambda: asyncio.run(server._serve([listener])), daemon=True)  # noqa: SLF001
    thread.start()
    url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
    control = Control(url)
    while not server.started:
        thread.join(0.005)
    try:
        yield TestCloud(url, control, wall)
    finally:
        server.should_exit = True
        thread.join()
        store.close()
