"""How often somebody may ask one broker, counted in its own memory before anybody else is asked.

What a VM gets is counted in the bucket, for all brokers together (`decide`). This is for what that count costs: a VM
that asks without end would use up what Google lets the project ask, and the threads that other VMs wait for.
"""

from __future__ import annotations

import threading
from collections import deque
from datetime import datetime, timedelta
from typing import Final

from infra.fleet.broker.refusals import Reason, Refused

_MINUTE: Final = timedelta(minutes=1)
_MANY: Final = 1024
"""Callers that are remembered before those who asked a minute ago are forgotten."""


class Pace:
    """most: requests of one caller within a minute. Safe to share between threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._asked: dict[str, deque[datetime]] = {}

    def count(self, caller: str, now: datetime) -> None:
        """Count a request. Raises Refused, and does not count it, where there were too many."""
        with self._lock:
            if len(self._asked) >= _MANY:
                self._asked = {each: asked for each, asked in self._asked.items() if _recent(asked[-1], now)}
            asked = self._asked.setdefault(caller, deque())
            while asked and not _recent(asked[0], now):
                asked.popleft()
            if len(asked) >= self._most:
                raise Refused(Reason.TOO_OFTEN, again=(asked[0] + _MINUTE - now).total_seconds() + 1)
            asked.append(now)


def _recent(moment: datetime, now: datetime) -> bool:
    return timedelta(0) <= now - moment < _MINUTE
