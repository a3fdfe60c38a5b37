"""A VM in a folder: a real server of metadata, storage and downloads; recorded stand-ins for what changes a machine.

The shell files run as they are, under the real bash, curl, jq, tar and sha256sum. Only what touches the system (apt,
systemd, udev, docker, users) or the internet is replaced, and every such call is written down.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from infra.fleet.bundle import RUNNER, runner_bundle

TOKEN = "ya29.token-of-the-sandbox"
REAL_TOOLS = (
    *("bash", "basename", "cat", "dirname", "env", "grep", "gzip", "install", "jq", "mkdir", "mktemp", "mv", "python3"),
    *("rm", "sed", "sha256sum", "tar", "timeout", "touch"),
)
NEEDED = ("bash", "curl", "jq")
"""What the machine must have for a sandbox; the rest of REAL_TOOLS is on every Linux."""

_RECORD = '#!/bin/bash\nprintf "%s\\n" "$(basename "$0") $*" >>"$SANDBOX/calls"\n'
_FAKES = {
    "apt-get": _RECORD + '[[ "$*" == *install* ]] && touch "$SANDBOX/installed"\nexit 0\n',
    "chown": _RECORD,
    "docker": _RECORD
    + '[[ $1 == login ]] && cat >/dev/null\n[[ "$1 $2" == "image inspect" ]] && exec grep -qx "$3" "$SANDBOX/images"\n'
    + '[[ $1 == pull ]] && printf "%s\\n" "${@: -1}" >>"$SANDBOX/images"\nexit 0\n',
    "fuser": _RECORD + '[[ -e $SANDBOX/locked ]] && rm "$SANDBOX/locked"\n',
    "git": _RECORD + '[[ ! -e $SANDBOX/no-github && $* != */private* ]] && mkdir -p "${@: -1}"\n',
    "setpriv": _RECORD + 'while [[ $1 == --* ]]; do [[ $1 == --clear-groups ]] && shift || shift 2; done\nexec "$@"\n',
    # A wait that no longer ends ends the boot.
    "sleep": _RECORD + '(($(grep -c ^sleep "$SANDBOX/calls") < 40)) || kill "$PPID"\n',
    "systemctl": _RECORD,
    "udevadm": _RECORD,
    # The internet is below the sandbox's own server: https://HOST/PATH is asked for as http://SERVER/HOST/PATH.
    "curl": '#!/bin/bash\nexec "$REAL_CURL" "${@/#https:\\/\\//http://$GCE_METADATA_HOST/}"\n',
}
_UV = _RECORD + 'mkdir -p "$UV_CACHE_DIR/wheels"\n[[ ! -e $SANDBOX/bad-lock ]]\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """One run of the stub: how it ended, what it said (times, digests and paths made equal), what it called."""

    status: int
    log: str
    calls: tuple[str, ...]


@dataclass(kw_only=True)
class Sandbox:
    """One VM. `objects` is its fleet bucket, `internet` what https addresses answer, `requests` what was asked for."""

    path: Path
    server: str
    runner: Path
    objects: dict[str, bytes] = field(default_factory=dict)
    internet: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    refuse: int = 0
    """So many storage requests are answered with 403 first, as before the first publish."""
    hesitate: dict[str, int] = field(default_factory=dict)
    """By path below `instance/`, how many requests the metadata server answers with 503 first."""

    @property
    def root(self) -> Path:
        return self.path / "root"

    def publish(self, **pointer: Any) -> str:
        """Put the bundle of the sandbox's shell files, and a pointer to it, into the bucket."""
        bundle = runner_bundle(self.runner)
        body = {"version": 1, "bundle": bundle.sha256, "images": {}, "serves": {"tpu-ci": ["marin-community/marin"]}}
        self.objects["runner/current.json"] = json.dumps({**body, **pointer}, indent=2).encode()
        self.objects[f"runner/bundles/{bundle.sha256}.tar.gz"] = bundle.content
        return bundle.sha256

    def pin(self, **values: str) -> None:
        """Change lines of versions.env."""
        path = self.runner / "versions.env"
        text = path.read_text()
        for key, value in values.items():
            text = re.sub(rf"^{key}=.*$", f"{key}={value}", text, flags=re.MULTILINE)
        path.write_text(text)

    def flag(self, name: str) -> None:
        """Something that goes wrong: locked, no-github, bad-lock."""
        (self.path / name).touch()

    def without(self, tool: str) -> None:
        (self.path / "bin" / tool).unlink()

    def boot(self) -> Boot:
        calls = self.path / "calls"
        calls.unlink(missing_ok=True)
        curl = shutil.which("curl")
        assert curl is not None
        done = subprocess.run(
            ["bash", str(RUNNER / "stub.sh")],
            env={
                "PATH": str(self.path / "bin"),
                "SANDBOX": str(self.path),
                "TMPDIR": str(self.path / "tmp"),
                "REAL_CURL": curl,
                "TIDEPOOL_ROOT": str(self.root),
                "TIDEPOOL_STORAGE": f"http://{self.server}",
                "GCE_METADATA_HOST": self.server,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        said = calls.read_text().splitlines() if calls.exists() else []
        return Boot(status=done.returncode, log=self._plain(done.stdout), calls=tuple(map(self._plain, said)))

    def _plain(self, text: str) -> str:
        text = text.replace(str(self.root), "ROOT").replace(self.server, "SERVER")
        text = re.sub(re.escape(str(self.path / "tmp")) + r"/tmp\.\w+", "SCRATCH", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
        text = re.sub(r"\b[0-9a-f]{64}\b", "SHA256", text)
        return re.sub(r"after \d+ s", "after N s", text)


@contextmanager
def sandbox(path: Path) -> Generator[Sandbox]:
    """A VM below `path`, its pins those of archives that the sandbox itself made."""
    (path / "bin").mkdir(parents=True)
    (path / "tmp").mkdir()
    (path / "images").touch()
    for tool in REAL_TOOLS:
        # The interpreter itself and not a version manager's shim, which would look for tools that are not here.
        real = sys.executable if tool == "python3" else shutil.which(tool)
        if real is not None:
            (path / "bin" / tool).symlink_to(real)
    for name, text in _FAKES.items():
        fake = path / "bin" / name
        fake.write_text(text)
        fake.chmod(0o755)
    shutil.copytree(RUNNER, path / "runner")
    with _server() as (server, address):
        vm = Sandbox(path=path, server=address, runner=path / "runner")
        server.vm = vm
        _pin_archives(vm)
        vm.publish()
        yield vm


def _pin_archives(vm: Sandbox) -> None:
    runner, wheel = _runner_archive(), _uv_wheel("9.9.9")
    vm.internet = {"/github.com/runner.tar.gz": runner, "/files.pythonhosted.org/uv.whl": wheel}
    vm.pin(
        RUNNER_URL="https://github.com/runner.tar.gz",
        RUNNER_SHA256=hashlib.sha256(runner).hexdigest(),
        UV_VERSION="9.9.9",
        UV_URL="https://files.pythonhosted.org/uv.whl",
        UV_SHA256=hashlib.sha256(wheel).hexdigest(),
    )


def _runner_archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo("run.sh")
        archive.addfile(entry, io.BytesIO(b""))
    return buffer.getvalue()


def _uv_wheel(version: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"uv-{version}.data/scripts/uv", _UV)
    return buffer.getvalue()


class _Server(ThreadingHTTPServer):
    vm: Sandbox


class _Handler(BaseHTTPRequestHandler):
    @property
    def vm(self) -> Sandbox:
        return cast("_Server", self.server).vm

    def do_GET(self) -> None:
        vm = self.vm
        path = urlsplit(self.path).path
        vm.requests.append((path, self.headers.get("Authorization", "")))
        if path.startswith("/computeMetadata/v1/instance/"):
            self._metadata(path.removeprefix("/computeMetadata/v1/instance/"))
        elif path.startswith("/storage/v1/b/hai-gcp-models-tidepool-ci/o/"):
            self._object(unquote(path.split("/o/", 1)[1]))
        elif path in vm.internet:
            self._send(200, vm.internet[path])
        else:
            self._send(404, b"")

    def _metadata(self, path: str) -> None:
        values = {
            "attributes/tidepool-bucket": "hai-gcp-models-tidepool-ci",
            "attributes/tidepool-pool": "tpu-ci",
            "attributes/tidepool-region": "us-west4",
            "service-accounts/default/token": json.dumps(
                {"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"}
            ),
        }
        if self.vm.hesitate.get(path, 0) > 0:
            self.vm.hesitate[path] -= 1
            self._send(503, b"")
            return
        known = path in values and self.headers.get("Metadata-Flavor") == "Google"
        self._send(200 if known else 404, values.get(path, "").encode())

    def _object(self, name: str) -> None:
        vm = self.vm
        if vm.refuse > 0 or self.headers.get("Authorization") != f"Bearer {TOKEN}":
            vm.refuse -= 1
            self._send(403, b"")
        else:
            # An account that may not list a bucket is told 403 of an object that is not there, and not 404.
            self._send(200 if name in vm.objects else 403, vm.objects.get(name, b""))

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's own name
        """Said by tests where it matters."""


@contextmanager
def _server() -> Generator[tuple[_Server, str]]:
    server = _Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server, f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
