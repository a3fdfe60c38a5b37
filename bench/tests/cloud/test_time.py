"""Cloud time, what is planned in it, and operations that end by it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.cloud.clock import DueEvent, OffsetClock, Timeline, seconds_of
from bench.cloud.cloud import REACTIONS, Cloud
from bench.cloud.control import ControlError
from bench.cloud.store import Store
from bench.cloud.testing import EPOCH, TestCloud, Wall
from bench.tests.cloud.cloud_clients import NODE, ZONE, Direct, ask


def test_time_never_runs_backwards_even_when_the_machines_clock_does() -> None:
    wall = Wall(100.0)
    clock = OffsetClock(wall=wall)
    assert clock.read() == 100.0
    wall.seconds = 40.0
    assert clock.read() == 100.0
    wall.seconds = 101.0
    assert clock.read() == 101.0


def test_the_clock_is_shown_and_advanced(cloud: TestCloud) -> None:
    assert cloud.control.clock() == {"time": "2026-11-21T08:00:00.000000Z", "seconds": EPOCH, "offset": 0.0}
    assert cloud.control.advance(90)["time"] == "2026-11-21T08:01:30.000000Z"


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e12])
def test_a_time_that_no_calendar_has_is_refused_and_not_kept(cloud: TestCloud, seconds: float) -> None:
    with pytest.raises(ControlError, match="advance is a number from 0"):
        cloud.control.advance(seconds)
    assert cloud.control.clock()["offset"] == 0.0


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf"), 1e-300])
def test_a_compression_that_gives_no_time_is_refused_and_not_kept(cloud: TestCloud, factor: float) -> None:
    with pytest.raises(ControlError, match=r"compression is a number from 0\.001"):
        cloud.control.set_compression(factor)
    assert cloud.control.status()["compression"] == 1000


def test_operations_are_compressed_and_can_be_made_realistic(cloud: TestCloud) -> None:
    def seconds() -> float:
        operation = ask(cloud.url, "POST", f"/v2/{ZONE}/nodes?nodeId=vm-0", NODE)[1]
        cloud.control.advance(1000)
        done = ask(cloud.url, "GET", f"/v2/{operation['name']}")[1]["metadata"]
        ask(cloud.url, "DELETE", f"/v2/{ZONE}/nodes/vm-0")
        cloud.control.advance(1000)
        return seconds_of(done["endTime"]) - seconds_of(done["createTime"])

    compressed = seconds()
    assert 0.09 <= compressed <= 0.18
    cloud.control.set_compression(1)
    assert abs(seconds() - 1000 * compressed) < 0.01
    with pytest.raises(ControlError, match="compression"):
        cloud.control.set_compression(0)


@pytest.fixture
def timeline() -> Iterator[Timeline]:
    store = Store()
    yield Timeline(store)
    store.close()


def taken(timeline: Timeline, now: float) -> list[str]:
    kinds = []
    while (event := timeline.take(now)) is not None:
        kinds.append(event.kind)
    return kinds


def test_events_happen_in_the_order_they_are_due_and_not_before(timeline: Timeline) -> None:
    for due, kind in ((30, "c"), (10, "a"), (20, "b"), (10, "a2")):
        timeline.add(due, kind, "thing")
    assert taken(timeline, 9) == []
    assert taken(timeline, 20) == ["a", "a2", "b"]
    assert taken(timeline, 99) == ["c"]


def test_what_was_planned_for_a_thing_can_be_dropped(timeline: Timeline) -> None:
    for kind in ("a", "b"):
        timeline.add(1, kind, "thing", {"k": 1})
        timeline.add(1, kind, "other")
    timeline.cancel("thing", "a")
    assert [(event.kind, event.data) for event in timeline.planned("thing")] == [("b", {"k": 1})]
    timeline.cancel("thing")
    assert taken(timeline, 1) == ["a", "b"]


def test_the_outcome_does_not_depend_on_when_anybody_looks() -> None:
    def fleet(*, looks: int) -> list:
        direct = Direct()
        for index in range(5):
            direct.ask("POST", f"/v2/{ZONE}/nodes?nodeId=vm-{index}", NODE)
        direct.control("POST", "faults", {"kind": "preempt", "per_hour": 0.5, "seed": 3})
        for _ in range(looks):
            direct.control("POST", "clock", {"advance": 7200 / looks})
        return direct.ask("GET", f"/v2/{ZONE}/nodes")[1]["nodes"]

    assert fleet(looks=1) == fleet(looks=720)


def test_forgetting_everything_keeps_the_time(cloud: TestCloud) -> None:
    ask(cloud.url, "POST", f"/v2/{ZONE}/nodes?nodeId=vm-0", NODE)
    cloud.control.fail("error")
    cloud.control.limit(project="p", zone="z", generation="v4", chips=1)
    cloud.control.advance(60)
    cloud.control.reset()
    assert (cloud.control.nodes(), cloud.control.faults(), cloud.control.limits()) == ([], [], [])
    assert cloud.control.clock()["offset"] == 60


def operations_of(direct: Direct) -> set[str]:
    pages = direct.ask("GET", f"/v2/{ZONE}/operations?pageSize=10000")[1]
    return {each["name"] for each in pages["operations"]}


def test_operations_are_kept_for_a_day_and_then_forgotten() -> None:
    direct = Direct()
    place, kept = "projects/lab/locations/us-west4-a", 1000

    def begin(count: int) -> list[str]:
        with direct.cloud.request():
            return [direct.cloud.operations.lro(place, seconds=60)["name"] for _ in range(count)]

    first = begin(kept)
    direct.wall.advance(23 * 3600)
    second = begin(kept)
    assert operations_of(direct) == {*first, *second}
    direct.wall.advance(2 * 3600)
    third = begin(kept)
    # The last thousand stay whatever their age, for who polls while the clock is moved by a day.
    assert operations_of(direct) == {*second, *third}


def test_an_event_that_fails_is_set_aside_and_stands_in_nobodys_way(caplog: pytest.LogCaptureFixture) -> None:
    direct = Direct()
    direct.ask("POST", f"/v2/{ZONE}/nodes?nodeId=vm-0", NODE)
    with direct.cloud.request():
        direct.cloud.timeline.add(direct.cloud.now, "tpu.node.ready", f"{ZONE}/nodes/nobody")
        direct.cloud.timeline.add(direct.cloud.now, "kind.of.another.version", "thing")
    direct.wall.advance(60)
    status, listed = direct.ask("GET", f"/v2/{ZONE}/nodes")
    assert (status, [node["state"] for node in listed["nodes"]]) == (200, ["READY"])
    assert direct.control("GET", "status")[1]["eventsSetAside"] == 2
    assert "set aside: tpu.node.ready of projects/lab/locations/us-west4-a/nodes/nobody" in caplog.text
    assert "kind.of.another.version" in caplog.text


def test_an_event_that_fails_half_way_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def half(cloud: Cloud, event: DueEvent) -> None:
        cloud.store.set_setting("half", True)
        raise RuntimeError(event.subject)

    monkeypatch.setitem(REACTIONS, "half", half)
    direct = Direct()
    with direct.cloud.request():
        direct.cloud.timeline.add(direct.cloud.now, "half", "thing")
    assert direct.control("GET", "status")[1]["eventsSetAside"] == 1
    assert direct.store.setting("half") is None
