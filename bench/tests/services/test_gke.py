"""Clusters and node pools of GKE through Google's own client: their lives, refusals, chips and faults."""

from __future__ import annotations

import itertools

import pytest

from bench.cloud.control import ControlError
from bench.cloud.kubernetes.control import KubernetesControl
from bench.tests.services.gke import Gke

REGION, ZONE = "us-central2", "us-central2-b"
NUMBERS = itertools.count()
V4 = {"machineType": "ct4p-hightpu-4t"}
SLICE = {
    "name": "slice",
    "initialNodeCount": 2,
    "config": V4,
    "placementPolicy": {"type": "COMPACT", "tpuTopology": "2x2x2"},
}
RESERVED = {
    "consumeReservationType": "SPECIFIC_RESERVATION",
    "key": "compute.googleapis.com/reservation-name",
    "values": ["held"],
}


@pytest.fixture
def gke(google, client, settled):
    """A project of its own with a cluster `train` in us-central2."""
    made = Gke(client, google, settled, f"gke-{next(NUMBERS)}", REGION)
    made.create(zones=[ZONE])
    yield made
    google.control.mend()


def test_a_cluster_is_shown_with_what_the_service_fills_in_until_it_goes_with_its_pools(gke, refused):
    got = gke.cluster()
    assert (got["status"], got["currentMasterVersion"], got["currentNodeCount"]) == (
        "RUNNING", "1.35.4-gke.1400000", 1
    )  # fmt: skip
    assert got["releaseChannel"] == {"channel": "REGULAR"}
    assert got["networkConfig"]["network"] == f"projects/{gke.project}/global/networks/default"
    assert [pool["name"] for pool in got["nodePools"]] == ["default-pool"]
    assert got["selfLink"].endswith(f"/container/v1/{gke.name}")
    listed = gke.clusters.list(parent=f"projects/{gke.project}/locations/-").execute()
    assert [each["name"] for each in listed["clusters"]] == ["train"]
    gke.add(SLICE)
    assert got["endpoint"].endswith(f"/kubernetes/{gke.name}")
    assert len(gke.kubernetes_nodes("slice")) == 2
    gke.wait(gke.clusters.delete(name=gke.name).execute())
    refused(404, gke.clusters.get(name=gke.name))
    refused(404, gke.pools.get(name=gke.pool_name("slice")))
    managers = gke.compute.instanceGroupManagers().list(project=gke.project, zone=ZONE).execute()
    assert "items" not in managers
    assert gke.name not in {each["cluster"] for each in gke.kubernetes.clusters()}


def test_a_cluster_of_a_region_has_three_zones_unless_it_names_others(client, google, settled):
    gke = Gke(client, google, settled, "gke-regional", "us-central1")
    gke.create(machine="e2-standard-4")
    assert gke.cluster()["locations"] == ["us-central1-a", "us-central1-b", "us-central1-c"]
    assert gke.cluster()["currentNodeCount"] == 3


def test_an_operation_ends_with_the_clock_and_machines_of_a_pool_are_listed_then(still, still_client, refused):
    gke = Gke(still_client, still, lambda begun, _: still.control.advance(3600) and begun, "gke-still", REGION)
    body = {"name": "train", "initialNodeCount": 1, "locations": [ZONE], "nodeConfig": {"machineType": "n2-standard-4"}}
    begun = gke.clusters.create(parent=gke.parent, body={"cluster": body}).execute()
    assert (begun["status"], begun["operationType"]) == ("RUNNING", "CREATE_CLUSTER")
    assert begun["targetLink"].endswith(gke.name)
    assert gke.cluster()["status"] == "PROVISIONING"
    error = refused(400, gke.pools.create(parent=gke.name, body={"nodePool": SLICE}))
    assert (error["status"], error["errors"][0]["reason"]) == ("FAILED_PRECONDITION", "failedPrecondition")
    gke.wait(begun)
    begun = gke.pools.create(parent=gke.name, body={"nodePool": SLICE}).execute()
    assert (gke.pool("slice")["status"], gke.nodes("slice")) == ("PROVISIONING", 0)
    gke.wait(begun)
    assert (gke.pool("slice")["status"], gke.nodes("slice")) == ("RUNNING", 2)


