"""Nodes of TPU slices and CPU pools for a real control plane, as GKE makes them; kwok says that they are well."""

from __future__ import annotations

from typing import Any

from infra.model.catalogue import AcceleratorType
from infra.model.gke_shapes import BATCH_TAINT, MULTI_HOST_PODS, NODE_POOL_LABEL, TPU_RESOURCE, gke_shape


def slice_nodes(accelerator: str, pool: str, *, spot: bool = True) -> list[dict[str, Any]]:
    """The nodes of one slice, which is a node pool where it has several: labels, taint and capacity as GKE gives them.

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
    labels = {
        **shape.node_labels, **kind, "node.kubernetes.io/instance-type": shape.machine_type,
        "topology.kubernetes.io/zone": "us-central2-b",
    }  # fmt: skip
    return [_node(f"{pool}-{host}", pool, labels, TPU_RESOURCE, amounts) for host in range(shape.nodes)]


def cpu_node(name: str, pool: str, cpus: int, memory_gb: int) -> dict[str, Any]:
    """A node of a CPU pool for batch."""
    amounts = {"cpu": str(cpus), "memory": f"{memory_gb}G", "pods": "110", "ephemeral-storage": "100Gi"}
    return _node(name, pool, {}, BATCH_TAINT, amounts)


def _node(name: str, pool: str, labels: dict[str, str], taint: str, amounts: dict[str, str]) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "labels": {NODE_POOL_LABEL: pool, "kubernetes.io/hostname": name, **labels},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"taints": [{"key": taint, "value": "present", "effect": "NoSchedule"}]},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
