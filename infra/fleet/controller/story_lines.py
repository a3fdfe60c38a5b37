"""What happened to declared VMs between two sweeps, as lines that `why` tells.

Owns when something is worth a line. Does not own the story (`infra.fleet.status.story`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from infra.fleet.controller.desired import Desired
from infra.fleet.controller.memory import Event, Memory, NodeMemory
from infra.fleet.controller.observed import NodeKey, Observed
from infra.fleet.controller.sorting import Fleet


def changes(memory: Memory, fleet: Fleet, now: datetime) -> Iterable[Event]:
    """What happened to declared VMs since the last sweep, for `why`."""
    for node in fleet.slots.values():
        if node is None:
            continue
        before = memory.nodes.get(node.key)
        if before is None or before.created != node.created:
            yield Event(at=now, subject=node.name, what=f"listed in {node.zone} as {node.state}")
        elif before.state != node.state:
            yield Event(at=now, subject=node.name, what=f"{before.state} -> {node.state}")


def silences(
    memory: Memory, nodes: Mapping[NodeKey, NodeMemory], desired: Desired, observed: Observed, now: datetime
) -> Iterable[Event]:
    """Of VMs that served: since when no runner of them is online, and when one is again.

    Between two jobs a VM has no runner for a moment, so that two sweeps must see none.
    """
    for key, known in nodes.items():
        before = memory.nodes.get(key)
        if before is None or before.unserved is None or before.unserved <= before.since:
            continue
        vm, first = key.partition("/")[2], before.seen <= before.unserved
        slot = desired.slot(vm)
        if slot is None or not slot.has_runner:
            continue
        if first and known.unserved == before.unserved:
            yield Event(at=before.unserved, subject=vm, what="no runner of it is online any more")
        elif not first and known.state == "READY" and any(each.serves for each in observed.runners_of(vm)):
            yield Event(at=now, subject=vm, what="a runner of it is online again")
