"""The whole table of docs/pulumi-cli.md, row by row: the official CLI with Google's plugin beside the embedded engine.

Each engine works on a local cloud of its own. What an act tells, what then stands in the cloud and what the states hold
must be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.engines.choose import observe
from infra.local.cloud import daemon
from tests.engines.live import acts
from tests.engines.live.stacks import COMMITTED, SMALL, write_committed, write_small
from tests.engines.live.table import ROWS, Row
from tests.engines.live.worlds import Pair, World, Yard
from tests.shipped_stacks import insist_on_shipped

pytestmark = pytest.mark.live

OF_THE_MACHINE = ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE")


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    insist_on_shipped()
    with pytest.MonkeyPatch.context() as patch:
        for name in OF_THE_MACHINE:
            patch.delenv(name, raising=False)
        made = Yard(tmp_path_factory.mktemp("table"))
        yield made
        made.end()


class Base:
    """Worlds that were brought up once, and what each engine told of that, step by step."""

    def __init__(self, yard: Yard, name: str, stacks: tuple[str, ...], files: Callable[[Path], None]) -> None:
        self._yard = yard
        pair = yard.pair(name, stacks[0], files)
        self.told = {stack: [_from_nothing(replace(world, stack=stack)) for world in pair] for stack in stacks}
        for world in pair:
            daemon.stop(world.home)
        self._pair = pair

    def copy(self, stack: str) -> Pair:
        return self._yard.copy(self._pair, stack)


@pytest.fixture(scope="module")
def committed(yard: Yard) -> Base:
    return Base(yard, "committed", COMMITTED, write_committed)


@pytest.fixture(scope="module")
def small(yard: Yard) -> Base:
    return Base(yard, SMALL, (SMALL,), write_small)


@pytest.fixture
def base(request: pytest.FixtureRequest, stack: str, tool: Callable[[str], str]) -> Base:
    tool("pulumi")
    if observe().plugin is None:
        pytest.skip("the pulumi CLI has no gcp plugin")
    return request.getfixturevalue(SMALL if stack == SMALL else "committed")


@pytest.mark.parametrize("stack", [*COMMITTED, SMALL])
def test_from_nothing(base: Base, stack: str) -> None:
    theirs, ours = base.told[stack]
    for act, seen in theirs.items():
        assert ours[act] == seen, act
        assert not seen["failed"], act
    assert theirs["second preview"]["steps"] == theirs["refresh"]["steps"] == {}


@pytest.mark.parametrize(
    ("row", "stack"), [pytest.param(row, stack, id=f"{row.name}-{stack}") for row in ROWS for stack in row.stacks]
)
def test_both_engines_do_the_same(base: Base, row: Row, stack: str) -> None:
    theirs, ours = base.copy(stack)
    try:
        for number, act in enumerate(row.acts):
            assert act(ours) == act(theirs), f"act {number} of {row.name!r}: ours first, then Google's plugin"
        assert acts.vms(ours) == acts.vms(theirs)
        assert acts.state(ours) == acts.state(theirs)
        if row.settled:
            _finds_nothing_to_do(theirs)
            _finds_nothing_to_do(ours)
    finally:
        for world in (theirs, ours):
            daemon.stop(world.home)


def _from_nothing(world: World) -> dict[str, Any]:
    return {
        "preview from nothing": acts.preview(world),
        "up": acts.up(world),
        "second preview": acts.preview(world),
        "refresh": acts.refresh(world),
    }


def _finds_nothing_to_do(world: World) -> None:
    """Neither engine, on the state that one of them has written."""
    for engine in (world.engine, acts.other_than(world.engine)):
        told = acts.told(world.make(engine).preview())
        assert told == {"failed": False, "steps": {}}, f"{engine} on the state of {world.engine}"
