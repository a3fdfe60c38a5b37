"""Start, find and stop the local cloud of a home folder.

Owns that there is at most one a home, however many start it at once, and by which code it runs, so that a process that
outlives an edit or a `git pull` is told from one that does not. The process itself is `process`; what can be said to it
is `control`.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.cloud.control import Control, ControlError
from infra.model.errors import OutsideError
from infra.tools.processes import one_at_a_time, runs

_ROOT = Path(__file__).resolve().parents[2]
_ROOMS = ("bench", "infra/model")
_UNREAD = ("__pycache__", "tests")
_START_SECONDS = 30.0
_STOP_SECONDS = 10.0
_PAUSE = 0.01
_LOG_LINES = 15


class DaemonError(OutsideError):
    """The local cloud could not be started or stopped; the text says where to look."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A running local cloud: its root URL, without a slash at the end, its process, and whether that runs the code
    that stands here now."""

    url: str
    pid: int
    current: bool = True


def ensure_running(home: Path) -> Handle:
    """The running cloud of a home, started in the background where there is none. Raises DaemonError."""
    home = home.resolve()
    if found := running(home):
        return found
    with one_at_a_time(home / "cloud" / "start.lock"):
        return running(home) or _start(home)


def running(home: Path) -> Handle | None:
    """The cloud that answers for this home, or None."""
    try:
        record = json.loads((home / "cloud" / "cloud.json").read_text())
        handle = Handle(record["url"], record["pid"], record.get("code") == code())
        # After a kill the record stays, and its port may be anybody's.
        alive = runs(handle.pid) and Control(handle.url, timeout=10.0).health()["pid"] == handle.pid
    except (OSError, ValueError, KeyError, ControlError):
        return None
    return handle if alive else None


def stop(home: Path) -> bool:
    """End the cloud of a home and wait for it; whether there was one. Its state stays. Raises DaemonError."""
    home = home.resolve()
    if running(home) is None:
        return False
    with one_at_a_time(home / "cloud" / "start.lock"):
        # Whoever had the lock before may have stopped it, and its process id may be another's by now.
        found = running(home)
        if found is None:
            return False
        os.kill(found.pid, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        # The record goes when nothing is served any more; the process itself may wait for its parent to notice.
        while (home / "cloud" / "cloud.json").exists() and runs(found.pid):
            if time.monotonic() > deadline:
                raise DaemonError(f"the local cloud (process {found.pid}) does not end; see {_log(home)}")
            time.sleep(_PAUSE)
    return True


def status(home: Path) -> dict[str, Any]:
    """running, url, pid, nodes (count by state) and, where it runs, everything `Control.status` says."""
    found = running(home.resolve())
    if found is None:
        return {"running": False, "url": None, "pid": None, "nodes": {}}
    return {"running": True, "url": found.url, **Control(found.url).status()}


def seconds_ahead(home: Path) -> float:
    """How far the clock of a home's cloud, which does not run, is ahead of this machine's."""
    from bench.cloud.store import Store  # SQLite, which a start does without

    path = home / "cloud" / "cloud.sqlite"
    if not path.is_file():
        return 0.0
    store = Store(path)
    try:
        return float(store.setting("clock-offset", 0.0))
    finally:
        store.close()


def awaited(home: Path, child: int) -> bool:
    """Whether a child process comes to serve a home; False when it ended or took too long."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        found = running(home)
        if found is not None and found.pid == child:
            return True
        if os.waitpid(child, os.WNOHANG)[0] == child:
            return False
        time.sleep(_PAUSE)
    os.kill(child, signal.SIGTERM)
    return False


def _start(home: Path) -> Handle:
    with _log(home).open("ab") as log:
        # The process that is started here ends at once and leaves its child behind: nobody has to wait for that one.
        command = [sys.executable, "-m", "bench.cloud", str(home)]
        subprocess.run(command, cwd=_ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    found = running(home)
    if found is None:
        raise DaemonError(f"the local cloud did not start; {_log(home)} ends:\n{_last_words(home)}")
    return found


def _log(home: Path) -> Path:
    return home / "cloud" / "cloud.log"


def _last_words(home: Path) -> str:
    """The end of the log, which is where a process that died says why."""
    lines = _log(home).read_text(errors="replace").splitlines()[-_LOG_LINES:]
    return "\n".join(f"  {line}" for line in lines) or "  (it is empty)"


@cache
def code() -> str:
    """The digest of the local cloud's code on disk when it is first asked for: names and content, so that two clones
    of one commit agree."""
    return _content_digest(_ROOT, _ROOMS)


def _content_digest(root: Path, rooms: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for room in rooms:
        # os.walk and one read a file: as much as a stat of each by pathlib, and a command waits for it.
        for folder, folders, files in os.walk(root / room):
            folders[:] = sorted(name for name in folders if name not in _UNREAD)
            for name in sorted(files):
                path = os.path.join(folder, name)  # noqa: PTH118 - see above
                with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - see above
                    content = file.read()
                digest.update(f"{path[len(str(root)) :]} {len(content)}\n".encode())
                digest.update(content)
    return digest.hexdigest()[:16]
