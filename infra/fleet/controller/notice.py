"""What a sweep's observations add to memory, before anything is judged.

Owns the clocks: since when a state holds, since when nobody serves, in how many sweeps something had no owner. A source
that is unknown stops the clocks that hang on it, but in a brief lapse, and starts none. Does not own what follows of
them (`judge`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from infra.fleet.controller.creates import backoff_left, is_there, with_ended
from infra.fleet.controller.desired import Desired, DesiredSlot
from infra.fleet.controller.events import EventKind, FleetEvent
from infra.fleet.controller.keys import NodeKey, RunnerKey, SuspectKey
from infra.fleet.controller.memory import ANY_POOL, LAG, Memory, NodeMemory, ScopeMemory, Suspect, VmMemory, ZoneListing
from infra.fleet.controller.observed import NodeSeen, Observed
from infra.fleet.controller.rules import DEAD
from infra.fleet.controller.sorting import FleetNodes, pool_of
from infra.fleet.reports import Phase
from infra.model.fleet import owns

BRIEF: Final = timedelta(minutes=5)
"""For how long GitHub may be unknown without an outage: registrations outlast that."""

PROVED: Final = timedelta(hours=1)
"""A VM that serves so long after it was replaced is sound: what was the matter is forgotten."""

STARTS: Final = 10
"""How many of a pool's last starts are remembered: the slowest of them says how early a window is opened."""

HEARD: Final = timedelta(minutes=15)
"""How old a VM's word of what it does may be: three times as old as the oldest that its supervisor lets it get."""


def noticed(memory: Memory, desired: Desired, observed: Observed, fleet: FleetNodes, now: datetime) -> Memory:
    """The memory with this sweep's observations in it."""
    memory = replace(memory, unheard=_unheard(memory, desired, observed, now))
    nodes = _nodes(memory, desired, observed, now)
    memory = with_ended(memory, desired, observed, now)
    ours = {key.zone: now for key, node in nodes.items() if node.ours and not node.missing}
    return replace(
        memory,
        sweeps=memory.sweeps + 1,
        last=now,
        nodes=nodes,
        vms=_vms(memory, desired, observed, fleet, now),
        creating={
            slot: each for slot, each in memory.creating.items() if not is_there(slot, each, memory, observed, now)
        },
        backoff=backoff_left(memory, desired, observed, fleet),
        suspects=_suspects(memory, observed, fleet, now),
        zones={**memory.zones, **dict.fromkeys(desired.zones | desired.run_zones, now), **ours},
        pools={**memory.pools, **dict.fromkeys(desired.pools, now)},
        listed=_listed(memory, observed, now),
        scopes=_scopes(memory, desired, observed, now),
        forgot=memory.forgot if memory.sweeps else now,
        starts=_starts(memory, desired, observed, fleet, now),
        events=(*memory.events, *_changes(memory, fleet, now), *_silences(memory, nodes, desired, observed, now)),
    )


def waits_for_an_image(node: NodeSeen, memory: Memory, observed: Observed, now: datetime) -> bool:
    """Whether a VM does what it was told: its orders name no image, and it says itself that it is waiting for one."""
    vm, report = memory.vms.get(node.name), observed.reports.get(node.name)
    if vm is None or report is None:
        return False
    waits = report.phase is Phase.PULLING and report.is_of(node.made) and abs(now - report.at) < HEARD
    return vm.assigned is not None and not vm.assigned.image and waits


def _nodes(memory: Memory, desired: Desired, observed: Observed, now: datetime) -> dict[NodeKey, NodeMemory]:
    seen = {node.key: _node(memory, node, desired, observed, now) for node in observed.nodes}
    for key, known in memory.nodes.items():
        if key not in seen:
            answered = observed.zone_known(key.zone)
            seen[key] = replace(known, missing=known.missing + 1, unserved=None) if answered else known
    return seen


