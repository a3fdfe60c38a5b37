"""How an attempt ended, by what Kubernetes and the TPU API say in fields for programs: never by a message or a log.

Owns the table from pods, nodes and TPU nodes to `Outcome`. Conditions and reasons: Kubernetes 1.36 (pod disruption
conditions, https://kubernetes.io/docs/concepts/workloads/pods/disruptions, 2026-09); labels and taints of nodes: GKE
(https://cloud.google.com/kubernetes-engine/docs/how-to/handling-disruption-gpu-tpu, 2026-09); states: Cloud TPU API v2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from infra.jobs.jobset import SECRET_UNREADABLE, SETTLE_SECONDS, TPU_BUSY
from infra.jobs.outcomes import Outcome, gang_outcome

Body: TypeAlias = Mapping[str, Any]

CANNOT_START: Final = frozenset(
    {
        "CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ErrImagePull", "ImageInspectError",
        "ImagePullBackOff", "InvalidImageName", "RunContainerError",
    }
)  # fmt: skip
"""Reasons of a container that waits for something that does not come by itself."""
_GOING: Final = "cloud.google.com/impending-node-termination"
_WINDOW: Final = "cloud.google.com/maintenance-window-started"
_UNREACHABLE: Final = (
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/out-of-service",
)
_TOLD_TO_END: Final = 143
_CAUSE_WITHIN: Final = timedelta(seconds=2 * SETTLE_SECONDS)
"""A node that goes later than this after a program's end is no reason of it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one host shows. where: `slice 0 host 3`; because: the fact, in words."""

    where: str
    outcome: Outcome
    because: str


def condition(body: Body, name: str) -> Body | None:
    """A condition of an object's status by its type."""
    return next((each for each in body.get("status", {}).get("conditions", ()) if each["type"] == name), None)


def holds(body: Body, name: str) -> bool:
    """Whether a condition of that type is True."""
    found = condition(body, name)
    return found is not None and found["status"] == "True"


def findings(pods: Sequence[Body], nodes: Mapping[str, Body], tpus: Mapping[str, Body]) -> tuple[Finding, ...]:
    """What each pod that has ended or cannot start shows. nodes: by name, those that exist. tpus: TPU VMs by the name
    of the node that they are, where the job runs on some."""
    return tuple(_of_pods(pods, nodes, tpus))


def without_node(pods: Sequence[Body]) -> int:
    """How many pods the scheduler has found no node for."""
    placed = (condition(pod, "PodScheduled") for pod in pods)
    return sum(each is not None and each["status"] == "False" for each in placed)


def weightiest(found: Sequence[Finding]) -> Finding | None:
    """The finding that decides for the gang."""
    outcome = gang_outcome(each.outcome for each in found)
    return next((each for each in found if each.outcome is outcome), None)


def tpu_outcome(tpu: Body) -> tuple[Outcome, str] | None:
    """What the state of a TPU VM says of a run on it; None while it is well or still being made.

    A reclaimed VM is mostly PREEMPTED, and sometimes stopped or terminated.
    """
    state, health = tpu.get("state", "STATE_UNSPECIFIED"), tpu.get("health", "")
    scheduling = tpu.get("schedulingConfig", {})
    reclaimable = bool(scheduling.get("spot") or scheduling.get("preemptible"))
    if state == "PREEMPTED" or (reclaimable and state in ("TERMINATED", "STOPPED", "STOPPING")):
        return Outcome.PREEMPTED, f"its TPU VM is {state}"
    if health == "UNHEALTHY_MAINTENANCE":
        return Outcome.MAINTENANCE, f"its TPU VM's health is {health}"
    if state in ("REPAIRING", "TERMINATED", "STOPPED", "STOPPING") or health in ("TIMEOUT", "UNHEALTHY_TENSORFLOW"):
        return Outcome.FAILED, f"its TPU VM is {state}" + (f", health {health}" if health else "")
    return None


def _of_pods(pods: Sequence[Body], nodes: Mapping[str, Body], tpus: Mapping[str, Body]) -> Iterator[Finding]:
    for pod in pods:
        name = pod["spec"].get("nodeName", "")
        if name in tpus and (seen := tpu_outcome(tpus[name])):
            found: tuple[Outcome, str] | None = seen
        else:
            found = _pod_outcome(pod, name, nodes.get(name))
        if found is not None:
            yield Finding(_where(pod), *found)


def _pod_outcome(pod: Body, node_name: str, node: Body | None) -> tuple[Outcome, str] | None:
    status = pod.get("status", {})
    phase = status.get("phase")
    if phase == "Succeeded":
        return Outcome.SUCCESS, "its program ended with exit code 0"
    if phase != "Failed" and not holds(pod, "DisruptionTarget"):
        return _cannot_start(status)
    if (disruption := _disruption(pod)) == "PreemptionByScheduler":
        return Outcome.PREEMPTED, "a pod of higher priority took its place"
    if status.get("reason") == "Evicted":
        return _evicted(disruption)
    told = all(each["exitCode"] == _TOLD_TO_END for each in _bad_ends(pod))
    outside = _of_node(node_name, node, disruption, spot=_spot(pod, node), ended=_ended(pod), told_to_end=told)
    return outside or _exit(pod)


