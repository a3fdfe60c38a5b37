"""Keeps a registry running beside the local cloud: it ends with the cloud's process, or when its folder goes.

Owns that process and `address`, the file by which it is found. What a registry is, `infra.local.registry` says.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from infra.local.registry import START_SECONDS, RegistryError, serve
from infra.tools.install import need

LOOK_SECONDS = 1.0
ADDRESS, SAID = "address", "keeper.log"


def start(folder: Path, cloud: int, environ: Mapping[str, str]) -> str:
    """Start a keeper whose registry lives as long as process `cloud`; the registry's address (host:port).

    Raises ToolError where there is no crane, RegistryError where it does not start.
    """
    need("crane")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ADDRESS).unlink(missing_ok=True)
    # By way of a shell that ends at once: the keeper outlives this command, and is nobody's child to wait for.
    subprocess.run(
        ["sh", "-c", '"$@" </dev/null >"$0" 2>&1 &', str(folder / SAID),
         sys.executable, "-P", "-m", "infra.local.registry_keeper", str(folder), str(cloud)],
        check=True, start_new_session=True, env=environ,
    )  # fmt: skip
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if (folder / ADDRESS).exists():
            return (folder / ADDRESS).read_text()
        time.sleep(0.02)
    raise RegistryError(f"the registry did not start; see {folder / SAID}")


def keep(folder: Path, cloud: int) -> None:
    """Serve until the cloud's process or the folder is gone."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    registry = serve(folder)
    try:
        told = folder / f"{ADDRESS}.part"
        told.write_text(registry.address)
        told.replace(folder / ADDRESS)
        while registry.process.poll() is None and folder.is_dir() and _exists(cloud):
            time.sleep(LOOK_SECONDS)
    finally:
        registry.stop()


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    keep(Path(sys.argv[1]), int(sys.argv[2]))
