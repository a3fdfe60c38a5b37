"""What a sweep's observations add to memory, before anything is judged.

Owns the clocks: since when a state holds, since when nobody serves, in how many sweeps something had no owner. A source
that is unknown stops the clocks that hang on it, but in a brief lapse, and starts none. Does not own what follows of
them (`judge`).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import BaseModel

from infra.fleet.controller.creates import backoff_left, is_there, with_ended
from infra.fleet.controller.desired import Desired, Wanted
from infra.fleet.controller.lost import is_given_up
from infra.fleet.controller.memory import (
    LAG,
    Listing,
    Memory,
    NodeMemory,
    ScopeMemory,
    Suspect,
    VmMemory,
)
from infra.fleet.controller.observed import NodeKey, NodeSeen, Observed, Phase, RunnerSeen, node_key
from infra.fleet.controller.rules import DEAD
from infra.fleet.controller.sorting import Fleet, is_ours, pool_of
from infra.fleet.controller.story_lines import changes, silences
from infra.model import names

BRIEF: Final = timedelta(minutes=5)
"""For how long GitHub may be unknown without an outage: registrations outlast that."""

PROVED: Final = timedelta(hours=1)
"""A VM that serves so long after it was replaced is sound: what was the matter is forgotten."""

HEARD: Final = timedelta(minutes=15)
"""How old a VM's word of what it does may be: three times as old as the oldest that its supervisor lets it get."""

_SKEW: Final = timedelta(minutes=1)


def noticed(memory: Memory, desired: Desired, observed: Observed, fleet: Fleet, now: datetime) -> Memory:
    """The memory with this sweep's observations in it."""
    memory = _without_lost(_with_clock(memory, now), desired, observed, now)
    memory = memory.model_copy(update={"unheard": _unheard(memory, desired, observed, now)})
    nodes = _nodes(memory, desired, observed, now)
    memory = with_ended(memory, desired, observed, now)
    vms = _vms(memory, desired, observed, fleet, now)
    still_creating = {
        slot: each for slot, each in memory.creating.items() if not is_there(slot, each, memory, observed, now)
    }
    return memory.model_copy(
        update={
            "sweeps": memory.sweeps + 1,
            "last": now,
            "nodes": nodes,
            "vms": vms,
            "creating": still_creating,
            "backoff": backoff_left(memory, desired, fleet),
            "suspects": _suspects(memory, observed, fleet, now),
            "zones": {
                **memory.zones,
                **dict.fromkeys(desired.zones, now),
                **{key.partition("/")[0]: now for key, node in nodes.items() if node.ours and not node.missing},
            },
            "pools": {**memory.pools, **dict.fromkeys(desired.pools, now)},
            "listed": _listed(memory, observed, now),
            "scopes": _scopes(memory, desired, observed, now),
            "events": (
                *memory.events,
                *changes(memory, fleet, now),
                *silences(memory, nodes, desired, observed, now),
            ),
        }
    )


def orphan_key(node: NodeSeen) -> str:
    """What a VM without owner is remembered by: one made again under its name is another."""
    return f"node {node.key} {node.created}"


def runner_key(runner: RunnerSeen) -> str:
    return f"runner {runner.scope}/{runner.id}"


def _without_lost(memory: Memory, desired: Desired, observed: Observed, now: datetime) -> Memory:
    """Without what was in zones that people gave up and where nothing is declared: no list would ever end it.

    Such a zone is watched for as long as any other in which nothing is known any more.
    """
    gone = {z for z in observed.wishes.lost if z not in desired.zones and is_given_up(z, observed, memory, now)}
    if not gone:
        return memory
    nodes = {key: node for key, node in memory.nodes.items() if key.partition("/")[0] not in gone}
    suspects = {
        key: each for key, each in memory.suspects.items() if key.removeprefix("node ").partition("/")[0] not in gone
    }
    vms = {
        vm: each.model_copy(update={"tried": {zone: at for zone, at in each.tried.items() if zone not in gone}})
        for vm, each in memory.vms.items()
    }
    return memory.model_copy(update={"nodes": nodes, "suspects": suspects, "vms": vms})


def waits_for_an_image(node: NodeSeen, memory: Memory, observed: Observed, now: datetime) -> bool:
    """Whether a VM does what it was told: its orders name no image, and it says itself that it is waiting for one."""
    vm, report = memory.vms.get(node.name), observed.reports.get(node.name)
    if vm is None or report is None:
        return False
    told = (vm.assigned or "").partition("|")[0]
    waits = report.phase is Phase.PULLING and report.is_of(node.made) and abs(now - report.at) < HEARD
    return told == names.NO_IMAGE and waits


def _nodes(memory: Memory, desired: Desired, observed: Observed, now: datetime) -> dict[NodeKey, NodeMemory]:
    seen = {node.key: _node(memory, node, desired, observed, now) for node in observed.nodes}
    for key, known in memory.nodes.items():
        if key not in seen:
            answered = observed.zone_known(key.partition("/")[0])
            seen[key] = known.model_copy(update={"missing": known.missing + 1, "unserved": None}) if answered else known
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
        ours=is_ours(node, desired.stack),
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


