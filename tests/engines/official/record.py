"""Write `recordings/` anew: `python -m tests.engines.official.record`, with the CLI and Google's plugin on PATH.

Each recording is of a real run of `recorded_program` on a local cloud, in the order of `main`. What belongs to this
machine alone is replaced, and debug lines are left out.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bench.cloud import daemon
from bench.cloud.control import Control
from infra.engines.official.workspace import GOOGLE_CREDENTIAL_VARIABLES, LOCAL_TOKEN, endpoint_settings
from tests.engines.official.replay import RECORDINGS

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).parent / "recorded_program"
FOLDER = "/home/lab/tidepool"
URL = "http://127.0.0.1:8123"
QUIET = ("--non-interactive", "--color", "never")
FLEET = {"count": 2, "owner": "a", "runtime": "tpu-ubuntu2204-base"}
CHANGED = {**FLEET, "count": 3, "owner": "b"}
REPLACED = {**CHANGED, "runtime": "v2-alpha-tpuv5-lite"}
_OF_PROGRAM = frozenset({"sourcePosition", "sourcePositions", "stackTrace"})


class Session:
    """A project, a backend and a local cloud that pass away afterwards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tidepool"
        shutil.copytree(PROGRAM, self.folder)
        self.backend = self.folder / "backend"
        self.backend.mkdir()
        self.home = folder / "home"
        self.home.mkdir()
        self.url = daemon.ensure_running(self.home).url
        self.control = Control(self.url)
        project = yaml.safe_load((PROGRAM / "Pulumi.yaml").read_text())
        project["runtime"] = {"name": "python", "options": {"virtualenv": str(ROOT / ".venv")}}
        (self.folder / "Pulumi.yaml").write_text(yaml.safe_dump(project))
        self.declare(FLEET)
        self.ok("stack", "init", "ci")
        self.salt = yaml.safe_load((self.folder / "Pulumi.ci.yaml").read_text())["encryptionsalt"]

    def declare(self, fleet: Mapping[str, Any]) -> None:
        own = {f"tidepool:{key}": str(value) for key, value in fleet.items()}
        settings: dict[str, Any] = {"config": {"gcp:project": "hai-gcp-models", **endpoint_settings(self.url), **own}}
        if hasattr(self, "salt"):
            settings["encryptionsalt"] = self.salt
        (self.folder / "Pulumi.ci.yaml").write_text(yaml.safe_dump(settings))

    @property
    def environ(self) -> dict[str, str]:
        return {
            **os.environ,
            **dict.fromkeys(GOOGLE_CREDENTIAL_VARIABLES, ""),
            "GOOGLE_OAUTH_ACCESS_TOKEN": LOCAL_TOKEN,
            "PULUMI_BACKEND_URL": f"file://{self.backend}",
            "PULUMI_CONFIG_PASSPHRASE": "correct horse",
            "PULUMI_DEBUG_COMMANDS": "true",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        command = ["pulumi", *args, *QUIET]
        return subprocess.run(
            command, cwd=self.folder, env=self.environ, text=True, capture_output=True, check=False, timeout=300
        )

    def ok(self, *args: str) -> str:
        done = self.run(*args)
        if done.returncode:
            raise SystemExit(f"pulumi {' '.join(args)}: {done.stdout}{done.stderr}")
        return done.stdout

    def events(self, name: str, *args: str) -> None:
        """Record the events of an operation, whether it succeeds or not."""
        log = self.folder / "events.jsonl"
        self.run(*args, "--event-log", str(log))
        kept = [line for line in log.read_text().splitlines() if not _is_debug(json.loads(line))]
        log.unlink()
        self.write(f"{name}.events.jsonl", "".join(f"{_without_sources(line)}\n" for line in kept))

    def preview(self, name: str) -> None:
        """Record a preview both ways."""
        self.events(name, "preview", "--show-sames")
        self.write(
            f"{name}.json", _without_sources(self.run("preview", "--json", "--show-sames").stdout, indent=1) + "\n"
        )

    def write(self, name: str, text: str) -> None:
        plugin = Path(shutil.which("pulumi-resource-gcp") or "").parent
        told = text.replace(str(self.folder), FOLDER).replace(str(plugin), "/usr/local/bin").replace(self.url, URL)
        told = told.replace(str(ROOT), FOLDER).replace(f"{getpass.getuser()}@{socket.gethostname()}", "lab@workstation")
        (RECORDINGS / name).write_text(re.sub(r"\(pid \d+\)", "(pid 22812)", told))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder))
        try:
            _changes(session)
            _failures(session)
            _kill(session)
        finally:
            daemon.stop(session.home)


