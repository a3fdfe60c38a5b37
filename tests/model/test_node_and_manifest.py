"""A VM's full spec, and the manifest from which it can be made again exactly."""

from __future__ import annotations

import pytest

from infra.model import fleet
from infra.model.manifest import in_transition, manifest
from infra.model.node import STARTUP_SCRIPT_KEY, NodeSpec, node_spec
from infra.model.stack import load_stack
from tests.model.given import ROOT, parse, pool, stack_text
from tests.synthetic_lab import the_lab

DISK = "[{source_disk: projects/p/zones/us-central2-b/disks/d, mode: read-only}]"
RESERVATION = "- {name: r, project: my-lab, zone: us-west4-a, generation: v5e, chips: 64}\n"


def spec(**fields: object) -> NodeSpec:
    config = parse(stack_text(pools=pool(**fields), reservations=RESERVATION))
    (slot,) = fleet.slots(config)
    return node_spec(config, slot, startup_script="#!/bin/sh\n")


def test_a_node_is_told_whose_it_is_and_has_full_paths_its_own_account_and_secure_boot() -> None:
    node = spec()
    assert node.network == "projects/my-lab/global/networks/tidepool-ci"
    assert node.subnetwork == "projects/my-lab/regions/us-west4/subnetworks/tidepool-ci-us-west4"
    assert node.service_account_email == "tidepool-ci-pool-other@my-lab.iam.gserviceaccount.com"
    assert node.enable_secure_boot
    told = {key.removeprefix("tidepool-"): value for key, value in node.metadata.items()}
    assert [told[key] for key in ("bucket", "stack", "pool", "region")] == ["my-lab-ci", "ci", "other", "us-west4"]
    assert node.metadata[STARTUP_SCRIPT_KEY] == "#!/bin/sh\n"


@pytest.mark.parametrize(
    ("capacity", "scheduling"),
    [
        ("on-demand", {}),
        ("spot", {"spot": True}),
        ("preemptible", {"preemptible": True}),
        ("{reserved: r}", {"reserved": True}),
    ],
)
def test_capacity_becomes_at_most_one_scheduling_flag(capacity: str, scheduling: dict[str, bool]) -> None:
    assert spec(capacity=capacity).to_api().get("schedulingConfig", {}) == scheduling


def test_data_disks_are_in_the_apis_words() -> None:
    node = spec(accelerator="v4-8", zones="{us-central2-b: 1}", data_disks=DISK)
    assert node.to_api()["dataDisks"] == [{"sourceDisk": "projects/p/zones/us-central2-b/disks/d", "mode": "READ_ONLY"}]


def test_what_changes_often_is_in_no_nodes_spec() -> None:
    """A new bundle, or another repository to serve, must reach VMs without a change that Pulumi sees."""
    assert spec(serves="[a/b]") == spec(serves="[c/d]")
    config = parse(stack_text(pools=pool()))
    first, second = (manifest(config, bundle=bundle, startup_script="x") for bundle in ("a", "b"))
    assert first["slots"] == second["slots"]
    assert first["bundle"] != second["bundle"]


def test_in_transition_what_stays_is_declared_as_before_and_what_is_new_beside_it() -> None:
    before = parse(stack_text(pools=pool(name="a", zones="{us-west4-a: 2}")))
    after = parse(stack_text(pools=pool(name="a", zones="{us-west4-a: 1, us-west1-c: 1}", accelerator="v5litepod-8")))
    old = manifest(before, bundle="a" * 64, startup_script="#!/bin/sh\n")
    new = manifest(after, bundle="b" * 64, startup_script="#!/bin/sh\n")
    found = in_transition(old, new, {"a-us-west4-a-0", "a-us-west4-a-1"})
    slots = {slot["name"]: slot for slot in found["slots"]}
    assert [slots.pop(slot["name"]) for slot in old["slots"]] == old["slots"]
    assert list(slots.values()) == [slot for slot in new["slots"] if slot["zone"] == "us-west1-c"]
    assert {**found, "slots": new["slots"]} == new, "all else of the stack file is in force at once"


def test_in_transition_limits_are_the_new_ones_and_those_under_which_vms_stay() -> None:
    document = manifest(parse(stack_text(pools=pool(name="a", zones="{us-west4-a: 1}"))), bundle="a", startup_script="")
    old = {**document, "owner": "before", "limits": [{"name": name, "zone": "us-west4-a"} for name in ("kept", "both")]}
    old["limits"].append({"name": "gone", "zone": "us-east1-c"})
    new = {**document, "limits": [{"name": "both", "zone": "us-west4-a", "chips": 8}]}
    found = in_transition(old, new, {"a-us-west4-a-0"})
    assert found["limits"] == [new["limits"][0], old["limits"][0]]
    assert found["owner"] == "before", "what stays carries its label"
    assert in_transition(old, new, ()) == new


def test_the_document_says_every_key_that_the_manifest_has() -> None:
    config = load_stack(the_lab(), "ci")
    made = manifest(config, bundle="ab" * 32, startup_script="x")
    document = (ROOT / "docs" / "manifest.md").read_text()
    keys = {*made, *made["controller"], *made["slots"][0], *made["slots"][0]["node"]}
    assert [key for key in sorted(keys) if f"`{key}`" not in document] == []