def _evicted(disruption: str) -> tuple[Outcome, str]:
    """What a kubelet evicted: a disruption where its node lacked room, which JobSet counts as an interruption; no such
    condition where the pod passed a limit of its own (pkg/kubelet/eviction of Kubernetes 1.36, read 2026-11)."""
    if disruption:
        return Outcome.FAILED, "its node ran out of memory or disk"
    return Outcome.ERROR, "it used more disk than it may"


def _of_node(
    name: str, node: Body | None, disruption: str, *, spot: bool, ended: str, told_to_end: bool
) -> tuple[Outcome, str] | None:
    """What the node of a pod that ended says; None where nothing was wrong with it at that time.

    Maintenance ends a pod by a disruption, or tells it to end: a program that ended by itself did so before.
    """
    if node is not None and _in_maintenance(node, ended) and (disruption or told_to_end):
        return Outcome.MAINTENANCE, f"node {name} is under maintenance"
    going = node is None or _is_going(node, ended)
    if spot and (going or disruption in ("TerminationByKubelet", "DeletionByTaintManager", "DeletionByPodGC")):
        return Outcome.PREEMPTED, f"spot node {name} is {'gone' if node is None else 'being taken'}"
    if disruption == "EvictionByEvictionAPI":
        return Outcome.MAINTENANCE, f"node {name} was drained"
    if going or disruption:
        return Outcome.FAILED, f"node {name} {'is gone' if node is None else 'was lost'}"
    return None


def _is_going(node: Body, ended: str) -> bool:
    """Whether a node is being taken or does not answer, and not only since long after the pod's end."""
    taints = node.get("spec", {}).get("taints", ())
    since = [each.get("timeAdded", "") for each in taints if each["key"] in (_GOING, *_UNREACHABLE)]
    ready = condition(node, "Ready")
    if ready is not None and ready["status"] != "True":
        since.append(ready.get("lastTransitionTime", ""))
    return any(not _long_after(each, ended) for each in since)


def _long_after(moment: str, ended: str) -> bool:
    """Whether both are known, and the second cannot come of the first: programs hold their errors back, no longer."""
    if not (moment and ended):
        return False
    return datetime.fromisoformat(moment) > datetime.fromisoformat(ended) + _CAUSE_WITHIN


def _ended(pod: Body) -> str:
    """When its last container ended, empty where that is not told."""
    ended = (each.get("state", {}).get("terminated", {}).get("finishedAt", "") for each in _containers(pod))
    return max(ended, default="")


def _exit(pod: Body) -> tuple[Outcome, str] | None:
    """What its containers ended with; None where the pod was told to end, as all are when another slice restarts."""
    bad = _bad_ends(pod)
    if any(each["exitCode"] == TPU_BUSY for each in bad):
        return Outcome.FAILED, "the TPU of its VM stayed in use"
    if any(each["exitCode"] == SECRET_UNREADABLE for each in bad):
        return Outcome.ERROR, "a secret that it names could not be read; its log names the variable"
    if any(each.get("reason") == "OOMKilled" for each in bad):
        return Outcome.ERROR, "its program used more memory than it asked for"
    if "deletionTimestamp" in pod["metadata"] and all(each["exitCode"] == _TOLD_TO_END for each in bad):
        return None
    code = bad[0]["exitCode"] if bad else None
    return Outcome.ERROR, f"its program ended with exit code {code}" if bad else "it failed before its program began"


def _bad_ends(pod: Body) -> list[Body]:
    """How its containers ended that did not end well."""
    ended = (each["state"]["terminated"] for each in _containers(pod) if "terminated" in each.get("state", {}))
    return [each for each in ended if each["exitCode"] != 0]


def _cannot_start(status: Body) -> tuple[Outcome, str] | None:
    for each in status.get("containerStatuses", ()):
        reason = each.get("state", {}).get("waiting", {}).get("reason", "")
        if reason in CANNOT_START:
            return Outcome.ERROR, f"its container cannot start: {reason}"
    return None


def _disruption(pod: Body) -> str:
    """Why the pod was disrupted, empty where it was not."""
    found = condition(pod, "DisruptionTarget")
    return found.get("reason", "") if found is not None and found["status"] == "True" else ""


def _spot(pod: Body, node: Body | None) -> bool:
    """Whether it ran on spot capacity; of a node that is gone, what the pod was sent to says it."""
    labels = node["metadata"].get("labels", {}) if node is not None else pod["spec"].get("nodeSelector", {})
    return (
        labels.get("cloud.google.com/gke-spot") == "true" or labels.get("cloud.google.com/gke-provisioning") == "spot"
    )


def _in_maintenance(node: Body, ended: str) -> bool:
    """Whether Google maintains it, and not only since long after a pod's end, as far as that is told."""
    if node["metadata"].get("labels", {}).get("cloud.google.com/active-node-maintenance") == "ONGOING":
        return True
    taints = [each for each in node.get("spec", {}).get("taints", ()) if each["key"] == _WINDOW]
    return any(not _long_after(each.get("timeAdded", ""), ended) for each in taints)


def _containers(pod: Body) -> Sequence[Body]:
    return pod.get("status", {}).get("containerStatuses", ())


def place_in_gang(pod: Body) -> tuple[str, str]:
    """Which slice, and which host of it."""
    labels = pod["metadata"].get("labels", {})
    index = labels.get("jobset.sigs.k8s.io/job-index", "0")
    return index, labels.get("batch.kubernetes.io/job-completion-index", "0")


def _where(pod: Body) -> str:
    index, host = place_in_gang(pod)
    return f"slice {index} host {host}"
