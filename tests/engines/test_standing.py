"""VMs that stand in the cloud while the state lacks them: adopted where they are this stack's, else left alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.cloud.testing import TestCloud
from infra.model.errors import EngineError
from infra.model.plan import Op, Status
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


def test_a_vm_with_other_labels_is_refused_by_name_and_touched_by_nobody(world: StandingWorld) -> None:
    world.declare(3)
    world.make(2, {"tidepool-managed": "true", "tidepool-stack": "other", "tidepool-pool": "tpu-ci"})
    before = world.vms()
    for operation in (world.engine.preview, world.engine.up, world.engine.adopt):
        with pytest.raises(EngineError, match=rf"{THIRD} in {ZONE} .*tidepool-stack=other;.*rename pool tpu-ci"):
            operation()
    assert world.vms() == before
    assert THIRD not in world.state()


def test_adopt_takes_in_what_stands_and_changes_nothing_else(world: StandingWorld) -> None:
    world.declare(4)
    labels = {**world.vms()[FIRST]["labels"], "tidepool-trust": "fork"}
    world.make(2, labels)
    run = world.engine.adopt()
    assert {step.name: (step.op, step.status) for step in run.steps} == {THIRD: (Op.ADOPT, Status.DONE)}
    assert world.vms()[THIRD]["labels"] == labels
    assert len(world.vms()) == 3, "the fourth is not made"
    assert changed(world.engine.preview()) == {THIRD: "update", f"tpu-ci-{ZONE}-3": "create"}


def test_adopt_with_nothing_to_adopt_is_no_step(world: StandingWorld) -> None:
    assert world.engine.adopt().steps == ()


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


def test_a_vm_that_came_to_stand_after_the_plan_is_not_touched(world: StandingWorld) -> None:
    world.declare(3)
    planned = world.engine.preview()
    world.make(2)
    with pytest.raises(EngineError, match=rf"{THIRD}: made by another since the plan was shown"):
        world.engine.up(planned=planned)
    assert THIRD not in world.state()
    assert changed(world.engine.up(planned=world.engine.preview())) == {THIRD: "adopt"}


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


def test_destroy_with_an_empty_state_deletes_no_vm_and_says_which_stand(world: StandingWorld) -> None:
    world.keep({})
    assert f"{FIRST}, {SECOND}. None was deleted" in world.engine.preview_destroy().diagnostics[0].message
    run = world.engine.destroy()
    assert run.failed
    (said,) = [said.message for said in run.diagnostics if said.severity == "error"]
    assert f"{FIRST}, {SECOND}. None was deleted" in said
    assert set(world.vms()) == {FIRST, SECOND}
