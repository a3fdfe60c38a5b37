"""A night of a pool with a window, through the controller on the local cloud over HTTP: opened early, served, closed.

The tests run in order on one fleet, whose clock is moved.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from math import ceil

import pytest

from tests.cli.conftest import Checkout

WINDOW = """\
      serves: [marin-community/marin]
      windows:
        - {name: night, start: 0 2 * * *, duration: 1h, time_zone: UTC, adds: {us-central1-b: 1}}
"""
STACK, VM = "nightly", "nightly-v6e-us-central1-b-0"


def clock(fleet: Checkout) -> datetime:
    return datetime.fromisoformat(fleet.json("cloud", "clock")["time"])


def go_to(fleet: Checkout, at: datetime) -> None:
    seconds = ceil((at - clock(fleet)).total_seconds())  # never a part of a second too early
    assert seconds > 0
    fleet.ok("cloud", "clock", "--advance", f"{seconds}s")


def sweep(fleet: Checkout) -> dict[str, list[str]]:
    """What one sweep did, by kind."""
    swept = json.loads(fleet.ok("reconcile", STACK, "--json").stdout)
    done: dict[str, list[str]] = {}
    for action in swept["actions"]:
        assert action["result"] == "done", action
        done.setdefault(action["do"], []).append(action["subject"])
    return done


@pytest.fixture(scope="module")
def fleet(clouded: Checkout) -> Checkout:
    """The nightly stack, made at noon of a day: nothing stands."""
    clouded.edit(STACK, "      trust: fork\n", f"      trust: fork\n{WINDOW}")
    clouded.ok("up", "ci")
    clouded.ok("up", STACK)
    now = clock(clouded)
    noon = now.replace(hour=12, minute=0, second=0, microsecond=0)
    go_to(clouded, noon if noon > now else noon + timedelta(days=1))
    return clouded


def night(fleet: Checkout) -> datetime:
    """Two o'clock of the night to come."""
    now = clock(fleet)
    at = now.replace(hour=2, minute=0, second=0, microsecond=0)
    return at if at > now else at + timedelta(days=1)


def test_by_day_nothing_stands_and_no_sweep_makes_it(fleet: Checkout) -> None:
    assert "create" not in sweep(fleet)
    assert VM not in json.dumps(fleet.json("cloud", "guests"))


def test_before_two_o_clock_its_vm_is_made_and_serves_when_the_window_starts(fleet: Checkout) -> None:
    starts = night(fleet)
    go_to(fleet, starts - timedelta(minutes=30))
    assert "create" not in sweep(fleet)
    go_to(fleet, starts - timedelta(minutes=20))
    assert sweep(fleet)["create"] == [VM]
    go_to(fleet, starts)
    sweep(fleet)
    (guest,) = (each for each in fleet.json("cloud", "guests")["guests"] if each["vm"] == VM)
    assert guest["phase"] == "idle"
    (status,) = fleet.json("status", STACK)["stacks"]
    (pool,) = status["pools"]
    assert (pool["desired"], pool["online"], status["orphans"]["vms"]) == (1, 1, [])


def test_an_apply_and_a_preview_at_night_leave_it_alone(fleet: Checkout) -> None:
    fleet.ok("up", STACK)
    assert VM not in json.dumps(fleet.json("preview", STACK))
    assert any(each["vm"] == VM for each in fleet.json("cloud", "guests")["guests"])


def test_after_its_hour_it_is_drained_and_gone(fleet: Checkout) -> None:
    go_to(fleet, night(fleet) - timedelta(days=1) + timedelta(hours=1, minutes=1))
    assert sweep(fleet)["drain"] == [VM]
    go_to(fleet, clock(fleet) + timedelta(minutes=3))
    assert sweep(fleet)["delete"] == [VM]
    (status,) = fleet.json("status", STACK)["stacks"]
    assert status["orphans"]["vms"] == []
