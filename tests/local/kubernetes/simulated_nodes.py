"""Nodes of TPU slices for a real control plane, as GKE makes them; kwok says that they are well."""

from __future__ import annotations

from typing import Any

from infra.model.catalogue import AcceleratorType
from infra.model.gke_shapes import MULTI_HOST_PODS, NODE_POOL_LABEL, TPU_RESOURCE, gke_shape


def slice_nodes(accelerator: str, pool: str, *, spot: bool = True) -> list[dict[str, Any]]:
    """The nodes of one slice of several hosts, which is a node pool: labels, taint and capacity as GKE gives them.

    https://cloud.google.com/kubernetes-engine/docs/concepts/tpus, read 2026-08.
    """
    shape = gke_shape(AcceleratorType.parse(accelerator))
    assert shape is not None, accelerator
    kind = (
        {"cloud.google.com/gke-spot": "true", "cloud.google.com/gke-provisioning": "spot"}
        if spot
        else {"cloud.google.com/gke-provisioning": "standard"}
    )
    amounts = {
        TPU_RESOURCE: str(shape.chips_per_node), "cpu": str(shape.machine.vcpus),
        "memory": f"{shape.machine.memory_gb}G", "pods": str(MULTI_HOST_PODS), "ephemeral-storage": "100Gi",
    }  # fmt: skip
    return [
        {
            "metadata": {
                "name": f"{pool}-{host}",
                "labels": {
                    NODE_POOL_LABEL: pool, **shape.node_labels, **kind, "kubernetes.io/hostname": f"{pool}-{host}",
                    "node.kubernetes.io/instance-type": shape.machine_type,
                    "topology.kubernetes.io/zone": "us-central2-b",
                },
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "spec": {"taints": [{"key": TPU_RESOURCE, "value": "present", "effect": "NoSchedule"}]},
            "status": {"capacity": amounts, "allocatable": amounts},
        }
        for host in range(shape.nodes)
    ]  # fmt: skip
