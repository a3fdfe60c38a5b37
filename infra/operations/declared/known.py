"""Names that a person may mean: stacks, and what their files declare. No cloud is asked.

A file that is not right has no name to give, and hides none of the others: a shell asks at each press of a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum

from infra.model.errors import ConfigError
from infra.model.fleet import slots
from infra.model.queues import shared_queues
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from infra.operations.workspace import workspace


class Named(StrEnum):
    """What has a name. Those behind `queue` are in no stack file: they are known once somebody is asked."""

    STACK = "stack"
    POOL = "pool"
    VM = "vm"
    ZONE = "zone"
    DASK = "dask"
    GROUP = "group"
    QUEUE = "queue"
    RUN = "run"
    JOB = "job"
    TRAINING = "training"


def names(kinds: frozenset[Named], stack: str | None = None) -> tuple[str, ...]:
    """All of them, sorted. stack: of its file alone, where one is named; stacks are always all."""
    root = workspace().root
    found = set(stack_names(root) if Named.STACK in kinds else ())
    if kinds - {Named.STACK}:
        for each in (stack,) if stack else stack_names(root):
            with suppress(ConfigError):
                found |= {name for kind, name in named_in(load_stack(root, each, alone=True)) if kind in kinds}
    return tuple(sorted(found))


def named_in(config: StackConfig) -> Iterator[tuple[Named, str]]:
    """What a stack declares that people ask about by its name; of VMs those that stand all the time."""
    yield from ((Named.POOL, pool.name) for pool in config.pools)
    yield from ((Named.VM, slot.name) for slot in slots(config))
    yield from ((Named.ZONE, zone) for zone in sorted(_zones(config)))
    yield from ((Named.DASK, each.name) for each in config.batch)
    yield from ((Named.GROUP, each.name) for each in config.groups)
    if config.queues is not None:
        yield from ((Named.QUEUE, each.name) for each in shared_queues(config, config.queues))


def _zones(config: StackConfig) -> set[str]:
    """Where VMs of the stack may be, and where it has a limit."""
    limits = {each.zone for each in (*config.reservations, *config.quotas)}
    return (
        limits | {zone for pool in config.pools for zone in pool.reach} | set(config.runs.zones if config.runs else ())
    )
