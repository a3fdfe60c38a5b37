"""Simulated guests of VMs for one run: the VM's own start-up script, as processes of this machine.

Owns that each making of such a VM boots once, and that nothing of it outlives the VM. What runs there is the script in
the VM's metadata (`infra.fleet.runs.guest`), told what a metadata server would say by a file; its commands run in a
folder of their own and, where the machine lets it, in a network of their own. That keeps them apart and is no wall: a
command can read what its user can.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from bench.cloud.control import Control
from infra.model.node import STARTUP_SCRIPT_KEY

_TOLD: Final = "tidepool-run"
_KEPT: Final = "metadata.json"


class RunGuests:
    """Those of one local cloud. folder: where each has its own."""

    def __init__(self, control: Control, folder: Path) -> None:
        self._control, self._folder = control, folder

    def settle(self) -> None:
        """Boot what is READY and has not booted, and end what is of a VM that is gone."""
        there: set[Path] = set()
        for told in self._control.guests()["nodes"]:
            node = told["node"]
            metadata = node.get("metadata") or {}
            if node["state"] != "READY" or _TOLD not in metadata:
                continue
            life = f"{node['name']} {node['createTime']}"
            home = self._folder / f"{node['name'].rpartition('/')[2]}-{hashlib.sha256(life.encode()).hexdigest()[:8]}"
            there.add(home)
            if not home.exists():
                for host in range(told["hosts"]):
                    self._boot(home / str(host), {**metadata, "node": node["name"]}, host, told["hosts"])
        for home in set(self._folder.glob("*")) - there:
            end(home)
            shutil.rmtree(home, ignore_errors=True)

    def _boot(self, home: Path, metadata: Mapping[str, str], host: int, hosts: int) -> None:
        home.mkdir(parents=True)
        known = dict(metadata) | {
            "agent-worker-number": str(host),
            "worker-network-endpoints": ",".join(f"x:y:10.0.0.{number + 2}" for number in range(hosts)),
        }
        script = home / "boot.py"
        script.write_text(known.pop(STARTUP_SCRIPT_KEY), encoding="utf-8")
        (home / _KEPT).write_text(json.dumps(known), encoding="utf-8")
        environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "TIDEPOOL_SIMULATED": self._control.url,
            "TIDEPOOL_RUN_HOME": str(home),
        }
        with (home / "console").open("ab") as console:
            # It is nobody's child: it lives on when the command that let it boot is over, as a VM does.
            subprocess.run(
                ["setsid", "--fork", sys.executable, "-I", str(script)],
                env=environ, cwd=home, stdin=subprocess.DEVNULL, stdout=console, stderr=console, check=True,
            )  # fmt: skip


def end(home: Path) -> None:
    """Kill every process of a guest: by the folder that it works in, or was told of."""
    for process in list(_processes(str(home))):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def _processes(home: str) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            told: Any = (entry / "environ").read_bytes().split(b"\0")
            words = {word.partition(b"=")[2].decode(errors="replace") for word in told}
            inside = str((entry / "cwd").readlink())
            if any(each == home or each.startswith(f"{home}/") for each in (*words, inside)):
                yield int(entry.name)
