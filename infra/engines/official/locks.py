"""Locks of a CLI backend, as the CLI names them when it stops at one.

Owns reading who holds a stack and whether that process can still be alive. Does not own removing a lock.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from infra.tools.processes import process_start, runs

_LINE = re.compile(r"created by (?P<user>\S+)@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<since>\S+)")
_SECOND = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Who holds a stack, and since when."""

    user: str
    host: str
    pid: int
    since: str

    def __str__(self) -> str:
        return f"{self.user}@{self.host} (pid {self.pid}) since {self.since}"


def locks_in(message: str) -> tuple[Lock, ...]:
    """The locks that the CLI lists where it says that a stack is locked."""
    return tuple(
        Lock(user=found["user"], host=found["host"], pid=int(found["pid"]), since=found["since"])
        for found in _LINE.finditer(message)
    )


def started_at(pid: int) -> float | None:
    """When the process with this id started, in seconds of the epoch; None where none runs.

    Where the system does not tell a start time (no /proc), a process that exists counts as old: 0.
    """
    return (process_start(pid) or 0.0) if runs(pid) else None


def is_dead(lock: Lock, *, host: str | None = None, started: Callable[[int], float | None] = started_at) -> bool:
    """Whether the lock's process has certainly ended: it ran on this host, and its id is free or a later process's."""
    if lock.host != (host or socket.gethostname()):
        return False
    since = started(lock.pid)
    return since is None or since > datetime.fromisoformat(lock.since).timestamp() + _SECOND
