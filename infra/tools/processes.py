"""Processes: which run on this machine, since when, and whether one that noted itself in a lock may run still.

Owns the lock by which two commands of one home do not do the same at once: a file that the kernel lets go of when its
holder ends in any way. Leaves what it guards to callers.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

_CLOCK_SLACK = 2.0
"""Seconds by which a start and a time that was noted may differ, as the one counts from boot in whole ticks."""


def runs(pid: int) -> bool:
    """Whether a process is there that has not ended. One that its parent has not asked about yet has ended: in a
    container whose first process asks about nobody it stays so for ever."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _status(pid)[:1] not in (["Z"], ["X"])


def process_start(pid: int) -> float | None:
    """When a process started, in seconds since the epoch; None where the system does not say (no /proc)."""
    try:
        ticks = int(_status(pid)[19])
        boot = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime "))
    except (OSError, StopIteration, ValueError, IndexError):
        return None
    return int(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")


def may_run_since(pid: int, since: str) -> bool:
    """Whether the process that noted its id at this time (ISO 8601) may still run.

    An id that was given to a later process counts as gone; a process whose start nobody knows counts as that one.
    """
    if not runs(pid):
        return False
    started = process_start(pid)
    try:
        noted = datetime.fromisoformat(since).timestamp()
    except ValueError:
        return True
    return started is None or started <= noted + _CLOCK_SLACK


@dataclass(frozen=True, slots=True, kw_only=True)
class LockHolder:
    """The process that holds a lock, as the lock says. since: ISO 8601."""

    user: str
    host: str
    pid: int
    since: str

    def __str__(self) -> str:
        return f"{self.user}@{self.host} (pid {self.pid}) since {self.since}"

    @property
    def here(self) -> bool:
        return self.host == socket.gethostname()

    @property
    def dead(self) -> bool:
        """Whether it has certainly ended: it ran on this host, where its id is free or a later process's."""
        return self.here and not may_run_since(self.pid, self.since)


def _status(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on (proc_pid_stat(5)); none where the system has no such file."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


@contextmanager
def one_at_a_time(path: Path) -> Generator[None]:
    """Hold the lock at `path`, waiting for whoever has it; its folder is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock at `path` at this moment."""
    try:
        with path.open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
