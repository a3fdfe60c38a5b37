"""A container that runs: what it reads at its beginning, and what it prints until its end."""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Final

_LONGEST: Final = 1000
"""In pieces, so that a job which prints without end fills no memory."""


class Container:
    """Of a process of docker's own client."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._got = b""
        self._open = True

    @classmethod
    def begin(cls, arguments: Sequence[str], given: str) -> Container:
        """given: a line that it reads from its standard input; no list of processes shows it."""
        process = subprocess.Popen(
            ["docker", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        threading.Thread(target=_give, args=(process, f"{given}\n".encode()), daemon=True).start()
        return cls(process)

    def line(self, seconds: float) -> str | None:
        """The next line, or a piece of one; None where none came in time. Raises EOFError where none comes any more."""
        ends = time.monotonic() + seconds
        while (found := self._cut()) is None:
            if not self._open:
                raise EOFError
            left = ends - time.monotonic()
            if left <= 0 or not self._more(left):
                return None
        return found.decode("latin-1")

    def wait(self) -> int:
        """Its status, as a shell has it."""
        status = self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        return 128 - status if status < 0 else status

    def _cut(self) -> bytes | None:
        head, newline, rest = self._got[:_LONGEST].partition(b"\n")
        if newline or len(head) == _LONGEST or (head and not self._open):
            self._got = rest + self._got[_LONGEST:]
            return head
        return None

    def _more(self, seconds: float) -> bool:
        stdout = self._process.stdout
        if stdout is None or not select.select([stdout], [], [], seconds)[0]:
            return False
        got = os.read(stdout.fileno(), 65536)
        self._got += got
        self._open = bool(got)
        return True


def _give(process: subprocess.Popen[bytes], line: bytes) -> None:
    if process.stdin is not None:
        try:
            process.stdin.write(line)
            process.stdin.close()
        except OSError:
            """It ended before it read; its status says so."""
