"""Clusters and node pools of GKE, call by call: their lives, refusals, chips and faults."""

from __future__ import annotations

from typing import Any

import pytest

from bench.tests.cloud.cloud_clients import Direct, Row, compared

P, ZONE = "projects/gke-lab", "us-central2-b"
C = f"container/v1/{P}/locations/us-central2/clusters"
TRAIN, POOLS = f"{C}/train", f"{C}/train/nodePools"
SLICE, BATCH = f"{POOLS}/slice", f"{POOLS}/batch"
GROUPS = f"compute/v1/{P}/zones/{ZONE}/instanceGroupManagers"
WEST = f"container/v1/{P}/locations/us-west4"
NAME = TRAIN.removeprefix("container/v1/")
NODES = f"kubernetes/{NAME}/api/v1/nodes?labelSelector=cloud.google.com/gke-nodepool%3D"
V4, PLAIN = {"machineType": "ct4p-hightpu-4t"}, {"machineType": "n2-standard-4"}
CLUSTER: dict[str, Any] = {"name": "train", "initialNodeCount": 1, "locations": [ZONE], "nodeConfig": PLAIN}
POOL: dict[str, Any] = {
    "name": "slice", "initialNodeCount": 2, "config": V4,
    "placementPolicy": {"type": "COMPACT", "tpuTopology": "2x2x2"},
}  # fmt: skip
RESERVED = {"consumeReservationType": "SPECIFIC_RESERVATION", "values": ["held"]}
POLICIES = f"compute/v1/{P}/regions/us-central1/resourcePolicies"
POT = {"project": "gke-lab", "zone": ZONE, "generation": "v4"}
FAULTS, LIMITS, CLOCK = "_tidepool/fail", "_tidepool/limit", "_tidepool/advance"


def add(status: int = 200, **more: Any) -> Row:
    return ("POST", POOLS, {"nodePool": {**POOL, **more}}, status)


def size(count: int) -> Row:
    return ("POST", f"{SLICE}:setSize", {"nodeCount": count})


def update(**change: Any) -> Row:
    return ("PUT", TRAIN, {"update": change})


def tell(endpoint: str, cluster: str, status: int = 200) -> Row:
    body = {"endpoint": endpoint, "certificate": "Q0E=", "cluster": cluster}
    return ("POST", "_tidepool/tell_control_plane", body, status)


