"""What holds of every stack that the schema lets through, and not only of the committed ones."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra.model.errors import ConfigError
from infra.model.fleet import slots
from infra.model.schema import StackConfig
from infra.model.stack import stack_from_pulumi
from infra.program.stack import declare
from tests.program.fake_engine import PROJECT, Built, build, config_values

ZONES = {
    "v5litepod-4": ("us-west4-a", "us-central1-a", "europe-west4-b"),
    "v5p-8": ("us-central1-a", "us-east5-a"),
    "v4-32": ("us-central2-b",),
    "v6e-1": ("europe-west4-a", "us-east1-d"),
}
many = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

names = st.from_regex(r"[a-z]([a-z0-9-]{0,12}[a-z0-9])?", fullmatch=True)


@st.composite
def pools(draw: st.DrawFn, name: str) -> dict[str, Any]:
    accelerator = draw(st.sampled_from(sorted(ZONES)))
    zones = draw(st.sets(st.sampled_from(ZONES[accelerator]), min_size=1))
    return {
        "name": name,
        "accelerator": accelerator,
        "zones": {zone: draw(st.integers(0, 3)) for zone in sorted(zones)},
        "capacity": draw(st.sampled_from(["on-demand", "spot", "preemptible"])),
        "trust": draw(st.sampled_from(["fork", "member", "protected"])),
    }


@st.composite
def configs(draw: st.DrawFn) -> StackConfig:
    made = [draw(pools(name)) for name in sorted(draw(st.sets(names, max_size=4)))]
    trusted = [f"pool/{pool['name']}" for pool in made if pool["trust"] != "fork"]
    document: dict[str, Any] = {
        "gcp:project": "a-lab-of-ours",
        "tidepool:owner": "a-lab",
        "tidepool:bucket": {"name": "a-lab-tidepool", "location": "us"},
        "tidepool:pools": made,
        "tidepool:registries": {
            "regions": sorted(draw(st.sets(st.sampled_from(["us-central1", "us-west4", "us-east5"]), min_size=1))),
            "repositories": [{"name": name} for name in sorted(draw(st.sets(names, max_size=2)))],
        },
        "tidepool:secrets": [
            {
                "name": name,
                "readers": sorted(draw(st.sets(st.sampled_from(["broker", "builder", "controller", *trusted])))),
            }
            for name in sorted(draw(st.sets(names, max_size=2)))
        ],
    }
    try:
        return stack_from_pulumi(config_values({"config": document}), project=PROJECT, stack="any")
    except ConfigError as error:
        raise AssertionError(f"the strategy wrote what the schema refuses: {error}") from error


def program(config: StackConfig) -> Built:
    return build(lambda: declare(config), stack=config.stack)


def one_vm_a_slot_and_one_account_a_pool(config: StackConfig, built: Built) -> None:
    assert [vm.name for vm in built.of("V2Vm")] == sorted(slot.name for slot in slots(config))
    assert len(built.of("Account")) == len(config.pools) + 3


def whatever_runs_forks_is_shut_in(config: StackConfig, built: Built) -> None:
    nat_regions = {nat.inputs["region"] for nat in built.of("RouterNat")}
    for vm in built.of("V2Vm"):
        if vm.inputs["labels"]["tidepool-trust"] != "fork":
            continue
        assert vm.inputs["networkConfig"]["enableExternalIps"] is False
        assert vm.inputs["zone"].rsplit("-", 1)[0] in nat_regions
        member = f"serviceAccount:{vm.inputs['serviceAccount']['email']}"
        grants = [r.inputs for r in built.custom if r.inputs.get("member") == member]
        writes = [each["condition"]["title"] for each in grants if each["role"] == "roles/storage.objectUser"]
        assert writes == [f"only reports/{vm.inputs['labels']['tidepool-pool']}/"]
        reads = {each["role"] for each in grants} - {"roles/storage.objectUser"}
        assert reads <= {"roles/artifactregistry.reader", "roles/storage.objectViewer"}


def every_cloud_name_is_made_once(config: StackConfig, built: Built) -> None:
    for kind, key in (("Account", "accountId"), ("V2Vm", "name"), ("Subnetwork", "name"), ("Secret", "secretId")):
        counted = Counter(r.inputs[key] for r in built.of(kind))
        assert not [name for name, count in counted.items() if count > 1], kind


@given(configs())
@settings(many, max_examples=10)
def test_every_stack_that_the_schema_lets_through_is_sound(config: StackConfig) -> None:
    built = program(config)
    one_vm_a_slot_and_one_account_a_pool(config, built)
    whatever_runs_forks_is_shut_in(config, built)
    every_cloud_name_is_made_once(config, built)


@given(configs(), st.data())
@settings(many, max_examples=5)
def test_one_more_slice_anywhere_is_one_more_resource(config: StackConfig, data: st.DataObject) -> None:
    if not config.pools:
        return
    pool = data.draw(st.sampled_from(config.pools))
    zone = data.draw(st.sampled_from(sorted(pool.zones)))
    grown = pool.model_copy(update={"zones": {**pool.zones, zone: pool.zones[zone] + 1}})
    others = tuple(other for other in config.pools if other.name != pool.name)
    before, after = program(config), program(config.model_copy(update={"pools": (*others, grown)}))
    added = after.resources.keys() - before.resources.keys()
    assert [after.resources[urn].type for urn in added] == ["gcp:tpu/v2Vm:V2Vm"]
    assert not before.resources.keys() - after.resources.keys()
    differing = [each for urn, each in before.resources.items() if each.inputs != after.resources[urn].inputs]
    assert [each.name for each in differing] == [f"manifests/{config.stack}.json"]
