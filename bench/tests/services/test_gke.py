"""Clusters and node pools of GKE through Google's own client: their lives, their operations, and what they show."""

from __future__ import annotations

import itertools

import pytest

from bench.cloud.kubernetes.control import KubernetesControl
from bench.tests.services.gke import Gke

REGION, ZONE = "us-central2", "us-central2-b"
NUMBERS = itertools.count()
SLICE = {
    "name": "v4-32",
    "initialNodeCount": 4,
    "config": {"machineType": "ct4p-hightpu-4t"},
    "placementPolicy": {"type": "COMPACT", "tpuTopology": "2x2x4"},
}


@pytest.fixture
def gke(google, client, settled):
    """A project of its own with a cluster `train` in us-central2."""
    made = Gke(client, google, settled, f"gke-{next(NUMBERS)}", REGION)
    made.create(zones=[ZONE])
    return made


def test_a_cluster_is_shown_with_what_the_service_fills_in(gke):
    got = gke.cluster()
    assert got["status"] == "RUNNING"
    assert got["currentMasterVersion"] == got["initialClusterVersion"] == "1.35.4-gke.1400000"
    assert got["releaseChannel"] == {"channel": "REGULAR"}
    assert got["networkConfig"]["network"] == f"projects/{gke.project}/global/networks/default"
    assert got["network"] == "default"
    assert got["ipAllocationPolicy"]["useIpAliases"] is True
    assert [pool["name"] for pool in got["nodePools"]] == ["default-pool"]
    assert got["currentNodeCount"] == 1
    assert got["selfLink"].endswith(f"/container/v1/{gke.name}")


def test_a_cluster_of_a_region_has_three_zones_unless_it_says_others(client, google, settled):
    gke = Gke(client, google, settled, "gke-regional", "us-central1")
    gke.create(machine="e2-standard-4")
    assert gke.cluster()["locations"] == ["us-central1-a", "us-central1-b", "us-central1-c"]
    assert gke.cluster()["currentNodeCount"] == 3


def test_an_operation_names_its_target_and_ends_with_the_clock(still_client, refused):
    locations = still_client("container").projects().locations()
    parent = f"projects/gke-still/locations/{REGION}"
    body = {"name": "train", "initialNodeCount": 1, "locations": [ZONE], "nodeConfig": {"machineType": "n2-standard-4"}}
    begun = locations.clusters().create(parent=parent, body={"cluster": body}).execute()
    assert (begun["status"], begun["operationType"]) == ("RUNNING", "CREATE_CLUSTER")
    assert begun["targetLink"].endswith(f"/{parent}/clusters/train")
    assert locations.clusters().get(name=f"{parent}/clusters/train").execute()["status"] == "PROVISIONING"
    pools = locations.clusters().nodePools()
    error = refused(400, pools.create(parent=f"{parent}/clusters/train", body={"nodePool": SLICE}))
    assert error["status"] == "FAILED_PRECONDITION"
    assert error["errors"][0]["reason"] == "failedPrecondition"
    assert begun["name"] in error["message"]
    found = locations.operations().list(parent="projects/gke-still/locations/-").execute()
    assert [each["name"] for each in found["operations"]] == [begun["name"]]


def test_clusters_of_every_place_are_listed_by_a_dash(gke):
    listed = gke.clusters.list(parent=f"projects/{gke.project}/locations/-").execute()
    assert [each["name"] for each in listed["clusters"]] == ["train"]
    assert "clusters" not in gke.clusters.list(parent=f"projects/{gke.project}/locations/us-east1").execute()


