"""What a rollout tells each VM, and how many of those that go back are in work at a time.

Owns the orders and the way back. A VM that goes back is in work until it serves with what is proved, is lost, or had
twice the boot allowance. One with a job gives its turn to an idle one. Whoever waits for a turn is told again what it
runs: what it was told before may be what nobody has proved, and it would take that over after its job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from infra.fleet.controller.actions import Assign
from infra.fleet.controller.desired import DesiredSlot
from infra.fleet.controller.judge import Judge
from infra.fleet.controller.keys import OwnRule
from infra.fleet.controller.trial import allowance, at_once, has, is_known
from infra.fleet.versions import AssignedVersion, Returning, Rollout
from infra.model.catalogue import region_of


def ordered(rollout: Rollout, slots: Sequence[DesiredSlot], judge: Judge) -> tuple[Rollout, tuple[Assign, ...]]:
    """Orders that differ from what each VM was told. Of those that serve, at most the share goes back at a time."""
    new = {*rollout.waiting, *rollout.proved, *rollout.failed} if rollout.target != rollout.stable else set()
    orders = {slot.name: _assign(slot, rollout, judge, is_new=slot.name in new) for slot in slots}
    returning = _still_returning(rollout, slots, judge, new)
    waits = [slot for slot in slots if _goes_back(slot, orders[slot.name], rollout, judge, new)]
    waits = [slot for slot in waits if slot.name not in returning]
    room = at_once(len(slots), judge.desired.settings.share) - len(rollout.waiting) - len(returning)
    idle = sum(not judge.busy(slot.name) for slot in waits)
    for vm in [vm for vm in returning if judge.busy(vm)][: max(0, idle - max(0, room))]:
        reason = "it has a job, and an idle VM goes back first"
        orders[vm] = _as_before(orders[vm], returning.pop(vm).before, reason)
        room += 1
    chosen = sorted(waits, key=lambda slot: (judge.busy(slot.name), slot.name))[: max(0, room)]
    for slot in chosen:
        returning[slot.name] = Returning(
            since=judge.now, before=judge.memory.vms[slot.name].assigned or AssignedVersion("")
        )
    for vm in {slot.name for slot in waits} - returning.keys():
        report = judge.observed.reports.get(vm)
        if report is None:
            del orders[vm]
        else:
            runs = AssignedVersion(report.image or "", report.bundle or "")
            orders[vm] = _as_before(orders[vm], runs, "others go back first")
    known = judge.memory.vms
    told = (each for vm, each in orders.items() if known[vm].unsure or each.version != known[vm].assigned)
    return replace(rollout, returning=returning), tuple(told)


def _still_returning(
    rollout: Rollout, slots: Sequence[DesiredSlot], judge: Judge, new: set[str]
) -> dict[str, Returning]:
    found = {}
    for slot in slots:
        each = rollout.returning.get(slot.name)
        if each is None or slot.name in new or _is_back(slot, each, rollout, judge):
            continue
        busy = judge.busy(slot.name)
        found[slot.name] = replace(each, since=judge.now) if busy else each
    return found


def _is_back(slot: DesiredSlot, returning: Returning, rollout: Rollout, judge: Judge) -> bool:
    if judge.now - returning.since >= allowance(judge):
        return True
    node = judge.fleet.slots[slot.name]
    if not is_known(slot, judge):
        return False
    if node is None or node.state != "READY":
        return True
    online = any(each.online for each in judge.observed.runners_of(slot.name))
    return online and has(judge.observed.reports.get(slot.name), rollout.stable)


def _goes_back(slot: DesiredSlot, orders: Assign, rollout: Rollout, judge: Judge, new: set[str]) -> bool:
    """Whether obeying takes away a VM that serves, or may serve: not one that has what it would be told."""
    told = judge.memory.vms[slot.name].assigned
    if told in (None, orders.version) or slot.name in new:
        return False
    if is_known(slot, judge) and not judge.serving(slot.name):
        return False
    return not has(judge.observed.reports.get(slot.name), rollout.stable)


def _assign(slot: DesiredSlot, rollout: Rollout, judge: Judge, *, is_new: bool) -> Assign:
    """A VM pulls from the repository of the region in which it stands, or stood when that was last known; where its
    target has no image there, from its home's.
    """
    target = rollout.target if is_new else rollout.stable
    vm = judge.memory.vms[slot.name]
    zone, home = judge.zone(slot), region_of(slot.home.zone)
    region = region_of(zone) if zone else vm.region or home
    return Assign(
        vm=slot.name,
        region=region,
        image=target.images.get(region) or target.images.get(home),
        bundle=target.bundle,
        first=vm.assigned is None or vm.unsure > 0,
        drained=vm.drained is not None or judge.asked_to_drain(slot),
        rule=OwnRule.ROLLOUT,
        reason=_why(rollout, slot.name),
    )


def _as_before(orders: Assign, before: AssignedVersion, reason: str) -> Assign:
    image, bundle = before.image or None, before.bundle or None
    return replace(orders, image=image, bundle=bundle, first=False, drained=False, reason=reason)


def _why(rollout: Rollout, vm: str) -> str:
    if rollout.stage == "canary" and vm in rollout.waiting:
        return "it is the canary of its pool"
    if vm in rollout.waiting:
        return "the canary has proved it"
    went_back = not rollout.stage.is_under_way and rollout.why
    return f"back to what was proved: {rollout.why}" if went_back else "what its pool runs"
