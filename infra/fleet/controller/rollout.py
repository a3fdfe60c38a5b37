"""Rolling a new image or bundle through a pool: a canary, then a share at a time, or back.

Owns the stages, what of a target is tried at all, and what is taken for proved in a pool of which no rollout is
remembered: one that is new here, or whose memory was lost. Does not own what the target is (promotion and publishing
say it), who tries it (`trial`), what VMs are told (`rollout_orders`) nor writing orders (act).

A pool is steady until its target changes. Then one VM gets it, the canary. Once that is online with it, the others
follow, a share of the pool in work at a time. A canary that does not come online in twice the boot allowance, or calls
itself unfit, brings everything back to what was proved before. What was new in it, image or bundle, is not tried again
until another one stood in its place, whatever becomes of the other part. What people took back is not tried until they
ask for it again, and is no fault. Before a pool's first image nothing is proved: it runs none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from infra.fleet.controller import trial
from infra.fleet.controller.actions import Assign
from infra.fleet.controller.judge import Judge
from infra.fleet.controller.rollout_orders import ordered
from infra.fleet.operator_requests import OperatorRequests, Undone
from infra.fleet.versions import PoolVersion, Rollout, Stage, VersionPart, named, shown, without
from infra.model.catalogue import region_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolled:
    """A pool's rollout after a sweep and the orders that follow. problem: what people should know of it, or empty."""

    rollout: Rollout
    assigns: tuple[Assign, ...]
    problem: str = ""


def rolled(pool: str, judge: Judge, target: PoolVersion, *, halted: str = "") -> Rolled | None:
    """One sweep's step; None where nobody can say what a pool that is new here runs.

    halted: why no VM may get anything that is not proved, empty where they may; going back is always allowed.
    """
    slots, requests = judge.desired.of_pool(pool), judge.observed.requests
    rollout = judge.memory.rollouts.get(pool) or _begun(pool, judge, target)
    if rollout is None:
        return None
    canary = tuple(rollout.waiting) if rollout.stage is Stage.CANARY else ()
    rollout = _forgiven(rollout, requests.redone.get(pool))
    rollout = replace(rollout, bad=tuple(sorted(rollout.bad_parts)))
    asked = requests.undone.get(pool, ())
    standing = taken_back(rollout, asked)
    once = _asked_again_unobeyed(rollout, asked)
    rollout = _undone(rollout, standing | once, judge.now)
    rollout = replace(rollout, obeyed=tuple(each.at for each in asked if each.at))
    rollout = _retargeted(rollout, target, standing | once, judge.now, canary)
    if rollout.stage.is_under_way:
        rollout = trial.proved(rollout, slots, judge)
        if not halted and rollout.stage.is_under_way:
            rollout = trial.further(rollout, slots, judge)
    rollout, assigns = ordered(rollout, slots, judge)
    rollout = replace(rollout, held=trial.held(rollout, slots, judge, halted))
    return Rolled(rollout=rollout, assigns=assigns, problem=_problem(pool, rollout, target, standing))


def taken_back(rollout: Rollout, asked: Collection[Undone]) -> frozenset[VersionPart]:
    """What people took back and did not ask for again."""
    return named((each.what for each in asked if not each.over), *rollout.steps)


def not_tried(rollout: Rollout, target: PoolVersion, requests: OperatorRequests, pool: str) -> frozenset[VersionPart]:
    """The parts of a pool's target that the next sweep does not try: taken back by people, or gone back by itself."""
    bad = _forgiven(rollout, requests.redone.get(pool)).bad_parts
    return (taken_back(rollout, requests.undone.get(pool, ())) | bad) & target.parts


def undoable(rollout: Rollout, target: PoolVersion, requests: OperatorRequests, pool: str) -> frozenset[VersionPart]:
    """What `undo` takes back: what failed, else what is under way or not begun, else what was rolled out last."""
    back = taken_back(rollout, requests.undone.get(pool, ()))
    stable = rollout.stable
    if back & (stable.parts | rollout.target.parts):
        return frozenset()  # a sweep has yet to obey it
    if failed := not_tried(rollout, target, requests, pool) - back:
        return failed
    if new := _aim(rollout, target, back).parts - stable.parts:
        return new
    before = rollout.previous if not rollout.stage.went_back else None
    return stable.parts - before.parts if before else frozenset()


def _forgiven(rollout: Rollout, redone: datetime | None) -> Rollout:
    """Somebody wants what went back at that time tried again. One that goes back again does so at another time."""
    return replace(rollout, bad=()) if redone == rollout.since else rollout


def _asked_again_unobeyed(rollout: Rollout, asked: Collection[Undone]) -> frozenset[VersionPart]:
    """What was taken back and asked for again before a sweep saw that: it goes back now, and comes with the next."""
    return named((each.what for each in asked if each.over and each.at not in rollout.obeyed), *rollout.steps)


