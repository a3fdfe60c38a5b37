"""A VM in a folder: a real server of metadata, storage, broker and downloads; recorded stand-ins for what changes a
machine.

The bundle runs as it is, under the real Python, bash, curl, jq, tar and sha256sum. Only what touches the system (apt,
systemd, udev, docker, iptables, mounts, users) or the internet is replaced, and every such call is written down.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from infra.fleet.bundle import RUNNER, runner_bundle
from infra.fleet.records import encode

TOKEN = "ya29.token-of-the-sandbox"
REAL_TOOLS = (
    *("bash", "basename", "cat", "cmp", "cp", "date", "dirname", "env", "grep", "gzip", "install", "jq", "ln", "ls"),
    *("mkdir", "mktemp", "mv", "python3", "readlink", "rm", "sed", "sha256sum", "sort", "ssh-keygen", "tail", "tar"),
    *("timeout", "touch", "tr"),
)
NEEDED = ("bash", "curl", "jq", "ssh-keygen")
"""What the machine must have for a sandbox; the rest of REAL_TOOLS is on every Linux."""

VM = "tpu-ci-us-west4-a-0"
REPORT = f"reports/tpu-ci/{VM}.json"
ORDERS = f"runner/orders/{VM}.json"
_FILES = {".runner": b'{"ephemeral": "true"}', ".credentials": b"of the sandbox", ".credentials_rsaparams": b"{}"}
_PACKED = {name: base64.b64encode(content).decode() for name, content in _FILES.items()}
JIT = base64.b64encode(json.dumps(_PACKED).encode()).decode()
"""As GitHub's: the files of the runner by name."""
GOLDEN = Path(__file__).parent / "golden"
HEAVY = pytest.mark.heavy
IMAGE = f"us-west4-docker.pkg.dev/hai-gcp-models/marin-ci/tpu-ci@sha256:{'a' * 64}"
TPU_ENV = "ACCELERATOR_TYPE: 'v5litepod-4'\nCHIPS_PER_HOST_BOUNDS: '2,2,1'\nHOST_BOUNDS: '1,1,1'\n"
ONE_JOB = """
echo "2026-11-21 15:00:00Z: Listening for Jobs"
echo "2026-11-21 15:00:01Z: Running job: tpu-tests"
echo "2026-11-21 15:00:09Z: Job tpu-tests completed with result: Succeeded"
"""
"""What GitHub's runner prints of a job, as a script."""
STAND_INS = Path(__file__).parent / "stand_ins"
"""Programs in place of those that change a machine; each writes down how it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """One run of the stub or the supervisor: how it ended, what it said, what it called.

    Times, digests and paths in it are made equal.
    """

    status: int
    log: str
    calls: tuple[str, ...]


@dataclass(kw_only=True)
class Sandbox:
    """One VM. `objects` is its fleet bucket, `internet` what https addresses answer, `requests` what was asked for.

    broker: registrations that it grants, in order; after the last it is down.
    asked: the bodies, with the token, that the broker got. reports: every one that was written.
    """

    path: Path
    server: str
    runner: Path
    objects: dict[str, bytes] = field(default_factory=dict)
    internet: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    broker: list[dict[str, Any]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    identity: Callable[[str], str] = lambda audience: f"identity of {audience} full"
    """What the metadata server answers who asks for an identity token of that audience, in full."""
    storage: str = ""
    """Root of another storage than the sandbox's own."""
    skew_s: int = 0
    """How far the metadata server's time is ahead."""
    timeless: set[str] = field(default_factory=set)
    """Who says no date: metadata, storage."""
    down: set[str] = field(default_factory=set)
    """Objects that storage answers with 503, and `reports` for no write at all."""
    refuse: int = 0
    """So many storage requests are answered with 403 first, as before the first publish."""

    @property
    def root(self) -> Path:
        return self.path / "root"

    def publish(self, *, images: Mapping[str, Any] | None = None, **startup: Any) -> str:
        """Put the bundle of the sandbox's shell files and the start-up record into the bucket, as the program does; and
        where images are given the pointer to them, as promotion does.
        """
        bundle = runner_bundle(self.runner)
        self.objects[f"runner/bundles/{bundle.sha256}.tar.gz"] = bundle.content.encode()
        serves = {"tpu-ci": ["marin-community/marin"]}
        body = {"version": 1, "bundle": bundle.sha256, "broker": f"http://{self.server}", "serves": serves}
        self.objects["runner/startup.json"] = encode({**body, **startup})
        if images is not None:
            self.objects["runner/current.json"] = encode({"version": 1, "images": images})
        return bundle.sha256

    def limit(self, **values: str) -> None:
        """Change how long the supervisor waits, and how often it tries."""
        self.edit("supervisor/limits.py", **values)

    def pin(self, **values: str) -> None:
        """Change lines of versions.env."""
        self.edit("versions.env", **values)

    def edit(self, file: str, **values: str) -> None:
        """Change the values of variables in a shell file, or of constants in a module."""
        path = self.runner / file
        text = path.read_text()
        for key, value in values.items():
            text, found = re.subn(rf"^({key}(?:=|: Final = ))\S*", rf"\g<1>{value}", text, flags=re.MULTILINE)
            assert found, f"{file} has no {key}"
        path.write_text(text)

    def flag(self, name: str, text: str = "") -> None:
        """Something that goes wrong, or that a stand-in reads: locked, no-github, free, meanwhile ..."""
        (self.path / name).write_text(text)

    def without(self, tool: str) -> None:
        (self.path / "bin" / tool).unlink()

    def order(self, **orders: Any) -> None:
        self.objects[ORDERS] = encode({"version": 1, **orders})

    def grants(self, count: int) -> None:
        """So many registrations, one after another."""
        body = {"jit": JIT, "expires": "2026-11-21T16:00:00Z"}
        self.broker += [{"runner": f"{VM}-00000{number}", **body} for number in range(count)]

    def device(self, number: int, *, busy: bool = False) -> Path:
        """A chip as vfio shows it: a group that opens, unless it is busy (then it is what does not open)."""
        group = self.root / f"dev/vfio/{number}"
        group.parent.mkdir(parents=True, exist_ok=True)
        (group.mkdir if busy else group.touch)()
        function = self.root / f"sys/bus/pci/devices/0000:00:0{number}.0"
        function.mkdir(parents=True)
        (function / "iommu_group").touch()
        (function / "driver").symlink_to("../../../bus/pci/drivers/vfio-pci")
        return function / "reset"

    def boot(self, *, sleeps: int = 40) -> Boot:
        return self._run(RUNNER / "stub.sh", sleeps)

    def real(self, tool: str) -> None:
        """Have the machine's own instead of a stand-in."""
        found = shutil.which(tool)
        assert found is not None
        (self.path / "bin" / tool).unlink(missing_ok=True)
        (self.path / "bin" / tool).symlink_to(found)

    def supervise(self, *, sleeps: int = 1, inside: tuple[str, ...] = (), seconds: int = 60) -> Boot:
        """The supervisor of a VM that has booted, until it has waited so many times.

        inside: what starts it. seconds: how long it may take at most.
        """
        state = self.root / "var/lib/tidepool"
        bundle = state / self.bundle
        if not bundle.exists():
            shutil.copytree(self.runner, bundle)
        return self._run(bundle / "supervisor.sh", sleeps, inside, seconds)

    @property
    def bundle(self) -> str:
        return json.loads(self.objects["runner/startup.json"])["bundle"]

    @property
    def report(self) -> dict[str, Any]:
        return json.loads(self.objects[REPORT])

    def _run(self, script: Path, sleeps: int, inside: tuple[str, ...] = (), seconds: int = 60) -> Boot:
        calls = self.path / "calls"
        calls.write_text("")
        self.flag("sleeps", str(sleeps))
        curl = shutil.which("curl")
        assert curl is not None
        done = subprocess.run(
            [*inside, "bash", str(script)],
            env={
                "PATH": str(self.path / "bin"),
                "SANDBOX": str(self.path),
                "TMPDIR": str(self.path / "tmp"),
                "REAL_CURL": curl,
                "TIDEPOOL_ROOT": str(self.root),
                "TIDEPOOL_STORAGE": self.storage or f"http://{self.server}",
                "GCE_METADATA_HOST": self.server,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="ascii",
            timeout=seconds,
            check=False,
        )
        said = calls.read_text().splitlines()
        return Boot(status=done.returncode, log=self._plain(done.stdout), calls=tuple(map(self._plain, said)))

    def _plain(self, text: str) -> str:
        text = text.replace(str(self.root), "ROOT").replace(self.server, "SERVER")
        text = re.sub(re.escape(str(self.path / "tmp")) + r"/tmp\.\w+", "SCRATCH", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
        text = re.sub(r"\b[0-9a-f]{64}\b", "SHA256", text)
        return re.sub(r"(after |seconds\":\")\d+", r"\1N", text)


@contextmanager
def sandbox(path: Path) -> Generator[Sandbox]:
    """A VM below `path`, its pins those of archives that the sandbox itself made."""
    (path / "bin").mkdir(parents=True)
    (path / "tmp").mkdir()
    (path / "images").touch()
    for name, text in (("free", "99999"), ("container", ONE_JOB), ("has-runner", "2.337.0")):
        (path / name).write_text(text)
    for tool in REAL_TOOLS:
        # The interpreter itself and not a version manager's shim, which would look for tools that are not here.
        real = sys.executable if tool == "python3" else shutil.which(tool)
        if real is not None:
            (path / "bin" / tool).symlink_to(real)
    for fake in STAND_INS.iterdir():
        if fake.name != "uv":
            shutil.copy(fake, path / "bin")
    shutil.copytree(RUNNER, path / "runner", ignore=shutil.ignore_patterns("__pycache__"))

    class Mine(_Handler):
        """Of one VM."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Mine) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        vm = Sandbox(path=path, server=f"127.0.0.1:{server.server_port}", runner=path / "runner")
        Mine.vm = vm
        _pin_archives(vm)
        (vm.root / "proc").mkdir(parents=True)
        (vm.root / "proc/meminfo").write_text(f"MemTotal:       {48 << 20} kB\nMemFree:        1 kB\n")
        # Grants of the sandbox's broker follow one another without a wait, but where a test says otherwise.
        vm.limit(ASK_APART="0")
        vm.publish()
        vm.device(0)
        yield vm
        server.shutdown()


def _pin_archives(vm: Sandbox) -> None:
    with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
        archive.write(STAND_INS / "uv", "uv-9.9.9.data/scripts/uv")
    runner, wheel = _archive({"run.sh": ""}), packed.getvalue()
    docker = _archive({"docker/docker": (STAND_INS / "docker").read_text()})
    vm.internet = {
        "/github.com/runner.tar.gz": runner,
        "/files.pythonhosted.org/uv.whl": wheel,
        "/download.docker.com/docker.tgz": docker,
    }
    vm.pin(
        RUNNER_URL="https://github.com/runner.tar.gz",
        RUNNER_SHA256=hashlib.sha256(runner).hexdigest(),
        DOCKER_URL="https://download.docker.com/docker.tgz",
        DOCKER_SHA256=hashlib.sha256(docker).hexdigest(),
        UV_VERSION="9.9.9",
        UV_URL="https://files.pythonhosted.org/uv.whl",
        UV_SHA256=hashlib.sha256(wheel).hexdigest(),
    )


def _archive(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text.encode()), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


class _Handler(BaseHTTPRequestHandler):
    vm: Sandbox

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

    def do_POST(self) -> None:
        vm, parts = self.vm, urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        token = self.headers.get("Authorization", "")
        vm.requests.append((parts.path, token))
        if parts.path == "/v1/registrations":
            vm.asked.append({**json.loads(body), "token": token})
            assert self.headers["X-Serverless-Authorization"] == token, "Cloud Run checks this one"
            if vm.broker:
                self._send(200, json.dumps(vm.broker.pop(0)).encode())
            else:
                self._send(503, b'{"reason": "down", "message": "Down."}', {"Retry-After": "300"})
        elif token != f"Bearer {TOKEN}" or "reports" in vm.down:
            self._send(503, b"")
        else:
            query = parse_qs(parts.query)
            assert query["uploadType"] == ["media"]
            vm.objects[query["name"][0]] = body
            if ".slice" not in query["name"][0]:
                vm.reports.append(json.loads(body))
            self._send(200, b"{}")

    def _metadata(self, path: str) -> None:
        values = {
            "attributes/tidepool-bucket": "hai-gcp-models-tidepool-ci",
            "attributes/tidepool-stack": "ci",
            "attributes/tidepool-pool": "tpu-ci",
            "attributes/tidepool-region": "us-west4",
            "attributes/instance-id": VM,
            "attributes/agent-worker-number": "0",
            "attributes/worker-network-endpoints": "unknown:unknown:10.0.0.2",
            "attributes/tpu-env": TPU_ENV,
            "id": "4567",
            "service-accounts/default/token": json.dumps(
                {"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"}
            ),
            **self.vm.metadata,
        }
        if path == "service-accounts/default/identity":
            values[path] = self._identity()
        known = path in values and self.headers.get("Metadata-Flavor") == "Google"
        self._send(200 if known else 404, values.get(path, "").encode())

    def _identity(self) -> str:
        query = parse_qs(urlsplit(self.path).query)
        assert query["format"] == ["full"]
        return self.vm.identity(query["audience"][0])

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string((timestamp or time.time()) + self.vm.skew_s)

    def _object(self, name: str) -> None:
        vm = self.vm
        if name in vm.down:
            self._send(503, b"")
        elif vm.refuse > 0 or self.headers.get("Authorization") != f"Bearer {TOKEN}":
            vm.refuse -= 1
            self._send(403, b"")
        else:
            # An account that may not list a bucket is told 403 of an object that is not there, and not 404.
            self._send(200 if name in vm.objects else 403, vm.objects.get(name, b""))

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        source = "metadata" if self.path.startswith("/computeMetadata/") else "storage"
        (self.send_response_only if source in self.vm.timeless else self.send_response)(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's own name
        """Said by tests where it matters."""


def containers(boot: Boot) -> list[list[str]]:
    """The arguments of every `docker run`, without the script at its end."""
    return [shlex.split(call)[2:] for call in boot.calls if call.startswith("docker run ")]


def values(arguments: list[str], option: str) -> list[str]:
    """What an option was given, in either of its spellings."""
    apart = [arguments[number + 1] for number, each in enumerate(arguments) if each == option]
    return apart + [each.partition("=")[2] for each in arguments if each.startswith(f"{option}=")]