def _node(memory: Memory, node: NodeSeen, desired: Desired, observed: Observed, now: datetime) -> NodeMemory:
    before = memory.nodes.get(node.key)
    same = before is not None and before.created == node.created
    known = before if same and before is not None else None
    steady = known is not None and (known.state, known.health) == (node.state, node.health)
    online = any(runner.serves for runner in observed.runners_of(node.name))
    excused = online or waits_for_an_image(node, memory, observed, now)
    unserved = _unserved(known, node, excused, _deaf(memory, node, desired), now)
    report = observed.reports.get(node.name)
    return NodeMemory(
        state=node.state,
        health=node.health,
        created=node.created,
        accelerator=node.accelerator,
        capacity=node.capacity,
        ours=owns(desired.stack, node.labels),
        first_seen=known.first_seen if known else now,
        since=known.since if known and steady else now,
        seen=now,
        unserved=unserved,
        restarted=None if excused or known is None or node.state != "READY" else known.restarted,
        asked=known.asked if known else memory.vms[node.name].tried.get(node.zone) if node.name in memory.vms else None,
        proved=(known is not None and known.proved) or (report is not None and report.proved == node.zone),
    )


def _unheard(memory: Memory, desired: Desired, observed: Observed, now: datetime) -> dict[str, datetime]:
    """Since when each scope that is declared cannot be asked."""
    return {scope: memory.unheard.get(scope, now) for scope in desired.scopes if not observed.scope(scope).known}


def _deaf(memory: Memory, node: NodeSeen, desired: Desired) -> datetime | None:
    """Since when a runner of a VM may be online and nobody can say so; None where it can be said."""
    if not memory.unheard:
        return None
    return min(
        (memory.unheard[each] for each in desired.scopes_of(pool_of(node)) if each in memory.unheard), default=None
    )


def _unserved(
    known: NodeMemory | None, node: NodeSeen, excused: bool, deaf: datetime | None, now: datetime
) -> datetime | None:
    """Excused is whoever serves, or waits for its first image: that VM has its whole allowance once it is told one.

    An outage of GitHub gives every VM its whole allowance again: registrations were lost in it.
    A call that fails now and then is no outage: else a VM that never registers would be spared for ever.
    """
    if node.state != "READY" or excused:
        return None
    before = known.unserved if known else None
    if deaf is not None:
        return before if now - deaf < BRIEF else None
    return before or now


def _vms(memory: Memory, desired: Desired, observed: Observed, fleet: FleetNodes, now: datetime) -> dict[str, VmMemory]:
    vms = dict(memory.vms)
    for slot in desired.slots:
        known = vms.get(slot.name) or VmMemory(seen=now, tried={} if memory.sweeps else _unseen(slot, observed, now))
        node = fleet.slots[slot.name]
        known = replace(
            known,
            seen=now,
            tried=_still_possible(slot.name, known, memory, observed, now),
            lacked=_lacked(slot, known, observed, now),
        )
        if node is not None and node.state not in DEAD:
            known = replace(known, refused={zone: at for zone, at in known.refused.items() if zone != node.zone})
        is_ready = node is not None and node.state == "READY"
        serves = is_ready and any(runner.serves for runner in observed.runners_of(slot.name))
        if serves:
            known = replace(known, attempts=0)
        if (serves or (is_ready and not slot.has_runner)) and known.remade_at and now - known.remade_at >= PROVED:
            known = replace(known, remade=0, remade_at=None)
        vms[slot.name] = known
    return vms


def _starts(
    memory: Memory, desired: Desired, observed: Observed, fleet: FleetNodes, now: datetime
) -> dict[str, tuple[int, ...]]:
    """With the VMs that serve for the first time since they were asked for."""
    starts = dict(memory.starts)
    for slot in desired.slots:
        known, node = memory.vms.get(slot.name), fleet.slots[slot.name]
        if known is None or not known.attempts or node is None or node.state != "READY":
            continue
        asked = known.tried.get(node.zone)
        if asked is not None and any(runner.serves for runner in observed.runners_of(slot.name)):
            took = math.ceil((now - asked) / timedelta(minutes=1))
            starts[slot.pool] = (*starts.get(slot.pool, ()), took)[-STARTS:]
    return starts


def _lacked(slot: DesiredSlot, known: VmMemory, observed: Observed, now: datetime) -> dict[str, datetime]:
    """Of zones where its VM may be: a zone that cannot be listed keeps its time."""
    listed = {node.zone for node in observed.nodes_of(slot.name)}
    return {
        zone: known.lacked.get(zone, now)
        for zone in (slot.home.zone, *known.tried)
        if zone not in listed and (zone in known.lacked or observed.zone_known(zone))
    }


def _listed(memory: Memory, observed: Observed, now: datetime) -> dict[str, ZoneListing]:
    listed = dict(memory.listed)
    for zone, source in observed.zones.items():
        if source.known:
            listed[zone] = ZoneListing(at=now, epoch=observed.epoch)
        elif zone in listed:
            before = listed[zone]
            listed[zone] = replace(before, failed=before.failed + 1, silent=before.silent or now)
    return listed


