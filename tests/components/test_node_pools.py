"""A cluster and its node pools as Google's provider is told of them: every trap on that way, with its reason."""

from __future__ import annotations

from typing import Any

import pytest

from infra.model.gke_shapes import gke_shapes
from infra.program.stack import declare
from tests.model.given import parse as parsed
from tests.model.given import pool as pool_text
from tests.model.given import stack_text
from tests.model.test_cluster_refusals import batch, cluster, entry
from tests.program.fake_engine import Built, Registered, build

LAB = "my-lab"
TPU7X = cluster(region="us-central1", zones="[us-central1-c]")


def built(*entries: str, of: str | None = None, preview: bool = False, **sections: str) -> Built:
    text = stack_text(cluster=of or cluster(), slices="".join(entries) or "[]\n", pools="[]\n", **sections)
    config = parsed(text, stack="training")
    return build(lambda: declare(config), stack="training", preview=preview)


def pool(**fields: Any) -> Registered:
    """The only node pool of one entry, beside the system pool."""
    of = TPU7X if str(fields.get("accelerator", "")).startswith("tpu7x") else None
    given = {"number": 1} | fields
    (found,) = pools(built(entry(**given), of=of))
    return found


def pools(made: Built) -> list[Registered]:
    return [each for each in made.of("NodePool") if each.name not in ("system", "batch")]


def spread(accelerator: str) -> str:
    generation = gke_shapes()[accelerator].generation
    return generation.listed_zones[0]


# The cluster


def test_cluster_is_regional_private_and_on_a_network_of_its_own() -> None:
    made = built()
    given = made.one("Cluster").inputs
    assert given["location"] == "us-central2", "regional: its control plane outlives a zone"
    assert given["nodeLocations"] == ["us-central2-b"]
    assert given["network"] == "projects/my-lab/global/networks/tidepool-training-gke"
    assert given["privateClusterConfig"] == {"enablePrivateNodes": True}
    assert given["datapathProvider"] == "ADVANCED_DATAPATH"
    assert given["workloadIdentityConfig"] == {"workloadPool": "my-lab.svc.id.goog"}
    assert given["releaseChannel"] == {"channel": "REGULAR"}
    assert {each.inputs["ipCidrRange"] for each in made.of("Subnetwork")} >= {"10.0.0.0/16"}
    nat = next(each for each in made.of("RouterNat") if each.name == "tidepool-training-gke")
    assert nat.urn in made.one("Cluster").dependencies, "a private node without a way out pulls nothing"


def test_cluster_is_protected_from_deletion_until_the_stack_file_says_otherwise() -> None:
    """By Google, and by the engine, which refuses before the pools of the cluster are gone and not after."""
    for written, protected in ((None, True), ("false", False)):
        found = built(of=cluster(deletion_protection=written)).one("Cluster")
        assert found.inputs["deletionProtection"] is protected
        assert found.protect is protected


def test_pool_that_gke_makes_first_has_a_machine_that_the_zone_has_and_is_removed() -> None:
    """us-central2-b has no e2, GKE's default; and the default account may edit the project."""
    found = built().one("Cluster")
    assert found.inputs["removeDefaultNodePool"] is True
    assert found.inputs["nodeConfig"]["machineType"] == "n2-standard-8"
    assert found.inputs["nodeConfig"]["serviceAccount"].startswith("tidepool-training-nodes@")
    assert found.ignore_changes == ("nodeConfig",), (
        "what is read later is another pool's, and would replace the cluster"
    )


def test_retired_arguments_of_tpu_nodes_are_not_said() -> None:
    assert not {"enableTpu", "tpuConfig", "nodePools"} & built().one("Cluster").inputs.keys()


