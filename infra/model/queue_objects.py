"""Queues and teams as objects of Kubernetes: Kueue v1beta2, namespaces, rights, accounts and network policies. Pure.

Kueue 0.19 (https://kueue.sigs.k8s.io/docs/reference/kueue.v1beta2, 2026-10). An API server drops unknown fields of a
custom resource on the first create without a word, so that tests validate each object against its definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import yaml

from infra.model import names, team_network, team_pods
from infra.model.gke_shapes import BATCH_TAINT, TPU_RESOURCE
from infra.model.queues import SharedQueue, queues_of, secrets_of, shared_queues
from infra.model.schema import Queues, StackConfig
from infra.model.schema.queues import Team

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
TEAM_LABEL: Final = "tidepool/team"
"""On namespaces of teams, where Kueue manages jobs that name no queue too."""
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
"""On what Kueue admits: the LocalQueue of its namespace through which."""
TRAINER: Final = "trainer"
"""The service account of a team's pods."""
STORE: Final = "tidepool-store"
"""The ConfigMap of a team's namespace that says where locks and statuses are kept."""
FROM_STORE: Final = {"envFrom": [{"configMapRef": {"name": STORE, "optional": True}}]}
"""Of a container: every variable of that map, and none where the stack has no store."""
STORE_VARIABLE: Final = "TIDEPOOL_STORE"
"""What `infra.jobs.store.opened` reads in a pod."""
SECRETS_STORE: Final = "secrets-store.csi.x-k8s.io/v1"
SECRET_FILE: Final = "value"  # noqa: S105 - the name of a file
"""The file of a mounted secret."""
_ADMISSION: Final = "admissionregistration.k8s.io/v1"
_RBAC: Final = "rbac.authorization.k8s.io"
_WITHIN_QUEUE: Final = {
    "never": "Never",
    "lower-priority": "LowerPriority",
    "lower-or-newer-priority": "LowerOrNewerEqualPriority",
}
_WITHIN_COHORT: Final = {"never": "Never", "lower-priority": "LowerPriority", "any": "Any"}
_RULES: Final = (
    ("jobset.x-k8s.io", ("jobsets",), ("get", "list", "watch", "create", "update", "patch", "delete")),
    ("kueue.x-k8s.io", ("localqueues",), ("get", "list", "watch")),
    ("kueue.x-k8s.io", ("workloads",), ("get", "list", "watch", "patch")),
    ("visibility.kueue.x-k8s.io", ("localqueues/pendingworkloads",), ("get",)),
    ("batch", ("jobs",), ("get", "list", "watch")),
    ("apps", ("deployments", "statefulsets"), ("get", "list", "watch")),
    ("leaderworkerset.x-k8s.io", ("leaderworkersets",), ("get", "list", "watch")),
    ("kubernetes.dask.org", ("daskclusters", "daskautoscalers"), ("get", "list", "watch")),
    ("secrets-store.csi.x-k8s.io", ("secretproviderclasses",), ("get", "list", "watch")),
    ("", ("pods", "pods/log", "events", "services"), ("get", "list", "watch")),
    ("", ("namespaces",), ("get",)),
)
"""What `./tidepool jobs` does in a namespace: submit, list, cancel (by its Workload) and explain; and a look at what
stands there by declaration."""
_CLUSTER_RULES: Final = (
    ("", ("nodes",), ("get", "list")),
    ("kueue.x-k8s.io", ("clusterqueues", "resourceflavors", "workloadpriorityclasses"), ("get", "list")),
)
"""What it asks of the cluster: whether a host was taken, which queues serve a job, and how many slices fit."""


def queue_objects(config: StackConfig, queues: Queues) -> tuple[dict[str, Any], ...]:
    """Every object, in an order in which each finds those that it names."""
    shared = shared_queues(config, queues)
    return tuple(_all(config, queues, shared))


def store_settings(queues: Queues, url: Any) -> tuple[dict[str, Any], ...]:
    """What tells each team's pods where the stack's store is; jobs take every variable of it. url: known or not yet."""
    return tuple(kube_object("v1", "ConfigMap", STORE, team.name, data={STORE_VARIABLE: url}) for team in queues.teams)


def _all(config: StackConfig, queues: Queues, shared: tuple[SharedQueue, ...]) -> Iterator[dict[str, Any]]:
    for name, value in queues.priorities.items():
        yield kube_object(KUEUE, "WorkloadPriorityClass", name, value=value, description=f"{name}: {value}")
    yield from _flavors(shared)
    for queue in shared:
        yield cluster_queue(queue, queues)
    yield kube_object(f"{_RBAC}/v1", "ClusterRole", "tidepool-jobs", rules=_rules(_CLUSTER_RULES))
    yield kube_object(_ADMISSION, "ValidatingAdmissionPolicy", team_pods.POLICY, spec=dict(team_pods.policy()))
    for team in queues.teams:
        yield from _of_team(team, config, queues, shared)


def in_queue(queue: str, priority: str | None) -> dict[str, str]:
    """Labels by which Kueue admits an object through a LocalQueue of its namespace."""
    labels = {QUEUE_LABEL: queue}
    return labels | ({"kueue.x-k8s.io/priority-class": priority} if priority else {})


