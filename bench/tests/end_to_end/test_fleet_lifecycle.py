"""A fleet through the whole of it: program, engine, provider and cloud."""

from __future__ import annotations

import pytest

from bench.cloud.testing import TestCloud
from bench.tests.end_to_end.fleet_world import World, assert_as_declared, changes, complaints, nodes, vms
from infra.model.plan import Op, Status

pytestmark = pytest.mark.usefixtures("cheap_keys")

FIRST = "tpu-ci-us-west4-a-0"
LAST = "tpu-ci-us-west4-a-2"


def test_a_fleet_grows_shrinks_and_stays(world: World, cloud: TestCloud) -> None:
    plan = world.up(vms(2))
    assert complaints(plan) == []
    assert_as_declared(world, cloud, vms(2))

    after = cloud.control.log(limit=1)[-1]["number"]
    again = world.up(vms(2))
    assert {step.op for step in again.steps} == {Op.SAME}
    assert cloud.control.log(after=after) == [], "nothing to do must ask nothing of the cloud"

    assert changes(world.preview(vms(3))) == {LAST: Op.CREATE}
    assert changes(world.up(vms(3))) == {LAST: Op.CREATE}
    assert changes(world.preview(vms(2))) == {LAST: Op.DELETE}
    assert changes(world.up(vms(2))) == {LAST: Op.DELETE}
    assert_as_declared(world, cloud, vms(2))

    world.engine({}).destroy()
    assert nodes(cloud) == {}


def test_a_label_changes_in_place_and_an_accelerator_replaces(world: World, cloud: TestCloud) -> None:
    world.up(vms(2))
    born = {name: node["createTime"] for name, node in nodes(cloud).items()}

    labelled = vms(2, labels={"owner": "ci"}, script="#!/bin/sh\nfalse\n")
    plan = world.up(labelled)
    assert set(changes(plan).values()) == {Op.UPDATE}
    assert {name: node["createTime"] for name, node in nodes(cloud).items()} == born
    assert_as_declared(world, cloud, labelled)

    swapped = {**labelled, FIRST: {**labelled[FIRST], "accelerator": "v5litepod-8"}}
    preview = world.preview(swapped)
    assert changes(preview) == {FIRST: Op.REPLACE}
    (step,) = [step for step in preview.steps if step.op is Op.REPLACE]
    assert step.replace_reasons == ("acceleratorType",)
    world.up(swapped)
    assert nodes(cloud)[FIRST]["acceleratorType"] == "v5litepod-8"
    assert nodes(cloud)[FIRST]["createTime"] != born[FIRST]
    assert_as_declared(world, cloud, swapped)

    on_demand = {name: {**spec, "capacity": {"spot": True}} for name, spec in swapped.items()}
    assert set(changes(world.preview(on_demand)).values()) == {Op.REPLACE}


def test_a_stockout_of_one_vm_leaves_the_others_and_the_next_run_makes_only_it(world: World, cloud: TestCloud) -> None:
    cloud.control.fail("stockout", name=FIRST, count=1)
    plan = world.up(vms(3))
    assert changes(plan, status=Status.FAILED) == {FIRST: Op.CREATE}
    assert "Error code 8, message: There is no more capacity in the zone" in "".join(complaints(plan))
    assert set(nodes(cloud)) == set(world.recorded()) == set(vms(3)) - {FIRST}

    again = world.up(vms(3))
    assert changes(again) == {FIRST: Op.CREATE}
    assert_as_declared(world, cloud, vms(3))


def test_a_vm_that_was_preempted_shows_no_plan_and_one_that_is_gone_is_made_again(
    world: World, cloud: TestCloud
) -> None:
    world.up(vms(2))
    cloud.control.preempt(FIRST)
    engine = world.engine(vms(2))
    assert complaints(engine.refresh()) == []
    assert world.recorded()[FIRST]["outputs"]["state"] == "PREEMPTED"
    assert changes(world.preview(vms(2))) == {}

    cloud.control.remove_node(nodes(cloud)[FIRST]["name"])
    engine.refresh()
    assert changes(world.up(vms(2))) == {FIRST: Op.CREATE}
    assert_as_declared(world, cloud, vms(2))


def test_labels_are_never_in_the_state_in_clear_where_they_are_secret(world: World) -> None:
    world.up(vms(1, labels={"owner": "somebody-in-particular"}))
    outputs = world.recorded()[FIRST]["outputs"]
    assert outputs["labels"]["owner"] == "somebody-in-particular"
    for hidden in ("pulumiLabels", "effectiveLabels"):
        assert "somebody-in-particular" not in str(outputs[hidden])


def test_a_refresh_tells_what_others_changed_and_takes_over_the_rest_in_silence(world: World, cloud: TestCloud) -> None:
    world.up(vms(2))
    cloud.control.preempt(FIRST)
    cloud.control.edit_node(nodes(cloud)["tpu-ci-us-west4-a-1"]["name"], {"labels": {"tidepool-pool": "theirs"}})
    refreshed = world.engine(vms(2)).refresh()
    assert changes(refreshed) == {"tpu-ci-us-west4-a-1": Op.UPDATE}
    (step,) = [step for step in refreshed.steps if step.op is Op.UPDATE]
    change = step.diff["labels.tidepool-pool"]
    assert (change.before, change.after) == ("tpu-ci", "theirs")
    assert world.recorded()[FIRST]["outputs"]["state"] == "PREEMPTED"
