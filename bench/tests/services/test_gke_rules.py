"""What GKE refuses of clusters and node pools, in its own words where these are known, and what fails later on."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from bench.cloud.control import ControlError
from bench.cloud.kubernetes.control import KubernetesControl
from bench.tests.services.gke import Gke

REGION, ZONE = "us-central2", "us-central2-b"
NUMBERS = itertools.count()
V4 = {"machineType": "ct4p-hightpu-4t"}
COMPACT = {"type": "COMPACT", "tpuTopology": "2x2x2"}
SLICE = {"name": "slice", "initialNodeCount": 2, "config": V4, "placementPolicy": COMPACT}
RESERVED = {
    "consumeReservationType": "SPECIFIC_RESERVATION",
    "key": "compute.googleapis.com/reservation-name",
    "values": ["held"],
}
FLEX = {
    "name": "flex",
    "config": {**V4, "flexStart": True, "maxRunDuration": "86400s"},
    "placementPolicy": COMPACT,
    "management": {"autoUpgrade": True},
    "autoscaling": {"enabled": True, "maxNodeCount": 2, "locationPolicy": "ANY"},
}


@pytest.fixture(scope="module")
def gke(google, client, settled):
    """One cluster for all refusals: none of them leaves anything behind."""
    made = Gke(client, google, settled, "gke-rules", REGION)
    made.create(zones=[ZONE])
    return made


@pytest.fixture
def own(google, client, settled):
    """A cluster of a project of its own."""
    made = Gke(client, google, settled, f"gke-own-{next(NUMBERS)}", REGION)
    made.create(zones=[ZONE])
    yield made
    google.control.mend()


REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "an e2 machine where there is none": (
        {"name": "p", "config": {"machineType": "e2-standard-4"}},
        "Machine type with name 'e2-standard-4' does not exist in zone 'us-central2-b'.",
    ),
    "the default machine where there is none": (
        {"name": "p", "initialNodeCount": 1},
        "Machine type with name 'e2-medium' does not exist in zone 'us-central2-b'.",
    ),
    "a generation that the zone lacks": (
        {"name": "p", "config": {"machineType": "ct6e-standard-4t"}},
        "Machine type with name 'ct6e-standard-4t' does not exist in zone 'us-central2-b'.",
    ),
    "a machine that there is nowhere": (
        {"name": "p", "config": {"machineType": "q9-standard-4"}},
        "Machine type with name 'q9-standard-4' does not exist in zone 'us-central2-b'.",
    ),
    "a name of 41 characters": ({"name": "p" * 41, "config": V4}, "at most 40"),
    "a part of a slice": (
        {**SLICE, "initialNodeCount": 1},
        "Node count 1 is not a valid size of TPU pod slice with topology 2x2x2",
    ),
    "totals in place of limits a zone": (
        {**SLICE, "initialNodeCount": 0, "autoscaling": {"enabled": True, "totalMaxNodeCount": 2}},
        "Maximum node count 0 is not a valid size of TPU pod slice with topology 2x2x2",
    ),
    "a maximum of two slices in one pool": (
        {**SLICE, "initialNodeCount": 0, "autoscaling": {"enabled": True, "maxNodeCount": 4}},
        "Maximum node count 4 is not a valid size of TPU pod slice with topology 2x2x2",
    ),
    "a minimum of half a slice": (
        {**SLICE, "autoscaling": {"enabled": True, "minNodeCount": 1, "maxNodeCount": 2}},
        "Minimum node count 1 is not a valid size of TPU pod slice with topology 2x2x2",
    ),
    "limits a zone and in total": (
        {"name": "p", "config": V4, "autoscaling": {"enabled": True, "maxNodeCount": 2, "totalMaxNodeCount": 2}},
        "either a zone or in total",
    ),
    "a topology that no slice has": (
        {**SLICE, "placementPolicy": {"type": "COMPACT", "tpuTopology": "3x2x2"}},
        "Topology '3x2x2' is not valid for machine type 'ct4p-hightpu-4t'.",
    ),
    "a topology of machines without chips": (
        {"name": "p", "config": {"machineType": "n2-standard-8"}, "placementPolicy": COMPACT},
        "has no TPU chips",
    ),
    "blue-green upgrades of a slice": (
        {**SLICE, "upgradeSettings": {"strategy": "BLUE_GREEN"}},
        "Blue-green upgrades are not supported",
    ),
    "spot nodes of a reservation": (
        {**SLICE, "config": {**V4, "spot": True, "reservationAffinity": RESERVED}},
        "spot nodes cannot consume a reservation",
    ),
    "a reservation that does not exist": (
        {**SLICE, "config": {**V4, "reservationAffinity": RESERVED}},
        "Reservation 'held' does not exist in zone 'us-central2-b' of project 'gke-rules'.",
    ),
    "a reservation without a name": (
        {**SLICE, "config": {**V4, "reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION"}}},
        "is named by the key compute.googleapis.com/reservation-name",
    ),
    "flex-start with repair": (
        {**FLEX, "management": {"autoUpgrade": True, "autoRepair": True}},
        "Node auto-repair must be disabled for flex-start node pools.",
    ),
    "flex-start with a fixed size": ({**FLEX, "autoscaling": {}}, "need autoscaling"),
    "flex-start for eight days": (
        {**FLEX, "config": {**V4, "flexStart": True, "maxRunDuration": "691200s"}},
        "from 10 minutes to 7 days",
    ),
    "flex-start TPUs with queued provisioning": (
        {**FLEX, "queuedProvisioning": {"enabled": True}},
        "Flex start node pools don't support TPUs with queued provisioning.",
    ),
    "flex-start and spot": ({**FLEX, "config": {**FLEX["config"], "spot": True}}, "Only one of spot, flexStart"),
    "nodes newer than the control plane": ({**SLICE, "version": "1.36.4-gke.1400000"}, "must not be greater"),
    "a node account that does not exist": (
        {**SLICE, "config": {**V4, "serviceAccount": "nodes@gke-rules.iam.gserviceaccount.com"}},
        "Service account nodes@gke-rules.iam.gserviceaccount.com does not exist.",
    ),
    "a workload policy that does not exist": (
        {**SLICE, "placementPolicy": {"policyName": "absent", "tpuTopology": "2x2x2"}},
        "was not found",
    ),
    "no automatic upgrades in a channel": (
        {**SLICE, "management": {"autoRepair": True}},
        "Auto_upgrade must be true when release_channel REGULAR is set.",
    ),
    "another region": ({"name": "p", "config": V4, "locations": ["us-east5-a"]}, "does not exist in zone 'us-east5-a'"),
}


@pytest.mark.parametrize(("pool", "words"), REFUSALS.values(), ids=REFUSALS)
def test_a_pool_that_cannot_be_is_refused(gke, refused, pool, words):
    assert words in gke.refusal(refused, pool)
    assert [each["name"] for each in gke.cluster()["nodePools"]] == ["default-pool"]


def test_a_flex_start_pool_without_repair_is_taken(own):
    assert "error" not in own.add(FLEX)


def test_slices_of_tpu7x_are_placed_by_a_workload_policy_alone(client, google, settled, refused):
    gke = Gke(client, google, settled, "gke-tpu7x", "us-central1")
    gke.create(zones=["us-central1-c"])
    config = {"machineType": "tpu7x-standard-4t"}
    pool = {"name": "tpu7x", "initialNodeCount": 2, "config": config, "placementPolicy": COMPACT}
    assert gke.refusal(refused, pool) == (
        "Creation of a managed instance group with tpu7x-standard-4t machine type with placement policy is not "
        "supported. Use workload policy instead."
    )
    policies, where = gke.compute.resourcePolicies(), {"project": "gke-tpu7x", "region": "us-central1"}
    for name, topology in (("pair", "2x2x2"), ("four", "2x2x4")):
        workload = {"type": "HIGH_THROUGHPUT", "acceleratorTopology": topology}
        policies.insert(**where, body={"name": name, "workloadPolicy": workload}).execute()
    placed = {**pool, "placementPolicy": {"policyName": "four", "tpuTopology": "2x2x2"}}
    assert "is of topology 2x2x4, not of 2x2x2" in gke.refusal(refused, placed)
    gke.add({**pool, "placementPolicy": {"policyName": "pair", "tpuTopology": "2x2x2"}})
    # The kind of placement is not shown where a policy places, which a declared kind would differ from for ever.
    assert gke.pool("tpu7x")["placementPolicy"] == {"policyName": "pair", "tpuTopology": "2x2x2"}
    error = refused(400, policies.delete(**where, resourcePolicy="pair"))
    assert error["errors"][0]["reason"] == "resourceInUseByAnotherResource"


CLUSTERS: dict[str, tuple[dict[str, Any], int, str]] = {
    "a default pool where its machine is not": (
        {"initialNodeCount": 1},
        400,
        "Machine type with name 'e2-medium' does not exist in zone 'us-central2-b'.",
    ),
    "no nodes at all": ({}, 400, "Cluster.initial_node_count must be greater than zero."),
    "a network that does not exist": ({"initialNodeCount": 1, "network": "absent"}, 404, "absent"),
    "pods in a range that does not exist": (
        {"initialNodeCount": 1, "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods"}},
        400,
        'Pod secondary range "pods" does not exist in network "default"',
    ),
    "zones of another region": ({"initialNodeCount": 1, "locations": ["us-east5-a"]}, 400, "are not zones of"),
    "a version that there is not": (
        {"initialNodeCount": 1, "initialClusterVersion": "1.99"},
        400,
        'No valid versions with the prefix "1.99" found.',
    ),
    "a name of 41 characters": ({"initialNodeCount": 1, "name": "c" * 41}, 400, "at most 40"),
    "autopilot": ({"autopilot": {"enabled": True}}, 400, "no Autopilot clusters"),
}


@pytest.mark.parametrize(("body", "code", "words"), CLUSTERS.values(), ids=CLUSTERS)
def test_a_cluster_that_cannot_be_is_refused(gke, refused, body, code, words):
    sent = {"name": "other", **body}
    assert words in refused(code, gke.clusters.create(parent=gke.parent, body={"cluster": sent}))["message"]
    assert refused(404, gke.clusters.get(name=f"{gke.parent}/clusters/{sent['name']}"))


def test_what_a_cluster_lives_in_cannot_be_deleted(own, refused):
    request = own.compute.subnetworks().delete(project=own.project, region=REGION, subnetwork="default")
    assert refused(400, request)["errors"][0]["reason"] == "resourceInUseByAnotherResource"
    request = own.compute.networks().delete(project=own.project, network="default")
    assert refused(400, request)["errors"][0]["reason"] == "resourceInUseByAnotherResource"


# Chips


def test_a_reservation_is_one_of_compute_engine_or_one_that_was_declared(own):
    body = {"name": "held", "specificReservation": {"count": "2", "instanceProperties": V4}}
    own.compute.reservations().insert(project=own.project, zone=ZONE, body=body).execute()
    pool = {**SLICE, "config": {**V4, "reservationAffinity": RESERVED}}
    assert "error" not in own.add(pool)
    scope = {"project": own.project, "zone": ZONE, "generation": "v4"}
    own.cloud.control.limit(**scope, chips=16, capacity="reserved", name="other")
    by_name = {**RESERVED, "values": [f"projects/{own.project}/reservations/other"]}
    assert "error" not in own.add({**pool, "name": "second", "config": {**V4, "reservationAffinity": by_name}})
    ended = own.add({**pool, "name": "third"})
    assert "not enough capacity left in reservation 'other'" in ended["error"]["message"]
    assert own.pool("third")["status"] == "ERROR"


def test_chips_of_pools_count_against_the_quota_until_they_are_given_back(own, refused):
    scope = {"project": own.project, "zone": ZONE, "generation": "v4"}
    own.cloud.control.limit(**scope, chips=12)
    own.add(SLICE)
    held = lambda: [each["held"] for each in own.cloud.control.limits() if each["project"] == own.project]  # noqa: E731
    assert held() == [8]
    assert own.refusal(refused, {**SLICE, "name": "more"}, 403) == (
        "Insufficient regional quota to satisfy request: resource \"TPU_V4\": request requires '8.0' and is short "
        "'4.0'. project has a quota of '12.0' with '4.0' available."
    )
    own.resize("slice", 0)
    assert held() == [0]
    own.add({**SLICE, "name": "more"})
    own.wait(own.pools.delete(name=own.pool_name("more")).execute())
    assert held() == [0]
    own.resize("slice", 2)
    own.wait(own.clusters.delete(name=own.name).execute())
    assert held() == [0]


def test_a_stockout_ends_the_operation_and_leaves_a_pool_that_says_why(own):
    own.cloud.control.fail("stockout", zone=ZONE, project=own.project, count=1)
    ended = own.add(SLICE)
    assert ended["error"]["code"] == 8
    assert "does not have enough resources available" in ended["statusMessage"]
    got = own.pool("slice")
    assert (got["status"], got["conditions"][0]["code"]) == ("ERROR", "GCE_STOCKOUT")
    assert own.nodes("slice") == 0
    own.wait(own.pools.delete(name=own.pool_name("slice")).execute())
    assert "error" not in own.add(SLICE)


def test_a_pool_without_nodes_is_made_in_a_stockout(own):
    """Its slices come when pods ask; what is out of stock then is asked for then."""
    own.cloud.control.fail("stockout", zone=ZONE, project=own.project, count=1)
    assert "error" not in own.add({**SLICE, "initialNodeCount": 0})
    assert own.pool("slice")["status"] == "RUNNING"
    assert "error" in own.resize("slice", 2)


def test_a_slice_that_finds_no_machines_keeps_the_size_it_has(own):
    own.add({**SLICE, "initialNodeCount": 0})
    own.cloud.control.fail("stockout", accelerator="v4-16", project=own.project, count=1)
    assert "error" in own.resize("slice", 2)
    assert (own.pool("slice")["status"], own.nodes("slice")) == ("RUNNING_WITH_ERROR", 0)
    own.resize("slice", 2)
    assert (own.pool("slice")["status"], own.nodes("slice")) == ("RUNNING", 2)


@pytest.mark.parametrize("method", ["create", "delete", "update", "setSize"])
def test_an_operation_fails_where_a_rule_says_so(own, method):
    pool = {**SLICE, "initialNodeCount": 0}
    if method != "create":
        own.add(pool)
    full = f"container.projects.locations.clusters.nodePools.{method}"
    own.cloud.control.fail("operation", method=full, project=own.project, status="INTERNAL", count=1)
    name = own.pool_name("slice")
    act = {
        "create": lambda: own.add(pool),
        "delete": lambda: own.wait(own.pools.delete(name=name).execute()),
        "update": lambda: own.wait(own.pools.update(name=name, body={"tags": {"tags": ["a"]}}).execute()),
        "setSize": lambda: own.resize("slice", 2),
    }
    ended = act[method]()
    assert (ended["error"]["code"], ended["statusMessage"]) == (13, "Internal error.")
    if method != "create":
        assert "tags" not in own.pool("slice")["config"]
        assert own.nodes("slice") == 0


def test_a_cluster_whose_operation_hangs_takes_no_other_until_it_goes_on(own, refused):
    rule = own.cloud.control.fail("hang", method="container.*", project=own.project, count=1)
    begun = own.pools.create(parent=own.name, body={"nodePool": SLICE}).execute()
    own.cloud.control.advance(3600)
    operation = own.locations.operations().get(name=f"{own.parent}/operations/{begun['name']}")
    assert operation.execute()["status"] == "RUNNING"
    assert begun["name"] in own.refusal(refused, {**SLICE, "name": "next"})
    own.cloud.control.mend(rule["id"])
    own.wait(begun)
    assert own.pool("slice")["status"] == "RUNNING"


def test_a_cluster_that_was_not_told_by_its_full_name_is_refused(google):
    with pytest.raises(ControlError, match="not a full name"):
        KubernetesControl(google.control.url).tell_control_plane("127.0.0.1:1", "", cluster="train")
