"""Rolling a new image or bundle through a pool: a canary, then a share at a time, or back.

Owns the stages, and what of a target is tried at all. Does not own what the target is (promotion and publishing say
it), who tries it (`trial`), what VMs are told (`rollout_orders`) nor writing orders (act).

A pool is steady until its target changes. Then one VM gets it, the canary. Once that is online with it, the others
follow, a share of the pool in work at a time. A canary that does not come online in twice the boot allowance, or calls
itself unfit, brings everything back to what was proved before. What was new in it, image or bundle, is not tried again
until another one stood in its place, whatever becomes of the other part. What people took back is not tried until they
wish it again, and is no fault. Before a pool's first image nothing is proved: it runs none.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from infra.fleet.controller import trial
from infra.fleet.controller.actions import Assign
from infra.fleet.controller.forgotten import begun
from infra.fleet.controller.judge import Judge
from infra.fleet.controller.memory import Rollout, TargetMemory
from infra.fleet.controller.observed import Target, Undone, Wishes
from infra.fleet.controller.parts import Part, named, parts, shown, without
from infra.fleet.controller.rollout_orders import ordered

_NOTHING_IN_WORK: Final[dict[str, Any]] = {"waiting": {}, "proved": (), "failed": (), "why": ""}
_WENT_BACK: Final = ("failed", "undone")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolled:
    """A pool's rollout after a sweep and the orders that follow. problem: what people should know of it, or empty."""

    rollout: Rollout
    assigns: tuple[Assign, ...]
    problem: str = ""


def rolled(pool: str, judge: Judge, target: Target, *, halted: str = "") -> Rolled | None:
    """One sweep's step; None where nobody can say what a pool that is new here runs.

    halted: why no VM may get anything that is not proved, empty where they may; going back is always allowed.
    """
    slots, wishes = judge.desired.of_pool(pool), judge.observed.wishes
    rollout = judge.memory.rollouts.get(pool) or begun(pool, judge, target)
    if rollout is None:
        return None
    rollout = _forgiven(_in_parts(rollout), wishes.redone.get(pool))
    asked = wishes.undone.get(pool, ())
    standing = taken_back(rollout, asked)
    once = _wished_again_unobeyed(rollout, asked)
    rollout = _undone(rollout, standing | once, judge.now)
    rollout = rollout.model_copy(update={"obeyed": tuple(each.at for each in asked if each.at)})
    rollout = _retargeted(rollout, target, standing | once, judge.now)
    if rollout.stage in trial.UNDER_WAY:
        rollout = trial.proved(rollout, slots, judge)
        if not halted and rollout.stage in trial.UNDER_WAY:
            rollout = trial.further(rollout, slots, judge)
    rollout, assigns = ordered(rollout, slots, judge)
    rollout = rollout.model_copy(update={"held": trial.held(rollout, slots, judge, halted)})
    return Rolled(rollout=rollout, assigns=assigns, problem=_problem(pool, rollout, target, standing))


def taken_back(rollout: Rollout, asked: Collection[Undone]) -> frozenset[Part]:
    """What people took back and did not wish again."""
    return _named((each.key for each in asked if not each.over), rollout)


def not_tried(rollout: Rollout, target: Target, wishes: Wishes, pool: str) -> frozenset[Part]:
    """The parts of a pool's target that the next sweep does not try: taken back by people, or gone back by itself."""
    bad = _in_parts(_forgiven(rollout, wishes.redone.get(pool))).bad
    return (taken_back(rollout, wishes.undone.get(pool, ())) | frozenset(bad)) & parts(target)


def undoable(rollout: Rollout, target: Target, wishes: Wishes, pool: str) -> frozenset[Part]:
    """What `undo` takes back: what failed, else what is under way or not begun, else what was rolled out last."""
    back = taken_back(rollout, wishes.undone.get(pool, ()))
    stable = rollout.stable.target()
    if back & (parts(stable) | parts(rollout.target.target())):
        return frozenset()  # a sweep has yet to obey it
    if failed := not_tried(rollout, target, wishes, pool) - back:
        return failed
    if new := parts(_aim(rollout, target, back)) - parts(stable):
        return new
    before = rollout.previous if rollout.stage not in _WENT_BACK else None
    return parts(stable) - parts(before.target()) if before else frozenset()


