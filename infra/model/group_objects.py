"""Groups of workers as objects of Kubernetes: roles, names, policies and what may disturb them. Pure.

A role on slices of one host is a StatefulSet, on slices of several a LeaderWorkerSet. Kueue 0.19 (pod groups of a
StatefulSet, LeaderWorkerSet integration; its webhooks' source, 2026-11) starts each as a gang by the queue's name on
the object itself, and refuses another number of replicas of a StatefulSet, as well as another queue while it runs.
LeaderWorkerSet 0.10 (API and TPU variables, 2026-11) tells the hosts of a slice who they are, and finds a slice's
hosts by a headless service of the set's own name, which it makes only where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from infra.model.catalogue import AcceleratorType
from infra.model.gke_shapes import BATCH_TAINT, NODE_POOL_LABEL, TPU_RESOURCE, gke_shapes
from infra.model.plain_machines import MachineSize
from infra.model.queue_objects import FROM_STORE, TRAINER, in_queue, kube_object
from infra.model.queues import CPU
from infra.model.schema import WorkerGroup
from infra.model.team_network import GROUP_LABEL

ROLE_LABEL: Final = "tidepool/role"
AFTER: Final = "tidepool/after"
"""Annotation: the object of the same namespace, as KIND/NAME, that is made, changed and restarted before this one."""
TRAIN, ROLLOUT, CURRICULUM = "train", "rollout", "curriculum"
ROLES: Final = (CURRICULUM, TRAIN, ROLLOUT)
"""In the order in which they start."""
_NETWORKING: Final = "networking.k8s.io/v1"
_EXCLUSIVE: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"
_UNAWAITED: Final = {"pulumi.com/skipAwait": "true", "pulumi.com/deletionPropagationPolicy": "background"}
"""Pods wait for quota as long as it takes, and `up` does not. Nobody awaits the delete of such an object either: it
must not stay until its pods are gone, or the next object of its name meets it."""
_CHECKPOINT_SECONDS: Final = 600
"""What the learner has to write a checkpoint once it is told to end; a spot node gives all of them less."""
_WAIT: Final = (
    "import socket, sys, time\n"
    "while True:\n"
    "    try:\n"
    "        socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).close()\n"
    "        break\n"
    "    except OSError:\n"
    "        time.sleep(2)\n"
)


def group_objects(group: WorkerGroup) -> tuple[dict[str, Any], ...]:
    """Every object of a group, in the order in which its roles start; none while it has no image."""
    return tuple(_all(group)) if group.image is not None else ()


def host(group: WorkerGroup, role: str) -> str:
    """The name of a role's service, which every pod of the cluster resolves. Of its first host: NAME-0 before it."""
    return f"{_named(group, role)}.{group.team}.svc"


def _all(group: WorkerGroup) -> Iterator[dict[str, Any]]:
    yield from _policies(group)
    for role, port in ((CURRICULUM, group.curriculum.port), (TRAIN, group.train.port), (ROLLOUT, None)):
        yield _service(group, role, port)
    yield _curriculum(group)
    train, rollout = group.train, group.rollout
    told = _waits_for(group, CURRICULUM, host(group, CURRICULUM), group.curriculum.port)
    yield _workers(group, TRAIN, train.accelerator, 1, _container(group, TRAIN, train.command, train.port), told)
    first = f"{_named(group, TRAIN)}-0.{host(group, TRAIN)}"
    told = _waits_for(group, TRAIN, first, train.port)
    yield _workers(
        group, ROLLOUT, rollout.accelerator, rollout.slices, _container(group, ROLLOUT, rollout.command, None), told
    )
    # The learner is evicted by nobody who asks first; of the actors one slice at a time.
    yield _budget(group, TRAIN, 0)
    yield _budget(group, ROLLOUT, rollout.accelerator.hosts)


def _named(group: WorkerGroup, role: str) -> str:
    return f"{group.name}-{role}"


def _labels(group: WorkerGroup, *roles: str) -> dict[str, str]:
    return {GROUP_LABEL: group.name} | ({ROLE_LABEL: roles[0]} if roles else {})


def _policies(group: WorkerGroup) -> Iterator[dict[str, Any]]:
    """Who may talk to each role: its own hosts on every port, the others of the group on the port that it serves."""
    everyone = [{"podSelector": {"matchLabels": _labels(group)}}]
    for role, port in ((TRAIN, group.train.port), (ROLLOUT, None), (CURRICULUM, group.curriculum.port)):
        ingress: list[dict[str, Any]] = [{"from": [{"podSelector": {"matchLabels": _labels(group, role)}}]}]
        if port is not None:
            ingress.append({"from": everyone, "ports": [{"protocol": "TCP", "port": port}]})
        spec = {
            "podSelector": {"matchLabels": _labels(group, role)},
            "policyTypes": ["Ingress"],
            "ingress": ingress,
        }
        yield kube_object(_NETWORKING, "NetworkPolicy", _named(group, role), group.team, spec=spec)


def _service(group: WorkerGroup, role: str, port: int | None) -> dict[str, Any]:
    """Headless: a name for each pod, also of those that are not ready, by which hosts find one another at the start."""
    spec: dict[str, Any] = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": _labels(group, role),
    }
    if port is not None:
        spec["ports"] = [{"name": _PORT_NAMES[role], "protocol": "TCP", "port": port, "targetPort": port}]
    return kube_object("v1", "Service", _named(group, role), group.team, labels=_labels(group, role), spec=spec)


