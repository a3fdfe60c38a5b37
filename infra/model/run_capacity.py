"""The VMs that runs of a stack may have at most, as limits, prices and `run-on` see them (`tidepool:runs`).

Owns in which ways a run may obtain its VM: each type and zone that `tidepool:runs` lists, with the capacity of one of
its pools or of a fallback of that pool. Spot and preemptible VMs have one price and one quota, so either may stand for
the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.schema import Pool, Runs, StackConfig

_ALIKE: Final = frozenset((CapacityKind.SPOT, CapacityKind.PREEMPTIBLE))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChoice:
    """One way in which runs may have as many VMs at once as `tidepool:runs` lets them."""

    runs: Runs
    accelerator: AcceleratorType
    zone: str
    kind: CapacityKind

    @property
    def chips(self) -> int:
        return self.runs.at_once * self.accelerator.chips


def run_kinds(pool: Pool) -> frozenset[CapacityKind]:
    """How VMs of runs made as this pool may be obtained."""
    fallbacks = (each.capacity.kind for each in pool.fallback)
    kinds = {pool.capacity.kind, *fallbacks}
    return frozenset(kinds | _ALIKE if kinds & _ALIKE else kinds)


def run_choices(config: StackConfig) -> tuple[RunChoice, ...]:
    """Every way; none where the stack declares no runs."""
    return tuple(_choices(config, config.runs)) if config.runs is not None else ()


def _choices(config: StackConfig, runs: Runs) -> Iterator[RunChoice]:
    for pool in config.pools:
        if pool.name not in runs.pools:
            continue
        for accelerator in runs.accelerators:
            for zone in runs.zones:
                if zone in accelerator.generation.zones:
                    yield from (
                        RunChoice(runs=runs, accelerator=accelerator, zone=zone, kind=kind)
                        for kind in sorted(run_kinds(pool))
                    )
