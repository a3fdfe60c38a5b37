"""What became of creates: which ended and how, what their places have to wait for, and which are still believed.

Owns what memory learns of a create. Does not own the waits (`backoff`) nor how a create is asked for (`act`).
"""

from __future__ import annotations

from datetime import datetime

from infra.fleet.controller import backoff
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.memory import LAG, Backoff, Creating, Event, Memory, VmMemory
from infra.fleet.controller.observed import Observed, Trouble, node_key
from infra.fleet.controller.rules import DEAD
from infra.fleet.controller.sorting import Fleet


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
    left = {name: each for name, each in memory.creating.items() if name != slot}
    if wanted is None:
        return memory.model_copy(update={"creating": left})
    key = backoff.backoff_key(asked.zone, wanted.accelerator.name, asked.capacity)
    entry = backoff.failed(memory.backoff.get(key), key, trouble, text, asked.at, now)
    vms = dict(memory.vms)
    if trouble is Trouble.STOCKOUT:
        known = unasked(vms.get(slot) or VmMemory(seen=now), asked)
        vms[slot] = known.model_copy(update={"refused": {**known.refused, asked.zone: now}})
    event = Event(at=now, subject=slot, what=f"could not be made in {asked.zone}: {trouble.value}: {text}"[:300])
    return memory.model_copy(
        update={
            "creating": left,
            "backoff": {**memory.backoff, key: entry},
            "vms": vms,
            "events": (*memory.events, event),
        }
    )


def unasked(known: VmMemory, asked: Creating) -> VmMemory:
    """Its zone is no place where it may be because of a create that nobody asked for, or that surely made nothing."""
    tried = {zone: at for zone, at in known.tried.items() if zone != asked.zone}
    if asked.before is not None:
        tried[asked.zone] = asked.before
    return known.model_copy(update={"tried": tried})


def is_there(slot: str, asked: Creating, memory: Memory, observed: Observed, now: datetime) -> bool:
    """Whether a create need not be waited for any more: its node is listed, or it is too long ago to be believed.

    Lists lag: the node that was deleted before may be listed once more.
    """
    if now - asked.at >= LAG:
        return True
    before = memory.nodes.get(node_key(asked.zone, slot))
    return any(
        (node.state not in DEAD and node.state != "DELETING") or (before is not None and before.created != node.created)
        for node in observed.nodes_of(slot)
        if node.zone == asked.zone
    )


def backoff_left(memory: Memory, desired: Desired, fleet: Fleet) -> dict[str, Backoff]:
    """Without the waits of places where a VM has just become READY."""
    left = dict(memory.backoff)
    for slot in desired.slots:
        node = fleet.slots[slot.name]
        if node is None or node.state != "READY":
            continue
        before = memory.nodes.get(node.key)
        if before is None or before.state != "READY" or before.created != node.created:
            left.pop(backoff.backoff_key(node.zone, slot.accelerator.name, node.capacity), None)
    return left