_PORT_NAMES: Final = {TRAIN: "weights", CURRICULUM: "lessons"}


def _curriculum(group: WorkerGroup) -> dict[str, Any]:
    declared = group.curriculum
    container = _container(group, CURRICULUM, declared.command, declared.port)
    amounts = MachineSize(cpus=declared.cpus, memory=declared.memory).quantities()
    container["resources"] = {"requests": amounts, "limits": {"memory": amounts["memory"]}}
    pod = {
        "serviceAccountName": TRAINER,
        "nodeSelector": {NODE_POOL_LABEL: declared.pool},
        "tolerations": [{"key": BATCH_TAINT, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [container],
    }
    labels = _labels(group, CURRICULUM)
    spec = {
        "replicas": 1,
        # Two at once would teach from two states.
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return kube_object(
        "apps/v1",
        "Deployment",
        _named(group, CURRICULUM),
        group.team,
        labels=labels | in_queue(CPU, group.priority),
        annotations={"pulumi.com/skipAwait": "true"},
        spec=spec,
    )


def _workers(
    group: WorkerGroup,
    role: str,
    accelerator: AcceleratorType,
    slices: int,
    container: dict[str, Any],
    waiting: dict[str, Any],
) -> dict[str, Any]:
    """A role that has chips: one pod a VM with all of them."""
    shape, name, labels = gke_shapes()[accelerator.name], _named(group, role), _labels(group, role)
    chips = {TPU_RESOURCE: str(shape.chips_per_node)}
    container |= {
        "resources": {"requests": chips, "limits": chips},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - the mount point that programs use
        # Locked memory, as libtpu needs it.
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"add": ["SYS_RESOURCE"]}},
    }
    pod = {
        "metadata": {"labels": labels},
        "spec": {
            "serviceAccountName": TRAINER,
            "terminationGracePeriodSeconds": _CHECKPOINT_SECONDS if role == TRAIN else 30,
            "nodeSelector": dict(shape.node_labels),
            "tolerations": [{"key": TPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}],
            "initContainers": [waiting],
            "containers": [container],
            "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
        },
    }
    after = f"Deployment/{_named(group, CURRICULUM)}" if role == TRAIN else f"{_kind(group)}/{_named(group, TRAIN)}"
    queued = labels | in_queue(accelerator.name, group.priority)
    if not shape.multi_host:
        return kube_object(
            "apps/v1",
            "StatefulSet",
            name,
            group.team,
            labels=queued,
            annotations=_UNAWAITED | {AFTER: after},
            spec={
                "replicas": slices,
                "serviceName": name,
                # Each is a slice of its own; in order, one that waits would hold back the gang.
                "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": labels},
                "template": pod,
            },
        )
    return kube_object(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        name,
        group.team,
        labels=queued,
        # Node pools of one shape have the same labels: without this a slice's pods may come to lie on two.
        annotations={_EXCLUSIVE: NODE_POOL_LABEL, AFTER: after},
        spec={
            "replicas": slices,
            "startupPolicy": "LeaderCreated",
            "networkConfig": {"subdomainPolicy": "Shared"},
            # There are no chips for one slice more while another is replaced.
            "rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 0},
            },
            # Hosts of a slice are one program: of one that ends, all begin anew.
            "leaderWorkerTemplate": {
                "size": shape.nodes,
                "restartPolicy": "RecreateGroupOnPodRestart",
                "workerTemplate": pod,
            },
        },
    )


def _kind(group: WorkerGroup) -> str:
    return "LeaderWorkerSet" if group.train.accelerator.multi_host else "StatefulSet"


def _container(group: WorkerGroup, role: str, command: tuple[str, ...], port: int | None) -> dict[str, Any]:
    first = f"{_named(group, TRAIN)}-0.{host(group, TRAIN)}"
    kept = group.checkpoints
    told = {"TIDEPOOL_CHECKPOINTS": f"gs://{kept.bucket}/{group.name}"} if kept else {}
    told |= {
        "TIDEPOOL_CURRICULUM": f"{host(group, CURRICULUM)}:{group.curriculum.port}",
        "TIDEPOOL_WEIGHTS": f"grpc://{first}:{group.train.port}",
    }
    container: dict[str, Any] = {
        "name": role,
        "image": group.image,
        "command": list(command),
        "env": [{"name": name, "value": value} for name, value in told.items()],
        **FROM_STORE,
        "securityContext": {"allowPrivilegeEscalation": False},
    }
    if port is not None:
        container["ports"] = [{"name": _PORT_NAMES[role], "containerPort": port}]
    return container


def _waits_for(group: WorkerGroup, role: str, address: str, port: int) -> dict[str, Any]:
    """Ends once somebody listens there; the same image, whose Python needs nothing of this project."""
    return {
        "name": f"wait-for-{role}",
        "image": group.image,
        "command": ["python", "-c", _WAIT, address, str(port)],
        "securityContext": {"allowPrivilegeEscalation": False},
    }


def _budget(group: WorkerGroup, role: str, unavailable: int) -> dict[str, Any]:
    """Of evictions that ask, such as an upgrade's; GKE goes on after an hour all the same."""
    spec = {"maxUnavailable": unavailable, "selector": {"matchLabels": _labels(group, role)}}
    return kube_object("policy/v1", "PodDisruptionBudget", _named(group, role), group.team, spec=spec)
