"""VMs that stand in the cloud while the state lacks them: adopted where they are this stack's, else left alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.cloud.testing import TestCloud
from infra.model.plan import Op
from tests.engines.standing_world import ZONE, StandingWorld, changed

pytestmark = pytest.mark.usefixtures("cheap_keys")

FIRST, SECOND, THIRD = (f"tpu-ci-{ZONE}-{index}" for index in range(3))


@pytest.fixture
def world(tmp_path: Path, quick_cloud: TestCloud) -> StandingWorld:
    """Two declared VMs, both made."""
    quick_cloud.control.reset()
    found = StandingWorld.at(tmp_path, quick_cloud)
    found.declare(2)
    assert not found.engine.up().failed
    return found


def test_a_vm_that_a_controller_made_after_a_stockout_is_adopted(world: StandingWorld) -> None:
    world.declare(3)
    world.cloud.control.fail("stockout", zone=ZONE, count=1)
    assert changed(world.engine.up()) == {THIRD: "create"}
    assert world.make(2) == THIRD

    assert changed(world.engine.preview()) == {THIRD: "adopt"}
    run = world.engine.up()
    assert not run.failed, run.diagnostics
    assert changed(run) == {THIRD: "adopt"}
    assert changed(world.engine.preview()) == {}
    assert world.state()[THIRD]["id"] == world.vms()[THIRD]["name"]


def test_what_differs_from_its_declaration_is_updated_or_replaced_in_the_same_run(world: StandingWorld) -> None:
    world.declare(4)
    labels = {**world.vms()[FIRST]["labels"], "tidepool-trust": "fork"}
    world.make(2, labels)
    world.declare(4, accelerator="v5litepod-8")
    fourth = world.make(3)
    world.declare(4)
    assert changed(world.engine.preview()) == {THIRD: "update", fourth: "replace"}
    assert not world.engine.up().failed
    assert changed(world.engine.preview()) == {}
    assert world.vms()[fourth]["acceleratorType"] == "v5litepod-4"


def test_destroy_deletes_vms_that_the_state_lacks(world: StandingWorld) -> None:
    world.declare(4)
    world.make(2)
    fourth = world.make(3)
    world.declare(3)  # the fourth was taken back, and its VM stands all the same
    world.mark(FIRST, pendingReplacement=True)
    world.unprotect()
    run = world.engine.destroy()
    assert not run.failed, run.diagnostics
    assert world.vms() == {}
    assert {FIRST, SECOND, THIRD, fourth} <= {step.name for step in run.steps if step.op is Op.DELETE}


def in_flight(world: StandingWorld, labels: Mapping[str, str]) -> str:
    """A state in which the third VM was being made when its run died, and a VM of that name with these labels."""
    world.declare(3)
    plan = world.engine.preview()
    (step,) = [step for step in plan.steps if step.name == THIRD]
    template = world.state()[SECOND]
    creating = {key: value for key, value in template.items() if key not in ("id", "outputs")}
    world.interrupt("creating", {**creating, "urn": step.urn, "inputs": dict(step.new_inputs or {})})
    return world.make(2, labels)


@pytest.mark.parametrize("operation", ["refresh", "destroy"])
def test_a_create_in_flight_is_not_taken_for_the_vm_of_another(world: StandingWorld, operation: str) -> None:
    labels = {"tidepool-owner": "others", "tidepool-stack": "lone", "tidepool-pool": "tpu-ci"}
    other = in_flight(world, labels)
    world.unprotect()
    run = getattr(world.engine, operation)()
    assert other in world.vms(), run.diagnostics
    assert any("is left alone" in said.message for said in run.diagnostics)