def test_a_pool_of_a_slice_is_shown_as_it_was_sent_with_the_taint_of_tpus(gke):
    gke.add(SLICE)
    got = gke.pool("v4-32")
    assert got["status"] == "RUNNING"
    assert got["placementPolicy"] == SLICE["placementPolicy"]
    assert got["locations"] == [ZONE]
    assert got["config"]["taints"] == [{"key": "google.com/tpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert got["config"]["diskType"] == "pd-balanced"
    (url,) = got["instanceGroupUrls"]
    group = url.rpartition("/")[2]
    managers = gke.compute.instanceGroupManagers()
    (listed,) = [
        each for each in managers.list(project=gke.project, zone=ZONE).execute()["items"] if each["name"] == group
    ]
    assert listed["targetSize"] == 4
    assert managers.get(project=gke.project, zone=ZONE, instanceGroupManager=group).execute() == listed


def test_machines_of_a_pool_that_is_being_made_are_not_listed_yet(still, still_client):
    gke = Gke(still_client, still, lambda begun, _: still.control.advance(3600) and begun, "gke-unmade", REGION)

    def sizes():
        listed = gke.compute.instanceGroupManagers().list(project=gke.project, zone=ZONE).execute()
        return [each["targetSize"] for each in listed["items"] if "v4-32" in each["name"]]

    gke.create(zones=[ZONE])
    begun = gke.pools.create(parent=gke.name, body={"nodePool": SLICE}).execute()
    assert (gke.pool("v4-32")["status"], sizes()) == ("PROVISIONING", [])
    gke.wait(begun)
    assert (gke.pool("v4-32")["status"], sizes()) == ("RUNNING", [4])


def test_machines_that_take_no_other_disk_get_a_hyperdisk(client, google, settled, refused):
    gke = Gke(client, google, settled, "gke-disks", "us-east5")
    gke.create(zones=["us-east5-a"])
    gke.add({"name": "v6e", "initialNodeCount": 1, "config": {"machineType": "ct6e-standard-4t"}})
    assert gke.pool("v6e")["config"]["diskType"] == "hyperdisk-balanced"
    config = {"machineType": "ct6e-standard-4t", "diskType": "pd-balanced"}
    assert "hyperdisk-balanced" in gke.refusal(refused, {"name": "disk", "config": config})


def test_a_slice_grows_and_shrinks_as_a_whole(gke, refused):
    gke.add({**SLICE, "initialNodeCount": 0})
    assert gke.nodes("v4-32") == 0
    gke.resize("v4-32", 4)
    assert gke.nodes("v4-32") == 4
    error = refused(400, gke.pools.setSize(name=gke.pool_name("v4-32"), body={"nodeCount": 3}))
    assert error["message"] == "Node count 3 is not a valid size of TPU pod slice with topology 2x2x4"
    gke.resize("v4-32", 0)
    assert gke.nodes("v4-32") == 0


def test_a_pool_is_changed_part_by_part(gke, refused):
    gke.add({"name": "batch", "initialNodeCount": 1, "config": {"machineType": "n2-standard-16"}})
    pool = gke.pool_name("batch")
    gke.wait(gke.pools.update(name=pool, body={"labels": {"labels": {"team": "core"}}}).execute())
    gke.wait(gke.pools.update(name=pool, body={"machineType": "n2-standard-32", "diskSizeGb": "200"}).execute())
    management = {"autoUpgrade": True}
    gke.wait(gke.pools.setManagement(name=pool, body={"management": management}).execute())
    gke.wait(gke.pools.setAutoscaling(name=pool, body={"autoscaling": {"enabled": True, "maxNodeCount": 9}}).execute())
    got = gke.pool("batch")
    assert got["config"]["labels"] == {"team": "core"}
    assert (got["config"]["machineType"], got["config"]["diskSizeGb"]) == ("n2-standard-32", 200)
    assert got["management"] == {"autoUpgrade": True}
    assert got["autoscaling"] == {"enabled": True, "maxNodeCount": 9}
    error = refused(400, gke.pools.setManagement(name=pool, body={"management": {}}))
    assert error["message"] == "Auto_upgrade must be true when release_channel REGULAR is set."


def test_a_control_plane_is_upgraded_before_its_nodes_and_by_one_minor_version(gke, refused):
    newer = {"update": {"desiredNodePoolId": "default-pool", "desiredNodeVersion": "1.36"}}
    error = refused(400, gke.clusters.update(name=gke.name, body=newer))
    assert "must not be greater than master version" in error["message"]
    gke.wait(gke.clusters.update(name=gke.name, body={"update": {"desiredMasterVersion": "1.36"}}).execute())
    begun = gke.clusters.update(name=gke.name, body=newer).execute()
    assert begun["operationType"] == "UPGRADE_NODES"
    gke.wait(begun)
    got = gke.cluster()
    assert (got["currentMasterVersion"], got["nodePools"][0]["version"]) == ("1.36.4-gke.1400000",) * 2
    back = {"update": {"desiredMasterVersion": "1.34"}}
    assert "downgraded" in refused(400, gke.clusters.update(name=gke.name, body=back))["message"]
    unknown = {"update": {"desiredMasterVersion": "1.99"}}
    error = refused(400, gke.clusters.update(name=gke.name, body=unknown))
    assert error["message"] == 'No valid versions with the prefix "1.99" found.'


def test_labels_are_set_with_the_fingerprint_of_the_last_ones(gke, refused):
    body = {"resourceLabels": {"team": "core"}, "labelFingerprint": gke.cluster()["labelFingerprint"]}
    gke.wait(gke.clusters.setResourceLabels(name=gke.name, body=body).execute())
    assert gke.cluster()["resourceLabels"] == {"team": "core"}
    assert "fingerprint" in refused(412, gke.clusters.setResourceLabels(name=gke.name, body=body))["message"]


def test_a_cluster_goes_with_its_pools_and_frees_its_network(gke, refused, google):
    gke.add(SLICE)
    where = {"project": gke.project, "zone": ZONE}
    gke.wait(gke.clusters.delete(name=gke.name).execute())
    refused(404, gke.clusters.get(name=gke.name))
    refused(404, gke.pools.get(name=gke.pool_name("v4-32")))
    assert "items" not in gke.compute.instanceGroupManagers().list(**where).execute()


def test_the_versions_of_each_channel_are_told(gke):
    told = gke.locations.getServerConfig(name=f"projects/{gke.project}/locations/{REGION}").execute()
    assert told["defaultClusterVersion"] in told["validMasterVersions"]
    channels = {each["channel"]: each["defaultVersion"] for each in told["channels"]}
    assert channels.keys() == {"RAPID", "REGULAR", "STABLE", "EXTENDED"}
    assert channels["REGULAR"] == told["defaultClusterVersion"]


def test_a_cluster_shows_the_kubernetes_api_that_the_cloud_was_told_of(gke, google):
    KubernetesControl(google.control.url).tell_control_plane("127.0.0.1:6443", "Q0E=", cluster=gke.name)
    got = gke.cluster()
    assert (got["endpoint"], got["masterAuth"]["clusterCaCertificate"]) == ("127.0.0.1:6443", "Q0E=")


def test_nodes_of_a_pool_are_nodes_of_kubernetes_with_the_labels_of_gke(gke):
    taint = {"key": "team", "value": "core", "effect": "NO_EXECUTE"}
    config = {"machineType": "ct4p-hightpu-4t", "spot": True, "labels": {"owner": "core"}, "taints": [taint]}
    gke.add({**SLICE, "config": config, "maxPodsConstraint": {"maxPodsPerNode": "15"}})
    nodes = gke.kubernetes_nodes("v4-32")
    assert len(nodes) == 4
    assert len({node["metadata"]["name"] for node in nodes}) == 4
    node = nodes[0]
    assert node["metadata"]["name"].startswith("gke-tpu-")
    assert {
        "cloud.google.com/gke-nodepool": "v4-32",
        "cloud.google.com/gke-spot": "true",
        "cloud.google.com/gke-provisioning": "spot",
        "cloud.google.com/gke-tpu-accelerator": "tpu-v4-podslice",
        "cloud.google.com/gke-tpu-topology": "2x2x4",
        "node.kubernetes.io/instance-type": "ct4p-hightpu-4t",
        "topology.kubernetes.io/zone": ZONE,
        "owner": "core",
    }.items() <= node["metadata"]["labels"].items()
    assert node["spec"]["taints"] == [
        {"key": "team", "value": "core", "effect": "NoExecute"},
        {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"},
    ]
    assert node["status"]["capacity"]["google.com/tpu"] == "4"
    assert node["status"]["allocatable"]["pods"] == "15"
    gke.resize("v4-32", 0)
    assert gke.kubernetes_nodes("v4-32") == []


def test_a_node_that_names_no_topology_has_that_of_its_machine(gke):
    gke.add({"name": "one", "initialNodeCount": 1, "config": {"machineType": "ct4p-hightpu-4t"}})
    (node,) = gke.kubernetes_nodes("one")
    assert node["metadata"]["labels"]["cloud.google.com/gke-tpu-topology"] == "2x2x1"


def test_kubernetes_of_a_cluster_ends_with_it(gke):
    assert gke.kubernetes_nodes("default-pool")
    assert gke.cluster()["endpoint"].endswith(f"/kubernetes/{gke.name}")
    gke.wait(gke.clusters.delete(name=gke.name).execute())
    assert gke.name not in {each["cluster"] for each in gke.kubernetes.clusters()}
