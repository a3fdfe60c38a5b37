"""Rolling a new image or bundle through a pool: a canary, then a share at a time, or back.

Owns the stages. What is assigned reaches a VM after the job that it runs; nothing is cut off. Does not own what the
target is (promotion and publishing say it) nor writing orders (act).

A pool is steady until its target changes. Then one VM, an idle one if there is one, gets it: the canary. Where nobody
serves it is one that does not: what is new may be what mends them. Once that VM is online with it, the others follow, a
share of the pool in work at a time. A canary that does not come online in twice the boot allowance, or calls itself
unfit, brings everything back to what was proved before, and that target is not tried again until another stood in
between. One that people took back is not tried until they wish it again, and is no fault. A VM that is lost meanwhile
proves nothing either way: another takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final, Literal

from infra.fleet.controller.actions import Assign
from infra.fleet.controller.desired import Wanted
from infra.fleet.controller.judge import Judge
from infra.fleet.controller.memory import Rollout, TargetMemory
from infra.fleet.controller.observed import Phase, ReportSeen, Target
from infra.model.catalogue import region_of

_RUNNING: Final = frozenset({Phase.IDLE, Phase.BUSY})
_UNFIT: Final = frozenset({Phase.UNFIT, Phase.HALTED})

Proof = Literal["proved", "failed", "lost", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolled:
    """A pool's rollout after a sweep and the orders that follow. problem: what people should know of it, or empty."""

    rollout: Rollout
    assigns: tuple[Assign, ...]
    problem: str = ""


def rolled(pool: str, judge: Judge, target: Target, *, may_go_on: bool) -> Rolled:
    """One sweep's step. may_go_on: whether VMs may get anything that is not proved; going back is always allowed."""
    slots = judge.desired.of_pool(pool)
    before = judge.memory.rollouts.get(pool)
    rollout = before or Rollout(stable=TargetMemory.of(target), target=TargetMemory.of(target), since=judge.now)
    undone = judge.observed.wishes.undone.get(pool, frozenset())
    rollout = _forgiven(rollout, judge.observed.wishes.redone.get(pool))
    rollout = _undone(rollout, undone, judge.now)
    rollout = _retargeted(rollout, target, undone, judge.now)
    if rollout.stage in ("canary", "rolling"):
        rollout = _proved(rollout, slots, judge)
        if may_go_on and rollout.stage in ("canary", "rolling"):
            rollout = _further(rollout, slots, judge)
    problem = "" if target.key in undone else _problem(pool, rollout, target)
    return Rolled(rollout=rollout, assigns=_assigns(rollout, slots, judge), problem=problem)


def at_once(slots: int, share: float) -> int:
    """How many VMs of a pool may be in work at a time."""
    return max(1, min(slots - 1, ceil(slots * share)))


def _forgiven(rollout: Rollout, redone: datetime | None) -> Rollout:
    """Somebody wants what went back at that time tried again. One that goes back again does so at another time."""
    return rollout.model_copy(update={"bad": ()}) if redone == rollout.since else rollout


def _undone(rollout: Rollout, undone: frozenset[str], now: datetime) -> Rollout:
    """Somebody took the target back: to what was proved, or where it was proved already, to what was before it."""
    if rollout.target.target().key not in undone:
        return rollout
    if rollout.target != rollout.stable:
        return _back(rollout, "undone", "it was undone", now)
    if rollout.previous is None:
        return rollout
    return rollout.model_copy(
        update={
            "stable": rollout.previous,
            "target": rollout.previous,
            "previous": None,
            "stage": "undone",
            "bad": (*rollout.bad, rollout.target.target().key),
            "since": now,
            "why": "it was undone",
        }
    )


def _retargeted(rollout: Rollout, target: Target, undone: frozenset[str], now: datetime) -> Rollout:
    nothing_in_work: dict[str, Any] = {"since": now, "waiting": {}, "proved": (), "failed": (), "bad": (), "why": ""}
    if target.key == rollout.target.target().key:
        # The same digest in one more region is nothing to prove.
        kept = TargetMemory.of(target)
        steady = rollout.target == rollout.stable
        rollout = rollout.model_copy(update={"target": kept, "stable": kept if steady else rollout.stable})
        # What was taken back is promoted no more: nothing is left of it.
        over = rollout.stage in ("failed", "undone")
        return rollout.model_copy(update={"stage": "steady", **nothing_in_work}) if over else rollout
    if target.key in rollout.bad or target.key in undone:
        return rollout
    # Another one was promoted meanwhile: whoever comes back to a target that failed means it.
    if target.key == rollout.stable.target().key:
        return rollout.model_copy(update={"target": rollout.stable, "stage": "steady", **nothing_in_work})
    return rollout.model_copy(update={"target": TargetMemory.of(target), "stage": "canary", **nothing_in_work})


def _proved(rollout: Rollout, slots: Sequence[Wanted], judge: Judge) -> Rollout:
    """Take in what the VMs that are waited for came to."""
    declared = {slot.name: slot for slot in slots}
    waiting, proved, failed = {}, [*rollout.proved], [*rollout.failed]
    for vm, since in rollout.waiting.items():
        if vm not in declared:
            continue
        if judge.busy(vm) and not _runs(judge.observed.reports.get(vm), rollout):
            waiting[vm] = judge.now  # its job comes first, and its time begins after it
            continue
        match _proof(vm, since, rollout, judge):
            case "proved":
                proved.append(vm)
            case "failed":
                failed.append(vm)
            case "open":
                waiting[vm] = since
            case "lost":
                if rollout.stage == "rolling":
                    proved.append(vm)  # the canary has proved it; whoever takes this VM's place boots with it
    most = at_once(len(slots), judge.desired.settings.share)
    if failed and (rollout.stage == "canary" or len(failed) > most):
        return _back(rollout, "failed", "; ".join(_failure(vm, judge) for vm in failed), judge.now)
    stage = "rolling" if rollout.stage == "canary" and proved else rollout.stage
    changes: dict[str, Any] = {"stage": stage, "waiting": waiting, "proved": tuple(proved), "failed": tuple(failed)}
    if declared.keys() <= {*proved, *failed}:
        changes |= {"stage": "steady", "previous": rollout.stable, "stable": rollout.target, "since": judge.now}
    return rollout.model_copy(update=changes)


