"""A fleet that got into every kind of trouble comes back by itself: the commands that a person has, on the local cloud.

The tests run in order on one fleet. SWEEPS is the bound that docs/local-cloud.md states.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from infra.fleet.controller.sweep import Sweeper, SweepError, Swept
from infra.fleet.google import clients
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model.stack import load_stack
from infra.operations.fleet.looks import declared_place
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


def test_after_up_every_vm_boots_and_registers_by_itself(fleet: Checkout) -> None:
    assert Counter(guest["phase"] for guest in guests(fleet).values()) == {"idle": 9}
    (status,) = fleet.json("status", "ci")["stacks"]
    assert status["healthy"]
    assert sum(pool["online"] for pool in status["pools"]) == 9


def test_one_sweep_right_after_a_preemption_makes_the_vm_again(fleet: Checkout) -> None:
    before = guests(fleet)["tpu-v5p-us-central1-a-0"]["runner"]
    fleet.ok("cloud", "preempt", "tpu-v5p-us-central1-a-0")
    (swept,) = sweep(fleet)
    assert did(swept)["recreate"] == ["tpu-v5p-us-central1-a-0"]
    fleet.ok("cloud", "clock", "--advance", "1m")
    after = guests(fleet)["tpu-v5p-us-central1-a-0"]
    assert (after["phase"], after["runner"] != before) == ("idle", True)


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


def test_sweeps_end_with_how_long_it_took_and_name_what_serves_again(fleet: Checkout) -> None:
    fleet.ok("cloud", "preempt", LOST)
    said = fleet.ok("reconcile", "ci", "--until-settled").stdout.splitlines()
    assert f"  serves {LOST}" in said
    assert re.fullmatch(r"settled after \d+ sweeps, \d+ \w+ of the cloud's clock", said[-1])


@pytest.mark.heavy
def test_a_vm_that_never_registers_is_restarted_and_then_made_again(fleet: Checkout) -> None:
    vm = "tpu-v6e-europe-west4-a-0"
    fleet.ok("cloud", "fail", "mute", "--name", vm, "--count", "1")
    fleet.ok("cloud", "preempt", vm)
    swept = [did(each) for each in sweep(fleet, "--until-settled", "--every", "300")]
    assert [name for each in swept for name in ("recreate", "restart") if name in each] == [
        "recreate",
        "restart",
        "recreate",
    ]
    assert guests(fleet)[vm]["phase"] == "idle"
    assert fleet.json("cloud", "fail")["faults"] == []


def test_a_job_is_taken_ended_and_followed_by_another_registration(fleet: Checkout) -> None:
    queued = fleet.json("cloud", "job", "queue", REPOSITORY, "tpu-v4", "--for", "10m")
    vm = queued["vm"]
    assert vm == "tpu-v4-us-central2-b-0"
    first = guests(fleet)[vm]
    assert (first["phase"], first["job_id"]) == ("busy", queued["id"])
    waiting = fleet.json("cloud", "job", "queue", REPOSITORY, "tpu-v4")
    assert waiting["vm"] is None
    listed = fleet.json("cloud", "job", "list")["jobs"]
    assert [(each["id"], each["status"], each["vm"]) for each in listed] == [
        (queued["id"], "in_progress", vm),
        (waiting["id"], "queued", None),
    ]
    header, runs, waits = fleet.ok("cloud", "job", "list").stdout.splitlines()
    assert header.split() == ["job", "repository", "name", "labels", "now"]
    assert (f"runs on {vm} for " in runs, "waits for " in waits) == (True, True)
    fleet.ok("cloud", "clock", "--advance", "11m")
    second = guests(fleet)[vm]
    assert (second["job_id"], second["runner"] != first["runner"]) == (waiting["id"], True)
    fleet.ok("cloud", "job", "end", str(waiting["id"]), "--conclusion", "failure")
    fleet.ok("cloud", "clock", "--advance", "1m")
    assert guests(fleet)[vm]["phase"] == "idle"
    assert fleet.run("cloud", "job", "end", "999").exit_code == 1
    assert fleet.ok("cloud", "job", "list").stdout == "no job waits or runs\n"
    ended = fleet.json("cloud", "job", "list", "--all")["jobs"]
    assert [(each["conclusion"], each["vm"]) for each in ended] == [("success", vm), ("failure", vm)]


def test_guests_are_listed_by_name_below_a_header(fleet: Checkout) -> None:
    header, *lines = fleet.ok("cloud", "guests").stdout.splitlines()
    assert header.split() == ["VM", "is", "why,", "or", "what", "it", "runs"]
    names = [line.split()[0] for line in lines]
    assert (len(names), names) == (9, sorted(names))


def test_who_freed_quota_need_not_wait_for_the_next_try(fleet: Checkout) -> None:
    vm = PREEMPTED[-1]
    fleet.ok("cloud", "preempt", vm)
    create = ("--method", "*.nodes.create", "--status", "RESOURCE_EXHAUSTED", "--message", "Quota exceeded")
    fleet.ok("cloud", "fail", "operation", *create)
    for _ in range(3):
        sweep(fleet)
        fleet.ok("cloud", "clock", "--advance", "2m")
    fleet.ok("cloud", "fail", "--mend-all")
    (waits,) = sweep(fleet)
    (reason,) = [each["reason"] for each in waits["waiting"] if each["subject"] == vm]
    assert reason.endswith("quota of us-central2-b/v4-8/preemptible, once")
    (retried,) = sweep(fleet, "--retry")
    assert did(retried) == {"create": [vm]}
    sweep(fleet, "--until-settled")
    assert guests(fleet)[vm]["phase"] == "idle"


def test_a_retry_is_of_the_first_sweep_that_can_begin(fleet: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, sweeps = [], Sweeper.sweep

    def swept(sweeper: Sweeper, *, retry: bool = False) -> Swept:
        asked.append(retry)
        if len(asked) == 1:
            raise SweepError("the controller holds the lease")
        if len(asked) == 4:
            raise KeyboardInterrupt
        return sweeps(sweeper, retry=retry)

    monkeypatch.setattr(Sweeper, "sweep", swept)
    monkeypatch.setattr("infra.operations.reconcile.time.sleep", lambda _: None)
    assert fleet.run("reconcile", "ci", "--watch", "--retry").exit_code == 130
    assert asked == [True, True, False, False]


def test_a_freeze_window_ends_sweeps_that_would_change_nothing(fleet: Checkout) -> None:
    """Last in this module: the window is written over the manifest."""
    fleet.ok("cloud", "node", "add", ORPHAN, "--zone", ZONE, "--managed", "ci/tpu-ci")
    window = {"name": "deadline", "time_zone": "UTC", "from": "2020-01-01", "to": "2099-12-31"}
    place = declared_place(load_stack(fleet.root, "ci"), fleet.json("cloud", "status")["url"])
    with clients(place.project, place.endpoint) as google:
        records = Records(google=google, bucket=place.bucket)
        records.update(bucket_names.manifest_object("ci"), lambda found: {**(found or {}), "freezes": [window]})
    result = fleet.run("reconcile", "ci", "--until-settled")
    assert result.exit_code == 1
    held = f"delete {ORPHAN}: freeze window deadline until 2100-01-01 00:00; it is not declared and no runner of it is"
    assert (
        result.stderr == f"error: more sweeps change nothing; a person or time does; what is left:\n  {held} online\n"
    )