def _unseen(slot: DesiredSlot, observed: Observed, now: datetime) -> dict[str, datetime]:
    """Zones where a slot's VM may be though an empty memory, new or lost, says nothing of it."""
    return {place.zone: now for place in slot.places if not observed.zone_known(place.zone)}


def _still_possible(vm: str, known: VmMemory, memory: Memory, observed: Observed, now: datetime) -> dict[str, datetime]:
    """Zones where a VM of that name was asked for and may be: not those whose lists lacked it twice since."""
    listed = {node.zone for node in observed.nodes_of(vm)}

    def may_be(zone: str, asked: datetime) -> bool:
        before = memory.nodes.get(NodeKey(zone, vm))
        lacks = observed.zone_known(zone) and zone not in listed and (before is None or before.missing > 0)
        return not lacks or now - asked < LAG

    return {zone: asked for zone, asked in known.tried.items() if may_be(zone, asked)}


def _suspects(memory: Memory, observed: Observed, fleet: FleetNodes, now: datetime) -> dict[SuspectKey, Suspect]:
    """What has no owner, in how many sweeps in a row. What could not be asked for keeps its count as it was."""
    found: set[SuspectKey] = {node.orphan_key for node in fleet.orphans}
    found |= {runner.key for runner in observed.runners if not runner.online}
    suspects = {key: _again(memory.suspects.get(key), now) for key in found}
    for key, known in memory.suspects.items():
        if key not in suspects and not _answered(key, observed):
            suspects[key] = known
    return suspects


def _scopes(memory: Memory, desired: Desired, observed: Observed, now: datetime) -> dict[str, dict[str, ScopeMemory]]:
    """A scope that left the manifest since the last sweep may have got a runner until now."""
    live = {runner.scope for runner in observed.runners if runner.online and runner.vm is not None}
    remembered = dict(memory.scopes)
    if observed.registered:
        remembered[ANY_POOL] = dict.fromkeys(observed.registered, ScopeMemory(until=now))
    found = {}
    for pool in remembered.keys() | set(desired.pools):
        kept = {
            scope: ScopeMemory(until=now if each.declared or scope in live else each.until)
            for scope, each in remembered.get(pool, {}).items()
        }
        found[pool] = {**kept, **dict.fromkeys(desired.scopes_of(pool), ScopeMemory(until=now, declared=True))}
    return found


def _again(known: Suspect | None, now: datetime) -> Suspect:
    return replace(known, sweeps=known.sweeps + 1) if known else Suspect(since=now)


def _answered(key: SuspectKey, observed: Observed) -> bool:
    return observed.scope(key.scope).known if isinstance(key, RunnerKey) else observed.zone_known(key.node.zone)


def _changes(memory: Memory, fleet: FleetNodes, now: datetime) -> Iterable[FleetEvent]:
    """What happened to declared VMs since the last sweep."""
    for node in fleet.slots.values():
        if node is None:
            continue
        before = memory.nodes.get(node.key)
        event = FleetEvent(at=now, subject=node.name, what="", zone=node.zone, state=node.state)
        if before is None or before.created != node.created:
            yield replace(event, kind=EventKind.LISTED)
        elif before.state != node.state:
            yield replace(event, kind=EventKind.STATE, before=before.state)


def _silences(
    memory: Memory, nodes: Mapping[NodeKey, NodeMemory], desired: Desired, observed: Observed, now: datetime
) -> Iterable[FleetEvent]:
    """Of VMs that served: since when no runner of them is online, and when one is again.

    Between two jobs a VM has no runner for a moment, so that two sweeps must see none.
    """
    for key, known in nodes.items():
        before = memory.nodes.get(key)
        if before is None or before.unserved is None or before.unserved <= before.since:
            continue
        vm, first = key.name, before.seen <= before.unserved
        slot = desired.slot(vm)
        if slot is None or not slot.has_runner:
            continue
        if first and known.unserved == before.unserved:
            yield FleetEvent(at=before.unserved, subject=vm, what="", kind=EventKind.SILENT)
        elif not first and known.state == "READY" and any(each.serves for each in observed.runners_of(vm)):
            yield FleetEvent(at=now, subject=vm, what="", kind=EventKind.HEARD)
