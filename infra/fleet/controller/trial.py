"""Who tries what is new: the canary, then a share of the pool at a time, and what came of it.

Owns the choice of VMs and their proof. What is assigned reaches a VM after the job that it runs; nothing is cut off. An
idle VM goes first: one with a job gives its turn away as soon as an idle one is there. Where nobody serves, the canary
is one that does not: what is new may be what mends it. A VM of which nobody can say whether it serves is none of
either. One that is lost meanwhile proves nothing: another takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Literal

from infra.fleet.controller.desired import DesiredSlot
from infra.fleet.controller.judge import Judge
from infra.fleet.reports import Phase, ReportSeen
from infra.fleet.versions import PoolVersion, Rollout, Stage

_RUNNING: Final = frozenset({Phase.IDLE, Phase.BUSY})
_UNFIT: Final = frozenset({Phase.UNFIT, Phase.HALTED})
_ROUNDING: Final = 1e-9
"""A share of 0.29 is 29 of 100 VMs, though their product is a little less in binary."""

Proof = Literal["proved", "failed", "lost", "open"]


def at_once(slots: int, share: float) -> int:
    """How many VMs of a pool may be in work at a time: at most the share, yet one."""
    return max(1, min(slots - 1, int(slots * share + _ROUNDING)))


def is_known(slot: DesiredSlot, judge: Judge) -> bool:
    """Whether anybody can say whether a VM serves: GitHub and its zone are asked."""
    return judge.hears(slot.pool) and judge.zone(slot) is not None


def has(report: ReportSeen | None, target: PoolVersion) -> bool:
    """Whether a VM says that it has all of a target."""
    if report is None:
        return False
    image = report.image is not None and report.image in target.images.values()
    return (image or not target.images) and target.bundle in (None, report.bundle)


def allowance(judge: Judge) -> timedelta:
    """Within which a VM is online again with what it was told."""
    return timedelta(minutes=2 * judge.desired.settings.boot)


def proved(rollout: Rollout, slots: Sequence[DesiredSlot], judge: Judge) -> Rollout:
    """Take in what the VMs that are waited for came to."""
    declared = {slot.name: slot for slot in slots}
    waiting, proved, failed = {}, [*rollout.proved], [*rollout.failed]
    for vm, since in rollout.waiting.items():
        if vm not in declared:
            continue
        if _has_a_job(vm, rollout, judge):
            waiting[vm] = judge.now  # its job comes first, and its time begins after it
            continue
        match _proof(declared[vm], since, rollout, judge):
            case "proved":
                proved.append(vm)
            case "failed":
                failed.append(vm)
            case "open":
                waiting[vm] = since
            case "lost":
                if rollout.stage is Stage.ROLLING:
                    proved.append(vm)  # the canary has proved it; whoever takes this VM's place boots with it
    most = at_once(len(slots), judge.desired.settings.share)
    if failed and (rollout.stage is Stage.CANARY or len(failed) > most):
        return _failed(rollout, "; ".join(_failure(vm, judge) for vm in failed), judge.now)
    stage = Stage.ROLLING if rollout.stage is Stage.CANARY and proved else rollout.stage
    taken_in = replace(rollout, stage=stage, waiting=waiting, proved=tuple(proved), failed=tuple(failed))
    if declared.keys() <= {*proved, *failed}:
        return replace(taken_in, stage=Stage.STEADY, previous=rollout.stable, stable=rollout.target, since=judge.now)
    return taken_in


def further(rollout: Rollout, slots: Sequence[DesiredSlot], judge: Judge) -> Rollout:
    """Give the target to more VMs: one canary, or as many as the share lets be in work with those that go back."""
    share = at_once(len(slots), judge.desired.settings.share)
    most = 1 if rollout.stage is Stage.CANARY else share
    given = {*rollout.waiting, *rollout.proved, *rollout.failed}
    left = [slot for slot in slots if slot.name not in given and is_known(slot, judge)]
    serving = [slot for slot in left if judge.serving(slot.name)]
    waiting, done = dict(rollout.waiting), [*rollout.proved]
    if rollout.stage is Stage.ROLLING:
        # A VM that serves nobody risks nothing: it boots, or starts again, with what the canary has proved.
        done += [slot.name for slot in left if slot not in serving]
    elif all(judge.hears(slot.pool) for slot in slots) and not any(judge.serving(slot.name) for slot in slots):
        serving = [slot for slot in left if _is_ready(slot, judge)]
    room = min(most - len(waiting), share - len(waiting) - len(rollout.returning))
    idle = sum(not judge.busy(slot.name) for slot in serving)
    for vm in [vm for vm in waiting if _has_a_job(vm, rollout, judge)][: max(0, idle - max(0, room))]:
        del waiting[vm]
        room += 1
    for slot in sorted(serving, key=lambda slot: (judge.busy(slot.name), slot.name))[: max(0, room)]:
        waiting[slot.name] = judge.now
    return replace(rollout, waiting=waiting, proved=tuple(done))


def held(rollout: Rollout, slots: Sequence[DesiredSlot], judge: Judge, halted: str) -> tuple[str, ...]:
    """What keeps a rollout that is under way, or on its way back, from going on."""
    if not rollout.stage.is_under_way and not rollout.returning:
        return ()
    under_way = rollout.stage.is_under_way
    said = [halted] if halted and under_way else []
    said += ["GitHub cannot be asked"] if not all(judge.hears(slot.pool) for slot in slots) else []
    said += ["reports of VMs cannot be read"] if not judge.observed.reports_source.known else []
    in_work = [*rollout.waiting, *rollout.returning]
    jobs = [vm for vm in in_work if judge.busy(vm) and not _is_there(vm, rollout, judge)]
    said += [f"the job of {vm}" for vm in jobs]
    missing = [slot for slot in slots if slot.name not in (*rollout.proved, *rollout.failed)]
    dark = {place.zone for slot in missing for place in slot.places if not judge.observed.zone_known(place.zone)}
    said += [f"zone {zone}, which cannot be asked" for zone in sorted(dark)]
    if under_way and not said and not rollout.waiting:
        said.append(_nobody(rollout))
    return tuple(said)


def _nobody(rollout: Rollout) -> str:
    return f"{len(rollout.returning)} VMs that go back" if rollout.returning else "no VM is there to try it"


def _is_there(vm: str, rollout: Rollout, judge: Judge) -> bool:
    """Whether a VM that is in work has what it was told."""
    return has(judge.observed.reports.get(vm), rollout.target if vm in rollout.waiting else rollout.stable)


def _has_a_job(vm: str, rollout: Rollout, judge: Judge) -> bool:
    """Whether it takes the target over only once its job has ended."""
    return judge.busy(vm) and not _runs(judge.observed.reports.get(vm), rollout.target)


def _proof(slot: DesiredSlot, since: datetime, rollout: Rollout, judge: Judge) -> Proof:
    node = judge.fleet.slots[slot.name]
    if not is_known(slot, judge):
        return "open"
    if node is None or node.state != "READY":
        return "lost"
    if not judge.observed.reports_source.known:
        return "open"
    report = judge.observed.reports.get(slot.name)
    if _runs(report, rollout.target) and any(each.online for each in judge.observed.runners_of(slot.name)):
        return "proved"
    if _waits_for_an_image(report, rollout):
        return "proved"
    # The times of a VM's clock are told to the second, and it may be behind: what it runs says more.
    if report is not None and report.phase in _UNFIT and (report.at > since or has(report, rollout.target)):
        return "failed"
    return "failed" if judge.now - since >= allowance(judge) else "open"


def _waits_for_an_image(report: ReportSeen | None, rollout: Rollout) -> bool:
    """Whether a VM came as far with a new bundle as it can in a pool that has no image."""
    nothing = not rollout.target.images and not rollout.stable.images
    return nothing and report is not None and report.phase is Phase.PULLING and has(report, rollout.target)


def _failure(vm: str, judge: Judge) -> str:
    report = judge.observed.reports.get(vm)
    if report is None or report.phase not in _UNFIT:
        return f"{vm} did not come online with it"
    return f"{vm} says that it is {report.phase} with it" + (f": {report.reason}" if report.reason else "")


def _failed(rollout: Rollout, why: str, now: datetime) -> Rollout:
    bad = rollout.bad_parts | (rollout.target.parts - rollout.stable.parts)
    return replace(
        rollout,
        stage=Stage.FAILED,
        target=rollout.stable,
        since=now,
        why=why,
        waiting={},
        proved=(),
        failed=(),
        bad=tuple(sorted(bad)),
    )


def _runs(report: ReportSeen | None, target: PoolVersion) -> bool:
    """Whether a VM says that it serves with a target. When it says so is not asked: its clock is its own."""
    return report is not None and report.phase in _RUNNING and has(report, target)


def _is_ready(slot: DesiredSlot, judge: Judge) -> bool:
    node = judge.fleet.slots[slot.name]
    return node is not None and node.state == "READY" and not judge.asked_to_drain(slot)
