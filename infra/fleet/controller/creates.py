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

from infra.fleet.controller.desired import Desired, SlotPlace
from infra.fleet.controller.events import LENGTH, EventKind, FleetEvent
from infra.fleet.controller.keys import BackoffKey, NodeKey
from infra.fleet.controller.memory import LAG, Backoff, Creating, Memory, VmMemory
from infra.fleet.controller.observed import Observed, Trouble
from infra.fleet.controller.rules import DEAD, GIVEN_BACK, fallbacks
from infra.fleet.controller.sorting import FleetNodes

FLOOR: Final = timedelta(minutes=2)
FIRST: Final = timedelta(minutes=2)
LONGEST: Final = {
    Trouble.STOCKOUT: timedelta(minutes=30),
    Trouble.OUTAGE: timedelta(minutes=15),
    Trouble.UNSERVED: timedelta(hours=2),
    Trouble.QUOTA: timedelta(hours=2),
    Trouble.REFUSED: timedelta(hours=2),
}
"""The longest wait of each trouble; nobody frees quota or mends a request within minutes."""

ENDED_BY_PEOPLE: Final = frozenset({Trouble.QUOTA, Trouble.REFUSED})
_MAX_DOUBLINGS: Final = 16
_NEVER_CAME: Final = f"the create was taken, and {LAG // timedelta(minutes=1)} minutes later no list shows its VM"
_WENT: Final = "the VM went before it was READY"


def with_ended(memory: Memory, desired: Desired, observed: Observed, now: datetime) -> Memory:
    """Creates that ended: what failed starts a wait."""
    for ended in observed.ended:
        asked = memory.creating.get(ended.slot)
        if asked is None or asked.zone != ended.zone or ended.trouble is None:
            continue
        memory = refused(memory, desired, ended.slot, asked, ended.trouble, ended.text, now)
    listed = {node.key: node for node in observed.nodes}
    made = {ended.slot for ended in observed.ended}
    for slot, asked in memory.creating.items():
        never_came = now - asked.at >= LAG and NodeKey(asked.zone, slot) not in listed
        if never_came and observed.zone_known(asked.zone):
            memory = refused(memory, desired, slot, asked, Trouble.UNSERVED, _NEVER_CAME, now)
    for key, known in memory.nodes.items():
        node = listed.get(key)
        went = observed.zone_known(key.zone) if node is None else node.state in GIVEN_BACK
        unknown = key.name in memory.creating and key.name not in made
        if known.ours and known.state == "CREATING" and went and not known.missing and not unknown:
            place = SlotPlace(zone=key.zone, capacity=known.capacity, node={})
            memory = fruitless(memory, desired, key.name, place, known.asked or known.first_seen, _WENT, now)
    return memory


def fruitless(
    memory: Memory, desired: Desired, slot: str, place: SlotPlace, asked: datetime, text: str, now: datetime
) -> Memory:
    """The memory after a create whose VM never came to serve. It counts once, however often it is seen."""
    wanted = desired.slot(slot)
    key = BackoffKey(place.zone, wanted.accelerator.name if wanted else "", place.capacity)
    before = memory.backoff.get(key)
    if wanted is None or (before is not None and asked <= before.last):
        return memory
    return _failed(memory, key, slot, asked, Trouble.UNSERVED, text, now)


def refused(
    memory: Memory, desired: Desired, slot: str, asked: Creating, trouble: Trouble, text: str, now: datetime
) -> Memory:
    """The memory after a create that failed: nothing is being made, and its zone is left alone for a while."""
    wanted = desired.slot(slot)
    memory = replace(memory, creating={name: each for name, each in memory.creating.items() if name != slot})
    if wanted is None:
        return memory
    key = BackoffKey(asked.zone, wanted.accelerator.name, asked.capacity)
    if trouble is Trouble.STOCKOUT:
        known = unasked(memory.vm(slot, now), asked)
        memory = memory.with_vm(slot, replace(known, refused={**known.refused, asked.zone: now}))
    return _failed(memory, key, slot, asked.at, trouble, text, now)


def _failed(
    memory: Memory, key: BackoffKey, slot: str, asked: datetime, trouble: Trouble, text: str, now: datetime
) -> Memory:
    entry = failed(memory.backoff.get(key), key, trouble, text, asked, now)
    told = FleetEvent(at=now, subject=slot, what=text[:LENGTH], kind=EventKind.NOT_MADE, zone=key.zone, trouble=trouble)
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
        (node.state not in DEAD and node.state != "DELETING")
        or (before is not None and (before.created != node.created or before.state == "CREATING"))
        for node in observed.nodes_of(slot)
        # Whether one that is being made comes to anything is in its operation.
        if node.zone == asked.zone and not (asked.operation and node.state == "CREATING")
    )


def backoff_left(memory: Memory, desired: Desired, observed: Observed, fleet: FleetNodes) -> dict[BackoffKey, Backoff]:
    """Without the waits of places where a VM has just become READY, or serves where VMs never came to serve."""
    left = dict(memory.backoff)
    for slot in desired.slots:
        node = fleet.slots[slot.name]
        if node is None or node.state != "READY":
            continue
        key, before = BackoffKey(node.zone, slot.accelerator.name, node.capacity), memory.nodes.get(node.key)
        entry = left.get(key)
        if entry is not None and entry.trouble is Trouble.UNSERVED and slot.has_runner:
            known = memory.vms.get(slot.name)
            came = known is not None and known.attempts and any(each.serves for each in observed.runners_of(slot.name))
        else:
            came = before is None or before.state != "READY" or before.created != node.created
        if came:
            left.pop(key, None)
    return left


def wait(key: BackoffKey, failures: int, trouble: Trouble) -> timedelta:
    """How long after failure number `failures` (from 1)."""
    longest = LONGEST[trouble]
    # A try at a place whose VMs never serve costs an hour, so that what follows goes elsewhere meanwhile.
    if trouble in ENDED_BY_PEOPLE or (trouble is Trouble.UNSERVED and failures >= fallbacks()[trouble].failures):
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
