"""Where work runs: a pool of the fleet, a runner of GitHub's, or a VM that is made for the run; and why.

Owns the decision tree. A suite names its runners, since which chips it is for is its author's to say; a run names what
it needs, and the fleet decides. The reason is written above the generated job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from infra.model.catalogue import AcceleratorType
from infra.model.errors import ConfigError, Problem
from infra.model.schema import Trust
from workflows.builders import Hosted, Ours, context
from workflows.spec.model import Priority, Run, RunKind, Suite
from workflows.world import StackPool, World

SELF_HOSTED = "self-hosted"
SHARE = 3
"""A suite that is not first takes at most one VM of so many."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pool that a suite names: the label by which GitHub finds its runners, and how many there are.

    A name that no stack has is a label without runners: `infra.model.fit` tells of it, in the same words everywhere.
    """

    name: str
    label: str
    slices: int
    said: str

    @classmethod
    def of(cls, name: str, world: World) -> Wanted:
        found = world.pool(name)
        if found is None:
            return cls(name, name, 0, f"{name} (in no stack)")
        return cls(name, found.pool.label, found.pool.slices, _described(found))


@dataclass(frozen=True, slots=True)
class OnPools:
    """Runners of pools, by event."""

    pools: Mapping[str, tuple[Wanted, ...]]
    max_parallel: int | None
    why: str

    def labels(self, event: str) -> tuple[str, ...]:
        """The labels that legs of a run by that event wait for."""
        return tuple(each.label for each in self.pools.get(event, ()))

    @property
    def differs(self) -> bool:
        """Whether legs run on unlike pools."""
        return len(self._every()) > 1

    @property
    def runner(self) -> Ours:
        labels = self._every()
        return Ours([SELF_HOSTED, context("matrix.pool") if len(labels) > 1 else labels[0]])

    def _every(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for event in self.pools for label in self.labels(event)))


@dataclass(frozen=True, slots=True)
class OnGitHub:
    """A runner of GitHub's."""

    why: str

    @property
    def runner(self) -> Hosted:
        return Hosted()


@dataclass(frozen=True, slots=True)
class OnVm:
    """A VM that is made for the run as `shape` says, and deleted after it."""

    shape: StackPool
    why: str


def place_suite(suite: Suite, neighbours: Sequence[Suite], world: World) -> OnPools | OnGitHub:
    """Where a suite runs. neighbours: the other suites of the specification, which may want the same pools."""
    if suite.where.hosted:
        return OnGitHub("On GitHub's runners: these tests need no accelerator.")
    pools = {event: tuple(Wanted.of(name, world) for name in each) for event, each in suite.where.pools.items()}
    said = list(_standing(pools))
    most = None
    if suite.priority is Priority.FIRST:
        said.append("Priority first: all its legs at once.")
    else:
        most = _share(neighbours, pools)
        if most is not None:
            said.append(_shared(most, suite, neighbours))
    return OnPools(pools, most, "\n".join(("Unit tests go to runners that stand ready.", *said)))


def place_run(run: Run, repository: str, world: World) -> OnPools | OnVm:
    """Where a run goes: an integration test to a pool that is large enough, if there is one; else a VM of its own."""
    shape = known(run.vm, world)
    if run.kind is RunKind.TRAINING:
        why = "Training goes to a VM made for the run: on a runner, its hours would be everybody else's wait."
        return OnVm(shape, why)
    large = [each for each in world.standing() if fits(each, run.accelerator, repository)]
    if large:
        first = min(large, key=lambda each: (each.pool.accelerator.chips, each.pool.name))
        needed = f"{_described(first)}, where {run.accelerator.name} is needed"
        why = f"An integration test goes to a pool that is large enough: {needed}."
        return OnPools({"push": (Wanted.of(first.pool.name, world),)}, None, why)
    standing = ", ".join(_described(each) for each in world.standing() if repository in each.pool.serves) or "none"
    why = (
        f"A VM made for the run: the test needs {run.accelerator.name}, and no pool that serves this repository\n"
        f"has it ({standing}).\n"
        "With such a pool in a stack, this job is generated for its runners."
    )
    return OnVm(shape, why)


def fits(each: StackPool, wanted: AcceleratorType, repository: str) -> bool:
    """Whether a job of the repository's main branch finds on that pool what it wants, or more of the same kind."""
    offered = each.pool.accelerator
    return (
        repository in each.pool.serves
        and each.pool.trust is not Trust.FORK
        and offered.generation == wanted.generation
        and offered.chips >= wanted.chips
        and offered.hosts == 1
    )


def known(name: str, world: World) -> StackPool:
    """The pool of that name; ConfigError where there is none."""
    pool = world.pool(name)
    if pool is None:
        there = ", ".join(each.pool.name for each in world.pools())
        raise ConfigError([Problem(f"pool {name}", "", "a workflow names pools of the stacks", f"one of {there}")])
    return pool


def _share(neighbours: Sequence[Suite], pools: Mapping[str, tuple[Wanted, ...]]) -> int | None:
    """A third of the smallest pool that a suite with priority wants too; None where there is no such suite."""
    first = {name for other in neighbours if other.priority is Priority.FIRST for name in other.where.every}
    sizes = [each.slices for event in pools.values() for each in event if each.name in first]
    return max(1, min(sizes) // SHARE) if sizes else None


def _shared(most: int, suite: Suite, neighbours: Sequence[Suite]) -> str:
    others = sorted(
        other.package
        for other in neighbours
        if other.priority is Priority.FIRST and set(other.where.every) & set(suite.where.every)
    )
    return (
        f"{', '.join(dict.fromkeys(others))} comes first on the same pool. GitHub knows no priorities: whoever asked\n"
        f"first gets a free runner. So this suite takes {most} at a time, a third of the pool, and leaves the rest."
    )


def _standing(pools: Mapping[str, tuple[Wanted, ...]]) -> Iterator[str]:
    described = {event: ", ".join(wanted.said for wanted in each) for event, each in pools.items()}
    if len(set(described.values())) == 1:
        yield f"{next(iter(described.values()))}."
        return
    for event, each in described.items():
        yield f"{event}: {each}."


def _described(each: StackPool) -> str:
    count = each.pool.slices
    return f"{each.pool.name} ({count} x {each.pool.accelerator.name})"
