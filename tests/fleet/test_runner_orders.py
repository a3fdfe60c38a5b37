"""What a runner VM does with orders, run for real in a sandbox: drains, restarts, bundles and images."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from infra.fleet.bundle import runner_bundle
from tests.fleet.sandbox import (
    HEAVY,
    IMAGE,
    NO_JOB,
    ONE_JOB,
    ORDERS,
    TOKEN,
    Sandbox,
    containers,
)

OTHER_IMAGE = f"{IMAGE.partition('@')[0]}@sha256:{'b' * 64}"


@HEAVY
def test_orders_end_a_wait(vm: Sandbox) -> None:
    vm.broker = [(429, 3600, {"reason": "too-often", "message": "Later."})]
    orders = {"version": 1, "drain": True}
    path = f"http://{vm.server}/upload/storage/v1/b/b/o?uploadType=media&name={ORDERS}"
    post = f"\"$REAL_CURL\" -sS -o /dev/null -H 'Authorization: Bearer {TOKEN}' --data '{json.dumps(orders)}' '{path}'"
    vm.flag("meanwhile", f"{post}\n")
    cycle = vm.supervise(sleeps=2)
    assert [call for call in cycle.calls if call.startswith("sleep")] == ["sleep 15", "sleep 15"]
    assert vm.report["phase"] == "draining"


def test_a_drained_vm_takes_no_job(vm: Sandbox) -> None:
    vm.order(drain=True)
    vm.grants(1)
    cycle = vm.supervise()
    assert (vm.report["phase"], vm.report["reason"]) == ("draining", "drained by order")
    assert not vm.asked
    assert not containers(cycle)


def test_a_runner_without_a_job_is_stopped_when_its_vm_is_drained(vm: Sandbox) -> None:
    vm.limit(LOOK_EVERY="1")
    vm.publish(images={"tpu-ci": {"us-west4": IMAGE}})
    vm.flag("container", NO_JOB)
    vm.registered = lambda: vm.order(drain=True)
    vm.grants(1)
    cycle = vm.supervise()
    assert "docker stop tidepool-job" in cycle.calls
    assert vm.phases[-1] == "draining"


@HEAVY
def test_a_running_job_is_not_stopped_by_a_drain_or_a_rollout(vm: Sandbox) -> None:
    vm.limit(LOOK_EVERY="1")
    vm.publish(images={"tpu-ci": {"us-west4": IMAGE}})
    begins, ends = ONE_JOB.rsplit("echo", 1)
    vm.flag("container", f"{begins}/bin/sleep 1.2\n[[ ! -e $SANDBOX/stopped ]] && echo{ends}")
    vm.registered = lambda: vm.order(drain=True, image=OTHER_IMAGE)
    vm.grants(1)
    cycle = vm.supervise()
    assert '"event":"job-ended","job":"tpu-tests","result":"Succeeded"' in cycle.log
    assert vm.phases[-2:] == ["busy", "draining"]


@HEAVY
def test_a_restart_is_obeyed_once_even_under_a_runner_that_hangs(vm: Sandbox) -> None:
    vm.limit(LOOK_EVERY="1")
    vm.publish(images={"tpu-ci": {"us-west4": IMAGE}})
    vm.flag("container", NO_JOB.replace("Listening for Jobs", "Running job: hangs"))
    vm.registered = lambda: vm.order(restart=3)
    vm.grants(1)
    cycle = vm.supervise()
    assert "docker stop tidepool-job" in cycle.calls
    assert cycle.calls[-1] == "systemctl restart --no-block tidepool-supervisor.service"
    assert vm.report["obeyed"] == 3
    assert "start-up begins" in cycle.log
    assert "start-up begins" not in vm.supervise().log


@pytest.mark.parametrize("orders", [{"restart": 3}, {}])
def test_a_vm_that_is_made_anew_does_not_obey_what_its_predecessor_was_told(
    vm: Sandbox, orders: dict[str, int]
) -> None:
    vm.order(**orders)
    vm.boot()
    assert "restarted by order" not in vm.supervise().log
    assert vm.report["obeyed"] == orders.get("restart", 0)
    vm.order(restart=orders.get("restart", 0) + 1)
    assert "restarted by order" in vm.supervise().log


def test_an_ordered_bundle_is_fetched_checked_and_started(vm: Sandbox) -> None:
    vm.supervise()
    (vm.runner / "lib.sh").write_text((vm.runner / "lib.sh").read_text() + "# another bundle\n")
    other = runner_bundle(vm.runner)
    vm.put_bundle(other)
    vm.order(bundle=other.sha256)
    cycle = vm.supervise()
    assert cycle.status == 0, cycle.log
    assert (vm.root / "var/lib/tidepool/current").readlink().name == other.sha256
    assert vm.report["bundle"] == other.sha256
    assert cycle.calls[-1] == "systemctl restart --no-block tidepool-supervisor.service"


@HEAVY
def test_an_ordered_bundle_that_does_not_start_leaves_the_vm_unfit_until_another_is_ordered(vm: Sandbox) -> None:
    vm.supervise()
    first = vm.bundle
    (vm.runner / "steps/allow-reset.sh").write_text(
        '#!/bin/bash\nsource "${BASH_SOURCE%/*}/../lib.sh"\nblame no; exit 1\n'
    )
    other = runner_bundle(vm.runner)
    vm.put_bundle(other)
    vm.order(bundle=other.sha256)
    assert vm.supervise().status == 1
    assert (vm.report["phase"], vm.report["reason"]) == ("halted", "step allow-reset: no")
    vm.supervise()
    assert vm.report["phase"] == "unfit"
    assert vm.report["reason"] == f"bundle {other.sha256[:12]} did not start: step allow-reset: no"
    vm.order(bundle=first)
    vm.grants(1)
    assert len(containers(vm.supervise())) == 1


@HEAVY
@pytest.mark.parametrize("bundle", ["f" * 64, "../../etc", None])
def test_a_bundle_that_is_not_what_its_name_says_never_runs(vm: Sandbox, bundle: str | None) -> None:
    wrong = bundle or "e" * 64
    if bundle is None:
        vm.put_bundle(runner_bundle(vm.runner), name=wrong)
    vm.order(bundle=wrong)
    vm.grants(1)
    cycle = vm.supervise()
    assert "start-up begins" not in cycle.log
    assert vm.report["reason"].startswith("the ordered bundle ")
    assert not vm.asked


@HEAVY
def test_an_ordered_image_goes_before_the_pools(vm: Sandbox) -> None:
    vm.order(image=OTHER_IMAGE)
    vm.grants(1)
    cycle = vm.supervise()
    assert [call for call in cycle.calls if call.startswith("docker pull")] == [
        f"docker pull -q {IMAGE.partition('@')[0]}@sha256:SHA256"
    ]
    assert vm.report["image"] == OTHER_IMAGE
    assert len(containers(cycle)) == 1


NO_IMAGE: dict[str, tuple[Callable[[Sandbox], Any], str]] = {
    "none": (lambda vm: vm.publish(images={}), "no image is promoted to tpu-ci in us-west4"),
    "ordered none": (lambda vm: vm.order(image="none"), "the orders name no image: none is proved for tpu-ci"),
    "tag": (
        lambda vm: vm.order(image="a-docker.pkg.dev/b:latest"),
        "refused image a-docker.pkg.dev/b:latest: not a digest",
    ),
    "pull": (lambda vm: (vm.flag("no-pull"), vm.order(image=OTHER_IMAGE)), "gave up after 6 attempts: login_and_pull"),
}


@HEAVY
@pytest.mark.parametrize("fault", NO_IMAGE)
def test_without_its_image_a_vm_registers_nothing(vm: Sandbox, fault: str) -> None:
    breaks, reason = NO_IMAGE[fault]
    breaks(vm)
    vm.grants(1)
    vm.supervise(sleeps=6)
    assert vm.report["phase"] == "pulling"
    assert vm.report["reason"].startswith(reason)
    assert not vm.asked


def test_orders_for_no_image_hold_whatever_the_pointer_names(vm: Sandbox) -> None:
    vm.order(image="none")
    vm.grants(1)
    cycle = vm.supervise()
    assert (vm.report["phase"], vm.report["image"], containers(cycle), vm.asked) == ("pulling", None, [], [])


@HEAVY
@pytest.mark.parametrize("missing", [ORDERS, "runner/startup.json", "runner/current.json"])
def test_a_vm_that_cannot_read_its_orders_registers_nothing(vm: Sandbox, missing: str) -> None:
    vm.down = {missing}
    vm.grants(1)
    vm.supervise()
    assert vm.report["phase"] == "registering"
    assert vm.report["reason"].endswith("cannot be read")
    assert not vm.asked


@HEAVY
@pytest.mark.parametrize("orders", [b"not json", b"[]", b'{"drain": {"x": 1}, "restart": "many", "image": 5}'])
def test_orders_that_make_no_sense_start_nothing(vm: Sandbox, orders: bytes) -> None:
    vm.objects[ORDERS] = orders
    vm.grants(1)
    cycle = vm.supervise()
    assert not containers(cycle)
    assert vm.report["reason"]