def test_a_pool_of_a_slice_is_shown_as_it_was_sent_and_has_all_its_nodes_or_none(gke):
    taint = {"key": "team", "value": "core", "effect": "NO_EXECUTE"}
    config = {**V4, "spot": True, "labels": {"owner": "core"}, "taints": [taint]}
    gke.add({**SLICE, "config": config, "maxPodsConstraint": {"maxPodsPerNode": "15"}})
    got = gke.pool("slice")
    assert (got["status"], got["placementPolicy"], got["locations"]) == ("RUNNING", SLICE["placementPolicy"], [ZONE])
    assert got["config"]["diskType"] == "pd-balanced"
    node, other = gke.kubernetes_nodes("slice")
    assert node["metadata"]["name"] != other["metadata"]["name"]
    assert {
        "cloud.google.com/gke-spot": "true",
        "cloud.google.com/gke-provisioning": "spot",
        "cloud.google.com/gke-tpu-accelerator": "tpu-v4-podslice",
        "cloud.google.com/gke-tpu-topology": "2x2x2",
        "node.kubernetes.io/instance-type": "ct4p-hightpu-4t",
        "topology.kubernetes.io/zone": ZONE,
        "owner": "core",
    }.items() <= node["metadata"]["labels"].items()
    assert node["spec"]["taints"] == [
        {"key": "team", "value": "core", "effect": "NoExecute"},
        {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"},
    ]
    assert (node["status"]["capacity"]["google.com/tpu"], node["status"]["allocatable"]["pods"]) == ("4", "15")
    gke.resize("slice", 0)
    assert (gke.nodes("slice"), gke.kubernetes_nodes("slice")) == (0, [])
    gke.add({"name": "one", "initialNodeCount": 1, "config": V4})
    (node,) = gke.kubernetes_nodes("one")
    assert node["metadata"]["labels"]["cloud.google.com/gke-tpu-topology"] == "2x2x1"


def test_a_cluster_and_its_pools_are_changed_part_by_part(gke, refused):
    gke.add({"name": "batch", "initialNodeCount": 1, "config": {"machineType": "n2-standard-16"}})
    pool = gke.pool_name("batch")
    scaled = {"enabled": True, "maxNodeCount": 9}
    for body in ({"labels": {"labels": {"team": "core"}}}, {"machineType": "n2-standard-32", "diskSizeGb": "200"}):
        gke.wait(gke.pools.update(name=pool, body=body).execute())
    gke.wait(gke.pools.setManagement(name=pool, body={"management": {"autoUpgrade": True}}).execute())
    for change in (
        {"desiredNodePoolId": "batch", "desiredNodePoolAutoscaling": scaled},
        {"desiredNodePoolId": "batch", "desiredImageType": "UBUNTU_CONTAINERD"},
        {"desiredMasterVersion": "1.36"},
        {"desiredCostManagementConfig": {"enabled": True}},
        {"desiredDnsConfig": {"clusterDns": "CLOUD_DNS"}},
        {"desiredIntraNodeVisibilityConfig": {"enabled": True}},
    ):
        gke.wait(gke.clusters.update(name=gke.name, body={"update": change}).execute())
    got, cluster = gke.pool("batch"), gke.cluster()
    assert (got["management"], got["autoscaling"]) == ({"autoUpgrade": True}, scaled)
    expected = {"labels": {"team": "core"}, "machineType": "n2-standard-32", "diskSizeGb": 200}
    assert {**expected, "imageType": "UBUNTU_CONTAINERD"}.items() <= got["config"].items()
    assert (cluster["currentMasterVersion"], cluster["costManagementConfig"]) == (
        "1.36.4-gke.1400000", {"enabled": True}
    )  # fmt: skip
    assert (cluster["networkConfig"]["dnsConfig"], cluster["networkConfig"]["enableIntraNodeVisibility"]) == (
        {"clusterDns": "CLOUD_DNS"}, True
    )  # fmt: skip
    body = {"resourceLabels": {"team": "core"}, "labelFingerprint": cluster["labelFingerprint"]}
    gke.wait(gke.clusters.setResourceLabels(name=gke.name, body=body).execute())
    assert gke.cluster()["resourceLabels"] == {"team": "core"}
    refused(412, gke.clusters.setResourceLabels(name=gke.name, body=body))


def pool(**more):
    return {"nodePool": {**SLICE, **more}}


def cluster(**more):
    return {"cluster": {"name": "other", "initialNodeCount": 1, "nodeConfig": {"machineType": "n2-standard-4"}, **more}}


NO_MACHINE = "Machine type with name '{}' does not exist in zone 'us-central2-b'."
REFUSALS = [
    (pool(config={"machineType": "e2-standard-4"}), 400, NO_MACHINE.format("e2-standard-4")),
    (pool(config={"machineType": "ct6e-standard-4t"}), 400, NO_MACHINE.format("ct6e-standard-4t")),
    (pool(config={"machineType": "q9-standard-4"}), 400, NO_MACHINE.format("q9-standard-4")),
    (pool(name="p" * 41), 400, "at most 40"),
    (pool(name="default-pool"), 409, "Already exists"),
    (pool(initialNodeCount=1), 400, "Node count 1 is not a valid size of TPU pod slice with topology 2x2x2"),
    (pool(config={**V4, "reservationAffinity": RESERVED}), 400, "Reservation 'held' does not exist"),
    (pool(config={**V4, "serviceAccount": "nodes@{}.iam.gserviceaccount.com"}), 400, "does not exist"),
    (pool(placementPolicy={"policyName": "absent", "tpuTopology": "2x2x2"}), 400, "was not found"),
    (pool(locations=["us-east5-a"]), 400, "does not exist in zone 'us-east5-a'"),
    (cluster(initialNodeCount=0), 400, "must be greater than zero"),
    (cluster(network="absent"), 404, "absent"),
    (cluster(subnetwork="absent"), 400, "does not exist in network"),
    (cluster(ipAllocationPolicy={"clusterSecondaryRangeName": "pods"}), 400, 'Secondary range "pods" does not exist'),
    (cluster(locations=["us-east5-a"]), 400, "are not zones of"),
    (cluster(initialClusterVersion="1.99"), 400, 'No valid versions with the prefix "1.99" found.'),
    (cluster(name="train"), 409, "Already exists"),
]


def test_what_cannot_be_is_refused_and_leaves_nothing(gke, refused):
    for body, code, words in REFUSALS:
        if "nodePool" in body:
            config = body["nodePool"]["config"]
            account = config.get("serviceAccount", "default").format(gke.project)
            sent = {**body["nodePool"], "config": {**config, "serviceAccount": account}}
            request = gke.pools.create(parent=gke.name, body={"nodePool": sent})
        else:
            request = gke.clusters.create(parent=gke.parent, body=body)
        assert words in refused(code, request)["message"], body
    assert [each["name"] for each in gke.cluster()["nodePools"]] == ["default-pool"]
    assert refused(404, gke.clusters.get(name=f"{gke.parent}/clusters/other"))
    for request in (
        gke.compute.subnetworks().delete(project=gke.project, region=REGION, subnetwork="default"),
        gke.compute.networks().delete(project=gke.project, network="default"),
    ):
        assert refused(400, request)["errors"][0]["reason"] == "resourceInUseByAnotherResource"


def test_slices_placed_by_a_workload_policy_show_no_kind_of_placement(client, google, settled, refused):
    """A declared kind would differ from the shown one for ever."""
    gke = Gke(client, google, settled, "gke-tpu7x", "us-central1")
    gke.create(zones=["us-central1-c"])
    policies, where = gke.compute.resourcePolicies(), {"project": "gke-tpu7x", "region": "us-central1"}
    workload = {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"}
    policies.insert(**where, body={"name": "pair", "workloadPolicy": workload}).execute()
    placed = {"type": "COMPACT", "policyName": "pair", "tpuTopology": "2x2x2"}
    gke.add({**SLICE, "config": {"machineType": "tpu7x-standard-4t"}, "placementPolicy": placed})
    assert gke.pool("slice")["placementPolicy"] == {"policyName": "pair", "tpuTopology": "2x2x2"}
    error = refused(400, policies.delete(**where, resourcePolicy="pair"))
    assert error["errors"][0]["reason"] == "resourceInUseByAnotherResource"


# Chips and faults


def test_chips_count_against_the_reservation_that_a_pool_names(gke):
    body = {"name": "held", "specificReservation": {"count": "2", "instanceProperties": V4}}
    gke.compute.reservations().insert(project=gke.project, zone=ZONE, body=body).execute()
    reserved = {**SLICE, "config": {**V4, "reservationAffinity": RESERVED}}
    assert "error" not in gke.add(reserved)
    gke.cloud.control.limit(
        project=gke.project, zone=ZONE, generation="v4", chips=16, capacity="reserved", name="other"
    )
    by_name = {**RESERVED, "values": [f"projects/{gke.project}/reservations/other"]}
    assert "error" not in gke.add({**reserved, "name": "second", "config": {**V4, "reservationAffinity": by_name}})
    ended = gke.add({**reserved, "name": "third"})
    assert "not enough capacity left in reservation 'other'" in ended["error"]["message"]
    assert gke.pool("third")["status"] == "ERROR"


def test_chips_of_pools_count_against_the_quota_until_they_are_given_back(gke, refused):
    gke.cloud.control.limit(project=gke.project, zone=ZONE, generation="v4", chips=12)

    def held():
        return [each["held"] for each in gke.cloud.control.limits() if each["project"] == gke.project]

    gke.add(SLICE)
    assert held() == [8]
    more = {**SLICE, "name": "more"}
    assert "request requires '8.0' and is short '4.0'" in refused(
        403, gke.pools.create(parent=gke.name, body={"nodePool": more})
    )["message"]  # fmt: skip
    gke.resize("slice", 0)
    assert held() == [0]
    gke.add(more)
    gke.wait(gke.pools.delete(name=gke.pool_name("more")).execute())
    assert held() == [0]
    gke.resize("slice", 2)
    gke.wait(gke.clusters.delete(name=gke.name).execute())
    assert held() == [0]


def test_a_stockout_ends_the_operation_and_leaves_a_pool_that_says_why(gke):
    stockout = {"kind": "stockout", "zone": ZONE, "accelerator": "v4-16", "project": gke.project, "count": 1}
    gke.cloud.control.fail(**stockout)
    ended = gke.add(SLICE)
    assert (ended["error"]["code"], "does not have enough resources" in ended["statusMessage"]) == (8, True)
    got = gke.pool("slice")
    assert (got["status"], got["conditions"][0]["code"], gke.nodes("slice")) == ("ERROR", "GCE_STOCKOUT", 0)
    gke.wait(gke.pools.delete(name=gke.pool_name("slice")).execute())
    gke.cloud.control.fail(**stockout)
    assert "error" not in gke.add({**SLICE, "initialNodeCount": 0}), "its nodes come when pods ask"
    assert "error" in gke.resize("slice", 2)
    assert (gke.pool("slice")["status"], gke.nodes("slice")) == ("RUNNING_WITH_ERROR", 0)
    gke.resize("slice", 2)
    assert (gke.pool("slice")["status"], gke.nodes("slice")) == ("RUNNING", 2)


def test_an_operation_fails_where_a_rule_says_so_and_changes_nothing(gke):
    name = gke.pool_name("slice")
    gke.add({**SLICE, "initialNodeCount": 0})
    for method, act in {
        "create": lambda: gke.add({**SLICE, "name": "another"}),
        "update": lambda: gke.wait(gke.pools.update(name=name, body={"tags": {"tags": ["a"]}}).execute()),
        "setSize": lambda: gke.resize("slice", 2),
        "delete": lambda: gke.wait(gke.pools.delete(name=name).execute()),
    }.items():
        full = f"container.projects.locations.clusters.nodePools.{method}"
        gke.cloud.control.fail("operation", method=full, project=gke.project, status="INTERNAL", count=1)
        ended = act()
        assert (ended["error"]["code"], ended["statusMessage"]) == (13, "Internal error."), method
    assert "tags" not in gke.pool("slice")["config"]
    assert gke.nodes("slice") == 0


def test_a_cluster_whose_operation_hangs_takes_no_other_until_it_goes_on(gke, refused):
    rule = gke.cloud.control.fail("hang", method="container.*", project=gke.project, count=1)
    begun = gke.pools.create(parent=gke.name, body={"nodePool": SLICE}).execute()
    gke.cloud.control.advance(3600)
    operation = gke.locations.operations().get(name=f"{gke.parent}/operations/{begun['name']}")
    assert operation.execute()["status"] == "RUNNING"
    error = refused(400, gke.pools.create(parent=gke.name, body=pool(name="next")))
    assert begun["name"] in error["message"]
    gke.cloud.control.mend(rule["id"])
    gke.wait(begun)
    assert gke.pool("slice")["status"] == "RUNNING"


def test_a_cluster_shows_the_kubernetes_api_that_the_cloud_was_given(gke, google):
    control = KubernetesControl(google.control.url)
    control.tell_control_plane("127.0.0.1:6443", "Q0E=", cluster=gke.name)
    got = gke.cluster()
    assert (got["endpoint"], got["masterAuth"]["clusterCaCertificate"]) == ("127.0.0.1:6443", "Q0E=")
    with pytest.raises(ControlError, match="not a full name"):
        control.tell_control_plane("127.0.0.1:1", "", cluster="train")
