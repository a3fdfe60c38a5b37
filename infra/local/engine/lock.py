"""Who works on a stack: the lock of Pulumi's file backend.

Owns taking, judging and giving back the lock, so that this engine and the official CLI keep each other out. A lock
whose process is dead on this very host is taken over; one of another host never is, since nothing here can tell.
"""

from __future__ import annotations

import json
import os
import pwd
import socket
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from infra.local.engine.backend import write_atomically
from infra.local.engine.errors import EngineError
from infra.tools.processes import process_start, runs

if TYPE_CHECKING:
    from infra.local.engine.backend import StackFiles

_BOOT_SLACK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, as the lock says."""

    path: Path
    pid: int
    username: str
    hostname: str
    timestamp: str

    def __str__(self) -> str:
        return f"{self.username}@{self.hostname} (pid {self.pid}) since {self.timestamp}"

    @property
    def here(self) -> bool:
        return self.hostname == socket.gethostname()

    @property
    def dead(self) -> bool:
        """Whether its process is certainly gone. A pid that has been given to a later process counts as gone."""
        return self.here and not _alive(self.pid, self.timestamp)


def holders(files: StackFiles) -> tuple[Holder, ...]:
    """Everyone who holds a lock on the stack, dead ones too."""
    found = sorted(files.locks.glob("*.json")) if files.locks.is_dir() else []
    return tuple(holder for path in found if (holder := _read(path)) is not None)


def _read(path: Path) -> Holder | None:
    try:
        said = json.loads(path.read_bytes())
        return Holder(path, int(said["pid"]), said["username"], said["hostname"], said["timestamp"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return Holder(path, 0, "someone", "an unknown host", "an unknown time")


@dataclass(frozen=True, slots=True)
class Held:
    """A lock that this process holds, and the dead ones that it took over."""

    name: str
    taken_over: tuple[Holder, ...]


@contextmanager
def held(files: StackFiles) -> Generator[Held]:
    """Hold the stack; EngineError says who holds it already and since when."""
    dead = _refuse_living(files)
    for holder in dead:
        holder.path.unlink(missing_ok=True)
    name = str(uuid.uuid4())
    mine = files.locks / f"{name}.json"
    said = {
        "pid": os.getpid(),
        "username": _username(),
        "hostname": socket.gethostname(),
        "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
    }
    write_atomically(mine, [json.dumps(said).encode()])
    try:
        _refuse_living(files, but=mine)  # of two that came at once, at least one goes
        yield Held(name, dead)
    finally:
        mine.unlink(missing_ok=True)


def _username() -> str:
    """Who runs this; in a container the account often has a number and no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _refuse_living(files: StackFiles, but: Path | None = None) -> tuple[Holder, ...]:
    others = [holder for holder in holders(files) if holder.path != but]
    living = [holder for holder in others if not holder.dead]
    if living:
        who = "; ".join(map(str, living))
        advice = (
            "wait until it ends"
            if all(holder.here for holder in living)
            else "wait until it ends; if that machine is gone for good, remove the file(s) "
            + ", ".join(holder.path.name for holder in living)
            + f" in .pulumi/locks/organization/{files.project}/{files.stack}"
        )
        raise EngineError(f"stack {files.stack} is locked by {who}: {advice}")
    return tuple(others)


def _alive(pid: int, since: str) -> bool:
    if not runs(pid):
        return False
    started = process_start(pid)
    try:
        locked = datetime.fromisoformat(since).timestamp()
    except ValueError:
        return True
    return started is None or started <= locked + _BOOT_SLACK_SECONDS
