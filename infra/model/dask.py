"""Dask classes as objects of Kubernetes: a cluster, and what scales it. Pure.

dask-kubernetes 2026.3 (https://kubernetes.dask.org/en/latest/operator_resources.html, and its source, 2026-11):
- The operator gives a cluster's labels to every deployment and pod that it makes, so that the name of the queue reaches
  pods, and Kueue admits each worker by itself. In a team's namespace a pod without one would never start.
- It reads a cluster once: whatever changes but the number of workers needs a new one.
- It asks the scheduler over HTTP how many workers it wants; `team_network` lets it in.
- `idleTimeout` deletes the cluster that is declared here, so none is set.
"""

from __future__ import annotations

from typing import Any, Final

from infra.model.gke_shapes import BATCH_TAINT, NODE_POOL_LABEL
from infra.model.plain_machines import MachineSize
from infra.model.queue_objects import FROM_STORE, TRAINER, in_queue, kube_object
from infra.model.queues import CPU
from infra.model.schema import DaskClass

SCHEDULER: Final = MachineSize(cpus=2000, memory=8000)
"""For the tasks of one class that may be in flight."""
CLUSTER_LABEL: Final = "dask.org/cluster-name"
"""On every pod of a class, by its name."""
COMPONENT_LABEL: Final = "dask.org/component"
"""On them: SCHEDULER_POD or WORKER_POD."""
SCHEDULER_POD, WORKER_POD = "scheduler", "worker"
_API: Final = "kubernetes.dask.org/v1"
_COMM, _DASHBOARD, _WORKER_DASHBOARD = 8786, 8787, 8788
_STAYS: Final = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
"""A node is not emptied of a scheduler to save it: with the scheduler goes every task in flight."""


def worker_size(declared: DaskClass) -> MachineSize:
    return MachineSize(cpus=declared.cpus * declared.tasks, memory=declared.memory * declared.tasks)


def dask_objects(declared: DaskClass) -> tuple[dict[str, Any], ...]:
    """Every object of one class; none while it has no image."""
    if declared.image is None:
        return ()
    name, team = declared.name, declared.team
    return (
        kube_object(_API, "DaskCluster", name, team, labels=in_queue(CPU, declared.priority), spec=_cluster(declared)),
        kube_object(
            _API,
            "DaskAutoscaler",
            name,
            team,
            spec={"cluster": name, "minimum": declared.minimum, "maximum": declared.maximum},
        ),
    )


def _cluster(declared: DaskClass) -> dict[str, Any]:
    ports = [("tcp-comm", _COMM), ("http-dashboard", _DASHBOARD)]
    return {
        "worker": {
            "replicas": declared.minimum,
            "spec": _pod(declared, _worker(declared), worker_size(declared), {"http-dashboard": _WORKER_DASHBOARD}),
        },
        "scheduler": {
            "metadata": {"annotations": dict(_STAYS)},
            "spec": _pod(declared, _scheduler(), SCHEDULER, dict(ports)),
            "service": {
                "type": "ClusterIP",
                "selector": _pods(declared, SCHEDULER_POD),
                "ports": [
                    {"name": name, "protocol": "TCP", "port": number, "targetPort": name} for name, number in ports
                ],
            },
        },
    }


def _pods(declared: DaskClass, component: str) -> dict[str, str]:
    return {CLUSTER_LABEL: declared.name, COMPONENT_LABEL: component}


def _worker(declared: DaskClass) -> dict[str, Any]:
    """One process with a thread for each task; the operator gives it its name and the scheduler's address."""
    size = worker_size(declared)
    return {
        "name": "worker",
        "command": [
            "dask", "worker", "--name", "$(DASK_WORKER_NAME)", "--nworkers", "1", "--nthreads", str(declared.tasks),
            "--memory-limit", f"{size.memory}MB", "--dashboard", "--dashboard-address", str(_WORKER_DASHBOARD),
        ],
    }  # fmt: skip


def _scheduler() -> dict[str, Any]:
    health = {"httpGet": {"port": "http-dashboard", "path": "/health"}}
    return {
        "name": "scheduler",
        "command": ["dask", "scheduler"],
        "readinessProbe": health | {"periodSeconds": 5, "timeoutSeconds": 5},
        "livenessProbe": health | {"initialDelaySeconds": 30, "periodSeconds": 20, "timeoutSeconds": 10},
    }


def _pod(declared: DaskClass, container: dict[str, Any], size: MachineSize, ports: dict[str, int]) -> dict[str, Any]:
    """On the nodes of its CPU pool alone. What it may use is what it asks for: others' tasks are beside it."""
    amounts = size.quantities()
    return {
        "serviceAccountName": TRAINER,
        "nodeSelector": {NODE_POOL_LABEL: declared.pool},
        "tolerations": [{"key": BATCH_TAINT, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [
            {
                **container,
                "image": declared.image,
                **FROM_STORE,
                "ports": [{"name": name, "containerPort": number} for name, number in ports.items()],
                "resources": {"requests": amounts, "limits": {"memory": amounts["memory"]}},
                "securityContext": {"allowPrivilegeEscalation": False},
            }
        ],
    }
