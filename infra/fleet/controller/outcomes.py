"""What doing an action came to, and what memory learns of it.

Owns the lesson of each outcome. A decision's memory says that all of it was done; this takes back what was not. Does
not own doing (act).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from infra.fleet.controller.actions import Action, Assign, Create, Drain, Recreate, Restart, subject
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.intents import EVENT_LENGTH, drained, nodes_of
from infra.fleet.controller.memory import Event, Memory
from infra.fleet.controller.notice import refused
from infra.fleet.controller.observed import Trouble


class Result(StrEnum):
    DONE = "done"
    """It was done, or nothing was left to do; of a create: it was taken, and its operation goes on."""
    DEFERRED = "deferred"
    """Its first half was done (a VM is being deleted), and a later sweep does the rest."""
    CHANGED = "changed"
    """What it was decided about is no longer as it was seen; nothing was done."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one action came to. trouble: of a create that failed. operation: of a create that was taken."""

    action: Action
    result: Result
    text: str = ""
    trouble: Trouble | None = None
    operation: str = ""


def learned(memory: Memory, desired: Desired, outcomes: Iterable[Outcome], now: datetime) -> Memory:
    """The memory after the actions of a decision were tried."""
    for outcome in outcomes:
        memory = _learned(memory, desired, outcome, now)
    return memory


def _learned(memory: Memory, desired: Desired, outcome: Outcome, now: datetime) -> Memory:
    action = outcome.action
    if outcome.result is not Result.DONE:
        text = f"{type(action).__name__.lower()} {outcome.result.value}: {outcome.text}"[:EVENT_LENGTH]
        event = Event(at=now, subject=subject(action), what=text)
        memory = memory.model_copy(update={"events": (*memory.events, event)})
    match action:
        case Create() | Recreate():
            return _after_create(memory, desired, action, outcome, now)
        case Assign() if outcome.result is not Result.DONE:
            return _vm(memory, action.vm, assigned=None, assigned_at=None)
        case Drain() if outcome.result is not Result.DONE:
            # An order that was not written leaves the VM as it was.
            return drained(memory, action.vm, None if action.on else now, now)
        case Restart() if outcome.result is not Result.DONE:
            unasked = {
                key: memory.nodes[key].model_copy(update={"restarted": None})
                for key in nodes_of(action.vm, memory.nodes)
            }
            return memory.model_copy(update={"nodes": {**memory.nodes, **unasked}})
        case _:
            return memory


def _after_create(
    memory: Memory, desired: Desired, action: Create | Recreate, outcome: Outcome, now: datetime
) -> Memory:
    asked = memory.creating.get(action.slot)
    if asked is None:
        return memory
    if outcome.trouble is not None:
        return refused(memory, desired, action.slot, asked, outcome.trouble, outcome.text, now)
    if outcome.result is Result.DONE:
        creating = {**memory.creating, action.slot: asked.model_copy(update={"operation": outcome.operation})}
    else:
        creating = {slot: each for slot, each in memory.creating.items() if slot != action.slot}
    return memory.model_copy(update={"creating": creating})


def _vm(memory: Memory, vm: str, **changes: datetime | str | None) -> Memory:
    if vm not in memory.vms:
        return memory
    return memory.model_copy(update={"vms": {**memory.vms, vm: memory.vms[vm].model_copy(update=changes)}})
