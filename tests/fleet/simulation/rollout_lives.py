"""Lives of a fleet in which versions are promoted, published, undone and redone at any moment, good and bad ones.

Owns those events and what they promise: a bad version reaches no more VMs than a share of the pool, and from whatever
people did there is a way back, and one on. What `undo` and `redo` take is asked of the functions that the commands ask.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from infra.fleet import operator_requests
from infra.fleet.controller import memory as memories
from infra.fleet.controller.rollout import not_tried, taken_back, undoable
from infra.fleet.controller.trial import at_once
from infra.fleet.operator_requests import OperatorRequests, read_requests
from infra.fleet.versions import PoolVersion, VersionPart
from infra.model import bucket_names
from tests.fleet.simulation.fleet_faults import KINDS, Fault
from tests.fleet.simulation.fleet_life import BOUND, EVERY, Life, grow_up, in_process, newborn
from tests.fleet.simulation.promises import BrokenPromiseError
from tests.fleet.simulation.simulated_tpus import Node

HOURS: Final = 3.0
"""Of events; what follows of them takes as long as it takes."""


LAST: Final = f"sha256:{'e' * 64}"


@dataclass
class RolloutLife:
    """A life in which versions come and go. grown: when it was as declared first."""

    seed: int
    life: Life = field(init=False)
    grown: float = 0.0

    def __post_init__(self) -> None:
        self.life = newborn(self.seed)

    def lives(self, *, promoted: bool, events: int) -> None:
        """A whole life with drawn events. Raises BrokenPromiseError with what happened before."""
        dice = Random(f"rollouts {self.seed}")
        drawn = sorted((dice.uniform(0, HOURS * 3600), dice.choice([*EVENTS, *_OTHERS])) for _ in range(events))
        self.goes_through(drawn, dice, promoted=promoted)

    def goes_through(self, events: Sequence[tuple[float, str]], dice: Random, *, promoted: bool) -> None:
        """A whole life with these events, each at so many seconds of it. promoted: whether an image is, from the start.

        Raises BrokenPromiseError with what happened before.
        """
        world = self.life.world
        if not promoted:
            world.write(bucket_names.pointer_object(), b'{"version": 1, "images": {}}')
        try:
            with in_process():
                grow_up(self.life)
                self.grown = world.now
                for at, kind in events:
                    self._until(at)
                    self._happens(kind, dice)
                self._ends()
        except BrokenPromiseError as broken:
            raise BrokenPromiseError(f"seed {self.seed}: {broken}\n" + "\n".join(world.log[-60:])) from None

    def _happens(self, kind: str, dice: Random) -> None:
        fault = Fault(0.0, kind, dice.randrange(len(self.life.world.desired.slots)), dice.uniform(2, 20), dice.random())
        self.life.world.log.append(f"- {kind}")
        if kind in EVENTS:
            EVENTS[kind](self, fault.roll)
        else:
            KINDS[kind](self.life, fault)

    def _until(self, at: float) -> None:
        """Sweeps until so long after the fleet's youth; events know nothing of sweeps."""
        world = self.life.world
        while world.now + EVERY < self.grown + at:
            self._passes()
        world.pass_until(max(world.now, self.grown + at))

    def _passes(self) -> None:
        world = self.life.world
        world.pass_until(world.now + EVERY)
        self.life.tick()
        self._few_are_bad()

    def _few_are_bad(self) -> None:
        world = self.life.world
        for pool in world.desired.pools:
            slots = world.desired.of_pool(pool)
            bad = [node.name for node in _nodes(self.life, pool) if _has_bad(self.life, node)]
            if len(bad) > at_once(len(slots), world.desired.settings.share):
                raise BrokenPromiseError(f"{', '.join(bad)} run a bad version")

    def _ends(self) -> None:
        """First as it was left, then with something good: everybody serves with what may be run."""
        resume(self, 0.0)
        self._comes_to(lambda: [*self.life.world.promises.missing(), *self._runs_what_it_should_not()], "left")
        self.life.world.promote(image=LAST, bundle="ef" * 32)
        self._comes_to(lambda: [*self.life.world.promises.missing(), *self._lacks(LAST)], "good")

    def _comes_to(self, missing: Callable[[], list[str]], what: str) -> None:
        world = self.life.world
        end = world.now + BOUND
        while (said := missing()) or not self._rests():
            if world.now > end:
                raise BrokenPromiseError(f"{what}: after {BOUND / 3600:.0f} h {'; '.join(said) or 'still at work'}")
            self._passes()

    def _rests(self) -> bool:
        """Whether nothing is in work forward or back."""
        rollouts = self._memory().rollouts.values()
        return not any(each.waiting or each.returning or each.stage.is_under_way for each in rollouts)

    def _lacks(self, digest: str) -> Iterator[str]:
        for pool in self.life.world.desired.pools:
            for node in _nodes(self.life, pool):
                if node.disk is not None and not node.disk.state.image.endswith(digest):
                    yield f"{node.name} runs {node.disk.state.image}"

    def _runs_what_it_should_not(self) -> Iterator[str]:
        for pool in self.life.world.desired.pools:
            rollout = self._memory().rollouts.get(pool)
            back = taken_back(rollout, self.requests().undone.get(pool, ())) if rollout else frozenset[VersionPart]()
            for node in _nodes(self.life, pool):
                if runs := _run_by(node).parts & back:
                    yield f"{node.name} runs {', '.join(map(str, runs))}, which was undone"
                if _has_bad(self.life, node):
                    yield f"{node.name} runs a bad version"

    # What people ask

    def requests(self) -> OperatorRequests:
        body = self.life.world.kept(bucket_names.requests_object(self.life.world.desired.stack))
        return read_requests(body) if body else OperatorRequests()

    def target(self, pool: str) -> PoolVersion:
        world = self.life.world
        pointer = world.kept(bucket_names.pointer_object()) or {}
        return PoolVersion(images=pointer.get("images", {}).get(pool, {}), bundle=world.desired.bundle)

    def _memory(self) -> memories.Memory:
        kept = self.life.world.kept(bucket_names.memory_object(self.life.world.desired.stack))
        return memories.read(None if kept is None else json.dumps(kept).encode())

    def of_a_pool(self, roll: float) -> tuple[str, memories.Rollout | None]:
        pools = self.life.world.desired.pools
        pool = pools[int(roll * len(pools))]
        return pool, self._memory().rollouts.get(pool)


