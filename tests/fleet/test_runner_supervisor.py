"""What the supervisor of a runner VM does between two jobs, run for real in a sandbox against a stand-in broker."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.fleet import proofs
from infra.fleet.broker.decide import A_TURN
from infra.fleet.bundle import runner_bundle
from infra.fleet.runner.supervisor.container import RUNNER_ENTRY
from infra.fleet.runner.supervisor.limits import ASK_APART
from tests.fleet.sandbox import (
    GOLDEN,
    HEAVY,
    JIT,
    ONE_JOB,
    REPORT,
    TOKEN,
    Sandbox,
    containers,
    values,
)
from tests.lacking import lacking


def test_a_good_cycle_cleans_registers_runs_one_job_and_asks_again(vm: Sandbox, update_goldens: bool) -> None:
    vm.boot()
    vm.grants(1)
    cycle = vm.supervise()
    log, calls = GOLDEN / "job-cycle.log", GOLDEN / "job-cycle.calls"
    if update_goldens:
        log.write_text(cycle.log)
        calls.write_text("\n".join(cycle.calls) + "\n")
    assert cycle.log == log.read_text()
    assert "\n".join(cycle.calls) + "\n" == calls.read_text()
    assert (vm.path / "jits").read_text() == f"{JIT}\n"


@HEAVY
def test_a_boot_and_a_job_go_the_same_way_under_the_oldest_python_of_a_runtime(
    vm: Sandbox, tool: Callable[[str], str]
) -> None:
    found = [tool("python3.10"), "-c", "import sys; print(sys.executable)"]
    oldest = subprocess.run(found, capture_output=True, text=True, check=False)
    if oldest.returncode != 0:
        lacking("python3.10 is the name of a program that does not start")
    vm.without("python3")
    (vm.path / "bin/python3").symlink_to(oldest.stdout.strip())
    boot = vm.boot()
    assert boot.status == 0, boot.log
    vm.grants(1)
    assert vm.supervise().log == (GOLDEN / "job-cycle.log").read_text()


@pytest.mark.parametrize("token", ["e30.e30.c2ln", 'no token", "phase": "busy', ""])
def test_a_report_is_proved_by_a_token_for_its_own_text_or_goes_without(vm: Sandbox, token: str) -> None:
    asked: list[str] = []

    def identity(audience: str) -> str:
        asked.append(audience)
        return token

    vm.identity = identity
    vm.supervise()
    report, proof = proofs.parted(vm.objects[REPORT])
    assert proofs.audience(report.strip()) in asked
    assert proof == (token if token.count(".") == 2 else "")
    assert vm.report["phase"] == "registering"


def test_a_registration_is_in_no_file_no_log_and_no_list_of_processes(vm: Sandbox) -> None:
    vm.grants(1)
    cycle = vm.supervise()
    assert "the registration is listed" not in cycle.log
    for secret in (JIT, TOKEN, "identity of"):
        assert secret not in cycle.log
        assert not [call for call in cycle.calls if secret in call]
        assert secret not in json.dumps(vm.reports)
        assert not [each for each in vm.root.rglob("*") if each.is_file() and secret in each.read_text("latin-1")]
    assert not list((vm.path / "tmp").iterdir())


@pytest.mark.parametrize("packed", ["not base64!", "", "e30=", base64.b64encode(b'{"../x":"eA=="}').decode()])
def test_a_registration_of_another_shape_is_left_to_the_runner(tmp_path: Path, packed: str) -> None:
    """It makes no file of another name, and the runner hears it where it always did."""
    home = tmp_path / "runner"
    home.mkdir()
    (home / "run.sh").write_text('#!/bin/bash\nprintf %s "$ACTIONS_RUNNER_INPUT_JITCONFIG"\n')
    (home / "run.sh").chmod(0o755)
    entry = RUNNER_ENTRY.replace("/opt/actions-runner", str(home))
    done = subprocess.run(["bash", "-c", entry], input=f"{packed}\n", capture_output=True, text=True, check=True)
    assert done.stdout == packed
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["run.sh"]


def test_the_next_job_finds_nothing_of_the_last_one(vm: Sandbox) -> None:
    job = vm.root / "var/lib/tidepool/job"
    vm.flag("container", f'{ONE_JOB}\nls {job} >>"$SANDBOX/found"\ntouch {job}/left-by-a-job\n')
    vm.flag("left", "container-of-an-earlier-supervisor\n")
    vm.grants(2)
    cycle = vm.supervise()
    assert "docker rm -f -v tidepool-job" in cycle.calls
    assert len(containers(cycle)) == 2
    assert (vm.path / "found").read_text() == ""
    assert not job.exists()


UNFIT: dict[str, tuple[Callable[[Sandbox], Any], str]] = {
    "busy": (lambda vm: vm.device(1, busy=True), "the TPU stays busy: /dev/vfio/1 did not open within 30 s"),
    "gone": (
        lambda vm: (vm.root / "dev/vfio/0").unlink(),
        "there is no TPU device: neither /dev/vfio/0 nor /dev/accel0",
    ),
    "disk": (lambda vm: vm.flag("free", "100"), "the disk is full: 100 MB are free and a job needs 20480"),
    "clock": (lambda vm: setattr(vm, "skew_s", 90), r"the clock is off by -(89|90|91) s"),
    "timeless": (lambda vm: vm.timeless.update(("metadata", "storage")), "the clock cannot be checked: .*"),
    "unreset": (
        lambda vm: vm.device(1, busy=True).mkdir(),
        "the TPU stays busy: /dev/vfio/1 did not open within 30 s, and could not be reset: 0000:00:01.0",
    ),
    "docker": (lambda vm: vm.flag("no-docker"), "docker does not answer"),
    "wall": (lambda vm: vm.flag("no-iptables"), "jobs cannot be kept from the metadata server"),
    "left": (lambda vm: (vm.flag("left", "x"), vm.flag("no-rm")), "the last job's container cannot be removed"),
    "mount": (lambda vm: (vm.flag("mounted"), vm.flag("no-umount")), "the last job's cache cannot be taken away"),
}


@pytest.mark.parametrize("fault", ["busy", *(pytest.param(fault, marks=HEAVY) for fault in UNFIT if fault != "busy")])
def test_a_vm_that_is_not_fit_says_why_and_takes_no_job(vm: Sandbox, fault: str) -> None:
    breaks, reason = UNFIT[fault]
    breaks(vm)
    vm.grants(1)
    cycle = vm.supervise(sleeps=31 if fault in ("busy", "unreset") else 1)
    assert vm.report["phase"] == "unfit"
    assert re.fullmatch(reason, vm.report["reason"])
    assert "sleep 15" in cycle.calls, "it tries again later"
    assert not vm.asked
    assert not containers(cycle)


def test_the_turn_of_a_supervisor_is_the_brokers() -> None:
    assert A_TURN.total_seconds() == ASK_APART


def test_an_ordered_bundle_is_fetched_checked_and_started(vm: Sandbox) -> None:
    vm.supervise()
    (vm.runner / "lib.sh").write_text((vm.runner / "lib.sh").read_text() + "# another bundle\n")
    other = runner_bundle(vm.runner)
    vm.objects[f"runner/bundles/{other.sha256}.tar.gz"] = other.content.encode()
    vm.order(bundle=other.sha256)
    cycle = vm.supervise()
    assert cycle.status == 0, cycle.log
    assert (vm.root / "var/lib/tidepool/current").readlink().name == other.sha256
    assert vm.report["bundle"] == other.sha256
    assert cycle.calls[-1] == "systemctl restart --no-block tidepool-supervisor.service"


@HEAVY
def test_the_image_runs_its_own_runner_unless_the_bundle_pins_another_version(vm: Sandbox) -> None:
    vm.boot()
    vm.flag("has-runner", "2.300.0")
    vm.grants(1)
    (arguments,) = containers(vm.supervise())
    assert "type=bind,src=ROOT/var/lib/tidepool/job/runner,dst=/opt/actions-runner" in values(arguments, "--mount")
    shutil.rmtree(vm.root / "opt/actions-runner/2.337.0")
    vm.grants(1)
    cycle = vm.supervise()
    assert not containers(cycle)
    assert vm.report["reason"] == "runner 2.337.0 is neither in the image (2.300.0) nor on the VM"


@HEAVY
def test_the_chips_of_v4_have_a_driver_of_their_own(vm: Sandbox) -> None:
    for entry in (vm.root / "dev/vfio").iterdir():
        entry.unlink()
    (vm.root / "dev/vfio").rmdir()
    for number in (0, 1):
        (vm.root / f"dev/accel{number}").touch()
    vm.grants(1)
    (arguments,) = containers(vm.supervise())
    assert values(arguments, "--device") == ["ROOT/dev/accel0:/dev/accel0", "ROOT/dev/accel1:/dev/accel1"]


@HEAVY
def test_a_supervisor_that_is_stopped_ends_its_container(vm: Sandbox) -> None:
    cycle = vm.supervise()
    assert cycle.status == 143
    assert cycle.calls[-1] == "docker stop tidepool-job"