def _changes(session: Session) -> None:
    session.preview("preview-create")
    session.events("up-create", "up", "--yes", "--skip-preview")
    session.declare(CHANGED)
    session.preview("preview-change")
    session.control.fail("stockout", method="tpu.*")
    session.events("up-failed", "up", "--yes", "--skip-preview", "--continue-on-error")
    session.control.mend()
    session.ok("up", "--yes", "--skip-preview")
    session.declare({**CHANGED, "count": 1})
    session.preview("preview-delete")
    session.declare(REPLACED)
    session.preview("preview-replace")
    session.events("up-replace", "up", "--yes", "--skip-preview")


def _failures(session: Session) -> None:
    session.declare({**REPLACED, "boom": "true"})
    session.preview("preview-boom")
    session.events("up-boom", "up", "--yes", "--skip-preview")
    session.declare({**REPLACED, "count": 1})
    session.ok("up", "--yes", "--skip-preview")
    (node,) = session.control.nodes()
    session.control.remove_node(node["name"])
    session.events("preview-refresh", "preview", "--refresh", "--show-sames")
    session.events("refresh-gone", "refresh", "--yes", "--skip-preview")
    session.ok("up", "--yes", "--skip-preview")
    session.events("destroy-protected", "destroy", "--yes", "--skip-preview")


def _kill(session: Session) -> None:
    """Four creates in flight: the state that is left, the lock, and an import of them that lacks one."""
    session.ok("up", "--yes", "--skip-preview")
    session.declare({**REPLACED, "count": 5})
    session.control.set_compression(1)
    command = ["pulumi", "up", "--yes", "--skip-preview", *QUIET]
    up = subprocess.Popen(command, cwd=session.folder, env=session.environ, start_new_session=True)
    while len([node for node in session.control.nodes() if node["state"] == "CREATING"]) < 4:
        time.sleep(0.05)
    while len(json.loads(session.ok("stack", "export"))["deployment"].get("pending_operations") or ()) < 4:
        time.sleep(0.05)
    os.killpg(up.pid, signal.SIGKILL)
    up.wait()
    session.control.set_compression(1000)
    session.control.advance(3600)
    session.write("locked.stderr.txt", session.run("up", "--yes", "--skip-preview").stderr)
    session.ok("cancel", "--yes")
    exported = json.loads(session.ok("stack", "export"))
    session.write("killed.json", _without_sources(json.dumps(exported), indent=1))
    names = [operation["resource"]["inputs"]["name"] for operation in exported["deployment"]["pending_operations"]]
    place = "projects/hai-gcp-models/locations/us-west4-a/nodes"
    session.control.remove_node(f"{place}/{max(names)}")
    vms = [{"type": "gcp:tpu/v2Vm:V2Vm", "name": name, "id": f"{place}/{name}"} for name in sorted(names)]
    (session.folder / "import.json").write_text(json.dumps({"resources": vms}))
    options = ("--yes", "--skip-preview", "--protect=false", "--generate-code=false")
    session.write("import-missing.stdout.txt", session.run("import", "--file", "import.json", *options).stdout)


def _is_debug(event: Mapping[str, Any]) -> bool:
    """Debug lines, and what the program's process wrote by itself: stack traces with the machine's own paths."""
    return (event.get("diagnosticEvent") or {}).get("severity") in ("debug", "info#err")


def _without_sources(text: str, *, indent: int | None = None) -> str:
    """JSON without where in a program a resource was declared: a path, and of no use to anyone who replays it."""

    def kept(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: kept(item) for key, item in value.items() if key not in _OF_PROGRAM}
        return [kept(item) for item in value] if isinstance(value, list) else value

    separators = (",", ":") if indent is None else None
    return json.dumps(kept(json.loads(text)), indent=indent, separators=separators)


if __name__ == "__main__":
    sys.exit(main())
