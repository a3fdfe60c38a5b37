"""Nights of the simulated fleet: the real sweeper, broker and guests, in virtual time, with a window and jobs.

Every sweep keeps the simulation's promises: no job is killed, no limit passed, nothing of others touched.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from infra.model import bucket_names
from infra.model.manifest import manifest
from infra.model.stood import read_day, together
from tests.fleet.simulation.fleet_life import EVERY, Life, _jobs, in_process
from tests.fleet.simulation.simulated_world import World
from tests.model.given import parse, pool, stack_text

NIGHT = "{{name: night, start: 0 2 * * *, duration: 2h, time_zone: {0}, adds: {{us-west4-a: 2}}}}"
DEEP = "{{name: deep, start: 30 2 * * *, duration: 30m, time_zone: {0}, adds: {{us-west4-a: 1}}}}"
QUOTA = "- {project: my-lab, zone: us-west4-a, generation: v5e, kind: preemptible, chips: 16}\n"
VM = "tpu-ci-us-west4-a-"


def recorded(life: Life, days: list[date]) -> float:
    """Seconds that VMs of the pool stood by the records of these days."""
    found = (read_day(life.world.kept(bucket_names.stood_day_object(life.world.desired.stack, day))) for day in days)
    rows = together(each for each in found if each is not None)
    return sum((each.end - each.start).total_seconds() for each in rows if each.end and each.pool == "tpu-ci")


def nights_are_kept(seed: int, nights: int, begin: date = date(2026, 11, 1), zone: str = "UTC") -> None:
    """Every night serves from its first minute, and leaves nothing behind.

    One VM stands, two come at night, one more for half an hour of it: just as many as the quota has.
    """
    windows = f"[{NIGHT.format(zone)}, {DEEP.format(zone)}]"
    pools = pool(name="tpu-ci", capacity="preemptible", serves="[a-lab/code]", windows=windows)
    made = manifest(parse(stack_text(pools=pools, quotas=QUOTA)), bundle="ab", startup_script="#!/bin/sh")
    life, days = Life(World(seed=seed, manifest=made)), [begin + timedelta(days=day) for day in range(nights + 2)]
    world, served, ready = life.world, dict[datetime, set[str]](), 0.0
    world.now = datetime.combine(days[1], time(), UTC).timestamp()
    with in_process():
        world.populate()
        _jobs(world)
        while world.now < datetime.combine(days[-1], time(6), UTC).timestamp():
            world.pass_until(world.now + EVERY)
            life.tick()
            served[world.moment()] = {vm for vm in world.github.online() if vm.startswith(VM)}
            nodes = world.tpus.nodes.values()
            ready += sum(node.state == "READY" and node.name.startswith(VM) for node in nodes) * EVERY
    assert recorded(life, days) == pytest.approx(ready, rel=0.01), "what cost is computed by is what stood"
    for day in days[2:]:
        # Where a wall clock has the time twice it is the first; where it skips both starts, both come right after.
        wall = [datetime.combine(day, time(hour), ZoneInfo(zone)) for hour in (2, 4)]
        starts, skipped = wall[0].astimezone(UTC), str(wall[1])[-5:] > str(wall[0])[-5:]
        first = min(at for at in served if at >= starts)
        deep = first if skipped else min(at for at in served if at >= starts + timedelta(minutes=32))
        assert len(served[deep]) == 4, f"{starts}: windows add up"
        assert skipped or len(served[first]) == 3, f"{starts}: two of the window serve with the one that stands"
        morning = max(at for at in served if at <= starts + timedelta(hours=4))
        assert len(served[morning]) == 1, f"{starts}: those of the night were drained and deleted"
    assert [node.name for node in world.tpus.nodes.values() if node.name.startswith(VM)] == [f"{VM}0"]


def test_two_nights_serve_from_their_first_minute_and_leave_nothing_behind() -> None:
    nights_are_kept(seed=0, nights=2)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(1, 6))
def test_a_week_of_nights_is_kept(seed: int) -> None:
    nights_are_kept(seed=seed, nights=7)


@pytest.mark.heavy
@pytest.mark.parametrize("begin", [date(2026, 10, 22), date(2027, 3, 25)], ids=["clocks-go-back", "clocks-go-forward"])
def test_nights_are_kept_through_a_change_of_clocks_at_their_very_hour(begin: date) -> None:
    nights_are_kept(seed=begin.month, nights=5, begin=begin, zone="Europe/Berlin")
