"""How a row of the table is run: on copies of worlds that were brought up once, both engines side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.engines import EngineName
from infra.model.stack import load_stack
from tests.engines.live import acts
from tests.engines.live.live_worlds import Pair, World, Yard, stopped
from tests.engines.live.table import ROWS, Row

_SHOWN = 40
"""Differences of one comparison that a failure tells."""


class Base:
    """Worlds in which a stack was brought up, and what each engine told of that, act by act.

    The registries that the stack reads come from the embedded engine, in seconds.
    """

    def __init__(self, yard: Yard, stack: str, files: Callable[[Path], None]) -> None:
        self._yard = yard
        self._pair = yard.pair(stack, files)
        for world in self._pair:
            if load_stack(world.root, stack).registry_stack:
                acts.up(replace(world, stack="ci", engine=EngineName.LOCAL))
        self.told = [_from_nothing(world) for world in self._pair]
        for world in self._pair:
            stopped(world)

    def copy(self) -> Pair:
        return self._yard.copy(self._pair, self._pair[0].stack)


def of(stacks: tuple[str, ...]) -> list[Any]:
    """Parameters `row` and `stack` of the rows of these stacks."""
    return [
        pytest.param(row, stack, id=f"{row.name}-{stack}", marks=_marks(stack, core=row.core))
        for row in ROWS
        for stack in row.stacks
        if stack in stacks
    ]


def from_nothing(*stacks: str) -> list[Any]:
    """Parameter `stack`."""
    return [pytest.param(stack, marks=_marks(stack, core=True)) for stack in stacks]


def _marks(stack: str, *, core: bool) -> list[pytest.MarkDecorator]:
    """The core runs each stack on one worker, which brings it up once."""
    return [pytest.mark.core, pytest.mark.xdist_group(stack)] if core else []


def came_up_alike(base: Base) -> None:
    theirs, ours = base.told
    for act, seen in theirs.items():
        assert_same(ours[act], seen, act)
        assert not seen["failed"], act
    assert theirs["second preview"]["steps"] == theirs["refresh"]["steps"] == {}


def run(row: Row, base: Base) -> None:
    theirs, ours = base.copy()
    try:
        for number, act in enumerate(row.acts):
            assert_same(act(ours), act(theirs), f"act {number} of {row.name!r}")
        assert_same(acts.vms(ours), acts.vms(theirs), "the VMs")
        assert_same(acts.state(ours), acts.state(theirs), "the states")
        if row.settled:
            acts.finds_nothing_to_do(theirs)
            acts.finds_nothing_to_do(ours)
    finally:
        for world in (theirs, ours):
            stopped(world)


def assert_same(ours: acts.Seen, theirs: acts.Seen, what: str) -> None:
    found = [f"{path or 'all'}: {a!r}, not {b!r}" for path, a, b in _differences(ours, theirs)]
    assert not found, f"{what}: ours is not as Google's plugin is\n" + "\n".join(found[:_SHOWN])


def _differences(ours: acts.Seen, theirs: acts.Seen, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            yield from _differences(ours.get(key), theirs.get(key), f"{path} {key}".strip())
    elif ours != theirs:
        yield path, ours, theirs


def _from_nothing(world: World) -> dict[str, Any]:
    return {
        "preview from nothing": acts.preview(world),
        "up": acts.up(world),
        "second preview": acts.preview(world),
        "refresh": acts.refresh(world),
    }
