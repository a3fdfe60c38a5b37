"""The runners that stacks offer to jobs, and which of them a job's labels mean.

Owns how labels meet, as GitHub compares them: a runner takes a job whose labels it has all, whatever their case; and
whose repositories the stacks are there for. Stacks with mistakes are taken as far as they are right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from infra.model.catalogue import CapacityKind, region_of
from infra.model.demand import Demand
from infra.model.partial import UnsureStack
from infra.model.schema import GitHub, StackConfig, Trust

RUNNERS_OWN: Final = frozenset(("self-hosted", "linux", "x64"))
"""What every runner on a TPU VM has besides its pool's labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A pool as jobs see it. labels, serves: in lower case. zones: with the VMs that stand in each."""

    stack: str
    pool: str
    labels: frozenset[str]
    trust: Trust
    serves: frozenset[str]
    zones: tuple[tuple[str, int], ...]
    preemptible: bool

    @property
    def vms(self) -> int:
        return sum(count for _, count in self.zones)

    @property
    def regions(self) -> tuple[str, ...]:
        """Where its VMs may stand, sorted."""
        return tuple(sorted({region_of(zone) for zone, _ in self.zones}))

    @property
    def runs_jobs(self) -> bool:
        """Whether its VMs are runners of some repository; others are made for a run, or by hand."""
        return bool(self.serves)

    @property
    def subject(self) -> str:
        return f"pool {self.pool}"


@dataclass(frozen=True, slots=True)
class Offers:
    """The pools of all stacks, by stack and name. whole: whether every stack file is valid."""

    pools: tuple[Offer, ...]
    whole: bool

    @classmethod
    def of(cls, stacks: Sequence[StackConfig]) -> Offers:
        """What the stacks offer, in the order of their names."""
        named = sorted(stacks, key=lambda each: each.stack)
        return cls(tuple(_offers(named)), not any(isinstance(each, UnsureStack) for each in named))

    def pool(self, name: str) -> Offer | None:
        return next((each for each in self.pools if each.pool == name), None)

    def matching(self, demand: Demand) -> tuple[Offer, ...]:
        """The pools whose runners have every label of the job."""
        return tuple(each for each in self.pools if not absent_labels(demand.labels, each.labels))

    def taking(self, demand: Demand) -> tuple[Offer, ...]:
        """The pools whose runners would be given the job: they match, and serve its repository."""
        return tuple(each for each in self.matching(demand) if demand.repository.lower() in each.serves)

    @property
    def labels(self) -> frozenset[str]:
        """Every label that some pool has."""
        return frozenset(label for each in self.pools for label in each.labels)


def absent_labels(wanted: Iterable[str], labels: Collection[str]) -> list[str]:
    """Labels that a job wants, as it writes them, and that runners with these labels, in lower case, have not."""
    return [label for label in wanted if label.lower() not in labels and label.lower() not in RUNNERS_OWN]


def owners(stacks: Sequence[StackConfig]) -> frozenset[str]:
    """Whose repositories these stacks name, as served by a pool or let in from GitHub; in lower case."""
    served = (each for stack in stacks for pool in stack.pools for each in pool.serves)
    let_in = (each for stack in stacks if stack.github is not None for each in _let_in(stack.github))
    return frozenset(each.partition("/")[0].lower() for each in (*served, *let_in))


def _let_in(hub: GitHub) -> Iterator[str]:
    """This project's own repository, and those whose workflows make VMs for their runs, or keep results."""
    yield hub.repository
    yield from (each.repository for each in (*hub.run_makers, *hub.result_writers))


def _offers(stacks: Sequence[StackConfig]) -> Iterator[Offer]:
    for config in stacks:
        for pool in sorted(config.pools, key=lambda pool: pool.name):
            yield Offer(
                stack=config.stack,
                pool=pool.name,
                labels=frozenset(label.lower() for label in pool.runner_labels),
                trust=pool.trust,
                serves=frozenset(each.lower() for each in pool.serves),
                zones=tuple(sorted(pool.zones.items())),
                preemptible=pool.capacity.kind is CapacityKind.PREEMPTIBLE,
            )


def image_places(stacks: Sequence[StackConfig]) -> Iterator[str]:
    """Every place of an image that these stacks make: `us-central1-docker.pkg.dev/my-lab/marin`."""
    for stack in stacks:
        for region in stack.registries.regions if stack.registries else ():
            for each in stack.registries.repositories if stack.registries else ():
                yield f"{region}-docker.pkg.dev/{stack.project}/{each.name}"
