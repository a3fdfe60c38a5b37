"""Reading registries and downloads: tokens go where they belong and nowhere else, and pins are asked for anew."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import urllib3

from infra.fleet.images.oci import OciRegistry, RegistryError, Resolver
from infra.model.images.pins import parse_pins
from tests.model.images.declared import PINS

PLACE, DIGEST, SECRET = "ghcr.io/marin-community/levanter-base", f"sha256:{'a' * 64}", "ghp_of-nobody"


ARCHIVE = b"a tool" * 100_000


@dataclass
class Ghcr:
    """A registry that asks for a token, as GHCR does. realm: where it says that one is to be had."""

    root: str = ""
    realm: str | None = None
    public: bool = True
    denies: bool = False
    asked: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, path: str, authorization: str) -> tuple[int, dict[str, str], bytes]:
        self.asked.append((path, authorization))
        if path == "/files.example.org/uv.whl":
            return 302, {"Location": f"{self.root}/elsewhere/uv.whl"}, b""
        if path == "/elsewhere/uv.whl":
            return 200, {"Content-Encoding": "identity"}, ARCHIVE
        if path.startswith("/token"):
            known = authorization == "Basic " + base64.b64encode(f"tidepool:{SECRET}".encode()).decode()
            given = self.public or known
            return (200, {}, json.dumps({"token": "for-reading"}).encode()) if given else (403, {}, b"{}")
        if authorization != "Bearer for-reading":
            scope = "repository:marin-community/levanter-base:pull"
            realm = self.realm if self.realm is not None else f"{self.root}/token"
            return 401, {"WWW-Authenticate": f'Bearer realm="{realm}",service="ghcr.io",scope="{scope}"'}, b""
        if self.denies:
            return 403, {}, b""
        found = path.endswith(("/manifests/latest", "/manifests/bookworm-slim", f"/manifests/{DIGEST}"))
        return (200, {"Docker-Content-Digest": DIGEST}, b"") if found else (404, {}, b"")


@pytest.fixture
def ghcr() -> Iterator[Ghcr]:
    made = Ghcr()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            status, headers, body = made.answer(self.path, self.headers.get("Authorization", ""))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_GET = do_HEAD  # noqa: N815 - http.server's name

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's own name
            """Nothing is said."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    made.root = f"http://127.0.0.1:{server.server_address[1]}"
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def reader(ghcr: Ghcr, token: str | None = None) -> OciRegistry:
    return OciRegistry(token=token, stand_in=ghcr.root, http=urllib3.PoolManager(retries=False))


def test_a_tag_and_a_digest_of_a_public_package_are_read_by_anybody(ghcr: Ghcr) -> None:
    assert reader(ghcr).digest(PLACE, "latest") == DIGEST
    assert reader(ghcr).digest(PLACE, DIGEST) == DIGEST
    assert all(SECRET not in said for _, said in ghcr.asked)


def test_a_private_package_is_read_with_githubs_token_which_the_token_service_alone_gets(ghcr: Ghcr) -> None:
    ghcr.public = False
    assert reader(ghcr, SECRET).digest(PLACE, "latest") == DIGEST
    with_secret = [path for path, said in ghcr.asked if said.startswith("Basic ")]
    assert [path.partition("?")[0] for path in with_secret] == ["/token"]


def test_without_a_token_a_private_package_says_what_is_missing(ghcr: Ghcr) -> None:
    ghcr.public = False
    with pytest.raises(RegistryError, match="gave no token for reading"):
        reader(ghcr).digest(PLACE, "latest")
    ghcr.public, ghcr.denies = True, True
    with pytest.raises(RegistryError, match="set GITHUB_TOKEN"):
        reader(ghcr).digest(PLACE, "latest")


def test_githubs_token_is_not_sent_to_another_host_that_a_registry_names(ghcr: Ghcr) -> None:
    ghcr.realm = ghcr.root.replace("127.0.0.1", "localhost") + "/token"
    reader(ghcr, SECRET).digest(PLACE, "latest")
    assert [said for path, said in ghcr.asked if path.startswith("/token")] == [""]


def test_githubs_token_is_not_sent_to_another_registry_that_asks_for_credentials_itself(ghcr: Ghcr) -> None:
    reader(ghcr, SECRET).digest("quay.io/owner/name", "latest")
    assert [said for path, said in ghcr.asked if path.startswith("/token")] == [""]


def test_the_token_is_in_no_text(ghcr: Ghcr) -> None:
    assert SECRET not in repr(reader(ghcr, SECRET))
    ghcr.realm = ""
    with pytest.raises(RegistryError) as caught:
        reader(ghcr, SECRET).digest(PLACE, "latest")
    assert SECRET not in str(caught.value)


# Pins


@pytest.fixture
def resolver(ghcr: Ghcr) -> Iterator[Resolver]:
    http = urllib3.PoolManager(retries=urllib3.Retry(total=3, connect=0, read=0))
    registries = OciRegistry(stand_in=ghcr.root, http=http)
    yield Resolver(today=lambda: date(2026, 12, 1), registries=registries, stand_in=ghcr.root, http=http)
    http.clear()


def test_a_tag_is_asked_of_its_registry_with_a_token_that_it_gives(ghcr: Ghcr, resolver: Resolver) -> None:
    answer = resolver.answer(parse_pins(PINS), "debian")
    assert (answer.value, answer.read) == (DIGEST, date(2026, 12, 1))
    assert answer.source == "https://registry-1.docker.io/v2/library/debian/manifests/bookworm-slim"
    manifest = "/v2/registry-1.docker.io/library/debian/manifests/bookworm-slim"
    assert [path.partition("?")[0] for path, _ in ghcr.asked] == [manifest, "/token", manifest]


def test_a_download_is_fetched_past_redirects_and_hashed(resolver: Resolver) -> None:
    answer = resolver.answer(parse_pins(PINS), "uv")
    assert answer.value == hashlib.sha256(ARCHIVE).hexdigest()
    assert answer.source == "https://files.example.org/uv.whl"


def test_what_is_gone_or_does_not_answer_is_told_with_the_next_step(resolver: Resolver) -> None:
    nobody = Resolver(today=date.today, stand_in="http://127.0.0.1:1", http=urllib3.PoolManager(retries=False))
    gone = PINS.replace("uv.whl", "gone.whl")
    for asked, pins, name, said in (
        (resolver, PINS, "python", r"python has no tag 3\.11-slim; choose another tag"),
        (resolver, gone, "uv", r"uv: https://files\.example\.org/gone\.whl answered 4"),
        (nobody, PINS, "uv", "uv: no answer from https://files"),
    ):
        with pytest.raises(RegistryError, match=said):
            asked.answer(parse_pins(pins), name)
