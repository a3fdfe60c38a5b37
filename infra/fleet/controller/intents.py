"""The memory as it is right if every action of a decision will be done.

It is written before anything is done: a crash in between leads to a wait, and never to a second VM. What was not done
is taken back by `infra.fleet.controller.outcomes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from infra.fleet.controller.actions import Action, Assign, Create, Drain, Recreate, Restart, subject
from infra.fleet.controller.desired import Place
from infra.fleet.controller.memory import Creating, Event, Memory, NodeMemory, Suspect, VmMemory
from infra.fleet.controller.observed import NodeKey

EVENT_LENGTH: Final = 300


def intended(memory: Memory, actions: Iterable[Action], now: datetime) -> Memory:
    """The memory with all of these actions done."""
    for action in actions:
        event = Event(at=now, subject=subject(action), what=_described(action))
        memory = _with(memory, action, now).model_copy(update={"events": (*memory.events, event)})
    return memory


def _described(action: Action) -> str:
    """An action in a line of a VM's story."""
    return f"{type(action).__name__.lower()}: {action.reason}"[:EVENT_LENGTH]


def nodes_of(vm: str, nodes: Iterable[NodeKey]) -> tuple[NodeKey, ...]:
    """The keys of a VM's nodes, in whichever zone."""
    return tuple(key for key in nodes if key.partition("/")[2] == vm)


def suspects_of(vm: str, suspects: Iterable[str]) -> tuple[str, ...]:
    """The keys under which nodes of a VM's name are suspected to have no owner."""
    return tuple(key for key in suspects if key.startswith("node ") and key.split(" ")[1].partition("/")[2] == vm)


def _with(memory: Memory, action: Action, now: datetime) -> Memory:
    match action:
        case Create(slot=slot, place=place) | Recreate(slot=slot, place=Place() as place):
            return _creating(memory, slot, place, now)
        case Restart():
            vms = {**memory.vms, action.vm: _vm(memory, action.vm, now, restart=action.number)}
            nodes: dict[NodeKey, NodeMemory] = dict(memory.nodes)
            nodes |= {
                key: nodes[key].model_copy(update={"restarted": now}) for key in nodes_of(action.vm, memory.nodes)
            }
            return memory.model_copy(update={"vms": vms, "nodes": nodes})
        case Drain():
            return drained(memory, action.vm, now if action.on else None, now)
        case Assign():
            known = _vm(memory, action.vm, now, assigned=action.target.key, assigned_at=now)
            return memory.model_copy(update={"vms": {**memory.vms, action.vm: known}})
        case _:
            return memory


def drained(memory: Memory, vm: str, since: datetime | None, now: datetime) -> Memory:
    """The memory with a VM's orders saying since when it takes no job, None where it takes jobs."""
    suspects: dict[str, Suspect] = dict(memory.suspects)
    suspects |= {key: suspects[key].model_copy(update={"drained": since}) for key in suspects_of(vm, memory.suspects)}
    vms = {**memory.vms, vm: _vm(memory, vm, now, drained=since)}
    return memory.model_copy(update={"vms": vms, "suspects": suspects})


def _creating(memory: Memory, slot: str, place: Place, now: datetime) -> Memory:
    known = _vm(memory, slot, now)
    known = known.model_copy(update={"tried": {**known.tried, place.zone: now}, "attempts": known.attempts + 1})
    asked = Creating(zone=place.zone, capacity=place.capacity, at=now)
    return memory.model_copy(update={"vms": {**memory.vms, slot: known}, "creating": {**memory.creating, slot: asked}})


def _vm(memory: Memory, vm: str, now: datetime, **changes: object) -> VmMemory:
    return (memory.vms.get(vm) or VmMemory(seen=now)).model_copy(update=changes)
