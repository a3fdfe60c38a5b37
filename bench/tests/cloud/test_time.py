"""Cloud time, what is planned in it, and operations that end by it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.cloud.clock import DueEvent, OffsetClock, Timeline
from bench.cloud.cloud import REACTIONS, Cloud
from bench.cloud.store import Store
from bench.cloud.testing import Wall
from bench.tests.cloud.cloud_clients import NODE, ZONE, Direct, Row, compared


def test_time_never_runs_backwards_even_when_the_machines_clock_does() -> None:
    wall = Wall(100.0)
    clock = OffsetClock(wall=wall)
    assert clock.read() == 100.0
    wall.seconds = 40.0
    assert clock.read() == 100.0
    wall.seconds = 101.0
    assert clock.read() == 101.0


CLOCK, MAKE = "_tidepool/advance", f"v2/{ZONE}/nodes?nodeId=vm-0"
LIMIT = {"project": "p", "zone": "z", "generation": "v4", "chips": 1}
CALLS: list[Row] = [
    ("POST", "_tidepool/clock", None, 200),
    ("POST", CLOCK, {"seconds": 90}, 200),
    *(("POST", CLOCK, {"seconds": bad}, 400) for bad in (-1, float("nan"), float("inf"), 1e12, "1", True)),
    *(("POST", "_tidepool/set_compression", {"factor": bad}, 400) for bad in (0, -1, float("nan"), 1e300, 1e-300)),
    ("POST", "_tidepool/clock", None, 200), ("POST", "_tidepool/status", None, 200),
    ("POST", MAKE, NODE, 200),
    ("GET", f"v2/{ZONE}/operations", None, 200),
    ("DELETE", MAKE.partition("?")[0] + "/vm-0", None, 200),
    ("POST", "_tidepool/set_compression", {"factor": 1}, 200), ("POST", MAKE, NODE, 200),
    ("POST", CLOCK, {"seconds": 110}, 200),
    ("GET", f"v2/{ZONE}/nodes", None, 200),
    ("POST", CLOCK, {"seconds": 10}, 200),
    ("GET", f"v2/{ZONE}/nodes", None, 200),
    ("POST", "_tidepool/fail", {"kind": "error"}, 200), ("POST", "_tidepool/limit", LIMIT, 200),
    ("POST", "_tidepool/reset", None, 200), ("POST", "_tidepool/clock", None, 200),
    ("POST", "_tidepool/nodes", None, 200), ("POST", "_tidepool/faults", None, 200),
    ("POST", "_tidepool/limits", None, 200),
]  # fmt: skip


def test_time_is_moved_compressed_and_outlives_a_reset(update_goldens: bool) -> None:
    compared(Direct().check(CALLS), "time", update_goldens)


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
        direct.control("fail", {"kind": "preempt", "per_hour": 0.5, "seed": 3})
        for _ in range(looks):
            direct.control("advance", {"seconds": 7200 / looks})
        return direct.ask("GET", f"/v2/{ZONE}/nodes")[1]["nodes"]

    assert fleet(looks=1) == fleet(looks=720)


def test_an_event_that_fails_is_set_aside_and_stands_in_nobodys_way(caplog: pytest.LogCaptureFixture) -> None:
    direct = Direct()
    direct.ask("POST", f"/v2/{ZONE}/nodes?nodeId=vm-0", NODE)
    with direct.cloud.request():
        direct.cloud.timeline.add(direct.cloud.now, "tpu.node.ready", f"{ZONE}/nodes/nobody")
        direct.cloud.timeline.add(direct.cloud.now, "kind.of.another.version", "thing")
    direct.wall.advance(60)
    status, listed = direct.ask("GET", f"/v2/{ZONE}/nodes")
    assert (status, [node["state"] for node in listed["nodes"]]) == (200, ["READY"])
    assert direct.control("status")[1]["eventsSetAside"] == 2
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
    assert direct.control("status")[1]["eventsSetAside"] == 1
    assert direct.store.setting("half") is None
