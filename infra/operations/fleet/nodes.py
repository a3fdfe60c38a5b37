"""How the nodes of a stack's cluster stand: asked of GKE, of the cluster's own API, and of Kueue in it.

Owns the asking (by the way of `cluster_api`). What does not answer is said and never counted.
What it means beside the stack file is `infra.model.cluster_state`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from infra.fleet.google import Clients, GoogleError, clients
from infra.jobs.evidence import holds
from infra.jobs.kube import Kube, KubeError
from infra.jobs.waiting import free_units
from infra.model.cluster_state import MISSING, UNKNOWN, ClusterNow, ClusterSeen, cluster_now
from infra.model.gke_shapes import NODE_POOL_LABEL, TPU_RESOURCE
from infra.model.planned_capacity import SLICES_LABEL
from infra.model.schema import Cluster, StackConfig
from infra.operations.fleet.cluster_api import cluster_of, kube_of

_QUEUES: Final = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"


def nodes_now(config: StackConfig, endpoint: str | None) -> ClusterNow | None:
    """How the cluster stands; None where none is declared. endpoint: root URL of the local cloud, None on Google."""
    if config.cluster is None:
        return None
    try:
        with clients(config.project, endpoint) as google:
            seen = _seen(google, config.cluster)
    except GoogleError as error:
        seen = ClusterSeen(problems=(str(error),))
    return cluster_now(config, config.cluster, seen)


def _seen(google: Clients, cluster: Cluster) -> ClusterSeen:
    """Raises GoogleError where GKE does not say how the cluster stands."""
    try:
        found = cluster_of(google, cluster)
    except GoogleError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return ClusterSeen(state=MISSING, pools={}, nodes={})
        raise
    pools = found.get("nodePools", ())
    seen = ClusterSeen(
        state=found.get("status", UNKNOWN),
        pools={pool["name"]: pool.get("status", UNKNOWN) for pool in pools},
        strays=tuple(pool["name"] for pool in pools if SLICES_LABEL in pool["config"].get("resourceLabels", {})),
    )
    try:
        kube = kube_of(google, found)
        return replace(seen, nodes=_nodes(kube), free=_free(kube))
    except (KubeError, GoogleError) as error:
        return replace(seen, problems=(f"nodes are not known: {error}",))


def _nodes(kube: Kube) -> Mapping[str, tuple[int, int]]:
    """By pool the nodes that there are, and those that are ready."""
    counts: dict[str, tuple[int, int]] = {}
    for node in kube.get("/api/v1/nodes", labelSelector=NODE_POOL_LABEL)["items"]:
        pool = node["metadata"]["labels"][NODE_POOL_LABEL]
        there, ready = counts.get(pool, (0, 0))
        counts[pool] = (there + 1, ready + holds(node, "Ready"))
    return counts


def _free(kube: Kube) -> Mapping[str, int]:
    """Chips by flavor that no job holds; of a queue that no Kueue looks after nothing is known."""
    queues = (kube.find(_QUEUES) or {"items": ()})["items"]
    return {flavor: free for queue in queues for flavor, free in free_units(queue, TPU_RESOURCE).items()}
