"""Asking registries and servers over loopback HTTP what the pin table's entries are today."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import urllib3

from infra.fleet.images.oci import OciRegistry, RegistryError, Resolver
from infra.model.images.pins import parse_pins
from tests.model.images.declared import PINS

DIGEST = f"sha256:{'1' * 64}"
ARCHIVE = b"a tool" * 100_000
MANIFEST = "/v2/registry-1.docker.io/library/debian/manifests/bookworm-slim"


@dataclass
class World:
    """A registry that asks for a token, and a server of downloads. asked: every request's method, path and token."""

    asked: list[tuple[str, str, str | None]] = field(default_factory=list)
    root: str = ""
    token: str = "good"

    def reply(self, method: str, path: str, token: str | None) -> tuple[int, dict[str, str], bytes]:
        self.asked.append((method, path, token))
        if path.startswith("/token"):
            return 200, {}, b'{"token": "good"}'
        if path.startswith("/v2/") and token != f"Bearer {self.token}":
            scope = "repository:library/debian:pull"
            return (
                401,
                {"WWW-Authenticate": f'Bearer realm="{self.root}/token",service="registry",scope="{scope}"'},
                b"",
            )
        if (method, path) == ("HEAD", MANIFEST):
            return 200, {"Docker-Content-Digest": DIGEST}, b""
        if (method, path) == ("GET", "/files.example.org/uv.whl"):
            return 302, {"Location": f"{self.root}/elsewhere/uv.whl"}, b""
        if (method, path) == ("GET", "/elsewhere/uv.whl"):
            return 200, {"Content-Encoding": "identity"}, ARCHIVE
        return 404, {}, b""


@pytest.fixture
def world() -> Generator[World]:
    here = World()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            status, headers, body = here.reply(self.command, self.path, self.headers.get("Authorization"))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_HEAD = _answer  # noqa: N815 - names of http.server

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in http.server
            """Nothing to stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here.root = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield here
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def resolver(world: World) -> Generator[Resolver]:
    http = urllib3.PoolManager(retries=urllib3.Retry(total=3, connect=0, read=0))
    registries = OciRegistry(stand_in=world.root, http=http)
    yield Resolver(today=lambda: date(2026, 12, 1), registries=registries, stand_in=world.root, http=http)
    http.clear()


def test_a_tag_is_asked_of_its_registry_with_a_token_that_it_gives(world: World, resolver: Resolver) -> None:
    answer = resolver.answer(parse_pins(PINS), "debian")
    assert (answer.value, answer.read) == (DIGEST, date(2026, 12, 1))
    assert answer.source == "https://registry-1.docker.io/v2/library/debian/manifests/bookworm-slim"
    assert [path.partition("?")[0] for _, path, _ in world.asked] == [MANIFEST, "/token", MANIFEST]
    assert world.asked[1][1].endswith("scope=repository%3Alibrary%2Fdebian%3Apull")


def test_a_tag_that_is_gone_is_told_with_the_next_step(resolver: Resolver) -> None:
    with pytest.raises(RegistryError, match=r"python has no tag 3\.11-slim; choose another tag"):
        resolver.answer(parse_pins(PINS), "python")


def test_a_registry_that_refuses_is_told(world: World, resolver: Resolver) -> None:
    world.token = "another"
    with pytest.raises(RegistryError, match="may not be read"):
        resolver.answer(parse_pins(PINS), "debian")


def test_a_download_is_fetched_past_redirects_and_hashed(resolver: Resolver) -> None:
    answer = resolver.answer(parse_pins(PINS), "uv")
    assert answer.value == hashlib.sha256(ARCHIVE).hexdigest()
    assert answer.source == "https://files.example.org/uv.whl"


def test_a_download_that_is_gone_is_told(resolver: Resolver) -> None:
    pins = parse_pins(PINS.replace("uv.whl", "gone.whl"))
    with pytest.raises(RegistryError, match=r"uv: https://files\.example\.org/gone\.whl answered 404"):
        resolver.answer(pins, "uv")


def test_a_server_that_does_not_answer_is_told() -> None:
    http = urllib3.PoolManager(retries=False)
    nobody = Resolver(today=date.today, stand_in="http://127.0.0.1:1", http=http)
    with pytest.raises(RegistryError, match="uv: no answer from https://files"):
        nobody.answer(parse_pins(PINS), "uv")


def test_an_entry_that_is_not_in_the_table_is_a_key_error(resolver: Resolver) -> None:
    with pytest.raises(KeyError):
        resolver.answer(parse_pins(PINS), "node")