HELD: Row = ("POST", "_tidepool/limits")
MACHINES: Row = GROUPS
BEGUN: Row = ("POST", C, {"cluster": CLUSTER})
STOCKOUT: Row = ("POST", FAULTS, {"kind": "stockout", "zone": ZONE, "accelerator": "v4-16", "count": 1})
CALLS: dict[str, list[Row]] = {
    "a cluster": [
        BEGUN,
        TRAIN,
        f"container/v1/{P}/locations/-/clusters", add(),
        MACHINES, f"{NODES}slice",
        tell("127.0.0.1:6443", NAME),
        TRAIN,
        ("DELETE", TRAIN), ("GET", TRAIN, None, 404), ("GET", SLICE, None, 404), MACHINES,
        ("GET", f"{NODES}slice", None, 503),
        ("POST", C.replace("central2", "central1"), {"cluster": {**CLUSTER, "locations": []}}),
        TRAIN.replace("central2", "central1"),
    ],
    "places": [
        *(("POST", f"container/v1/{P}/locations/{place}/clusters", {"cluster": {
            **CLUSTER, "name": name, "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods"},
            "privateClusterConfig": {"enablePrivateNodes": True}}})
            for place, name in ((ZONE, "zonal"), ("us-central2", "none"))),
        f"container/v1/{P}/locations/-/clusters",
        f"container/v1/{P}/locations/us-central2/operations/operation-1795248002000-000000000002",
        ("POST", f"container/v1/{P}/locations/us-central2/clusters/none/nodePools", {"nodePool": {
            **POOL, "config": {**V4, "reservationAffinity": {**RESERVED, "values": ["projects/x/reservations/y"]}}}}),
        f"container/v1/{P}/locations/us-central2/clusters/none/nodePools",
        f"kubernetes/{P}/locations/us-central2/clusters/none/api/v1/nodes",
        GROUPS, tell("127.0.0.1:2", ""),
        ("POST", "_tidepool/told_control_plane", {"cluster": "none"}),
        ("POST", f"{WEST}/clusters", {"cluster": {
            **CLUSTER, "locations": ["us-west4-a"], "secretManagerConfig": {"enabled": True}}}),
        f"{WEST}/clusters/train",
        f"kubernetes/{P}/locations/us-west4/clusters/train/apis/secrets-store.csi.x-k8s.io/v1",
        ("POST", f"{WEST}/clusters/train/nodePools", {"nodePool": {
            **POOL, "config": {"machineType": "ct5lp-hightpu-4t"}, "placementPolicy": {"tpuTopology": "2x4"}}}),
        *(("PUT", f"{WEST}/clusters/train/nodePools/slice", {"machineType": f"ct5lp-hightpu-{chips}t"}, code)
          for chips, code in ((1, 400), (8, 200))),
    ],
    "operations": [
        ("POST", "_tidepool/set_compression", {"factor": 1}), BEGUN,
        TRAIN,
        add(400),
        ("POST", CLOCK, {"seconds": 3600}), add(), SLICE,
        MACHINES, ("POST", CLOCK, {"seconds": 3600}), SLICE,
        MACHINES, ("POST", FAULTS, {"kind": "hang", "method": "container.*", "count": 1}),
        add(name="hangs"), ("POST", CLOCK, {"seconds": 3600}),
        add(400, name="next"), ("POST", "_tidepool/mend"),
        ("POST", CLOCK, {"seconds": 3600}), f"{POOLS}/hangs",
    ],
    "a slice": [
        BEGUN,
        add(config={**V4, "spot": True, "labels": {"owner": "core"},
                    "taints": [{"key": "team", "value": "core", "effect": "NO_EXECUTE"}]},
            maxPodsConstraint={"maxPodsPerNode": "15"}),
        SLICE,
        f"{NODES}slice",
        size(0), MACHINES, f"{NODES}slice",
        ("POST", POOLS, {"nodePool": {"name": "one", "initialNodeCount": 1, "config": V4}}),
        f"{NODES}one",
    ],
    "changes": [
        BEGUN, add(name="batch", config={"machineType": "n2-standard-16"}, placementPolicy={}),
        ("PUT", BATCH, {"labels": {"labels": {"team": "core"}}}),
        ("PUT", BATCH, {"machineType": "n2-standard-32", "diskSizeGb": "200"}),
        ("POST", f"{BATCH}:setManagement", {"management": {"autoUpgrade": True}}),
        update(desiredNodePoolId="batch", desiredNodePoolAutoscaling={"enabled": True, "maxNodeCount": 9}),
        BATCH,
        ("POST", f"{BATCH}:setManagement", {}),
        ("POST", f"{TRAIN}:setMaintenancePolicy", {"maintenancePolicy": {
            "window": {"dailyMaintenanceWindow": {"startTime": "03:00"}}}}),
        TRAIN,
        update(desiredMasterVersion="1.36"), update(desiredCostManagementConfig={"enabled": True}),
        update(desiredClusterAutoscaling={"enableNodeAutoprovisioning": True}),
        ("PUT", TRAIN, {"update": {}}, 400),
        TRAIN,
        ("POST", f"{TRAIN}:setResourceLabels", {"resourceLabels": {"a": "b"}}),
        TRAIN,
    ],
    "refusals": [
        BEGUN,
        add(400, config={"machineType": "e2-standard-4"}),
        add(400, config={"machineType": "ct6e-standard-4t"}),
        add(400, config={"machineType": "q9-standard-4"}),
        add(409, name="default-pool"),
        add(400, initialNodeCount=1),
        add(400, config={**V4, "reservationAffinity": RESERVED}),
        add(400, config={**V4, "serviceAccount": "nodes@gke-lab.iam.gserviceaccount.com"}),
        add(400, placementPolicy={"policyName": "absent", "tpuTopology": "2x2x2"}),
        *(("POST", C, {"cluster": {**CLUSTER, "name": "other", **change}}, code) for change, code in (
            ({"initialNodeCount": 0}, 400), ({"network": "absent"}, 404), ({"subnetwork": "absent"}, 400),
            ({"initialClusterVersion": "1.99"}, 400), ({"name": "train"}, 409), ({"resourceLabels": {"A": "b"}}, 400))),
        add(400, config={**V4, "reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION"}}),
        TRAIN, ("GET", f"{C}/other", None, 404),
        ("DELETE", f"compute/v1/{P}/regions/us-central2/subnetworks/default", None, 400),
        ("DELETE", f"compute/v1/{P}/global/networks/default", None, 400),
    ],
    "a workload policy": [
        ("POST", C.replace("central2", "central1"), {"cluster": {**CLUSTER, "locations": ["us-central1-c"]}}),
        ("POST", POLICIES, {"name": "pair", "workloadPolicy": {"type": "HIGH_THROUGHPUT"}}),
        ("POST", POOLS.replace("central2", "central1"), {"nodePool": {
            **POOL, "config": {"machineType": "tpu7x-standard-4t"},
            "placementPolicy": {"type": "COMPACT", "policyName": "pair", "tpuTopology": "2x2x2"}}}),
        SLICE.replace("central2", "central1"),
    ],
    "reservations": [
        BEGUN, ("POST", LIMITS, {**POT, "capacity": "reserved", "chips": 16, "name": "held"}),
        *(add(name=name, config={**V4, "reservationAffinity": {**RESERVED, "values": [value]}}) for name, value in (
            ("first", "held"), ("second", f"{P}/reservations/held"), ("third", "held"))), HELD,
        f"{POOLS}/third",
    ],
    "quotas": [
        BEGUN, ("POST", LIMITS, {**POT, "chips": 12}), add(), HELD,
        add(403, name="more"), size(0), HELD, add(name="more"),
        ("DELETE", f"{POOLS}/more"), HELD, size(2), HELD,
        ("DELETE", TRAIN), HELD,
    ],
    "stockouts": [
        BEGUN, STOCKOUT, add(),
        SLICE, MACHINES,
        ("DELETE", SLICE), STOCKOUT, add(initialNodeCount=0),
        SLICE, size(2),
        SLICE, MACHINES, size(2),
        SLICE, MACHINES,
    ],
    "faults": [
        BEGUN, add(initialNodeCount=0),
        *(row for method, asked in (
            ("create", add(name="another")), ("update", ("PUT", SLICE, {"tags": {"tags": ["a"]}})),
            ("setSize", size(2)), ("delete", ("DELETE", SLICE))) for row in (
                ("POST", FAULTS, {"kind": "operation", "status": "INTERNAL", "count": 1,
                                  "method": f"container.*.nodePools.{method}"}), asked)),
        ("POST", "_tidepool/faults"),
        ("POST", FAULTS, {"kind": "operation", "count": 2, "method": "container.*.clusters.*"}),
        ("POST", C, {"cluster": {**CLUSTER, "name": "other"}}), f"{C}/other",
        update(desiredMasterVersion="1.36"), TRAIN,
        f"{POOLS}/another",
        SLICE, MACHINES,
        ("GET", f"container/v1/{P}/locations/us-central2/operations/none", None, 404),
    ],
}  # fmt: skip


@pytest.mark.parametrize("calls", CALLS)
def test_gke_answers_each_call(calls: str, update_goldens: bool) -> None:
    compared(Direct().check(CALLS[calls]), f"gke {calls}", update_goldens)
