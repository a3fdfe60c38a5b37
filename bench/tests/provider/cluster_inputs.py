"""A GKE cluster and node pools as a program declares them, with what must be there first."""

from __future__ import annotations

from typing import Any

PROJECT = "hai-gcp-models"
REGION, ZONE = "us-central2", "us-central2-b"
NETWORK = f"projects/{PROJECT}/global/networks/train"
SUBNET = f"projects/{PROJECT}/regions/{REGION}/subnetworks/train"
CLUSTER_ID = f"projects/{PROJECT}/locations/{REGION}/clusters/train"

CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"

NEEDED_BY_CLUSTERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gcp:compute/network:Network", {"name": "train", "autoCreateSubnetworks": False}),
    (
        "gcp:compute/subnetwork:Subnetwork",
        {
            "name": "train",
            "region": REGION,
            "network": NETWORK,
            "ipCidrRange": "10.0.0.0/20",
            "secondaryIpRanges": [
                {"rangeName": "pods", "ipCidrRange": "10.4.0.0/14"},
                {"rangeName": "services", "ipCidrRange": "10.8.0.0/20"},
            ],
        },
    ),
)

CLUSTER_INPUTS: dict[str, Any] = {
    "name": "train",
    "location": REGION,
    "nodeLocations": [ZONE],
    "network": NETWORK,
    "subnetwork": SUBNET,
    "initialNodeCount": 1,
    "removeDefaultNodePool": True,
    "nodeConfig": {"machineType": "n2-standard-4"},
    "deletionProtection": False,
    "networkingMode": "VPC_NATIVE",
    "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
    "privateClusterConfig": {"enablePrivateNodes": True},
    "masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "10.0.0.0/8", "displayName": "inside"}]},
    "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": True}},
    "datapathProvider": "ADVANCED_DATAPATH",
    "enableMultiNetworking": True,
    "releaseChannel": {"channel": "REGULAR"},
    "workloadIdentityConfig": {"workloadPool": f"{PROJECT}.svc.id.goog"},
    "maintenancePolicy": {
        "recurringWindow": {
            "startTime": "2026-01-03T08:00:00Z",
            "endTime": "2026-01-03T16:00:00Z",
            "recurrence": "FREQ=WEEKLY;BYDAY=SA,SU",
        },
        "maintenanceExclusions": [
            {
                "exclusionName": "deadline",
                "startTime": "2026-11-01T00:00:00Z",
                "endTime": "2026-12-01T00:00:00Z",
                "exclusionOptions": {"scope": "NO_MINOR_OR_NODE_UPGRADES"},
            }
        ],
    },
    "addonsConfig": {"gcsFuseCsiDriverConfig": {"enabled": True}, "httpLoadBalancing": {"disabled": True}},
    "clusterAutoscaling": {"autoscalingProfile": "OPTIMIZE_UTILIZATION"},
    "nodePoolDefaults": {"nodeConfigDefaults": {"gcfsConfig": {"enabled": True}}},
    "loggingConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS"]},
    "monitoringConfig": {"enableComponents": ["SYSTEM_COMPONENTS"], "managedPrometheus": {"enabled": True}},
    "costManagementConfig": {"enabled": True},
    "dnsConfig": {"clusterDns": "CLOUD_DNS", "clusterDnsScope": "CLUSTER_SCOPE"},
    "gatewayApiConfig": {"channel": "CHANNEL_STANDARD"},
    "resourceLabels": {"tidepool-stack": "train"},
}
CLUSTER_CHANGES: dict[str, Any] = {
    "releaseChannel": {"channel": "RAPID"},
    "minMasterVersion": "1.36",
    "maintenancePolicy": {"dailyMaintenanceWindow": {"startTime": "03:00"}},
    "masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "10.1.0.0/16"}]},
    "addonsConfig": {"gcsFuseCsiDriverConfig": {"enabled": False}, "httpLoadBalancing": {"disabled": True}},
    "loggingConfig": {"enableComponents": ["SYSTEM_COMPONENTS"]},
    "costManagementConfig": {"enabled": False},
    "enableShieldedNodes": False,
    "resourceLabels": {"tidepool-stack": "train", "team": "core"},
}

NEEDED_BY_POOLS = (*NEEDED_BY_CLUSTERS, (CLUSTER, CLUSTER_INPUTS))
NODE_CONFIG: dict[str, Any] = {
    "machineType": "ct4p-hightpu-4t",
    "spot": True,
    "diskSizeGb": 100,
    "diskType": "pd-balanced",
    "labels": {"tidepool-slice": "v4-32"},
    "resourceLabels": {"tidepool-stack": "train"},
    "taints": [{"key": "team", "value": "core", "effect": "NO_SCHEDULE"}],
    "tags": ["train"],
    "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
    "gcfsConfig": {"enabled": True},
    "gvnic": {"enabled": True},
    "shieldedInstanceConfig": {"enableSecureBoot": True},
    "workloadMetadataConfig": {"mode": "GKE_METADATA"},
    "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
    "hostMaintenancePolicy": {"maintenanceInterval": "AS_NEEDED"},
    "kubeletConfig": {"cpuManagerPolicy": "static"},
    "linuxNodeConfig": {"sysctls": {"net.core.somaxconn": "4096"}},
}
SLICE_INPUTS: dict[str, Any] = {
    "name": "v4-32-ct4p-4t-2x2x4-0",
    "cluster": "train",
    "location": REGION,
    "nodeLocations": [ZONE],
    "initialNodeCount": 0,
    "maxPodsPerNode": 15,
    "placementPolicy": {"type": "COMPACT", "tpuTopology": "2x2x4"},
    "autoscaling": {"minNodeCount": 0, "maxNodeCount": 4, "locationPolicy": "ANY"},
    "management": {"autoRepair": True, "autoUpgrade": True},
    "upgradeSettings": {"maxSurge": 0, "maxUnavailable": 1},
    "networkConfig": {"enablePrivateNodes": True},
    "nodeConfig": NODE_CONFIG,
}
SLICE_CHANGES: dict[str, Any] = {
    "autoscaling": {"minNodeCount": 4, "maxNodeCount": 4, "locationPolicy": "ANY"},
    "management": {"autoRepair": False, "autoUpgrade": True},
    "upgradeSettings": {"maxSurge": 1, "maxUnavailable": 0},
    "nodeConfig": {
        **NODE_CONFIG,
        "labels": {"tidepool-slice": "v4-32", "team": "core"},
        "taints": [],
        "tags": ["train", "core"],
        "gcfsConfig": {"enabled": False},
    },
}
CPU_POOL_INPUTS: dict[str, Any] = {
    "name": "batch",
    "cluster": "train",
    "location": REGION,
    "nodeCount": 2,
    "nodeConfig": {"machineType": "n2-standard-16"},
}
CPU_POOL_CHANGES: dict[str, Any] = {
    "nodeCount": 3,
    "version": "1.35.2-gke.1200000",
    "nodeConfig": {"machineType": "n2-standard-32", "diskSizeGb": 200},
}
