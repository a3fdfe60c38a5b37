"""Names that a person may mean: stacks, and the pools and declared VMs of their files. No cloud is asked.

A file that is not right has no name to give, and hides none of the others: a shell asks at each press of a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum

from infra.model.errors import ConfigError
from infra.model.fleet import slots
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from infra.operations.workspace import workspace


class Named(StrEnum):
    """What has a name in a stack file, or is one."""

    STACK = "stack"
    POOL = "pool"
    VM = "vm"


def names(kinds: frozenset[Named], stack: str | None = None) -> tuple[str, ...]:
    """All of them, sorted. stack: of its file alone, where one is named; stacks are always all."""
    root = workspace().root
    found = set(stack_names(root) if Named.STACK in kinds else ())
    if kinds - {Named.STACK}:
        for name in (stack,) if stack else stack_names(root):
            found |= set(_inside(name, kinds))
    return tuple(sorted(found))


def _inside(stack: str, kinds: frozenset[Named]) -> Iterator[str]:
    with suppress(ConfigError):
        config = load_stack(workspace().root, stack, alone=True)
        yield from (pool.name for pool in config.pools if Named.POOL in kinds)
        yield from (slot.name for slot in slots(config) if Named.VM in kinds)
