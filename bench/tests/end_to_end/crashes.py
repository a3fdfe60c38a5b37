"""Runs of `up` in a process of their own that die at a chosen moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Moment = Literal["record", "request", "answer", "millisecond"]
"""After a line of the journal; before a request; after the service has done what a request asked; by the clock."""

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[2]


@dataclass(frozen=True, slots=True)
class Crashes:
    """The process that forks the runs."""

    process: subprocess.Popen[str]

    def up(self, root: Path, url: str, count: int, at: Moment, number: int) -> int:
        """Run `up` of so many VMs until it dies; the exit code is 9 where it did, -9 where a signal ended it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        command = {"root": str(root), "url": url, "count": count, "at": at, "number": number}
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@contextmanager
def crashes() -> Generator[Crashes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(_ROOT), str(_HERE)))}
    process = subprocess.Popen(
        [sys.executable, str(_HERE / "crash_runner.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    with process:
        yield Crashes(process)
        assert process.stdin is not None
        process.stdin.close()
