"""What one edit of a stack file changes in the program: exactly that, and nothing beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
import pytest

from infra.model.stack_text import pulumi_values
from infra.program.stack import run
from tests.program.fake_engine import Built, build
from tests.program.stacks import built, edited, text_of, unedited

VMS_IN_US_WEST4 = ["tpu-ci-us-west4-a-0", "tpu-ci-us-west4-a-1"]


def added(before: Built, after: Built) -> list[str]:
    return sorted(after.resources[urn].name for urn in after.resources.keys() - before.resources.keys())


def changed(before: Built, after: Built) -> dict[str, Mapping[str, Any]]:
    """Of every resource that both have: which inputs differ, as they are after."""
    found = {}
    for urn in before.resources.keys() & after.resources.keys():
        old, new = before.resources[urn].inputs, after.resources[urn].inputs
        differing = {key: new.get(key) for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
        if differing:
            found[after.resources[urn].name] = differing
    return found


def test_one_more_is_exactly_one_more_resource() -> None:
    before, after = unedited("ci"), built("ci", edited("ci", ("us-west4-a: 2", "us-west4-a: 3")))
    assert added(before, after) == ["tpu-ci-us-west4-a-2"]
    assert added(after, before) == []
    assert changed(before, after).keys() == {"manifests/ci.json"}


def test_one_fewer_drops_the_highest_index() -> None:
    before, after = unedited("ci"), built("ci", edited("ci", ("us-west4-a: 2", "us-west4-a: 1")))
    assert added(after, before) == ["tpu-ci-us-west4-a-1"]
    assert added(before, after) == []
    assert changed(before, after).keys() == {"manifests/ci.json"}


@pytest.mark.parametrize("line", ["        us-west4-a: 2\n", "        us-east1-c: 2\n", "        europe-west4-b: 2\n"])
def test_a_zone_that_goes_takes_its_vms_and_nothing_else(line: str) -> None:
    zone = line.strip().split(":")[0]
    edits = [(line, "")]
    if zone == "us-east1-c":
        text = text_of("ci")
        start = text.index("      unlisted_zone:")
        edits.append((text[start : text.index("      runtime_override:")], ""))
    before, after = unedited("ci"), built("ci", edited("ci", *edits))
    assert added(after, before) == [f"tpu-ci-{zone}-0", f"tpu-ci-{zone}-1"]
    assert added(before, after) == []
    assert changed(before, after).keys() == {"manifests/ci.json"}


def test_a_first_vm_in_a_zone_of_size_zero_is_one_resource_as_well() -> None:
    before, after = unedited("nightly"), built("nightly", edited("nightly", ("us-central1-b: 0", "us-central1-b: 1")))
    assert added(before, after) == ["nightly-v6e-us-central1-b-0"]
    assert changed(before, after).keys() == {"manifests/nightly.json"}


def test_a_label_changes_labels_in_place() -> None:
    before, after = unedited("ci"), built("ci", edited("ci", ("tpu-ci-component: runner", "tpu-ci-component: worker")))
    assert added(before, after) == added(after, before) == []
    found = changed(before, after)
    assert set(found.pop("manifests/ci.json")) == {"content"}
    assert set(found) == {vm.name for vm in after.of("V2Vm")}
    assert all(set(inputs) == {"labels"} for inputs in found.values())


def test_another_kind_of_capacity_changes_scheduling_and_keeps_the_name() -> None:
    text = text_of("ci").replace("capacity: preemptible", "capacity: spot", 1)
    before, after = unedited("ci"), built("ci", text)
    assert added(before, after) == added(after, before) == []
    differing = {name: set(inputs) for name, inputs in changed(before, after).items()}
    assert differing.pop("manifests/ci.json") == {"content"}
    assert differing[VMS_IN_US_WEST4[0]] == {"schedulingConfig"}
    assert len(differing) == 6


def test_an_on_demand_vm_has_no_scheduling_block() -> None:
    program = built("ci", text_of("ci").replace("capacity: preemptible", "capacity: on-demand", 1))
    vm = next(vm for vm in program.of("V2Vm") if vm.name == VMS_IN_US_WEST4[0])
    assert "schedulingConfig" not in vm.inputs, (
        "the service drops a block of falses, and its absence then replaces the VM"
    )


def test_a_pool_of_trust_fork_is_shut_in() -> None:
    text = text_of("ci").replace("trust: member", "trust: fork", 1)
    program = built("ci", text)
    vms = [vm for vm in program.of("V2Vm") if vm.inputs["labels"]["tidepool-trust"] == "fork"]
    assert len(vms) == 6
    account = "serviceAccount:" + vms[0].inputs["serviceAccount"]["email"]
    for vm in vms:
        assert vm.inputs["networkConfig"].get("enableExternalIps", False) is False
        needed = {program.resources[urn].type.split(":")[-1] for urn in vm.dependencies}
        assert "RouterNat" in needed, "without an address of its own a VM has no way out before the NAT is there"
    grants = [r.inputs for r in program.custom if r.inputs.get("member") == account]
    writes = [each["condition"]["expression"] for each in grants if each["role"] == "roles/storage.objectUser"]
    below = "projects/_/buckets/hai-gcp-models-tidepool-ci/objects/reports/tpu-ci/"
    assert writes == [f'resource.name.startsWith("{below}")'], "nothing but what its VMs say of themselves"
    assert {each["role"] for each in grants} <= {
        "roles/artifactregistry.reader",
        "roles/storage.objectUser",
        "roles/storage.objectViewer",
    }, "no secret"
    assert {nat.inputs["region"] for nat in program.of("RouterNat")} == {"us-west4", "us-east1", "europe-west4"}


def test_a_nat_is_found_by_the_name_of_its_router() -> None:
    program = built("ci", text_of("ci").replace("trust: member", "trust: fork", 1))
    routers = {router.inputs["name"] for router in program.of("Router")}
    assert {nat.inputs["router"] for nat in program.of("RouterNat")} == routers


def test_pools_that_reach_out_by_themselves_need_no_nat() -> None:
    assert not unedited("ci").of("RouterNat")


def test_every_mistake_of_a_file_is_said_at_once_and_nothing_is_declared() -> None:
    text = edited("ci", ("us-west4-a: 2", "us-west9-z: 2"), ("accelerator: v5p-8", "accelerator: v5p-9"))
    with pytest.raises(pulumi.RunError) as raised:
        built("ci", text)
    assert "us-west9-z" in str(raised.value)
    assert "v5p-9" in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__, "a person who mistyped a zone is shown no traceback"


def test_the_other_stacks_are_those_of_the_checkout_that_is_run(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    taken = text_of("nightly").replace("nightly-v6e", "tpu-ci").replace("us-central1-b: 0", "us-central1-b: 1")
    (tmp_path / "stacks" / "Pulumi.nightly.yaml").write_text(taken)
    with pytest.raises(pulumi.RunError, match="nightly"):
        build(lambda: run(tmp_path), stack="ci", config=pulumi_values(text_of("ci")))
