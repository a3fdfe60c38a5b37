"""What memory learns of actions: before they are done, and of what each came to.

Owns both lessons. A create that may have been asked for must be remembered whatever happens then: a crash leads to a
wait and never to a second VM. Of an order to a VM it is remembered that nobody knows what its orders say, until it is
written: what is asked of that VM may be another thing by the next sweep. A create that was not taken is taken back.
Does not own doing (act).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from infra.fleet.controller.actions import Action, Assign, Create, Drain, Recreate, Restart, subject, verb
from infra.fleet.controller.creates import refused, unasked
from infra.fleet.controller.desired import Desired, SlotPlace
from infra.fleet.controller.events import LENGTH, EventKind, FleetEvent, Result
from infra.fleet.controller.keys import OrphanKey, OwnRule
from infra.fleet.controller.memory import Creating, Memory, VmMemory
from infra.fleet.controller.observed import Trouble
from infra.fleet.controller.rules import GIVEN_BACK, Verdict, rule


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    """What one action came to. trouble: of a create that failed. operation: of a create that was taken."""

    action: Action
    result: Result
    text: str = ""
    trouble: Trouble | None = None
    operation: str = ""

    @property
    def is_begun(self) -> bool:
        """Whether Google took it and works on it: it may fail yet."""
        return self.result is Result.DONE and bool(self.operation)

    @property
    def was_not_begun(self) -> bool:
        """Whether nothing of it was done: the VM that was to be replaced stands as before."""
        unmade = self.result is Result.FAILED and self.trouble is None
        return unmade or self.result in (Result.CHANGED, Result.LEFT)


def intended(memory: Memory, actions: Iterable[Action], now: datetime) -> Memory:
    """The memory of a decision with these actions, of which none is done yet."""
    actions = tuple(actions)
    anew = {each.vm for each in actions if isinstance(each, Assign) and each.first}
    vms, creating = dict(memory.vms), dict(memory.creating)
    for vm, orders in Counter(each.vm for each in actions if isinstance(each, Assign | Drain)).items():
        known = memory.vm(vm, now)
        # All that its orders say is written anew, which ends every older doubt.
        vms[vm] = replace(known, unsure=orders if vm in anew else known.unsure + orders)
    for action in actions:
        if isinstance(action, Create | Recreate):
            known = _tried(vms.get(action.slot) or memory.vm(action.slot, now), action, now)
            if action.place:
                known, creating[action.slot] = _asked(known, action.place, now)
            vms[action.slot] = known
    told = tuple(
        _event(action, EventKind.DECIDED, action.reason, now)
        for action in actions
        # With a first order nothing changes on the VM, and a large fleet's would push every other event out.
        if not (isinstance(action, Assign) and action.first)
    )
    return replace(memory, vms=vms, creating=creating, events=(*memory.events, *told))


def _tried(known: VmMemory, action: Create | Recreate, now: datetime) -> VmMemory:
    known = replace(known, attempts=known.attempts + 1)
    if isinstance(action, Recreate) and _is_remade(action):
        known = replace(known, remade=known.remade + 1, remade_at=now, remade_before=known.remade_at)
    return known


def _is_remade(action: Recreate) -> bool:
    """Whether it is one of those after which its VM is waited for: it heals what Google had not taken."""
    return rule(action.rule).verdict is Verdict.RECREATE and action.node.state not in GIVEN_BACK


def _asked(known: VmMemory, place: SlotPlace, now: datetime) -> tuple[VmMemory, Creating]:
    """A VM whose create was asked for, and that create."""
    asked = Creating(zone=place.zone, capacity=place.capacity, at=now, before=known.tried.get(place.zone))
    lacked = {zone: since for zone, since in known.lacked.items() if zone != place.zone}
    return replace(known, tried={**known.tried, place.zone: now}, lacked=lacked), asked


def learned(memory: Memory, desired: Desired, outcomes: Iterable[ActionOutcome], now: datetime) -> Memory:
    """The memory after the actions of a decision were tried."""
    for outcome in outcomes:
        memory = _learned(memory, desired, outcome, now)
    return memory


def _learned(memory: Memory, desired: Desired, outcome: ActionOutcome, now: datetime) -> Memory:
    action, done = outcome.action, outcome.result is Result.DONE
    if outcome.result is Result.LEFT:
        memory = _untried(memory, subject(action))
    elif not done:
        memory = memory.with_event(replace(_event(action, EventKind.CAME_TO, outcome.text, now), result=outcome.result))
    if isinstance(action, Recreate) and outcome.was_not_begun:
        memory = _given_back(memory, desired, action)
    match action:
        case Create() | Recreate():
            return _after_create(memory, desired, action, outcome, now)
        case Assign() if done:
            known = _surer(memory, action.vm, now)
            return memory.with_vm(
                action.vm, replace(known, assigned=action.version, region=action.region, assigned_at=now)
            )
        case Drain() if done:
            return _drained(memory, action, now)
        case Restart() if done:
            return _restarted(memory, action, now)
        case _:
            return memory


def _after_create(
    memory: Memory, desired: Desired, action: Create | Recreate, outcome: ActionOutcome, now: datetime
) -> Memory:
    asked = memory.creating.get(action.slot)
    if asked is None:
        return memory
    if outcome.trouble is not None:
        return refused(memory, desired, action.slot, asked, outcome.trouble, outcome.text, now)
    if outcome.result is Result.DONE:
        begun = replace(asked, operation=outcome.operation)
        return replace(memory, creating={**memory.creating, action.slot: begun})
    memory = memory.with_vm(action.slot, unasked(memory.vms[action.slot], asked))
    return replace(memory, creating={slot: each for slot, each in memory.creating.items() if slot != action.slot})


def _given_back(memory: Memory, desired: Desired, action: Recreate) -> Memory:
    """Without this replacement in its pool's hour: what cannot be replaced must not use up what others may need.

    Nor is it one of those after which its VM is waited for.
    """
    known = memory.vms.get(action.slot)
    if known is not None and known.remade and _is_remade(action):
        memory = memory.with_vm(action.slot, replace(known, remade=known.remade - 1, remade_at=known.remade_before))
    slot = desired.slot(action.slot)
    times = memory.replacements.get(slot.pool) if slot else None
    if slot is None or not times or action.node.state in GIVEN_BACK:
        return memory
    return replace(memory, replacements={**memory.replacements, slot.pool: times[:-1]})


def _untried(memory: Memory, vm: str) -> Memory:
    """Its turn comes before that of what was tried."""
    known = memory.vms.get(vm)
    return memory.with_vm(vm, replace(known, attempts=max(0, known.attempts - 1))) if known else memory


def _drained(memory: Memory, action: Drain, now: datetime) -> Memory:
    """Its orders say since when it takes no job. A node without owner that bears the name obeys the same orders."""
    vm, known = action.vm, _surer(memory, action.vm, now)
    since = now if action.on else None
    suspects = {
        key: replace(suspect, drained=since) if isinstance(key, OrphanKey) and key.node.name == vm else suspect
        for key, suspect in memory.suspects.items()
    }
    own = action.on and action.rule != OwnRule.DRAIN_REQUESTED
    return replace(memory, suspects=suspects).with_vm(vm, replace(known, drained=since, own_drain=own))


def _surer(memory: Memory, vm: str, now: datetime) -> VmMemory:
    """A VM of which one more change of its orders is known to be written."""
    known = memory.vm(vm, now)
    return replace(known, unsure=max(0, known.unsure - 1))


def _restarted(memory: Memory, action: Restart, now: datetime) -> Memory:
    nodes = {key: replace(node, restarted=now) if key.name == action.vm else node for key, node in memory.nodes.items()}
    known = replace(memory.vm(action.vm, now), restart=action.number)
    return replace(memory, nodes=nodes).with_vm(action.vm, known)


def _event(action: Action, kind: EventKind, text: str, now: datetime) -> FleetEvent:
    return FleetEvent(at=now, subject=subject(action), what=text[:LENGTH], kind=kind, verb=verb(action))
