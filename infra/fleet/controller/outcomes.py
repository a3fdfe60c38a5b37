"""What doing an action came to, and what memory learns of it.

Owns the lesson of each outcome: a create that was not taken is taken back, an order that was written is remembered.
Does not own doing (act).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from infra.fleet.controller.actions import Action, Assign, Create, Drain, Recreate, Restart, subject, verb
from infra.fleet.controller.creates import refused, unasked
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.intents import EVENT_LENGTH, is_remade
from infra.fleet.controller.memory import Event, Memory, VmMemory
from infra.fleet.controller.observed import Trouble
from infra.fleet.controller.rules import GIVEN_BACK


class Result(StrEnum):
    DONE = "done"
    """It was done, or nothing was left to do; of a create: it was taken, and its operation goes on."""
    DEFERRED = "deferred"
    """Its first half was done (a VM is being deleted), and a later sweep does the rest."""
    CHANGED = "changed"
    """What it was decided about is no longer as it was seen; nothing was done."""
    LEFT = "left"
    """Nothing of it was begun: its place was in trouble already, or the sweep's time was over."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one action came to. trouble: of a create that failed. operation: of a create that was taken."""

    action: Action
    result: Result
    text: str = ""
    trouble: Trouble | None = None
    operation: str = ""

    @property
    def was_not_begun(self) -> bool:
        """Whether nothing of it was done: the VM that was to be replaced stands as before."""
        unmade = self.result is Result.FAILED and self.trouble is None
        return unmade or self.result in (Result.CHANGED, Result.LEFT)


def learned(memory: Memory, desired: Desired, outcomes: Iterable[Outcome], now: datetime) -> Memory:
    """The memory after the actions of a decision were tried."""
    for outcome in outcomes:
        memory = _learned(memory, desired, outcome, now)
    return memory


def _learned(memory: Memory, desired: Desired, outcome: Outcome, now: datetime) -> Memory:
    action = outcome.action
    done = outcome.result is Result.DONE
    if outcome.result is Result.LEFT:
        memory = _untried(memory, subject(action), now)
    elif not done:
        what = f"{verb(action)} {outcome.result.value}: {outcome.text}"[:EVENT_LENGTH]
        memory = memory.model_copy(update={"events": (*memory.events, _event(now, action, what))})
    if isinstance(action, Recreate) and outcome.was_not_begun:
        memory = _given_back(memory, desired, action)
    match action:
        case Create() | Recreate():
            return _after_create(memory, desired, action, outcome, now)
        case Assign() if done:
            return _vm(
                memory,
                action.vm,
                now,
                assigned=action.key,
                region=action.region,
                assigned_at=now,
                unsure=_one_less(memory, action.vm),
            )
        case Drain() if done:
            return _drained(memory, action.vm, now if action.on else None, now)
        case Restart() if done:
            return _restarted(memory, action, now)
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
    if outcome.was_not_begun or outcome.result is Result.DEFERRED:
        memory = memory.model_copy(update={"vms": {**memory.vms, action.slot: unasked(memory.vms[action.slot], asked)}})
    return memory.model_copy(update={"creating": creating})


def _given_back(memory: Memory, desired: Desired, action: Recreate) -> Memory:
    """Without this replacement in its pool's hour: what cannot be replaced must not use up what others may need.

    Nor is it one of those after which its VM is waited for.
    """
    known = memory.vms.get(action.slot)
    if known is not None and known.remade and is_remade(action):
        less = known.model_copy(update={"remade": known.remade - 1, "remade_at": known.remade_before})
        memory = memory.model_copy(update={"vms": {**memory.vms, action.slot: less}})
    slot = desired.slot(action.slot)
    times = memory.replacements.get(slot.pool, ()) if slot else ()
    if slot is None or not times or action.node.state in GIVEN_BACK:
        return memory
    return memory.model_copy(update={"replacements": {**memory.replacements, slot.pool: times[:-1]}})


def _untried(memory: Memory, vm: str, now: datetime) -> Memory:
    """Its turn comes before that of what was tried."""
    known = memory.vms.get(vm)
    return _vm(memory, vm, now, attempts=max(0, known.attempts - 1)) if known else memory


def _drained(memory: Memory, vm: str, since: datetime | None, now: datetime) -> Memory:
    """Its orders say since when it takes no job. A node without owner that bears the name obeys the same orders."""
    suspects = {
        key: suspect.model_copy(update={"drained": since}) if _is_of(vm, key) else suspect
        for key, suspect in memory.suspects.items()
    }
    return _vm(memory.model_copy(update={"suspects": suspects}), vm, now, drained=since, unsure=_one_less(memory, vm))


def _one_less(memory: Memory, vm: str) -> int:
    known = memory.vms.get(vm)
    return max(0, known.unsure - 1) if known else 0


def _restarted(memory: Memory, action: Restart, now: datetime) -> Memory:
    nodes = {
        key: node.model_copy(update={"restarted": now}) if key.partition("/")[2] == action.vm else node
        for key, node in memory.nodes.items()
    }
    return _vm(memory.model_copy(update={"nodes": nodes}), action.vm, now, restart=action.number)


def _is_of(vm: str, suspect: str) -> bool:
    kind, _, rest = suspect.partition(" ")
    return kind == "node" and rest.partition(" ")[0].partition("/")[2] == vm


def _vm(memory: Memory, vm: str, now: datetime, **changes: object) -> Memory:
    known = (memory.vms.get(vm) or VmMemory(seen=now)).model_copy(update=changes)
    return memory.model_copy(update={"vms": {**memory.vms, vm: known}})


def _event(now: datetime, action: Action, what: str) -> Event:
    return Event(at=now, subject=subject(action), what=what)