def cluster_queue(queue: SharedQueue, queues: Queues) -> dict[str, Any]:
    """One shape's queue. Every flavor lists the same resources, as Kueue demands."""
    with_chips = any(quota.chips for quota in queue.quotas)
    resources = (TPU_RESOURCE, "cpu", "memory") if with_chips else ("cpu", "memory")
    flavors = []
    for quota in queue.quotas:
        amounts = {TPU_RESOURCE: str(quota.chips), "cpu": str(quota.cpus), "memory": f"{quota.memory_gb}G"}
        rows = [_amount(name, amounts[name], queue, queues) for name in resources]
        flavors.append({"name": quota.flavor, "resources": rows})
    spec: dict[str, Any] = {
        "namespaceSelector": {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "In", "values": sorted(queue.teams)},
            ]
        },
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [{"coveredResources": list(resources), "flavors": flavors}],
        "preemption": {
            "withinClusterQueue": _WITHIN_QUEUE[queues.preemption],
            "reclaimWithinCohort": _WITHIN_COHORT[queues.reclaim] if queue.cohort else "Never",
        },
    }
    if queue.cohort:
        spec["cohortName"] = queue.cohort
    if queues.fair_sharing:
        spec["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    return kube_object(KUEUE, "ClusterQueue", queue.name, spec=spec)


def _amount(name: str, amount: str, queue: SharedQueue, queues: Queues) -> dict[str, str]:
    """Limits of lending stand only where there is a cohort: Kueue refuses them elsewhere."""
    quota = {"name": name, "nominalQuota": amount}
    return quota if queues.borrowing or not queue.cohort else quota | {"borrowingLimit": "0", "lendingLimit": "0"}


def _flavors(shared: tuple[SharedQueue, ...]) -> Iterator[dict[str, Any]]:
    for queue in shared:
        for quota in queue.quotas:
            spec: dict[str, Any] = {"nodeLabels": dict(quota.node_labels)}
            taint = TPU_RESOURCE if quota.chips else BATCH_TAINT
            spec["tolerations"] = [{"key": taint, "operator": "Exists", "effect": "NoSchedule"}]
            yield kube_object(KUEUE, "ResourceFlavor", quota.flavor, spec=spec)


def _of_team(
    team: Team, config: StackConfig, queues: Queues, shared: tuple[SharedQueue, ...]
) -> Iterator[dict[str, Any]]:
    yield kube_object("v1", "Namespace", team.name, labels={TEAM_LABEL: team.name})
    bound = f"{team_pods.POLICY}-{team.name}"
    yield kube_object(_ADMISSION, "ValidatingAdmissionPolicyBinding", bound, spec=dict(team_pods.binding(team.name)))
    told = {"iam.gke.io/gcp-service-account": team.account} if team.account else {}
    # Google's tokens come from the metadata server, and nothing of a team's asks the cluster's API.
    yield kube_object("v1", "ServiceAccount", TRAINER, team.name, annotations=told, automountServiceAccountToken=False)
    for name in queues_of(shared, team.name):
        weight = {"fairSharing": {"weight": str(team.weight)}} if queues.fair_sharing else {}
        yield kube_object(KUEUE, "LocalQueue", name, team.name, spec={"clusterQueue": name, **weight})
    yield kube_object(f"{_RBAC}/v1", "Role", "jobs", team.name, rules=_rules(_RULES))
    subjects = [_subject(member) for member in team.members]
    if subjects:
        yield _binding("RoleBinding", "jobs", team.name, "Role", "jobs", subjects)
        yield _binding("ClusterRoleBinding", f"tidepool-jobs-{team.name}", "", "ClusterRole", "tidepool-jobs", subjects)
    redis = config.store.redis if config.store else None
    for name, spec in team_network.policies(redis.range if redis else None).items():
        yield kube_object("networking.k8s.io/v1", "NetworkPolicy", name, team.name, spec=dict(spec))
    for secret in secrets_of(config, team.name):
        yield _mounted(config.project, secret, team.name)


def _mounted(project: str, secret: str, team: str) -> dict[str, Any]:
    """How pods of a team mount the newest value of a secret, as the file `value`. The reference alone is kept.

    GKE's add-on calls its provider `gke`, and takes the list as text
    (cloud.google.com/secret-manager/docs/secret-manager-managed-csi-component, read 2026-11).
    """
    listed = [{"resourceName": f"projects/{project}/secrets/{secret}/versions/latest", "path": SECRET_FILE}]
    spec = {"provider": "gke", "parameters": {"secrets": yaml.safe_dump(listed, sort_keys=False)}}
    return kube_object(SECRETS_STORE, "SecretProviderClass", names.mount_name(secret), team, spec=spec)


def _binding(
    kind: str, name: str, namespace: str, role_kind: str, role: str, subjects: list[dict[str, str]]
) -> dict[str, Any]:
    reference = {"apiGroup": _RBAC, "kind": role_kind, "name": role}
    return kube_object(f"{_RBAC}/v1", kind, name, namespace, roleRef=reference, subjects=subjects)


def _subject(member: str) -> dict[str, str]:
    kind, _, address = member.partition(":")
    return {"apiGroup": _RBAC, "kind": kind.capitalize(), "name": address}


def _rules(rows: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]) -> list[dict[str, Any]]:
    return [{"apiGroups": [group], "resources": list(what), "verbs": list(verbs)} for group, what, verbs in rows]


def kube_object(
    version: str,
    kind: str,
    name: str,
    namespace: str = "",
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    **body: Any,
) -> dict[str, Any]:
    """One object; namespace: empty where it has none."""
    metadata: dict[str, Any] = {"name": name}
    metadata |= {"namespace": namespace} if namespace else {}
    metadata |= {"labels": labels} if labels else {}
    metadata |= {"annotations": annotations} if annotations else {}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}
