"""A fleet that got into every kind of trouble comes back by itself: the commands that a person has, on the local cloud.

The tests run in order on one fleet. SWEEPS is the bound that docs/local-cloud.md states.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Checkout

REPOSITORY = "marin-community/marin"
ZONE = "us-west4-a"
PREEMPTED = [f"tpu-ci-{ZONE}-0", "tpu-ci-us-east1-c-1", "tpu-v4-us-central2-b-0"]
LOST, ORPHAN = f"tpu-ci-{ZONE}-1", f"tpu-ci-{ZONE}-9"
GHOST = f"tpu-ci-{ZONE}-7-0a1b2c"
SWEEPS = 15


@pytest.fixture(scope="module")
def fleet(upped: Checkout) -> Checkout:
    """The ci stack, made and swept once, every runner online."""
    sweep(upped)
    upped.ok("cloud", "clock", "--advance", "2m")
    return upped


def sweep(fleet: Checkout, *options: str) -> list[dict[str, Any]]:
    """What the sweeps of one `reconcile` say."""
    said, found, place = fleet.ok("reconcile", "ci", *options, "--json").stdout.strip(), [], 0
    while place < len(said):
        document, end = json.JSONDecoder().raw_decode(said, place)
        found.append(document)
        place = end + 1
    return found


def did(swept: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for action in swept["actions"]:
        assert action["result"] == "done", action
        found.setdefault(action["do"], []).append(action["subject"])
    return found


def guests(fleet: Checkout) -> dict[str, dict[str, Any]]:
    return {guest["vm"]: guest for guest in fleet.json("cloud", "guests")["guests"]}


def nodes(fleet: Checkout) -> dict[str, int]:
    return fleet.json("cloud", "status")["nodes"]


@pytest.mark.heavy
def test_sweeps_bring_a_fleet_in_trouble_back_and_touch_nothing_of_others(fleet: Checkout) -> None:
    for vm in PREEMPTED:
        fleet.ok("cloud", "preempt", vm)
    fleet.ok("cloud", "runner", "lose", LOST)
    fleet.ok("cloud", "node", "add", ORPHAN, "--zone", ZONE, "--managed", "ci/tpu-ci")
    research = fleet.json("cloud", "node", "add", "research", "--zone", ZONE)
    fleet.ok("cloud", "runner", "add", REPOSITORY, GHOST)
    swept = sweep(fleet, "--until-settled")
    assert len(swept) <= SWEEPS
    assert sorted(did(swept[0])["recreate"]) == sorted(PREEMPTED)
    done = [did(each) for each in swept]
    assert [each["restart"] for each in done if "restart" in each] == [[LOST]]
    assert [each["delete"] for each in done if "delete" in each] == [[ORPHAN]]
    assert [each["removerunner"] for each in done if "removerunner" in each] == [[GHOST]]
    assert swept[-1]["settled"]
    assert [finding["subject"] for finding in swept[-1]["findings"]] == ["research"]
    (status,) = fleet.json("status", "ci")["stacks"]
    assert (status["healthy"], status["problems"]) == (True, [])
    assert sum(pool["online"] for pool in status["pools"]) == 9
    assert nodes(fleet) == {"READY": 10}
    assert fleet.json("cloud", "node", "remove", "research") == {"removed": "research"}
    assert research["state"] == "READY"


def test_the_next_preview_shows_nothing_to_do(fleet: Checkout) -> None:
    plan = fleet.json("preview", "ci", "--refresh")
    assert {step["op"] for step in plan["steps"]} <= {"same", "read", "refresh"}
