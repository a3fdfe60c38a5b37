"""Which slots of windows are open when: opened early enough to serve on time, and kept for the next window."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from infra.fleet.controller import by_hour
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.keys import NodeKey
from infra.fleet.controller.memory import EMPTY, Creating, Memory, NodeMemory
from infra.model.catalogue import CapacityKind
from infra.model.schema import Window
from tests.fleet.controller.given_fleet import AWAY, HOME, V5E, fleet, quota, slot

NIGHT = datetime(2026, 11, 24, 2, 0, tzinfo=UTC)
EVENING = NIGHT - timedelta(hours=2)


def window(**given: object) -> Window:
    usual = {"name": "night", "start": "0 2 * * *", "duration": "1h", "time_zone": "UTC", "adds": {HOME: 1}}
    return Window.model_validate(usual | given)


def pool(*windows: Window, standing: int = 0, **given: object) -> Desired:
    most = sum(sum(each.adds.values()) for each in windows)
    closed = tuple(replace(slot(standing + index), in_window=True) for index in range(most))
    return fleet(standing, closed=closed, windows={"tpu-ci": windows}, **given)


VM = f"tpu-ci-{HOME}-0"
STANDS = NodeMemory(
    state="READY", accelerator=V5E.name, capacity=CapacityKind.PREEMPTIBLE, ours=True, first_seen=EVENING,
    since=EVENING, seen=EVENING,
)  # fmt: skip
STANDING = Memory(nodes={NodeKey(HOME, VM): STANDS})


@pytest.mark.parametrize(
    ("before", "memory", "opened"),
    [
        (23, EMPTY, 0),
        (22, EMPTY, 2),
        (-59, EMPTY, 2),
        (-60, EMPTY, 0),
        (10, Memory(starts={"tpu-ci": (4, 7)}), 0),
        (9, Memory(starts={"tpu-ci": (4, 7)}), 2),
        (60, Memory(starts={"tpu-ci": (90,)}), 2),
        (61, Memory(starts={"tpu-ci": (90,)}), 0),
        (60, STANDING, 1),
        (61, STANDING, 0),
        (60, Memory(creating={VM: Creating(zone=HOME, capacity=CapacityKind.PREEMPTIBLE, at=EVENING)}), 1),
        (60, replace(STANDING, nodes={NodeKey(HOME, VM): replace(STANDS, missing=1)}), 0),
        (60, replace(STANDING, nodes={NodeKey(HOME, VM): replace(STANDS, ours=False)}), 0),
    ],
)
def test_a_window_is_opened_by_what_a_start_takes_and_keeps_what_stands(
    before: int, memory: Memory, opened: int
) -> None:
    """before: minutes until the window starts. 20 boot minutes, and a sweep that may come 2 late."""
    following = window(name="next", start="0 3 * * *", duration="30m", adds={HOME: 1, AWAY: 5})
    desired = pool(window(adds={HOME: 2}), standing=0)
    found = by_hour.at(desired, NIGHT - timedelta(minutes=before), memory)
    assert (len(found.slots), len(found.closed)) == (opened, 2 - opened)
    both = [window(adds={HOME: 2}), following]
    assert by_hour.most_open(both, HOME, NIGHT, NIGHT + timedelta(hours=1)) == 2, "one comes after the other"
    assert by_hour.most_open(both, HOME, NIGHT + timedelta(minutes=59), NIGHT + timedelta(minutes=61)) == 2
    assert by_hour.most_open(both, HOME, NIGHT + timedelta(minutes=60), NIGHT + timedelta(minutes=61)) == 1


def test_what_windows_of_other_stacks_draw_counts_while_they_are_open() -> None:
    theirs = quota(4, windows=((window(start="0 3 * * *"), 4),))
    desired = pool(window(duration="3h"), caps=(theirs,))
    for hour, drawn in ((2, 0), (3, 4), (4, 0)):
        (cap,) = by_hour.at(desired, NIGHT.replace(hour=hour), EMPTY).caps
        assert cap.siblings == drawn


def test_a_fleet_without_windows_is_as_it_is_declared() -> None:
    desired = fleet(3)
    assert by_hour.at(desired, NIGHT, EMPTY) is desired
