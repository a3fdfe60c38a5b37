"""Requests to the local cloud, recorded once and sent again: its answers stay when its code changes.

`python -m bench.tests.recording HOME FILE` serves a home as `./tidepool cloud start` does, and writes each request with
its answer to FILE. Time stands still within a request, and chance is settled, so that both can be had again.
"""

from __future__ import annotations

import base64
import json
import lzma
import os
import random
import secrets
import sys
import time
import uuid
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from bench.cloud import process, tokens
from bench.cloud.cloud import Cloud
from bench.cloud.server import Application
from bench.cloud.store import Store
from bench.cloud.testing import Wall
from bench.cloud.tls import Tls
from bench.cloud.wire import HttpRequest, Reply

HEADERS = ("authorization", "content-type", "content-range", "range", "accept", "x-upload-content-type")
"""Of a request, what an answer may depend on."""
OF_THE_PROCESS = frozenset({"pid", "code", "uptimeSeconds", "requests", "milliseconds"})
"""Members of an answer that another process answers otherwise."""


class Exchange(NamedTuple):
    """A request and its answer. seconds: the wall clock. data, answer: bytes as text (latin-1); a stream has none."""

    seconds: float
    verb: str
    root: str
    path: str
    query: str
    headers: dict[str, str]
    data: str
    status: int
    answer: str | None


class Difference(NamedTuple):
    """number: of the exchange, from 1. status and answer: what is answered now."""

    number: int
    exchange: Exchange
    status: int
    answer: str | None


@contextmanager
def settled(key: str) -> Generator[None]:
    """No chance: the same tokens, ids and nonces in the same order, and every key pair this one."""
    secret, ids, nonces = (random.Random(seed) for seed in range(3))  # apart: other code of a process asks too
    with (
        patch.object(secrets, "token_urlsafe", lambda size: base64.urlsafe_b64encode(secret.randbytes(size)).decode()),
        patch.object(uuid, "uuid4", lambda: uuid.UUID(bytes=ids.randbytes(16), version=4)),
        patch.object(os, "urandom", nonces.randbytes),
        patch.object(tokens, "new_key", lambda: key),
    ):
        yield


def record(home: Path, file: Path) -> None:
    """Serve a home until SIGTERM, and write what comes."""
    key, wall = tokens.new_key(), Wall()

    class Recorder(Application):
        def __init__(self, cloud: Cloud) -> None:
            super().__init__(cloud)
            assert cloud.tls is not None
            write({"key": key, "tls": cloud.tls.port, "authority": cloud.tls.authority})

        def _reply(self, request: HttpRequest) -> Reply:
            wall.seconds = time.time()
            reply = super()._reply(request)
            headers = {name: request.headers[name] for name in HEADERS if name in request.headers}
            asked = (request.verb, request.root, request.path, request.query, headers, request.data.decode("latin-1"))
            write(Exchange(wall.seconds, *asked, reply.status, _answer(reply)))
            return reply

    with lzma.open(file, "wt", encoding="utf-8") as out, settled(key):

        def write(line: Any) -> None:
            out.write(json.dumps(line) + "\n")

        with (
            patch.object(process, "Application", Recorder),
            patch.object(process, "Cloud", lambda store: Cloud(store, wall=wall)),
        ):
            wall.seconds = time.time()
            process.serve(home)


def replay(file: Path) -> Iterator[Difference]:
    """The exchanges of a file that a fresh cloud now answers otherwise."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        begun = json.loads(next(lines))
        wall = Wall()
        with settled(begun["key"]):
            store = Store()
            cloud = Cloud(store, wall=wall)
            cloud.tls = Tls(begun["tls"], begun["authority"])
            application = Application(cloud)
            for number, line in enumerate(lines, 1):
                exchange = Exchange(*json.loads(line))
                wall.seconds = exchange.seconds
                reply = application._reply(_request(exchange))
                if (reply.status, _compared(_answer(reply))) != (exchange.status, _compared(exchange.answer)):
                    yield Difference(number, exchange, reply.status, _answer(reply))
            store.close()


def _request(exchange: Exchange) -> HttpRequest:
    return HttpRequest(
        verb=exchange.verb,
        path=exchange.path,
        query=exchange.query,
        headers=exchange.headers,
        data=exchange.data.encode("latin-1"),
        root=exchange.root,
    )


def _answer(reply: Reply) -> str | None:
    return None if reply.stream else reply.data.decode("latin-1")


def _compared(answer: str | None) -> Any:
    """JSON without what is the process's; other bytes as they are."""
    try:
        return without(json.loads((answer or "").encode("latin-1")), OF_THE_PROCESS)
    except ValueError:
        return answer


def without(value: Any, names: Collection[str]) -> Any:
    """JSON without members of these names."""
    if isinstance(value, dict):
        return {name: without(each, names) for name, each in value.items() if name not in names}
    return [without(each, names) for each in value] if isinstance(value, list) else value


if __name__ == "__main__":
    record(Path(sys.argv[1]), Path(sys.argv[2]))
