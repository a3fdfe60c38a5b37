"""Files of three tiers of tests: on CPU for every pull request, on a TPU every night and when a label asks."""

from __future__ import annotations

from collections.abc import Iterator

from workflows.generate import tiers_asked, tiers_cpu, tiers_nightly
from workflows.generate.result import Generated
from workflows.generate.tiers_parts import Parts
from workflows.spec import Spec
from workflows.world import World


def files(spec: Spec, world: World) -> Iterator[Generated]:
    """The four files of `tiers`; ConfigError where their TPUs cannot be had, or cost more than the budget."""
    tiers = spec.declared.tiers
    if tiers is None:
        return
    parts = Parts.of(spec, tiers, world)
    yield tiers_cpu.file(parts)
    yield tiers_nightly.file(parts)
    yield tiers_asked.hearing(parts)
    yield tiers_asked.running(parts)
