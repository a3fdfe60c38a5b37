"""What the guests of VMs do as the cloud's time passes: boots, registrations, jobs, orders, faults."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bench.cloud.control import ControlError
from bench.guests.guests import Guests
from bench.tests.guests.conftest import Lab, path
from infra.fleet.runner.supervisor.boot import STEPS
from tests.fleet.broker.broker_world import REPO, VM

GOOD, BAD = (f"a-docker.pkg.dev/b@sha256:{digit * 64}" for digit in "0b")
A_BOOT = 300.0
"""Seconds within which every first boot ends."""


def test_a_vm_boots_for_minutes_and_then_registers(lab: Lab) -> None:
    assert lab.disk.state.phase == "booting"
    assert lab.runners == {}
    lab.guests.advance(100)
    assert (lab.disk.state.phase, lab.report["phase"]) == ("booting", "booting")
    lab.guests.advance(A_BOOT - 100)
    disk = lab.disk
    assert (disk.state.phase, lab.runners) == ("idle", {disk.state.runner: "online"})
    assert [step["step"] for step in lab.report["boot"]] == list(STEPS)
    began, ended = lab.report["boot"][0]["began"], lab.report["boot"][-1]["ended"]
    assert began == "2026-11-21T08:00:00Z"
    assert ended == lab.report["at"]


def test_worker_0_of_a_slice_registers(lab: Lab) -> None:
    lab.control.remove_node(VM)
    lab.make("v5litepod-256")
    lab.guests.advance(A_BOOT)
    assert (lab.disk.state.phase, lab.runners) == ("idle", {lab.disk.state.runner: "online"})


def test_a_job_runs_for_its_time_and_another_runner_takes_the_next(lab: Lab) -> None:
    first, second = (lab.control.queue_job(REPO, ["tpu-ci"], name=name, seconds=600) for name in ("a", "b"))
    lab.guests.advance(A_BOOT)
    one = lab.disk
    assert (one.state.phase, one.number, lab.report["job"]) == ("busy", first["id"], "a")
    lab.guests.advance(600)
    two = lab.disk
    assert (two.state.phase, two.number) == ("busy", second["id"])
    assert two.state.runner != one.state.runner
    assert lab.runners == {two.state.runner: "online"}, "GitHub has forgotten who served its job"
    assert lab.told("job-ended")[0]["result"] == "Succeeded"


def test_a_vm_that_is_taken_away_goes_offline_and_its_job_fails_after_ten_minutes(lab: Lab) -> None:
    lab.control.queue_job(REPO, ["tpu-ci"])
    lab.guests.advance(A_BOOT)
    busy = lab.disk.state.runner
    lab.control.preempt(path())
    assert lab.disk.down
    assert lab.runners == {busy: "offline"}
    lab.guests.advance(601)
    assert lab.runners == {}, "a runner for one job is gone with it"
    lab.control.remove_node(VM)
    assert lab.guests.settle().vms == {}
    lab.make()
    lab.guests.advance(A_BOOT)
    assert lab.disk.state.phase == "idle"
    assert lab.disk.state.runner != busy


def test_a_lost_registration_is_not_noticed_until_a_restart_is_ordered(lab: Lab) -> None:
    lab.guests.advance(A_BOOT)
    lost = lab.guests.lose_runner(VM)
    lab.guests.advance(3600)
    assert (lab.disk.state.phase, lab.disk.state.runner, lab.runners) == ("idle", lost, {})
    lab.order(restart=1)
    lab.guests.advance(60)
    assert (lab.disk.state.phase, lab.disk.state.obeyed, lab.report["obeyed"]) == ("idle", 1, 1)
    assert lab.runners == {lab.disk.state.runner: "online"}
    began = lab.report["boot"][0]["began"]
    lab.guests.advance(600)
    assert lab.report["boot"][0]["began"] == began, "an order is obeyed once"
    with pytest.raises(ControlError, match="no registration that could be lost"):
        lab.guests.lose_runner("another")


@pytest.mark.parametrize(
    ("kind", "more", "phase", "reason"),
    [
        ("mute", {}, "registering", ""),
        ("unfit", {"message": "the disk is full"}, "unfit", "the disk is full"),
        ("slow-boot", {"seconds": 7200.0}, "booting", ""),
    ],
)
def test_a_guest_that_a_fault_strikes_serves_nobody_until_its_vm_is_made_again(
    lab: Lab, kind: str, more: dict[str, Any], phase: str, reason: str
) -> None:
    lab.control.fail(kind, name=VM, count=1, **more)
    lab.guests.advance(3600)
    assert (lab.report["phase"], lab.report["reason"] or "", lab.runners) == (phase, reason, {})
    lab.control.remove_node(VM)
    lab.make()
    lab.guests.advance(A_BOOT)
    assert lab.disk.state.phase == "idle"


def test_a_broken_image_makes_a_vm_unfit_until_it_is_to_run_another(lab: Lab) -> None:
    lab.guests.advance(A_BOOT)
    lab.control.fail("broken", running=BAD)
    lab.order(image=BAD)
    lab.guests.advance(60)
    assert (lab.report["phase"], lab.report["image"]) == ("registering", BAD)
    lab.guests.advance(600)
    assert (lab.report["phase"], lab.report["image"]) == ("unfit", BAD)
    assert lab.told("phase")[-1]["reason"] == lab.report["reason"]
    assert re.fullmatch(
        r"runners end at once without a job, [5-9] in a row, the last with status 1", lab.disk.state.reason
    )
    assert set(lab.runners.values()) <= {"offline"}
    lab.order(image=GOOD)
    lab.guests.advance(120)
    assert (lab.report["phase"], lab.report["image"]) == ("idle", GOOD)


def test_a_broken_bundle_makes_a_vm_unfit_until_it_is_to_run_another(lab: Lab) -> None:
    lab.guests.advance(A_BOOT)
    good, bad = lab.disk.state.bundle, lab.store_bundle(b"does not start")
    lab.control.fail("broken", running=bad)
    lab.order(bundle=bad)
    lab.guests.advance(A_BOOT)
    halted = "step install-docker: a command of it failed, see the log"
    assert [told["reason"] for told in lab.told("halted")] == [halted]
    why = f"bundle {bad[:12]} did not start: {halted}"
    assert (lab.report["phase"], lab.report["reason"], lab.report["bundle"]) == ("unfit", why, good)
    lab.order(bundle=good)
    lab.guests.advance(A_BOOT)
    assert lab.report["phase"] == "idle"


def test_without_a_bundle_a_vm_waits_and_without_a_broker_it_says_so(lab: Lab) -> None:
    lab.world.write("runner/startup.json", {"version": 1, "bundle": "f" * 64})
    lab.guests.advance(600)
    assert lab.disk.state.phase == "booting"
    lab.world.write("runner/startup.json", {"version": 1, "bundle": lab.store_bundle(b"there")})
    Guests(lab.control, lambda _: None).advance(600)
    assert (lab.report["phase"], lab.report["reason"]) == ("registering", "stack ci has no broker here")


def test_a_disk_that_an_older_version_kept_boots_again_and_its_runner_is_gone(lab: Lab) -> None:
    lab.guests.advance(A_BOOT)
    disk = lab.disk
    old = {"life": disk.life, "down": False, "phase": "idle", "jit": disk.jit, "drawn": True}
    lab.control.write_disks({path(): old})
    lab.guests.advance(120)
    again = lab.disk
    assert (again.state.phase, lab.runners[again.state.runner]) == ("idle", "online")
    assert again.state.runner != disk.state.runner
    assert lab.runners.get(disk.state.runner, "offline") == "offline"