def _in_parts(rollout: Rollout) -> Rollout:
    return rollout.model_copy(update={"bad": tuple(sorted(_named(rollout.bad, rollout)))})


def _named(keys: Any, rollout: Rollout) -> frozenset[Part]:
    steps = (rollout.stable, rollout.previous or TargetMemory())
    return named(keys, *(each.target() for each in steps))


def _forgiven(rollout: Rollout, redone: datetime | None) -> Rollout:
    """Somebody wants what went back at that time tried again. One that goes back again does so at another time."""
    return rollout.model_copy(update={"bad": ()}) if redone == rollout.since else rollout


def _wished_again_unobeyed(rollout: Rollout, asked: Collection[Undone]) -> frozenset[Part]:
    """What was taken back and wished again before a sweep saw the first: it goes back now, and comes with the next."""
    return _named((each.key for each in asked if each.over and each.at not in rollout.obeyed), rollout)


def _undone(rollout: Rollout, back: frozenset[Part], now: datetime) -> Rollout:
    """People took something back: to what was proved, or where it was proved already, to what was before it."""
    stable, target = rollout.stable.target(), rollout.target.target()
    if not back & (parts(stable) | parts(target)):
        return rollout
    before = rollout.previous.target() if rollout.previous else stable
    proved = TargetMemory.of(without(stable, back, before))
    if proved == rollout.stable == rollout.target:
        return rollout  # there is nothing before it
    gone = {"previous": None} if proved != rollout.stable else {}
    changes = {"stable": proved, "target": proved, "stage": "undone", "since": now, **gone}
    return rollout.model_copy(update=_NOTHING_IN_WORK | changes | {"why": "it was undone"})


def _aim(rollout: Rollout, target: Target, back: Collection[Part]) -> Target:
    """What may be tried of a target. A pointer that names no image is none that takes an image away."""
    stable = rollout.stable.target()
    return without(target if target.images else replace(target, images=stable.images), back, stable)


def _retargeted(rollout: Rollout, target: Target, standing: frozenset[Part], now: datetime) -> Rollout:
    # Whoever comes back to what failed, after another stood in its place, means it.
    bad = tuple(each for each in rollout.bad if each in parts(target))
    rollout = rollout.model_copy(update={"bad": bad})
    back = standing | frozenset(bad)
    aim = TargetMemory.of(_aim(rollout, target, back))
    if aim.target().key == rollout.target.target().key:
        # The same digest in one more region is nothing to prove.
        steady = rollout.target == rollout.stable
        rollout = rollout.model_copy(update={"target": aim, "stable": aim if steady else rollout.stable})
        if rollout.stage not in _WENT_BACK or back & parts(target):
            return rollout
        # What was taken back is promoted no more: nothing is left of it.
        return rollout.model_copy(update=_NOTHING_IN_WORK | {"stage": "steady", "since": now})
    if aim.target().key == rollout.stable.target().key:
        changes: dict[str, Any] = {"target": rollout.stable, "stage": "steady"}
    else:
        changes = {"target": aim, "stage": "canary"}
    return rollout.model_copy(update=_NOTHING_IN_WORK | changes | {"since": now})


def _problem(pool: str, rollout: Rollout, target: Target, standing: frozenset[Part]) -> str:
    bad = (frozenset(rollout.bad) & parts(target)) - standing
    if not bad:
        return ""
    why = rollout.why if rollout.stage == "failed" else "its canary failed"
    again = f"`./tidepool rollout redo {pool}` tries it again"
    return f"{', '.join(shown(bad))} was rolled back: {why}; promote or publish another one, or {again}"
