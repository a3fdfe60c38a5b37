"""What became of creates: which ended and how, and when one that failed may be tried again.

Owns what memory learns of a create, and the waits, for each zone, accelerator and kind of capacity. A stockout is one
of the zone, not of a slot, so slots share the wait. Waits grow exponentially and are drawn anew each time (full jitter,
above a floor of one sweep), from the key and the count of failures alone: the same history gives the same wait, and
two zones do not knock in step. Does not own how a create is asked for (`act`).
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from infra.fleet.controller.desired import Desired
from infra.fleet.controller.events import LENGTH, EventKind, FleetEvent
from infra.fleet.controller.keys import BackoffKey, NodeKey
from infra.fleet.controller.memory import LAG, Backoff, Creating, Memory, VmMemory
from infra.fleet.controller.observed import Observed, Trouble
from infra.fleet.controller.rules import DEAD, fallbacks
from infra.fleet.controller.sorting import FleetNodes

FLOOR: Final = timedelta(minutes=2)
FIRST: Final = timedelta(minutes=2)
LONGEST: Final = {
    Trouble.STOCKOUT: timedelta(minutes=30),
    Trouble.OUTAGE: timedelta(minutes=15),
    Trouble.QUOTA: timedelta(hours=2),
    Trouble.REFUSED: timedelta(hours=2),
}
"""The longest wait of each trouble; nobody frees quota or mends a request within minutes."""

ENDED_BY_PEOPLE: Final = frozenset({Trouble.QUOTA, Trouble.REFUSED})
_MAX_DOUBLINGS: Final = 16


def with_ended(memory: Memory, desired: Desired, observed: Observed, now: datetime) -> Memory:
    """Creates that ended: what failed starts a wait."""
    for ended in observed.ended:
        asked = memory.creating.get(ended.slot)
        if asked is None or asked.zone != ended.zone or ended.trouble is None:
            continue
        memory = refused(memory, desired, ended.slot, asked, ended.trouble, ended.text, now)
    return memory


def refused(
    memory: Memory, desired: Desired, slot: str, asked: Creating, trouble: Trouble, text: str, now: datetime
) -> Memory:
    """The memory after a create that failed: nothing is being made, and its zone is left alone for a while."""
    wanted = desired.slot(slot)
    memory = replace(memory, creating={name: each for name, each in memory.creating.items() if name != slot})
    if wanted is None:
        return memory
    key = BackoffKey(asked.zone, wanted.accelerator.name, asked.capacity)
    entry = failed(memory.backoff.get(key), key, trouble, text, asked.at, now)
    if trouble is Trouble.STOCKOUT:
        known = unasked(memory.vm(slot, now), asked)
        memory = memory.with_vm(slot, replace(known, refused={**known.refused, asked.zone: now}))
    told = FleetEvent(
        at=now, subject=slot, what=text[:LENGTH], kind=EventKind.NOT_MADE, zone=asked.zone, trouble=trouble
    )
    return replace(memory, backoff={**memory.backoff, key: entry}).with_event(told)


def unasked(known: VmMemory, asked: Creating) -> VmMemory:
    """Its zone is no place where it may be because of a create that nobody asked for, or that surely made nothing."""
    tried = {zone: at for zone, at in known.tried.items() if zone != asked.zone}
    if asked.before is not None:
        tried[asked.zone] = asked.before
    return replace(known, tried=tried)


def is_there(slot: str, asked: Creating, memory: Memory, observed: Observed, now: datetime) -> bool:
    """Whether a create need not be waited for any more: its node is listed, or it is too long ago to be believed.

    Lists lag: the node that was deleted before may be listed once more.
    """
    if now - asked.at >= LAG:
        return True
    before = memory.nodes.get(NodeKey(asked.zone, slot))
    return any(
        (node.state not in DEAD and node.state != "DELETING") or (before is not None and before.created != node.created)
        for node in observed.nodes_of(slot)
        if node.zone == asked.zone
    )


def backoff_left(memory: Memory, desired: Desired, fleet: FleetNodes) -> dict[BackoffKey, Backoff]:
    """Without the waits of places where a VM has just become READY."""
    left = dict(memory.backoff)
    for slot in desired.slots:
        node = fleet.slots[slot.name]
        if node is None or node.state != "READY":
            continue
        before = memory.nodes.get(node.key)
        if before is None or before.state != "READY" or before.created != node.created:
            left.pop(BackoffKey(node.zone, slot.accelerator.name, node.capacity), None)
    return left


def wait(key: BackoffKey, failures: int, trouble: Trouble) -> timedelta:
    """How long after failure number `failures` (from 1)."""
    longest = LONGEST[trouble]
    if trouble in ENDED_BY_PEOPLE:
        return longest / 2 + _fraction(key, failures) * longest / 2
    bound = min(longest, FIRST * 2 ** min(failures, _MAX_DOUBLINGS))
    return FLOOR + _fraction(key, failures) * (bound - FLOOR)


def failed(
    before: Backoff | None, key: BackoffKey, trouble: Trouble, text: str, asked: datetime, now: datetime
) -> Backoff:
    """After one more failure. asked: when that create was asked for; those asked for together are one failure."""
    if before is not None and asked <= before.last and before.trouble is trouble:
        return replace(before, text=text)
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


def _fraction(key: BackoffKey, failures: int) -> float:
    """A number from 0 to 1 that follows from what it is drawn for."""
    digest = hashlib.sha256(f"{key}#{failures}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
