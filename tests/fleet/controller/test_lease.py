"""Who holds a fleet's lease, until when it is believed, and what it says of those before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from infra.fleet.controller.lease import (
    SWEEP_TIME,
    UP_TIME,
    Lease,
    LeaseKind,
    LeaseTakenError,
    engine_at_work,
    epoch,
    held,
    last_command,
    this_process,
)
from infra.fleet.records import Records
from infra.model import bucket_names
from tests.fleet.controller.given_fleet import START, Shelf, minutes

LEASE, MANIFEST = bucket_names.lease_object("ci"), bucket_names.manifest_object("ci")
SECOND = timedelta(seconds=1)


@dataclass
class Clock:
    now: datetime = START

    def __call__(self) -> datetime:
        return self.now


def lease(shelf: Shelf, kind: LeaseKind = LeaseKind.UP, holder: str = "me", **given: Any) -> Lease:
    usual: dict[str, Any] = {"time": minutes(5), "clock": Clock()}
    return Lease(records=cast("Records", shelf), stack="ci", kind=kind, holder=holder, **{**usual, **given})


def body(**given: Any) -> dict[str, Any]:
    usual = {"version": 1, "kind": "up", "holder": "other", "until": (START + minutes(5)).isoformat()}
    return {**usual, "applied": 3, "commanded": "before", **given}


def test_a_lease_says_who_holds_it_until_when_and_what_went_before() -> None:
    shelf = Shelf({LEASE: body(until=START.isoformat())})
    lease(shelf, LeaseKind.CONTROLLER).take()
    until = (START + minutes(5)).isoformat()
    assert shelf.bodies == {LEASE: body(kind="controller", holder="me", until=until)}
    for kind in (LeaseKind.UP, LeaseKind.DESTROY):
        lease(shelf, kind, ended=lambda _: True).take()
        assert shelf.bodies == {LEASE: body(kind=kind.value, holder="me", until=until, commanded="me")}
    lease(shelf, LeaseKind.DRAIN).take()
    assert shelf.bodies[LEASE]["commanded"] == "me"


@pytest.mark.parametrize(
    ("kind", "who"), [("controller", "the controller"), ("up", "`./tidepool up`"), ("drain", "`./tidepool drain`")]
)
def test_one_that_another_holds_is_refused_with_its_end(kind: str, who: str) -> None:
    until = START + minutes(5)
    shelf = Shelf({LEASE: body(kind=kind)})
    with pytest.raises(LeaseTakenError) as refused:
        lease(shelf).take()
    assert str(refused.value) == f"{who} (other) holds the fleet of ci until 2026-11-21 12:05:00 UTC at most"
    assert (refused.value.until, shelf.bodies) == (until, {LEASE: body(kind=kind)})
    lease(shelf, holder="other").take()
    lease(Shelf({LEASE: body(kind=kind)}), ended=lambda holder: holder == "other").take()


@pytest.mark.parametrize(
    ("until", "taken"),
    [
        (START.isoformat(), True),
        ((START + SECOND).isoformat(), False),
        ((START + UP_TIME + minutes(15)).isoformat(), False),
        ((START + UP_TIME + minutes(15) + SECOND).isoformat(), True),
        ("2026-11-21T12:05:00", True),
        ("soon", True),
    ],
)
def test_one_whose_end_is_past_or_makes_no_sense_holds_nobody(until: str, taken: bool) -> None:
    assert UP_TIME > SWEEP_TIME
    shelf = Shelf({LEASE: body(until=until)})
    assert bool(engine_at_work(body(until=until), START)) is not taken
    if taken:
        lease(shelf).take()
    else:
        with pytest.raises(LeaseTakenError):
            lease(shelf).take()


def test_a_command_that_makes_vms_is_told_as_at_work() -> None:
    said = "at work until 12:05:00 UTC at most"
    assert engine_at_work(body(), START) == f"`./tidepool up` is {said}"
    assert engine_at_work(body(kind="destroy"), START) == f"`./tidepool destroy` is {said}"
    assert [engine_at_work(each, START) for each in (body(kind="controller"), body(kind="drain"), None, {})] == [""] * 4


def test_what_an_up_gives_back_says_which_manifest_stands() -> None:
    shelf = Shelf({LEASE: body(until=START.isoformat())}, {MANIFEST: 7})
    mine = lease(shelf)
    mine.take()
    assert shelf.bodies[LEASE]["applied"] == 3
    mine.clock = Clock(START + minutes(1))
    mine.give_back()
    end = (START - minutes(14)).isoformat()
    assert shelf.bodies[LEASE] == body(holder="me", until=end, applied=7, commanded="me")


def test_one_that_another_took_meanwhile_is_left_alone() -> None:
    shelf = Shelf()
    mine = lease(shelf)
    mine.take()
    assert shelf.bodies[LEASE] == body(holder="me", applied=None, commanded="me")
    shelf.bodies[LEASE] = body()
    mine.give_back()
    assert shelf.bodies[LEASE] == body()


def test_a_lease_is_given_back_after_a_block_that_fails() -> None:
    shelf = Shelf()
    mine: list[Lease] = []

    def block() -> None:
        with held(cast("Records", shelf), "ci", LeaseKind.DRAIN, Clock(), minutes(5)) as taken:
            mine.append(taken)
            assert shelf.bodies[LEASE]["until"] == (START + minutes(5)).isoformat()
            raise RuntimeError("what the block came to")

    with pytest.raises(RuntimeError, match="what the block came to"):
        block()
    assert [(each.last, each.kind, each.time, each.stack) for each in mine] == [
        (START, LeaseKind.DRAIN, minutes(5), "ci")
    ]
    assert shelf.bodies[LEASE]["until"] == (START - minutes(15)).isoformat()


def test_a_manifest_and_a_command_begin_another_epoch() -> None:
    assert (epoch(7, None), epoch(7, "host/1/a")) == ("7", "7 host/1/a")
    assert [last_command(each) for each in (body(), body(commanded=5), {}, None)] == ["before", None, None, None]


def test_a_holder_is_named_by_machine_and_process_and_differs_each_time() -> None:
    assert this_process() != this_process()
    assert [len(part) for part in this_process().split("/")][2] == 8


def test_a_lease_is_as_old_as_its_last_renewal() -> None:
    clock = Clock()
    mine = lease(Shelf(), clock=clock)
    assert mine.is_older_than(timedelta())
    mine.take()
    clock.now += minutes(2)
    assert mine.is_older_than(minutes(2))
    assert not mine.is_older_than(minutes(2) + SECOND)
    mine.take()
    assert not mine.is_older_than(SECOND)
