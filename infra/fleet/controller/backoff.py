"""When a create that failed may be tried again, for each zone, accelerator and kind of capacity.

Owns the waits. A stockout is one of the zone, not of a slot, so slots share the wait. Waits grow exponentially and are
drawn anew each time (full jitter, above a floor of one sweep), from the key and the count of failures alone: the same
history gives the same wait, and two zones do not knock in step.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Final

from infra.fleet.controller.memory import Backoff
from infra.fleet.controller.observed import Trouble
from infra.fleet.controller.rules import fallbacks
from infra.model.catalogue import CapacityKind

FLOOR: Final = timedelta(minutes=2)
FIRST: Final = timedelta(minutes=2)
LONGEST: Final = {
    Trouble.STOCKOUT: timedelta(minutes=30),
    Trouble.OUTAGE: timedelta(minutes=15),
    Trouble.QUOTA: timedelta(hours=2),
    Trouble.REFUSED: timedelta(hours=2),
}
"""The longest wait of each trouble; nobody frees quota or mends a request within minutes."""

_SLOW: Final = frozenset({Trouble.QUOTA, Trouble.REFUSED})
_MAX_DOUBLINGS: Final = 16


def backoff_key(zone: str, accelerator: str, capacity: CapacityKind) -> str:
    return f"{zone}/{accelerator}/{capacity.value}"


def wait(key: str, failures: int, trouble: Trouble) -> timedelta:
    """How long after failure number `failures` (from 1)."""
    longest = LONGEST[trouble]
    if trouble in _SLOW:
        return longest / 2 + _fraction(key, failures) * longest / 2
    bound = min(longest, FIRST * 2 ** min(failures, _MAX_DOUBLINGS))
    return FLOOR + _fraction(key, failures) * (bound - FLOOR)


def failed(before: Backoff | None, key: str, trouble: Trouble, text: str, asked: datetime, now: datetime) -> Backoff:
    """After one more failure. asked: when that create was asked for; those asked for together are one failure."""
    if before is not None and asked <= before.last and before.trouble is trouble:
        return before.model_copy(update={"text": text})
    in_a_row = before is not None and (before.trouble is trouble or {before.trouble, trouble} <= fallbacks().keys())
    failures = before.failures + 1 if before is not None and in_a_row else 1
    since = before.since if before is not None and in_a_row else now
    until = now + wait(key, failures, trouble)
    return Backoff(failures=failures, trouble=trouble, last=now, until=until, since=since, text=text)


def exhausted(entry: Backoff | None, now: datetime) -> bool:
    """Whether a fallback may be taken in place of the place that this is of."""
    row = fallbacks().get(entry.trouble) if entry is not None else None
    if entry is None or row is None or entry.failures < row.failures:
        return False
    return now - (entry.since or entry.last) >= timedelta(minutes=row.minutes)


def _fraction(key: str, failures: int) -> float:
    """A number from 0 to 1 that follows from what it is drawn for."""
    digest = hashlib.sha256(f"{key}#{failures}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