def test_maintenance_has_its_days_hours_and_exclusions_in_utc() -> None:
    exclusion = "{name: neurips, from: 2026-12-01, to: 2026-12-10, scope: no-upgrades}"
    of = cluster(maintenance=f"{{days: [SU, SA], start: '22:00', hours: 8, exclusions: [{exclusion}]}}")
    assert built(of=of).one("Cluster").inputs["maintenancePolicy"] == {
        "recurringWindow": {
            "startTime": "2026-01-10T22:00:00Z",
            "endTime": "2026-01-11T06:00:00Z",
            "recurrence": "FREQ=WEEKLY;BYDAY=SA,SU",
        },
        "maintenanceExclusions": [
            {
                "exclusionName": "neurips",
                "startTime": "2026-12-01T00:00:00Z",
                "endTime": "2026-12-11T00:00:00Z",
                "exclusionOptions": {"scope": "NO_UPGRADES"},
            }
        ],
    }


def test_nodes_may_write_logs_and_metrics_and_nothing_else_in_the_project() -> None:
    made = built()
    granted = {each.inputs["role"] for each in made.of("projects/iAMMember:IAMMember")}
    assert granted == {
        "roles/logging.logWriter",
        "roles/monitoring.metricWriter",
        "roles/monitoring.viewer",
        "roles/stackdriver.resourceMetadata.writer",
    }


def test_apis_of_a_cluster_are_enabled_with_it_alone() -> None:
    enabled = {each.inputs["service"] for each in built().of("projects/service:Service")}
    assert {"container.googleapis.com", "containerfilesystem.googleapis.com"} <= enabled


# Pools without chips


def test_system_pool_stands_in_the_zones_of_the_cluster_and_takes_every_pod() -> None:
    (system,) = built().of("NodePool")
    assert (system.name, system.inputs["nodeCount"]) == ("system", 1)
    assert system.inputs["nodeLocations"] == ["us-central2-b"]
    assert "taints" not in system.inputs["nodeConfig"]


def test_batch_pool_scales_in_its_zones_and_takes_batch_work_alone() -> None:
    made = built(of=cluster(cpu_pools=batch(spot="true")))
    (found,) = (each for each in made.of("NodePool") if each.name == "batch")
    assert found.inputs["autoscaling"] == {"minNodeCount": 0, "maxNodeCount": 4, "locationPolicy": "ANY"}
    assert found.inputs["nodeConfig"]["spot"] is True
    (taint,) = found.inputs["nodeConfig"]["taints"]
    assert (taint["key"], taint["effect"]) == ("tidepool/batch", "NO_SCHEDULE")


# Slices: trap by trap


@pytest.mark.parametrize("accelerator", ["v4-32", "v5p-16", "v5litepod-16", "v6e-16"])
def test_slice_of_several_hosts_is_one_compact_pool_of_all_its_nodes(accelerator: str) -> None:
    shape = gke_shapes()[accelerator]
    zone = spread(accelerator)
    of = cluster(region=zone.rpartition("-")[0], zones=f"[{zone}]")
    (found,) = pools(built(entry(accelerator=accelerator, zone=zone, number=1), of=of))
    assert found.inputs["placementPolicy"] == {"type": "COMPACT", "tpuTopology": str(shape.topology)}
    assert found.inputs["nodeCount"] == shape.nodes, "a slice is whole or not there"
    assert found.inputs["nodeLocations"] == [zone], "compact placement is in exactly one zone"
    assert found.inputs["maxPodsPerNode"] == 15
    assert found.inputs["nodeConfig"]["machineType"] == shape.machine_type
    assert "autoscaling" not in found.inputs


def test_slices_of_several_hosts_scale_by_limits_of_a_zone_between_none_and_all() -> None:
    """Totals are read as a maximum of 0 nodes, which is no size of a slice."""
    _, second = pools(built(entry(number=None, buffer=1, maximum=2)))
    assert second.inputs["autoscaling"] == {"minNodeCount": 0, "maxNodeCount": 4, "locationPolicy": "ANY"}
    assert second.inputs["initialNodeCount"] == 0
    assert "nodeCount" not in second.inputs, "a count of the program's would fight the autoscaler"


def test_slices_of_one_host_begin_with_the_buffer_since_a_minimum_alone_makes_no_node() -> None:
    assert pool(accelerator="v4-8", number=None, buffer=2, maximum=6).inputs["initialNodeCount"] == 2


