"""The runners of the fleet as the rules know them: labels of the pools that stand, from the stack files."""

from __future__ import annotations

from collections.abc import Iterable

from infra.model.schema import StackConfig, Trust
from workflows.checks.known import Pool


def pools_of(stacks: Iterable[StackConfig]) -> tuple[Pool, ...]:
    """Pools with at least one VM, by name; GitHub gives every runner of one's own the label self-hosted."""
    return tuple(
        Pool(pool.name, frozenset(("self-hosted", *pool.runner_labels)), forks=pool.trust is Trust.FORK)
        for stack in stacks
        for pool in sorted(stack.pools, key=lambda pool: pool.name)
        if pool.slices
    )
