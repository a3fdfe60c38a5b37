"""What is installed into a cluster before anything else: charts by version, with the values that the fleet asks for.

Owns versions and values. Kueue 0.19.2, JobSet 0.12.0 and LeaderWorkerSet 0.10.0 are the releases whose definitions
tests validate against; their charts are OCI artifacts at registry.k8s.io, the Dask operator's is at helm.dask.org.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from infra.model.queue_objects import TEAM_LABEL
from infra.model.queues import most_nodes
from infra.model.schema import StackConfig

_MIB_PER_NODE: Final = 32
_LEAST_GIB: Final = 4
"""Kueue's manager holds every pod of the fleet: 32 MiB a VM, and no less than 4 GiB, against the chart's 512 MiB."""

_PATIENCE: Final = {
    "timeout": "2h",
    "recoveryTimeout": "30m",
    "requeuingStrategy": {"timestamp": "Creation", "backoffBaseSeconds": 60, "backoffMaxSeconds": 600},
}
"""How long an admitted job may be without all of its pods before Kueue takes its quota and queues it again.

Kueue 0.19 does so after 30 minutes where nothing is said, and then puts the job behind all others and waits up to an
hour (https://kueue.sigs.k8s.io/docs/tasks/manage/setup_wait_for_pods_ready, read 2026-11). Nodes of slices come when
pods ask: a flex-start request is valid for up to 2 hours, and Google's provider gives a node pool as long. While a job
is out of the queue no pod asks for nodes, so it is back within 10 minutes, at the place of its creation, without limit
of times. Where a job that ran has lost a slice, the others stand idle and are paid for: those go sooner.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addon:
    """One Helm release. repository: empty where `chart` is an OCI reference."""

    name: str
    namespace: str
    chart: str
    version: str
    repository: str = ""
    values: dict[str, Any] = field(default_factory=dict)


def addons(config: StackConfig) -> tuple[Addon, ...]:
    """Every release, operators before whoever uses their kinds."""
    return (
        Addon(
            name="jobset",
            namespace="jobset-system",
            chart="oci://registry.k8s.io/jobset/charts/jobset",
            version="0.12.0",
        ),
        Addon(
            name="lws",
            namespace="lws-system",
            chart="oci://registry.k8s.io/lws/charts/lws",
            version="0.10.0",
        ),
        Addon(
            name="kueue",
            namespace="kueue-system",
            chart="oci://registry.k8s.io/kueue/charts/kueue",
            version="0.19.2",
            values=kueue_values(config),
        ),
        Addon(
            name="dask-operator",
            namespace="dask-operator",
            chart="dask-kubernetes-operator",
            version="2026.3.0",
            repository="https://helm.dask.org",
        ),
    )


def manager_memory(nodes: int) -> str:
    """Memory of Kueue's manager for so many nodes, as a Kubernetes quantity."""
    gib = -(-nodes * _MIB_PER_NODE // 1024)
    return f"{max(gib, _LEAST_GIB)}Gi"


def kueue_values(config: StackConfig) -> dict[str, Any]:
    """The chart's values. Its manager takes one whole configuration as text, so that the chart's own is said again."""
    memory = manager_memory(most_nodes(config))
    queues = config.queues
    manager = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {
            "groupKindConcurrency": {
                "Job.batch": 5, "Pod": 5, "Workload.kueue.x-k8s.io": 5, "LocalQueue.kueue.x-k8s.io": 1,
                "Cohort.kueue.x-k8s.io": 1, "ClusterQueue.kueue.x-k8s.io": 1, "ResourceFlavor.kueue.x-k8s.io": 1,
            }
        },
        "clientConnection": {"qps": 50, "burst": 100},
        # A job that names no queue would start past every quota: in namespaces of teams it waits for one.
        "manageJobsWithoutQueueName": True,
        "managedJobsNamespaceSelector": {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]},
        "integrations": {
            "frameworks": [
                "batch/job", "jobset.x-k8s.io/jobset", "leaderworkerset.x-k8s.io/leaderworkerset", "statefulset",
                "deployment", "pod",
            ]
        },
        # Pods may ask for what no quota covers, such as disk, and are admitted all the same.
        "resources": {"quotaCheckStrategy": "IgnoreUndeclared"},
        "waitForPodsReady": _PATIENCE,
    }  # fmt: skip
    if queues is not None and queues.fair_sharing:
        manager["admissionFairSharing"] = {"usageHalfLifeTime": "168h", "usageSamplingInterval": "5m"}
    return {
        "controllerManager": {
            "manager": {"resources": {"requests": {"cpu": "500m", "memory": memory}, "limits": {"memory": memory}}}
        },
        "managerConfig": {"controllerManagerConfigYaml": yaml.safe_dump(manager, sort_keys=False)},
    }
