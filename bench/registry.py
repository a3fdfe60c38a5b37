"""A real OCI registry on loopback, and where the places of images are in it.

Owns the registry's process (`crane registry serve`, which is go-containerregistry's) and the mapping: every registry of
the world is a path of this one, so that `ghcr.io/owner/name` is `127.0.0.1:PORT/ghcr.io/owner/name`. Blobs are files of
its folder; manifests live as long as the process. Beside the local cloud a keeper runs it, which ends with the cloud's
process, or when the folder goes; `address` is the file by which it is found.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import urllib3

from infra.tools.install import need
from infra.tools.processes import runs

START_SECONDS = 20.0
LOG = "registry.log"
LOOK_SECONDS = 1.0
ADDRESS, SAID = "address", "keeper.log"
_TIED = 'exec 3<&0; { cat <&3; kill "$$"; } >/dev/null 2>&1 & exec "$@" 3<&- </dev/null'
"""Runs a command in this process's place, and ends it when standard input does: however whoever holds that one ends."""
_SERVING = re.compile(r"serving on port (\d+)")


class RegistryError(Exception):
    """The registry did not start; the text says why."""


@dataclass(frozen=True, slots=True)
class Registry:
    """A running registry. `address` is host:port."""

    address: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """End it; what it held is gone."""
        self.process.communicate(timeout=10)


def serve(folder: Path) -> Registry:
    """Start a registry on a free port of loopback, which ends with this process at the latest.

    ToolError where there is no crane, RegistryError where it fails.
    """
    crane = need("crane")
    (folder / "blobs").mkdir(parents=True, exist_ok=True)
    log = folder / LOG
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["sh", "-c", _TIED, "sh", str(crane), "registry", "serve", "--address", "127.0.0.1:0",
             "--disk", str(folder / "blobs")],
            stdin=subprocess.PIPE, stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        found = _SERVING.search(log.read_text(errors="replace"))
        if found and answers(address := f"127.0.0.1:{found[1]}"):
            return Registry(address=address, process=process)
        time.sleep(0.02)
    process.communicate()
    raise RegistryError(f"the registry did not start: {log.read_text(errors='replace').strip() or 'its log is empty'}")


def answers(address: str) -> bool:
    """Whether a registry is there."""
    try:
        return urllib3.request("GET", f"http://{address}/v2/", timeout=10, retries=False).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def keep_beside(folder: Path, cloud: int, environ: Mapping[str, str]) -> str:
    """Start a keeper whose registry lives as long as process `cloud`; the registry's address (host:port).

    Raises ToolError where there is no crane, RegistryError where it does not start.
    """
    need("crane")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ADDRESS).unlink(missing_ok=True)
    # By way of a shell that ends at once: the keeper outlives this command, and is nobody's child to wait for.
    subprocess.run(
        ["sh", "-c", '"$@" </dev/null >"$0" 2>&1 &', str(folder / SAID),
         sys.executable, "-P", "-m", "bench.registry", str(folder), str(cloud)],
        check=True, start_new_session=True, env=environ,
    )  # fmt: skip
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if (folder / ADDRESS).exists():
            return (folder / ADDRESS).read_text()
        time.sleep(0.02)
    raise RegistryError(f"the registry did not start; see {folder / SAID}")


def _keep(folder: Path, cloud: int) -> None:
    """Serve until the cloud's process or the folder is gone."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    registry = serve(folder)
    try:
        told = folder / f"{ADDRESS}.part"
        told.write_text(registry.address)
        told.replace(folder / ADDRESS)
        while registry.process.poll() is None and folder.is_dir() and runs(cloud):
            time.sleep(LOOK_SECONDS)
    finally:
        registry.stop()


if __name__ == "__main__":
    _keep(Path(sys.argv[1]), int(sys.argv[2]))
