"""The request log: what was asked, how it ended and how long it took.

Owns the last requests in memory and a line for each in the daemon's log. Never sees bodies, queries or headers, so
no token or secret can reach it.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import asdict, dataclass

from infra.local.cloud.registry import JsonObject

LOGGER = logging.getLogger("tidepool.cloud")
_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Entry:
    """number: counts requests since the process began. time: cloud time, epoch seconds. method: discovery id, or empty.

    milliseconds: inside the server, slow-answer faults left out. error: the refusal's message, or empty.
    """

    number: int
    time: float
    verb: str
    path: str
    method: str
    status: int
    milliseconds: float
    error: str = ""


class RequestLog:
    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=_KEPT)
        self.count = 0

    def add(
        self, *, time: float, verb: str, path: str, method: str, status: int, milliseconds: float, error: str
    ) -> None:
        self.count += 1
        entry = Entry(self.count, time, verb, path, method, status, round(milliseconds, 3), error)
        self._entries.append(entry)
        LOGGER.info("%s %s %d %.1f ms %s", verb, path, status, milliseconds, error)

    def tail(self, limit: int, *, after: int = 0) -> list[JsonObject]:
        """The last `limit` entries whose number is above `after`, oldest first."""
        return [asdict(entry) for entry in list(self._entries)[-limit:] if entry.number > after]
