"""`up` dies at a chosen moment while it makes 100 VMs; the next `up` finds out what was in flight and ends the work."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from bench.cloud.testing import TestCloud
from bench.engine.run import Options
from bench.tests.end_to_end.crashes import Crashes, Moment, crashes
from bench.tests.end_to_end.fleet_world import World, assert_as_declared, complaints, nodes, vms

COUNT = 100
DIED, KILLED = 9, -9

# A create writes two journal lines and takes at least three requests, so every moment up to here is in the midst of it.
MOMENTS: tuple[Moment, ...] = ("record", "request", "answer")
LAST = {"record": 2 * COUNT, "request": 3 * COUNT, "answer": 3 * COUNT}


@pytest.fixture(scope="module")
def crashing() -> Iterator[Crashes]:
    with crashes() as running:
        yield running


def moments(seed: int) -> tuple[Moment, int]:
    at = MOMENTS[seed % len(MOMENTS)]
    return at, random.Random(seed).randint(2, LAST[at])


def survives(world: World, cloud: TestCloud, crashing: Crashes, at: Moment, number: int) -> None:
    died = crashing.up(world.root, cloud.url, COUNT, at, number)
    assert died in (DIED, KILLED), "the run ended before it could die"
    mends(world, cloud)


def mends(world: World, cloud: TestCloud) -> None:
    fleet = vms(COUNT)
    begun = set(nodes(cloud))
    born = {name: node["createTime"] for name, node in nodes(cloud).items() if node["state"] == "READY"}
    plan = world.up(fleet, Options(previewed=True))
    assert complaints(plan) == []
    assert_as_declared(world, cloud, fleet)
    after = nodes(cloud)
    assert begun <= set(after)
    assert {name: after[name]["createTime"] for name in born} == born, "a VM that was made must not be made twice"


@pytest.mark.parametrize("seed", range(2))
def test_the_next_run_ends_the_work(seed: int, world: World, cloud: TestCloud, crashing: Crashes) -> None:
    survives(world, cloud, crashing, *moments(seed))


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(2, 60))
def test_the_next_run_ends_the_work_whenever_it_died(
    seed: int, world: World, cloud: TestCloud, crashing: Crashes
) -> None:
    survives(world, cloud, crashing, *moments(seed))


@pytest.mark.heavy
@pytest.mark.parametrize("number", [*range(1, 12)])
@pytest.mark.parametrize("at", MOMENTS)
def test_the_first_moments_are_survived_too(
    at: Moment, number: int, world: World, cloud: TestCloud, crashing: Crashes
) -> None:
    survives(world, cloud, crashing, at, number)


@pytest.mark.heavy
def test_two_crashes_in_a_row_are_survived(world: World, cloud: TestCloud, crashing: Crashes) -> None:
    assert crashing.up(world.root, cloud.url, COUNT, "answer", 120) == DIED
    survives(world, cloud, crashing, "record", 60)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(30))
def test_a_kill_at_any_time_is_survived(seed: int, world: World, cloud: TestCloud, crashing: Crashes) -> None:
    milliseconds = random.Random(seed).randint(1, 1500)
    assert crashing.up(world.root, cloud.url, COUNT, "millisecond", milliseconds) in (0, KILLED)
    mends(world, cloud)
