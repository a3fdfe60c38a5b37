"""What a decision leaves in memory before anything of it is done: creates, and a line of story for each action.

A create that may have been asked for must be remembered whatever happens then: a crash leads to a wait and never to a
second VM. Of an order to a VM it is remembered that nobody knows what its orders say, until it is written
(`infra.fleet.controller.outcomes`): what is wished of that VM may be another thing by the next sweep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from infra.fleet.controller.actions import Action, Assign, Create, Drain, Recreate, subject, verb
from infra.fleet.controller.desired import Place
from infra.fleet.controller.memory import Creating, Event, Memory, VmMemory
from infra.fleet.controller.rules import GIVEN_BACK, Verdict, rule

EVENT_LENGTH: Final = 300


def intended(memory: Memory, actions: Iterable[Action], now: datetime) -> Memory:
    """The memory of a decision with these actions."""
    events = list(memory.events)
    actions = tuple(actions)
    anew = {each.vm for each in actions if isinstance(each, Assign) and each.first}
    for vm, orders in Counter(each.vm for each in actions if isinstance(each, Assign | Drain)).items():
        memory = _unsure(memory, vm, orders, now, anew=vm in anew)
    for action in actions:
        if isinstance(action, Assign) and action.first:
            continue  # nothing changes on the VM, and a large fleet's first orders would push every story out
        what = f"{verb(action)}: {action.reason}"[:EVENT_LENGTH]
        events.append(Event(at=now, subject=subject(action), what=what))
        match action:
            case Create(slot=slot, place=place):
                memory = _creating(_tried(memory, slot, now, remade=False), slot, place, now)
            case Recreate(slot=slot, place=place):
                memory = _tried(memory, slot, now, remade=is_remade(action))
                memory = _creating(memory, slot, place, now) if place else memory
            case _:
                pass
    return memory.model_copy(update={"events": tuple(events)})


def is_remade(action: Recreate) -> bool:
    """Whether it is one of those after which its VM is waited for: it heals what Google had not taken."""
    return rule(action.rule).verdict is Verdict.RECREATE and action.node.state not in GIVEN_BACK


def _tried(memory: Memory, slot: str, now: datetime, *, remade: bool) -> Memory:
    known = memory.vms.get(slot) or VmMemory(seen=now)
    again: dict[str, Any] = {"remade": known.remade + 1, "remade_at": now, "remade_before": known.remade_at}
    known = known.model_copy(update={"attempts": known.attempts + 1, **(again if remade else {})})
    return memory.model_copy(update={"vms": {**memory.vms, slot: known}})


def _unsure(memory: Memory, vm: str, orders: int, now: datetime, *, anew: bool) -> Memory:
    """anew: whether all that its orders say is written, which ends every older doubt."""
    known = memory.vms.get(vm) or VmMemory(seen=now)
    known = known.model_copy(update={"unsure": orders if anew else known.unsure + orders})
    return memory.model_copy(update={"vms": {**memory.vms, vm: known}})


def _creating(memory: Memory, slot: str, place: Place, now: datetime) -> Memory:
    known = memory.vms[slot]
    before = known.tried.get(place.zone)
    lacked = {zone: since for zone, since in known.lacked.items() if zone != place.zone}
    known = known.model_copy(update={"tried": {**known.tried, place.zone: now}, "lacked": lacked})
    asked = Creating(zone=place.zone, capacity=place.capacity, at=now, before=before)
    return memory.model_copy(update={"vms": {**memory.vms, slot: known}, "creating": {**memory.creating, slot: asked}})