def _proof(vm: str, since: datetime, rollout: Rollout, judge: Judge) -> Proof:
    node = judge.fleet.slots[vm]
    if node is None or node.state != "READY":
        return "lost"
    if not (judge.observed.github.known and judge.observed.reports_source.known):
        return "open"
    report = judge.observed.reports.get(vm)
    if _runs(report, rollout) and any(each.online for each in judge.observed.runners_of(vm)):
        return "proved"
    # The times of a VM's clock are told to the second, and it may be behind: what it runs says more.
    if report is not None and report.phase in _UNFIT and (report.at > since or _has(report, rollout.target)):
        return "failed"
    allowance = timedelta(minutes=2 * judge.desired.settings.boot)
    return "failed" if judge.now - since >= allowance else "open"


def _failure(vm: str, judge: Judge) -> str:
    report = judge.observed.reports.get(vm)
    if report is None or report.phase not in _UNFIT:
        return f"{vm} did not come online with it"
    return f"{vm} says that it is {report.phase} with it" + (f": {report.reason}" if report.reason else "")


def _runs(report: ReportSeen | None, rollout: Rollout) -> bool:
    """Whether a VM says that it serves with the target. When it says so is not asked: its clock is its own."""
    return report is not None and report.phase in _RUNNING and _has(report, rollout.target)


def _has(report: ReportSeen, target: TargetMemory) -> bool:
    image = report.image is not None and report.image in target.images.values()
    return (image or not target.images) and target.bundle in (None, report.bundle)


def _further(rollout: Rollout, slots: Sequence[Wanted], judge: Judge) -> Rollout:
    """Give the target to more VMs: one canary, or as many as the share lets be in work."""
    most = 1 if rollout.stage == "canary" else at_once(len(slots), judge.desired.settings.share)
    given = {*rollout.waiting, *rollout.proved, *rollout.failed}
    left = [slot for slot in slots if slot.name not in given]
    serving = [slot for slot in left if judge.serving(slot.name)]
    waiting, proved = dict(rollout.waiting), [*rollout.proved]
    if rollout.stage == "rolling":
        # A VM that serves nobody risks nothing: it boots, or starts again, with what the canary has proved.
        proved += [slot.name for slot in left if slot not in serving]
    elif judge.observed.github.known and not any(judge.serving(slot.name) for slot in slots):
        serving = [slot for slot in left if _is_ready(slot, judge)]
    for slot in sorted(serving, key=lambda slot: (judge.busy(slot.name), slot.name)):
        if len(waiting) >= most:
            break
        waiting[slot.name] = judge.now
    return rollout.model_copy(update={"waiting": waiting, "proved": tuple(proved)})


def _is_ready(slot: Wanted, judge: Judge) -> bool:
    node = judge.fleet.slots[slot.name]
    return node is not None and node.state == "READY" and not judge.wished_to_drain(slot)


def _assigns(rollout: Rollout, slots: Sequence[Wanted], judge: Judge) -> tuple[Assign, ...]:
    """Orders that differ from what each VM was told. Of those that serve, a share is told at a time.

    A VM pulls from the repository of the region in which it stands, or stood when that was last known; where its target
    has no image there, from its home's: without any it would follow the pointer, which may name what nothing proved.
    """
    new = {*rollout.waiting, *rollout.proved, *rollout.failed} if rollout.target != rollout.stable else set()
    most, serving = at_once(len(slots), judge.desired.settings.share), 0
    assigns = []
    for slot in slots:
        target = (rollout.target if slot.name in new else rollout.stable).target()
        told = judge.memory.vms[slot.name].assigned
        zone, home = judge.zone(slot), region_of(slot.home.zone)
        region = region_of(zone) if zone else judge.memory.vms[slot.name].region or home
        orders = Assign(
            vm=slot.name,
            region=region,
            image=target.images.get(region) or target.images.get(home),
            bundle=target.bundle,
            first=told is None,
            drained=judge.memory.vms[slot.name].drained is not None or judge.wished_to_drain(slot),
            rule="rollout",
            reason=_why(rollout, slot.name),
        )
        if told == orders.key:
            continue
        if told is not None and slot.name not in new and judge.serving(slot.name):
            serving += 1
            if serving > most:
                continue
        assigns.append(orders)
    return tuple(assigns)


def _back(rollout: Rollout, stage: Literal["failed", "undone"], why: str, now: datetime) -> Rollout:
    return rollout.model_copy(
        update={
            "stage": stage,
            "bad": (rollout.target.target().key,),
            "target": rollout.stable,
            "waiting": {},
            "proved": (),
            "failed": (),
            "since": now,
            "why": why,
        }
    )


def _why(rollout: Rollout, vm: str) -> str:
    if rollout.stage == "canary" and vm in rollout.waiting:
        return "it is the canary of its pool"
    if vm in rollout.waiting:
        return "the canary has proved it"
    return f"back to what was proved: {rollout.why}" if rollout.why else "what its pool runs"


def _problem(pool: str, rollout: Rollout, target: Target) -> str:
    if rollout.stage == "failed" and target.key in rollout.bad:
        again = f"`./tidepool rollout redo {pool}` tries it again"
        return f"its target was rolled back: {rollout.why}; promote another one, or {again}"
    return ""
