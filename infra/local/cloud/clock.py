"""Cloud time: the wall clock plus an offset that a person may advance.

Owns that time never runs backwards and how it is written. Does not own what depends on it.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable


class Clock:
    """`wall` is the source of real seconds since the epoch; tests hand in their own."""

    def __init__(self, *, offset: float = 0.0, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._last = 0.0
        self.offset = offset

    def read(self) -> float:
        """Now, in epoch seconds; never less than this process has read before, however the machine's clock is set."""
        self._last = max(self._last, self._wall() + self.offset)
        return self._last

    def advance(self, seconds: float) -> float:
        """Move the offset forward and read. Raises ValueError for a step back."""
        if seconds < 0:
            raise ValueError(f"the clock cannot go back: {seconds} s")
        self.offset += seconds
        return self.read()


def timestamp(seconds: float) -> str:
    """RFC 3339 in UTC with microseconds, as Google's APIs write it: `2026-11-21T08:00:00.250000Z`."""
    return dt.datetime.fromtimestamp(seconds, tz=dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_of(text: str) -> float:
    """Epoch seconds of an RFC 3339 text. Raises ValueError."""
    return dt.datetime.fromisoformat(text).timestamp()