def test_pool_that_comes_to_stand_always_is_not_replaced_for_its_first_count() -> None:
    for found in pools(built(entry(number=None, buffer=1, maximum=2))):
        assert found.ignore_changes == ("initialNodeCount",)


def test_slices_of_one_host_are_one_pool_without_placement_that_scales_by_node() -> None:
    found = pool(accelerator="v4-8", number=None, buffer=1, maximum=6)
    assert "placementPolicy" not in found.inputs
    assert "maxPodsPerNode" not in found.inputs
    assert found.inputs["autoscaling"] == {"minNodeCount": 1, "maxNodeCount": 6, "locationPolicy": "ANY"}


def test_shape_and_machine_type_replace_a_pool_and_its_placement_as_a_whole_never_does() -> None:
    """The provider plans a new topology as an update and sends nothing; the type of a placement may drift."""
    found = pool()
    assert found.replace_on_changes == ("placementPolicy.tpuTopology", "nodeConfig.machineType")
    assert found.delete_before_replace, "its name is fixed, and quotas have no room for a second one"
    assert "ct4p-hightpu-4t-2x2x4" in found.inputs["name"]


def test_tpu7x_slices_of_several_hosts_are_placed_by_a_workload_policy() -> None:
    """They refuse COMPACT; and with a policy Google answers no type, so one that is set differs at every run."""
    made = built(entry(accelerator="tpu7x-16", zone="us-central1-c", number=2), of=TPU7X)
    policy = made.one("ResourcePolicy")
    assert policy.inputs["workloadPolicy"] == {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"}
    for found in pools(made):
        assert found.inputs["placementPolicy"] == {"type": "", "policyName": policy.inputs["name"]}
        assert "placementPolicy.type" in found.ignore_changes
        assert policy.urn in found.dependencies


def test_tpu7x_slices_of_one_shape_in_two_zones_have_a_policy_each() -> None:
    """Policies are of a region: two of one name would be one resource declared twice, which no engine takes."""
    zones = ("us-central1-c", "us-central1-ai1a")
    made = built(*(entry(accelerator="tpu7x-16", zone=zone, number=1) for zone in zones), of=TPU7X)
    policies = made.of("ResourcePolicy")
    assert len({each.urn for each in policies}) == len({each.inputs["name"] for each in policies}) == 2


def test_tpu7x_slices_of_one_host_need_no_policy() -> None:
    made = built(entry(accelerator="tpu7x-8", zone="us-central1-c", number=1), of=TPU7X)
    assert not made.of("ResourcePolicy")
    assert "placementPolicy" not in pools(made)[0].inputs


@pytest.mark.parametrize(
    ("accelerator", "disk"), [("v5p-8", "hyperdisk-balanced"), ("v6e-8", "hyperdisk-balanced"), ("v4-8", None)]
)
def test_machines_that_boot_from_hyperdisk_alone_get_one(accelerator: str, disk: str | None) -> None:
    zone = spread(accelerator)
    of = cluster(region=zone.rpartition("-")[0], zones=f"[{zone}]")
    (found,) = pools(built(entry(accelerator=accelerator, zone=zone, number=1), of=of))
    assert found.inputs["nodeConfig"].get("diskType") == disk


def test_upgrades_take_nodes_of_a_slice_in_turn_and_never_ask_for_more_chips() -> None:
    assert pool().inputs["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}


NO_RESERVATION = {"consumeReservationType": "NO_RESERVATION"}


@pytest.mark.parametrize("capacity", ["on-demand", "spot"])
def test_reservations_are_left_alone_by_what_does_not_name_one(capacity: str) -> None:
    config = pool(capacity=capacity).inputs["nodeConfig"]
    assert config["reservationAffinity"] == NO_RESERVATION
    assert config["spot"] is (capacity == "spot")
    assert "maxRunDuration" not in config, "a spot slice has no end"


def test_reserved_slices_name_their_reservation() -> None:
    held = "- {name: lab, project: my-lab, zone: us-central2-b, generation: v4, chips: 32}\n"
    (found,) = pools(built(entry(capacity="{reserved: lab}"), reservations=held))
    assert found.inputs["nodeConfig"]["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["lab"],
    }
    assert found.inputs["nodeConfig"]["spot"] is False


def test_flex_start_slices_scale_from_nothing_end_in_time_and_are_not_repaired() -> None:
    found = pool(capacity="{flex-start: 24h}", number=None, buffer=0, maximum=1)
    config = found.inputs["nodeConfig"]
    assert (config["flexStart"], config["maxRunDuration"]) == (True, "86400s")
    assert config["reservationAffinity"] == NO_RESERVATION
    assert found.inputs["autoscaling"]["minNodeCount"] == 0
    assert found.inputs["management"] == {"autoRepair": False, "autoUpgrade": True}
    assert "queuedProvisioning" not in found.inputs, "of TPUs Google takes it in some versions alone"


def test_no_queued_resource_of_the_tpu_api_is_declared() -> None:
    """The provider's has neither spot nor labels, and Google refuses to delete one that is active."""
    vms = pool_text(name="train-v4", accelerator="v4-32", zones="{us-central2-b: 1}", capacity="on-demand")
    made = build(lambda: declare(parsed(stack_text(cluster=cluster(), slices=entry(number=1), pools=vms))), stack="ci")
    assert made.one("V2Vm").inputs["acceleratorType"] == "v4-32"
    assert not made.of("V2QueuedResource")


def test_another_kind_of_capacity_is_another_pool_and_never_an_update() -> None:
    names = {pool(capacity=capacity).name for capacity in ("on-demand", "spot")}
    assert len(names) == 2


def test_labels_of_nodes_are_left_to_gke() -> None:
    """Once one is declared, those that GKE gives to nodes are a difference at every run; so is a taint of theirs."""
    config = pool().inputs["nodeConfig"]
    assert not {"labels", "taints"} & config.keys()
    assert config["resourceLabels"] == {
        "tidepool-managed": "true",
        "tidepool-stack": "training",
        "tidepool-owner": "lab",
        "tidepool-slices": "v4-32-spot",
        "tidepool-accelerator": "v4-32",
    }


def test_every_node_streams_images_and_keeps_its_account_from_pods() -> None:
    for found in built(entry(), of=cluster(cpu_pools=batch())).of("NodePool"):
        config = found.inputs["nodeConfig"]
        assert config["gcfsConfig"] == {"enabled": True}
        assert config["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
        assert config["serviceAccount"].startswith("tidepool-training-nodes@")
        assert found.inputs["networkConfig"] == {"enablePrivateNodes": True}


def test_one_slice_more_is_one_pool_more_and_changes_no_other() -> None:
    fewer = {each.name: each.inputs for each in pools(built(entry(number=2)))}
    more = {each.name: each.inputs for each in pools(built(entry(number=3)))}
    assert {name: more[name] for name in fewer} == fewer
    assert more.keys() - fewer.keys() == {"ct4p-hightpu-4t-2x2x4-b-spot-2"}


def test_preview_works_before_the_cluster_exists() -> None:
    assert len(pools(built(entry(), preview=True))) == 1


def test_outputs_say_the_pools_and_what_they_hold() -> None:
    told = built(entry(number=None, buffer=1, maximum=2)).outputs["cluster"]
    assert told["endpoint"] == "192.0.2.7"
    (slices,) = told["slices"]
    assert slices["slices"] == {"least": 1, "most": 2}
    assert slices["chips"] == {"least": 16, "most": 32}


def test_nodes_pull_images_from_the_repositories_of_their_own_region_alone() -> None:
    registries = "{regions: [us-central2, us-central1], repositories: [{name: images}]}\n"
    made = built(entry(), registries=f"  {registries}")
    readers = [
        each.inputs["location"]
        for each in made.of("RepositoryIamMember")
        if each.inputs["member"].startswith("serviceAccount:tidepool-training-nodes@")
    ]
    assert readers == ["us-central2"]
