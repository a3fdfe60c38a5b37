"""A local cloud for tests: a real loopback port in a thread of this process, with a clock that only the test moves."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from bench.cloud.cloud import Cloud
from bench.cloud.control import Control
from bench.cloud.process import LOOPBACK, Server, bound
from bench.cloud.server import Application
from bench.cloud.store import Store
from bench.cloud.tls import Tls, context

# Where the virtual wall clock stands still: 2026-11-21T08:00:00Z.
EPOCH = 1_795_248_000.0

T = TypeVar("T")


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
    """A server in a thread of its own, which serves one cloud after another: ending one costs a fifth of a second.

    Clouds begin and end in that thread: a client's thread may outlive its test, and then asks while the cloud ends.
    """

    def __init__(self) -> None:
        self.application: Application | None = None
        listener, secured = bound(0), bound(0)
        self.url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        with TemporaryDirectory() as folder:
            speaking, authority = context(Path(folder))
        self._tls = Tls(secured.getsockname()[1], authority)
        self._loop = asyncio.new_event_loop()
        servers = {Server(self._serve): listener, Server(self._serve, speaking): secured}
        threading.Thread(target=self._loop.run_until_complete, args=[_serving(servers)], daemon=True).start()
        while not all(server.started for server in servers):
            time.sleep(0.001)

    @contextmanager
    def serving(self, path: Path | None, wall: Callable[[], float]) -> Generator[None]:
        store = self._there(lambda: self._begin(path, wall))
        try:
            yield
        finally:
            self._there(lambda: self._end(store))

    def _begin(self, path: Path | None, wall: Callable[[], float]) -> Store:
        store = Store(path)
        cloud = Cloud(store, wall=wall)
        cloud.tls = self._tls
        self.application = Application(cloud, strict_answers=True)
        return store

    def _end(self, store: Store) -> None:
        self.application = None
        store.close()

    def _there(self, call: Callable[[], T]) -> T:
        """What a call answers, or raises, in the server's thread between two requests."""

        async def called() -> T:
            return call()

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result()

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        if self.application is None:
            raise RuntimeError("this cloud has ended")
        await self.application(scope, receive, send)


async def _serving(servers: Mapping[Server, socket.socket]) -> None:
    await asyncio.gather(*(server.serve([listener]) for server, listener in servers.items()))


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

    host = _IDLE.pop() if _IDLE else _Host()
    try:
        with host.serving(path, read):
            yield TestCloud(host.url, Control(host.url), wall)
    finally:
        _IDLE.append(host)
