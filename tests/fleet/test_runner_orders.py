"""What a runner VM does with orders, run for real in a sandbox: drains, restarts, bundles and images."""

from __future__ import annotations

import pytest

from infra.fleet.bundle import runner_bundle
from tests.fleet.sandbox import (
    HEAVY,
    IMAGE,
    NO_JOB,
    Sandbox,
    containers,
)


def test_a_drained_vm_takes_no_job(vm: Sandbox) -> None:
    vm.order(drain=True)
    vm.grants(1)
    cycle = vm.supervise()
    assert (vm.report["phase"], vm.report["reason"]) == ("draining", "drained by order")
    assert not vm.asked
    assert not containers(cycle)


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
