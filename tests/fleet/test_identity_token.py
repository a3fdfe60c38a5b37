"""An identity token comes from a metadata server over HTTP; a person's login is told at once that it has none."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from google.auth.compute_engine import _metadata

from bench.cloud.tokens import new_key, signed
from infra.fleet.google import GoogleError
from infra.fleet.place import identity_token

AUDIENCE = "https://broker.example.com"


class Metadata(BaseHTTPRequestHandler):
    """As much of Google's metadata server as a job of Cloud Run needs."""

    asked: list[str]
    token: str

    def do_GET(self) -> None:
        assert self.headers["Metadata-Flavor"] == "Google"
        self.asked.append(self.path)
        recursive = "recursive=true" in self.path
        body = self.token if "/identity" in self.path else json.dumps({"email": "c@a-lab"}) if recursive else "a-lab"
        self.send_response(200)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", "application/json" if recursive else "text/html")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Quiet."""


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without credentials; where a person's would be."""
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    return tmp_path / "application_default_credentials.json"


@pytest.fixture
def metadata(nobody: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Metadata]]:
    claims = {"aud": AUDIENCE, "exp": 4_000_000_000, "iat": 1_700_000_000}

    class Mine(Metadata):
        asked: list[str] = []  # noqa: RUF012 - of one test
        token = signed(new_key(), claims, kid="k")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Mine)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    host = f"127.0.0.1:{server.server_port}"
    monkeypatch.setattr(_metadata, "_GCE_METADATA_HOST", host)
    monkeypatch.setenv("GCE_METADATA_IP", host)
    yield Mine
    server.shutdown()
    server.server_close()


def test_what_runs_on_cloud_run_asks_its_metadata_server_for_the_brokers_audience(metadata: type[Metadata]) -> None:
    assert identity_token(AUDIENCE, project="a-lab") == metadata.token
    [asked] = [urlsplit(path) for path in metadata.asked if "/identity" in path]
    assert asked.path.endswith("/service-accounts/default/identity")
    assert parse_qs(asked.query) == {"audience": [AUDIENCE], "format": ["full"]}


def test_a_persons_login_gives_no_token_and_says_so(nobody: Path) -> None:
    login = {"type": "authorized_user", "client_id": "a", "client_secret": "b", "refresh_token": "c"}
    nobody.write_text(json.dumps(login), encoding="utf-8")
    with pytest.raises(GoogleError, match="a person's credentials give none"):
        identity_token(AUDIENCE, project="a-lab")