def _undone(rollout: Rollout, back: frozenset[VersionPart], now: datetime) -> Rollout:
    """People took something back: to what was proved, or where it was proved already, to what was before it."""
    stable, target = rollout.stable, rollout.target
    if not back & (stable.parts | target.parts):
        return rollout
    before = rollout.previous or stable
    proved = without(stable, back, before)
    if proved == rollout.stable == rollout.target:
        return rollout  # there is nothing before it
    previous = rollout.previous if proved == rollout.stable else None
    rollout = _at_rest(rollout, Stage.UNDONE, now, why="it was undone")
    return replace(rollout, stable=proved, target=proved, previous=previous)


def _at_rest(rollout: Rollout, stage: Stage, now: datetime, why: str = "") -> Rollout:
    """At a stage that begins now: nothing is in work, but what goes back."""
    return replace(rollout, stage=stage, since=now, waiting={}, proved=(), failed=(), why=why)


def _aim(rollout: Rollout, target: PoolVersion, back: Collection[VersionPart]) -> PoolVersion:
    """What may be tried of a target. A pointer that names no image is none that takes an image away."""
    stable = rollout.stable
    return without(target if target.images else replace(target, images=stable.images), back, stable)


def _retargeted(
    rollout: Rollout, target: PoolVersion, standing: frozenset[VersionPart], now: datetime, canary: Iterable[str]
) -> Rollout:
    """Aim at a target. canary: who was trying the one before, and tries this one: a second VM of a pool would have
    what nobody has proved."""
    # Whoever comes back to what failed, after another stood in its place, means it.
    bad = rollout.bad_parts & target.parts
    rollout = replace(rollout, bad=tuple(sorted(bad)))
    back = standing | bad
    aim = _aim(rollout, target, back)
    if aim.key == rollout.target.key:
        # The same digest in one more region is nothing to prove.
        rollout = replace(rollout, target=aim, stable=aim if rollout.target == rollout.stable else rollout.stable)
        if not rollout.stage.went_back or back & target.parts:
            return rollout
        # What was taken back is promoted no more: nothing is left of it.
        return _at_rest(rollout, Stage.STEADY, now)
    if aim.key == rollout.stable.key:
        return replace(_at_rest(rollout, Stage.STEADY, now), target=rollout.stable)
    return replace(_at_rest(rollout, Stage.CANARY, now), target=aim, waiting=dict.fromkeys(canary, now))


def _problem(pool: str, rollout: Rollout, target: PoolVersion, standing: frozenset[VersionPart]) -> str:
    bad = (rollout.bad_parts & target.parts) - standing
    if not bad:
        return ""
    why = rollout.why if rollout.stage is Stage.FAILED else "its canary failed"
    again = f"`./tidepool rollout redo {pool}` tries it again"
    return f"{', '.join(shown(bad))} was rolled back: {why}; promote or publish another one, or {again}"


def _begun(pool: str, judge: Judge, target: PoolVersion) -> Rollout | None:
    """Its rollout as if nothing were under way; None where nobody can say what its VMs were told, or whether they
    serve.

    Without orders, what it serves with is the target; where it serves nobody, no image is proved.
    """
    slots, observed = judge.desired.of_pool(pool), judge.observed
    if not judge.hears(pool) or not observed.told_source.known:
        return None
    serving = {slot.name for slot in slots if judge.serving(slot.name)}
    proved = target if serving else replace(target, images={})
    if any(slot.name in observed.told for slot in slots):
        proved = _told_before(pool, judge, target, serving)
    obeyed = tuple(each.at for each in observed.requests.undone.get(pool, ()) if each.at and each.over)
    return Rollout(stable=proved, target=proved, since=judge.now, obeyed=obeyed)


def _told_before(pool: str, judge: Judge, target: PoolVersion, serving: Collection[str]) -> PoolVersion:
    """What orders say, without what is new in them: its canary may have proved it or not, and proves it once more.

    A pool in its first rollout has nothing before it. Once two serve with what is new, the canary has proved it.
    """
    slots = {slot.name: slot for slot in judge.desired.of_pool(pool)}
    told = {vm: each for vm, each in judge.observed.told.items() if vm in slots}
    new = sum(each.digest == target.key.image for vm, each in told.items() if vm in serving)
    nothing = {""} if new > 1 else set()
    digest = _before((each.digest for each in told.values() if each.digest not in nothing), target.key.image)
    zones = {vm: judge.zone(slots[vm]) or slots[vm].home.zone for vm in told}
    known = {region_of(zones[vm]): each.image for vm, each in told.items() if each.digest == digest}
    bundle = _before((each.bundle for each in told.values() if each.bundle), target.bundle or "")
    return PoolVersion(images=_of_digest(digest, target.images) | known if digest else {}, bundle=bundle or None)


def _before(told: Iterable[str], new: str) -> str:
    others = Counter(each for each in told if each != new)
    return max(sorted(others), key=lambda each: others[each]) if others else new


def _of_digest(digest: str, images: Mapping[str, str]) -> dict[str, str]:
    """An image in each region of another one: promotion names both in the same repositories."""
    if digest == PoolVersion(images=images).key.image:
        return dict(images)
    return {region: f"{reference.rpartition('@')[0]}@{digest}" for region, reference in images.items()}