def _nodes(life: Life, pool: str) -> list[Node]:
    declared = {slot.name for slot in life.world.desired.of_pool(pool)}
    return [node for node in life.world.tpus.nodes.values() if node.name in declared and node.state == "READY"]


def _run_by(node: Node) -> PoolVersion:
    disk = node.disk
    return PoolVersion(
        images={"": disk.state.image} if disk and disk.state.image else {}, bundle=disk.state.bundle if disk else None
    )


def _has_bad(life: Life, node: Node) -> bool:
    disk = node.disk
    return disk is not None and (
        disk.state.image.rpartition("@")[2] in life.world.bad or disk.state.bundle in life.world.bad
    )


def undo(one: RolloutLife, roll: float) -> None:
    pool, rollout = one.of_a_pool(roll)
    if rollout and (back := undoable(rollout, one.target(pool), one.requests(), pool)):
        one.life.world.tell(f"undo {', '.join(map(str, sorted(back)))} of {pool}")
        one.life.world.request(lambda body: operator_requests.undone(body, pool, back, one.life.world.moment()))


def redo(one: RolloutLife, roll: float) -> None:
    pool, rollout = one.of_a_pool(roll)
    if rollout and (again := not_tried(rollout, one.target(pool), one.requests(), pool)):
        one.life.world.tell(f"redo {', '.join(map(str, sorted(again)))} of {pool}")
        one.life.world.request(lambda body: operator_requests.redone(body, pool, again, rollout.since))


def _undo_and_redo(one: RolloutLife, roll: float) -> None:
    undo(one, roll)
    redo(one, roll)


def _pause(one: RolloutLife, _: float) -> None:
    one.life.world.request(lambda body: operator_requests.paused(body, one.life.world.desired.pools))


def resume(one: RolloutLife, _: float) -> None:
    one.life.world.request(lambda body: operator_requests.resumed(body, one.life.world.desired.pools))


def _forgets(one: RolloutLife, _: float) -> None:
    """Somebody deletes the controller's memory, as a sweep that cannot read it asks for."""
    one.life.world.tell("the memory is lost")
    one.life.world.objects.pop(bucket_names.memory_object(one.life.world.desired.stack), None)


EVENTS: Final[dict[str, Callable[[RolloutLife, float], None]]] = {
    "good image": lambda one, _: one.life.world.renew("image"),
    "bad image": lambda one, _: one.life.world.renew("image", bad="image"),
    "good bundle": lambda one, _: one.life.world.renew("bundle"),
    "bad bundle": lambda one, _: one.life.world.renew("bundle", bad="bundle"),
    "both": lambda one, roll: one.life.world.renew("image", "bundle", bad="image" if roll < 0.5 else "bundle"),
    "undo": undo,
    "redo": redo,
    "undo, redo": _undo_and_redo,
    "pause": _pause,
    "resume": resume,
    "memory lost": _forgets,
}
_OTHERS: Final = ("preempt", "crash", "github-outage", "zone-outage", "two-controllers")
