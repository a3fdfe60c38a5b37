"""How new versions go through pools, and people's say in it: paused, resumed, undone, redone.

Owns what people may ask. The course itself is the controller's (`infra.fleet.controller.rollout`), from its next sweep
on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from infra.fleet import operator_requests
from infra.fleet.controller.rollout import not_tried, undoable
from infra.fleet.status.derive import rollouts
from infra.fleet.status.shape import RolloutStatus
from infra.fleet.versions import PoolVersion, Rollout, VersionPart, shown
from infra.model.errors import meant
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.looks import Fleet, fleets_declared, open_fleet
from infra.operations.fleet.requests import request
from infra.operations.fleet.subjects import stack_of
from infra.operations.ports import SILENT, CloudName, Teller
from infra.preview.toned import Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Courses:
    """The rollouts of one stack at a time, as the controller's last sweep left them."""

    stack: str
    at: datetime
    rollouts: tuple[RolloutStatus, ...]


def courses(
    pool: str | None = None, stack: str | None = None, cloud: CloudName | None = None, teller: Teller = SILENT
) -> Iterator[Courses]:
    """How far rollouts are: of a pool, of a stack's pools, or of every stack's that declares VMs.

    Where no stack is named, one that is not up is told to the teller, and the others are looked at all the same.
    """
    for name in [stack_of(pool, stack)] if pool else fleets_declared(stack):
        fleet = open_fleet(name, cloud, teller)
        scene = fleet.look() if pool is None and stack is None else fleet.published()[0]
        if scene.desired is None:
            teller.say(f"{name}: {'; '.join(scene.problems)}", Tone.WARNING)
            continue
        found = tuple(each for each in rollouts(scene) if pool in (None, each.pool))
        yield Courses(stack=name, at=scene.at, rollouts=found)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutPools:
    """A fleet, and the names of those of its pools that a request is about."""

    fleet: Fleet
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Steered:
    """request: what the controller was asked for, None where it stood so already. lines: what that means."""

    request: str | None
    lines: tuple[str, ...]


def rollout_pools(
    pool: str | None, stack: str | None, cloud: CloudName | None = None, teller: Teller = SILENT
) -> RolloutPools:
    """The pool, or every pool of the stack. Refusal where it is not said which."""
    stacks = [stack_of(pool, stack)] if pool else fleets_declared(stack)
    if len(stacks) != 1:
        there = ", ".join(stacks) or "none"
        raise Refusal(f"no stack is named. Give a POOL, or --stack with one of those that have VMs: {there}")
    fleet = open_fleet(stacks[0], cloud, teller)
    declared = tuple(each.name for each in fleet.config.pools)
    if pool is not None and pool not in declared:
        raise Refusal(f"{fleet.stack} has no pool {pool}.{meant(pool, declared)} Its pools are {', '.join(declared)}")
    return RolloutPools(fleet=fleet, names=(pool,) if pool else declared)


def pause(pools: RolloutPools) -> Steered:
    """Let no more VMs get what is new."""
    request(pools.fleet, lambda body: operator_requests.paused(body, pools.names))
    return _steered("paused", pools)


def resume(pools: RolloutPools) -> Steered:
    """Go on with what was paused."""
    request(pools.fleet, lambda body: operator_requests.resumed(body, pools.names))
    return _steered("resumed", pools)


def undo(pools: RolloutPools) -> Steered:
    """Bring a pool back to what was proved before; what is taken back is not rolled out again until `redo`.

    Refusal where there is nothing to go back to, Failure where no rollout is known.
    """
    (pool,), fleet = pools.names, pools.fleet
    course = _course(fleet, pool)
    if course.taken_back and not course.undoable:
        return _unchanged(f"{_said(course.taken_back)} of {pool} was taken back already")
    if not course.undoable:
        raise Refusal(f"{pool} has nothing to go back to: it runs what it ran from the start")
    now = fleet.place.clock()
    request(fleet, lambda body: operator_requests.undone(body, pool, course.undoable, now))
    without = f"{pool} ran no image before; on Google Cloud a VM without one takes no job"
    lines = (without,) if course.leaves_no_image else ()
    return _steered("undone", pools, *lines, f"taken back: {_said(course.undoable)}")


def redo(pools: RolloutPools) -> Steered:
    """Try again what was undone or went back by itself, behind a canary. Raises as `undo` does."""
    (pool,), fleet = pools.names, pools.fleet
    course = _course(fleet, pool)
    if not course.taken_back:
        return _unchanged(f"{course.target.in_short} of {pool} was not taken back")
    again, since = course.taken_back, course.rollout.since
    request(fleet, lambda body: operator_requests.redone(body, pool, again, since))
    return _steered("redone", pools, f"tried again: {_said(again)}")


def _steered(what: str, pools: RolloutPools, *lines: str) -> Steered:
    return Steered(what, (*lines, f"{what}: {', '.join(pools.names)}; the controller obeys at its next sweep"))


def _unchanged(said: str) -> Steered:
    return Steered(None, (f"{said}; nothing to do",))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """A pool's rollout, and what the pool shall run.

    undoable: what `undo` takes back. taken_back: what of the target went back, by people or by itself.
    """

    rollout: Rollout
    target: PoolVersion
    undoable: frozenset[VersionPart]
    taken_back: frozenset[VersionPart]

    @property
    def leaves_no_image(self) -> bool:
        """Whether an image is taken back and none is proved before it."""
        rolled_out = self.undoable & self.rollout.stable.parts
        before = (self.rollout.previous if rolled_out else None) or self.rollout.stable
        return not before.images and bool(replace(self.target, bundle=None).parts & self.undoable)


def _course(fleet: Fleet, pool: str) -> _Course:
    scene, _ = fleet.published()
    rollout, observed = scene.memory.rollouts.get(pool), scene.observed
    if rollout is None:
        raise Failure(f"{pool} has no rollout yet: the controller has not swept yet. `./tidepool reconcile` sweeps now")
    if observed is None or observed.targets is None or not observed.requests_source.known:
        silent = (
            [each for each in (observed.targets_source, observed.requests_source) if each.reason] if observed else []
        )
        raise Failure(f"what {pool} should run is unknown" + "".join(f": {each.reason}" for each in silent))
    target = observed.targets[pool]
    return _Course(
        rollout=rollout,
        target=target,
        undoable=undoable(rollout, target, observed.requests, pool),
        taken_back=not_tried(rollout, target, observed.requests, pool),
    )


def _said(some: Iterable[VersionPart]) -> str:
    return ", ".join(shown(some))
