"""How these tests speak to a cloud: plain HTTP, or the application without a socket."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from bench.cloud.cloud import Cloud
from bench.cloud.server import Application
from bench.cloud.store import Store
from bench.cloud.testing import Wall
from bench.cloud.tls import Tls
from bench.cloud.wire import HttpRequest
from bench.tests.recording import settled, without

Row: TypeAlias = str | tuple[Any, ...]
"""A verb, a path, a body (None where left out), and the status of the answer (200); or the path of a GET."""
ANSWERS = Path(__file__).with_name("answers")
OF_CHANCE = frozenset({"ciphertext", "ciphertextCrc32c", "pid", "uptimeSeconds", "milliseconds"})
"""Members of answers that no two runs have alike."""
ZONE = "projects/lab/locations/us-west4-a"
NODE: dict[str, Any] = {
    "acceleratorType": "v5litepod-4",
    "runtimeVersion": "tpu-ubuntu2204-base",
    "schedulingConfig": {"preemptible": True},
}
# Longer than any compressed operation, shorter than any lifetime.
A_WHILE = 1.0


def ask(url: str, verb: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """Status and JSON of one request."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        connection.request(verb, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        data = response.read()
    finally:
        connection.close()
    return response.status, json.loads(data) if data else None


@dataclass
class Direct:
    """A cloud without a socket, for tests that ask thousands of times."""

    wall: Wall = field(default_factory=Wall)
    store: Store = field(default_factory=Store)

    def __post_init__(self) -> None:
        self.cloud = Cloud(self.store, wall=self.wall)
        self.cloud.tls = Tls(443, "an authority")
        self._application = Application(self.cloud, strict_answers=True)

    def ask(self, verb: str, path: str, body: Any = None) -> tuple[int, Any]:
        """verb: with the type of its body behind it where that is no plain JSON."""
        path, _, query = path.partition("?")
        verb, _, content_type = verb.partition(" ")
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"authorization": "Bearer any", "content-type": content_type or "application/json"}
        reply = self._application._reply(HttpRequest(verb, path, query, headers, data, "http://127.0.0.1"))
        if reply.headers.get("content-type") == "text/plain":
            return reply.status, reply.data.decode()
        return reply.status, json.loads(reply.data) if reply.data else None

    def control(self, command: str, body: Any = None) -> tuple[int, Any]:
        return self.ask("POST", f"/_tidepool/{command}", body)

    def check(self, rows: Iterable[Row], base: str = "") -> list[str]:
        """Ask what each row says, a second after the one before, and compare; the whole answers, a line each.

        base: what each path begins with.
        """
        lines = []
        with settled(""):
            for row in rows:
                verb, path, body, status = _completed(*(("GET", row) if isinstance(row, str) else row))
                path = base + path
                self.wall.advance(1)
                answered, found = self.ask(verb, f"/{path}", body)
                assert answered == status, (verb, path, found)
                lines.append(
                    json.dumps([verb, path, answered, without(found, OF_CHANCE)], ensure_ascii=False, sort_keys=True)
                )
        return lines


def _completed(verb: str, path: str, body: Any = None, status: int = 200) -> tuple[str, str, Any, int]:
    return verb, path, body, status


def compared(lines: list[str], name: str, update: bool) -> None:
    """Hold answers against those of the file of that name, which is written anew where that is asked."""
    golden = ANSWERS / f"{name.replace(',', '').replace(' ', '-')}.jsonl"
    if update:
        golden.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert lines == golden.read_text(encoding="utf-8").splitlines()
