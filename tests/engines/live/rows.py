"""How a row of the table is run: on copies of worlds that were brought up once, both engines side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.engines.live import acts
from tests.engines.live.live_worlds import Pair, World, Yard, stopped
from tests.engines.live.table import ROWS, Row

_SHOWN = 40
"""Differences of one comparison that a failure tells."""


class Base:
    """Worlds in which stacks were brought up, and what each engine told of that, act by act."""

    def __init__(self, yard: Yard, stacks: tuple[str, ...], files: Callable[[Path], None]) -> None:
        self._yard = yard
        self._pair = yard.pair(stacks[0], files)
        self.told = {stack: [_from_nothing(replace(world, stack=stack)) for world in self._pair] for stack in stacks}
        for world in self._pair:
            stopped(world)

    def copy(self, stack: str) -> Pair:
        return self._yard.copy(self._pair, stack)


def of(stacks: Iterable[str]) -> list[Any]:
    """Parameters `row` and `stack` of the rows of these stacks."""
    wanted = set(stacks)
    return [
        pytest.param(row, stack, id=f"{row.name}-{stack}", marks=[pytest.mark.core] if row.core else [])
        for row in ROWS
        for stack in row.stacks
        if stack in wanted
    ]


def came_up_alike(base: Base, stack: str) -> None:
    theirs, ours = base.told[stack]
    for act, seen in theirs.items():
        assert_same(ours[act], seen, act)
        assert not seen["failed"], act
    assert theirs["second preview"]["steps"] == theirs["refresh"]["steps"] == {}


def run(row: Row, base: Base, stack: str) -> None:
    theirs, ours = base.copy(stack)
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
