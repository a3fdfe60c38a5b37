"""The daemon's own side: one process that serves one home folder until it is told to end or the folder is gone.

Owns the port, the log file and `cloud.json`, which appears when the first request can be answered and goes when the
process ends in order. Leaves starting and stopping it to `daemon`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import ssl
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import uvicorn

from bench.cloud.cloud import Cloud
from bench.cloud.daemon import code
from bench.cloud.requestlog import LOGGER
from bench.cloud.server import Application
from bench.cloud.store import Store
from bench.cloud.tls import Tls, context
from infra.tools.files import write_whole

LOOPBACK = "127.0.0.1"
_LOG_BYTES = 10_000_000
_WATCH_SECONDS = 1.0


def serve(home: Path) -> None:
    """Serve until SIGTERM, SIGINT, or the end of the home folder (of the record in it, to be exact)."""
    folder = home / "cloud"
    folder.mkdir(parents=True, exist_ok=True)
    _log_to(folder / "cloud.log")
    store = Store(folder / "cloud.sqlite")
    listener, secured = (_bound(store, name) for name in ("port", "tls-port"))
    cloud, (speaking, authority) = Cloud(store), context(folder)
    cloud.tls = Tls(secured.getsockname()[1], authority)
    application = Application(cloud)
    servers = {Server(application): listener, Server(application, speaking): secured}
    try:
        asyncio.run(_run(servers, folder, f"http://{LOOPBACK}:{listener.getsockname()[1]}"))
    finally:
        store.close()


def _bound(store: Store, name: str) -> socket.socket:
    """A socket at the port that the cloud had the last time, where that is free."""
    listener = bound(store.setting(name, 0))
    store.set_setting(name, listener.getsockname()[1])
    return listener


def bound(port: int) -> socket.socket:
    """A listening socket on loopback, at the port asked for where it is free."""
    try:
        listener = socket.create_server((LOOPBACK, port))
    except OSError:
        listener = socket.create_server((LOOPBACK, 0))
    # asyncio sets TCP_NODELAY only for a socket that knows its protocol, which is found out here; without it each
    # answer waits 40 ms for an ACK.
    return socket.socket(fileno=listener.detach())


class Server(uvicorn.Server):
    """uvicorn for one application, which leaves signals to whoever runs it.

    uvicorn's own handling raises the signal again at its end, which would kill the process before it has tidied up.
    """

    def __init__(self, application: Callable[..., Any], speaking: ssl.SSLContext | None = None) -> None:
        """speaking: how it speaks TLS, None for a server without."""
        config = uvicorn.Config(
            application,
            interface="asgi3",
            loop="asyncio",
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            # The application dates its answers by the cloud's clock.
            date_header=False,
            # Clients that pool connections would meet one that closes as they use it; Google keeps them for minutes.
            timeout_keep_alive=240,
            timeout_graceful_shutdown=2,
        )
        config.load()
        config.ssl = speaking
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    def end(self) -> None:
        self.should_exit = True


async def _run(servers: Mapping[Server, socket.socket], folder: Path, url: str) -> None:
    version = code()  # Before anything is served: what is edited from here on is not what runs.

    def end() -> None:
        for server in servers:
            server.end()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end)
    serving = asyncio.gather(*(server.serve(sockets=[listener]) for server, listener in servers.items()))
    while not all(server.started for server in servers) and not serving.done():
        await asyncio.sleep(0.005)
    record = folder / "cloud.json"
    mine = json.dumps({"url": url, "pid": os.getpid(), "code": version})
    write_whole(record, mine)
    LOGGER.info("serving %s", url)
    # The folder may be removed and made again between two looks, so its being there proves nothing.
    while not serving.done() and _reads(record) == mine:
        await asyncio.wait([serving], timeout=_WATCH_SECONDS)
    end()
    await serving
    if _reads(record) == mine:
        record.unlink()


def _reads(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


def _log_to(path: Path) -> None:
    handler = RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=1)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    logging.getLogger("uvicorn.error").addHandler(handler)
