"""How these tests speak to a cloud: plain HTTP, or the gateway without a socket."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from bench.cloud import services, surface
from bench.cloud.cloud import Cloud
from bench.cloud.gateway import Gateway
from bench.cloud.store import Store
from bench.cloud.testing import Wall
from bench.cloud.wire import HttpRequest

assert services.__all__

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
        self.gateway = Gateway(self.cloud, strict_answers=True)

    def ask(self, verb: str, path: str, body: Any = None) -> tuple[int, Any]:
        path, _, query = path.partition("?")
        data = b"" if body is None else json.dumps(body).encode()
        reply = self.gateway.reply(HttpRequest(verb, path, query, {}, data, "http://127.0.0.1"))
        return reply.status, json.loads(reply.data) if reply.data else None

    def control(self, verb: str, command: str, body: Any = None) -> tuple[int, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        path, _, query = f"/_tidepool/{command}".partition("?")
        reply = surface.reply(self.cloud, HttpRequest(verb, path, query, {}, data, "http://127.0.0.1"))
        return reply.status, json.loads(reply.data)