def _vms(memory: Memory, desired: Desired, observed: Observed, fleet: Fleet, now: datetime) -> dict[str, VmMemory]:
    vms = dict(memory.vms)
    for slot in desired.slots:
        known = vms.get(slot.name) or VmMemory(seen=now, tried={} if memory.sweeps else _unseen(slot, observed, now))
        node = fleet.slots[slot.name]
        changes: dict[str, Any] = {"seen": now, "tried": _still_possible(slot.name, known, memory, observed, now)}
        if node is not None and node.state not in DEAD:
            changes["refused"] = {zone: at for zone, at in known.refused.items() if zone != node.zone}
        changes["lacked"] = _lacked(slot, known, observed, now)
        is_ready = node is not None and node.state == "READY"
        serves = is_ready and any(runner.serves for runner in observed.runners_of(slot.name))
        if serves:
            changes["attempts"] = 0
        if (serves or (is_ready and not slot.has_runner)) and known.remade_at and now - known.remade_at >= PROVED:
            changes |= {"remade": 0, "remade_at": None}
        vms[slot.name] = known.model_copy(update=changes)
    return vms


def _lacked(slot: Wanted, known: VmMemory, observed: Observed, now: datetime) -> dict[str, datetime]:
    """Of zones where its VM may be: a zone that cannot be listed keeps its time."""
    listed = {node.zone for node in observed.nodes_of(slot.name)}
    return {
        zone: known.lacked.get(zone, now)
        for zone in (slot.home.zone, *known.tried)
        if zone not in listed and (zone in known.lacked or observed.zone_known(zone))
    }


def _listed(memory: Memory, observed: Observed, now: datetime) -> dict[str, Listing]:
    listed = dict(memory.listed)
    for zone, source in observed.zones.items():
        if source.known:
            listed[zone] = Listing(at=now, epoch=observed.epoch)
        elif zone in listed:
            before = listed[zone]
            listed[zone] = before.model_copy(update={"failed": before.failed + 1, "silent": before.silent or now})
    return listed


def _unseen(slot: Wanted, observed: Observed, now: datetime) -> dict[str, datetime]:
    """Zones where a slot's VM may be though an empty memory, new or lost, says nothing of it."""
    return {place.zone: now for place in slot.places if not observed.zone_known(place.zone)}


def _still_possible(vm: str, known: VmMemory, memory: Memory, observed: Observed, now: datetime) -> dict[str, datetime]:
    """Zones where a VM of that name was asked for and may be: not those whose lists lacked it twice since."""
    listed = {node.zone for node in observed.nodes_of(vm)}

    def may_be(zone: str, asked: datetime) -> bool:
        before = memory.nodes.get(node_key(zone, vm))
        lacks = observed.zone_known(zone) and zone not in listed and (before is None or before.missing > 0)
        return not lacks or now - asked < LAG

    return {zone: asked for zone, asked in known.tried.items() if may_be(zone, asked)}


def _suspects(memory: Memory, observed: Observed, fleet: Fleet, now: datetime) -> dict[str, Suspect]:
    """What has no owner, in how many sweeps in a row. What could not be asked for keeps its count as it was."""
    found = {orphan_key(node) for node in fleet.orphans}
    found |= {runner_key(runner) for runner in observed.runners if not runner.online}
    suspects = {key: _again(memory.suspects.get(key), now) for key in found}
    for key, known in memory.suspects.items():
        if key not in suspects and not _answered(key, observed):
            suspects[key] = known
    return suspects


def _scopes(memory: Memory, desired: Desired, observed: Observed, now: datetime) -> dict[str, dict[str, ScopeMemory]]:
    """A scope that left the manifest since the last sweep may have got a runner until now."""
    live = {runner.scope for runner in observed.runners if runner.online and runner.vm is not None}
    found = {}
    for pool in memory.scopes.keys() | set(desired.pools):
        kept = {
            scope: ScopeMemory(until=now if each.declared or scope in live else each.until)
            for scope, each in memory.scopes.get(pool, {}).items()
        }
        found[pool] = {**kept, **dict.fromkeys(desired.scopes_of(pool), ScopeMemory(until=now, declared=True))}
    return found


def _again(known: Suspect | None, now: datetime) -> Suspect:
    return known.model_copy(update={"sweeps": known.sweeps + 1}) if known else Suspect(since=now)


def _answered(key: str, observed: Observed) -> bool:
    kind, _, rest = key.partition(" ")
    if kind != "runner":
        return observed.zone_known(rest.partition("/")[0])
    return observed.scope(rest.rpartition("/")[0]).known


def _with_clock(memory: Memory, now: datetime) -> Memory:
    """A clock that went back would hold everything until it is where it was: what lies ahead is taken as now."""
    if memory.last is None or memory.last <= now + _SKEW:
        return memory
    return _not_after(memory, now)


def _not_after(value: Any, now: datetime) -> Any:
    if isinstance(value, datetime):
        return min(value, now)
    if isinstance(value, BaseModel):
        return value.model_copy(
            update={name: _not_after(getattr(value, name), now) for name in type(value).model_fields}
        )
    if isinstance(value, dict):
        return {key: _not_after(each, now) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_not_after(each, now) for each in value)
    return value
