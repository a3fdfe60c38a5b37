"""Nights of the simulated fleet: the real sweeper, broker and guests, in virtual time, with a window and jobs.

Every sweep keeps the simulation's promises: no job is killed, no limit passed, nothing of others touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from infra.model import bucket_names
from infra.model.manifest import manifest
from infra.model.stood import read_day, together
from tests.fleet.simulation.fleet_life import EVERY, Life, _jobs, in_process
from tests.fleet.simulation.simulated_tpus import Node
from tests.fleet.simulation.simulated_world import World
from tests.model.given import parse, pool, stack_text

NIGHT = "{name: night, start: 0 2 * * *, duration: 2h, time_zone: UTC, adds: {us-west4-a: 2}}"
DEEP = "{name: deep, start: 30 2 * * *, duration: 30m, time_zone: UTC, adds: {us-west4-a: 1}}"
QUOTA = "- {project: my-lab, zone: us-west4-a, generation: v5e, kind: preemptible, chips: 16}\n"


def windowed(seed: int) -> Life:
    """One VM that stands, two at night, one more for half an hour of it: just as many as the quota has."""
    pools = pool(name="tpu-ci", capacity="preemptible", serves="[a-lab/code]", windows=f"[{NIGHT}, {DEEP}]")
    made = manifest(parse(stack_text(pools=pools, quotas=QUOTA)), bundle="ab", startup_script="#!/bin/sh")
    return Life(World(seed=seed, manifest=made))


def live_until(life: Life, until: datetime) -> Iterator[tuple[datetime, set[str]]]:
    """Sweeps, and after each of them the VMs of the pool whose runner is online."""
    world = life.world
    while world.now < until.timestamp():
        world.pass_until(world.now + EVERY)
        life.tick()
        yield world.moment(), {vm for vm in world.github.online() if vm.startswith("tpu-ci-")}


def is_ready(node: Node) -> bool:
    return node.state == "READY" and node.name.startswith("tpu-ci-us-west4-a-")


def recorded(life: Life, last: int) -> float:
    """Seconds that VMs of the pool stood by the records of all days until the last."""
    days = (date(2026, 11, 1) + timedelta(days=day) for day in range(last))
    found = (read_day(life.world.kept(bucket_names.stood_day_object(life.world.desired.stack, day))) for day in days)
    rows = together(each for each in found if each is not None)
    return sum((each.end - each.start).total_seconds() for each in rows if each.end and each.pool == "tpu-ci")


def nights_are_kept(seed: int, last: int) -> None:
    """Every night from the second of the month to the last serves from its first minute, and leaves nothing behind."""
    life = windowed(seed)
    with in_process():
        life.world.populate()
        _jobs(life.world)
        served, ready = dict[datetime, set[str]](), 0.0
        for at, vms in live_until(life, datetime(2026, 11, last, 6, tzinfo=UTC)):
            served[at] = vms
            ready += sum(is_ready(node) for node in life.world.tpus.nodes.values()) * EVERY
    assert recorded(life, last) == pytest.approx(ready, rel=0.01), "what cost is computed by is what stood"
    for day in range(2, last + 1):
        starts = datetime(2026, 11, day, 2, tzinfo=UTC)
        first = min(at for at in served if at >= starts)
        assert len(served[first]) == 3, "two of the window serve with the one that stands"
        deep = min(at for at in served if at >= starts + timedelta(minutes=32))
        assert len(served[deep]) == 4, "windows add up"
        morning = max(at for at in served if at <= starts + timedelta(hours=4))
        assert len(served[morning]) == 1
    left = [node.name for node in life.world.tpus.nodes.values() if node.name.startswith("tpu-ci-us-west4-a-")]
    assert left == ["tpu-ci-us-west4-a-0"]


def test_two_nights_serve_from_their_first_minute_and_leave_nothing_behind() -> None:
    nights_are_kept(seed=0, last=3)


BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
AT_NIGHT = f"{{name: night, start: 0 2 * * *, duration: 2h, time_zone: {BERLIN}, adds: {{us-west4-a: 2}}}}"
WEEKLY = f"{{name: week, start: 30 1 * * 0, duration: 1h, time_zone: {NEW_YORK}, adds: {{us-west4-a: 1}}}}"


def starts(begin: date, days: int, zone: str, at: time) -> list[datetime]:
    """The instant of a wall clock's time on each day: where it comes twice the first, where it is skipped the next."""
    walls = (datetime.combine(begin + timedelta(days=day), at, ZoneInfo(zone)) for day in range(days))
    return [wall.astimezone(UTC) for wall in walls]


def five_weeks(begin: date, seed: int) -> dict[datetime, set[str]]:
    """What served after each sweep; between windows a sweep in half an hour is enough."""
    pools = pool(name="tpu-ci", capacity="preemptible", serves="[a-lab/code]", windows=f"[{AT_NIGHT}, {WEEKLY}]")
    made = manifest(parse(stack_text(pools=pools, quotas=QUOTA)), bundle="ab", startup_script="#!/bin/sh")
    life, served = Life(World(seed=seed, manifest=made)), dict[datetime, set[str]]()
    world = life.world
    world.now = datetime.combine(begin, time(9), UTC).timestamp()
    with in_process():
        world.populate()
        _jobs(world)
        while world.now < datetime.combine(begin + timedelta(days=36), time(9), UTC).timestamp():
            world.pass_until(world.now + (1800.0 if 9 <= world.moment().hour < 22 else EVERY))
            life.tick()
            served[world.moment()] = {vm for vm in world.github.online() if vm.startswith("tpu-ci-")}
    return served


@pytest.mark.heavy
@pytest.mark.parametrize("begin", [date(2026, 10, 5), date(2027, 3, 1)], ids=["clocks-go-back", "clocks-go-forward"])
def test_five_weeks_are_kept_through_a_change_of_clocks(begin: date) -> None:
    """Berlin's clocks change at the very hour of the night, New York's half an hour into the week's window."""
    served = five_weeks(begin, seed=begin.month)
    nights = starts(begin + timedelta(days=2), 34, BERLIN, time(2))
    weeks = [each for each in starts(begin + timedelta(days=2), 34, NEW_YORK, time(1, 30)) if each.weekday() == 6]
    assert len({each.hour for each in nights}) == 2, "the clocks did change"
    assert len({each.hour for each in weeks}) == 2
    for start in nights:
        during = [
            vms for at, vms in served.items() if start + timedelta(seconds=EVERY) <= at < start + timedelta(hours=2)
        ]
        assert len(during) > 50
        assert len(during[0]) == 3, f"{start}: two serve with the one that stands, from the first minute on"
    for start in weeks:
        first = min(at for at in served if at >= start + timedelta(seconds=EVERY))
        assert len(served[first]) == 2, f"{start}: one more serves"
        over = min(at for at in served if at >= start + timedelta(hours=3))
        assert len(served[over]) == 1, f"{start}: it was drained and deleted"
    for start in nights:
        quiet = min(at for at in served if at >= start + timedelta(hours=3, minutes=30))
        assert len(served[quiet]) <= 2, f"{start}: those of the night were drained and deleted"


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(1, 6))
def test_a_week_of_nights_is_kept(seed: int) -> None:
    nights_are_kept(seed=seed, last=8)
