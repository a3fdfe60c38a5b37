"""Where a job stands in its queue and what it waits for, from Kueue's own objects.

Nothing is computed that Kueue does not say: the place is the visibility API's, what is missing is in the conditions of
the Workload. https://kueue.sigs.k8s.io/docs/concepts/workload (v1beta2, 2026-10)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from infra.jobs.evidence import Body, condition, holds
from infra.jobs.quantities import quantity

_STOPPED: Final = "Deactivated"
TOO_LONG: Final = "MaximumExecutionTimeExceeded"
_EVICTED: Final = {
    "Preempted": "a job of higher priority took its quota",
    "PodsReadyTimeout": "its pods did not start in time",
    "AdmissionCheck": "an admission check withdrew its quota",
    "ClusterQueueStopped": "its cluster queue was stopped",
    "LocalQueueStopped": "its queue was stopped",
    "NodeFailures": "one of its nodes failed",
    _STOPPED: "it was deactivated",
    TOO_LONG: "its time limit is over",
    "RequeuingLimitExceeded": "too often its pods did not start in time",
}
"""Reasons of the condition Evicted, and what lies behind a deactivation, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """place, cluster_place: how many are ahead in the LocalQueue and in the ClusterQueue, None where nobody says.

    reason: the condition's, for programs. says: the same in words, with Kueue's own message.
    """

    queue: str
    place: int | None
    cluster_place: int | None
    reason: str
    says: str


def waiting(workload: Body, pending: Sequence[Body] | None) -> Waiting | None:
    """What a Workload waits for; None once it is admitted, or has ended.

    pending: items of the visibility API's PendingWorkloadsSummary, None where it does not answer.
    """
    if holds(workload, "Admitted") or holds(workload, "Finished"):
        return None
    name = workload["metadata"]["name"]
    mine: Body = next((each for each in pending or () if each["metadata"]["name"] == name), {})
    reason, says = _reason(workload)
    return Waiting(
        queue=workload["spec"].get("queueName", ""),
        place=mine.get("positionInLocalQueue"),
        cluster_place=mine.get("positionInClusterQueue"),
        reason=reason,
        says=says,
    )


def unknown_to_kueue(queue: str, namespace: str, queues: Sequence[str] | None) -> Waiting:
    """What a suspended job waits for that has no Workload. queues: of its namespace, None where untold."""
    if not queue:
        there = f"; {namespace} has: {', '.join(queues)}" if queues else ""
        reason, says = "NoQueue", f"it names no queue, and jobs of its namespace start through one alone{there}"
    elif queues is not None and queue not in queues:
        reason, says = "NoLocalQueue", no_queue(queue, namespace, queues)
    else:
        reason, says = "NoWorkload", "Kueue has not made a Workload for it yet"
    return Waiting(queue=queue, place=None, cluster_place=None, reason=reason, says=says)


def no_queue(queue: str, namespace: str, queues: Sequence[str]) -> str:
    """That a namespace lacks a queue, with those that it has."""
    return f"no LocalQueue {queue} in {namespace}; there are: {', '.join(queues) or 'none'}"


def free_units(cluster_queue: Body, resource: str) -> Mapping[str, int]:
    """How much of a resource no job holds, by flavor; empty where Kueue has not said yet what is held."""
    if "flavorsReservation" not in cluster_queue.get("status", {}):
        return {}
    held = cluster_queue["status"]["flavorsReservation"]
    free = {flavor["name"]: amounts(flavor, "nominalQuota").get(resource) for flavor in flavors(cluster_queue)}
    return {
        name: max(0, int(quota - reserved(held, name).get(resource, 0)))
        for name, quota in free.items()
        if quota is not None
    }


def flavors(cluster_queue: Body) -> Iterator[Body]:
    """The flavors of a ClusterQueue with their quotas, in the order in which Kueue tries them."""
    return (flavor for group in cluster_queue["spec"].get("resourceGroups", ()) for flavor in group["flavors"])


def amounts(flavor: Body, key: str) -> dict[str, float]:
    """What stands under a key of each resource of a flavor; without those that lack it."""
    return {row["name"]: quantity(row[key]) for row in flavor["resources"] if key in row}


def reserved(status: Iterable[Body], flavor: str) -> dict[str, float]:
    """What jobs hold of a flavor, by resource, of `flavorsReservation` of a ClusterQueue's status."""
    return next((amounts(each, "total") for each in status if each["name"] == flavor), {})


def eviction(workload: Body) -> str:
    """Why Kueue took its quota, as long as that holds; empty where it did not.

    Of a deactivation that it decided on, what is behind: `DeactivatedDueToMaximumExecutionTimeExceeded`.
    """
    evicted = condition(workload, "Evicted")
    if evicted is None or evicted["status"] != "True":
        return ""
    reason, _, cause = evicted["reason"].partition("DueTo")
    return cause or reason


def _reason(workload: Body) -> tuple[str, str]:
    evicted = eviction(workload)
    before = f"{_EVICTED.get(evicted, evicted)}; " if evicted else ""
    if not workload["spec"].get("queueName"):
        return "NoQueue", "it names no queue, and nothing starts without one here: cancel it and submit it with --queue"
    if not workload["spec"].get("active", True):
        return _STOPPED, f"{'' if evicted == _STOPPED else before}the job is stopped until somebody activates it"
    if holds(workload, "QuotaReserved"):
        return "AdmissionChecks", f"{before}it has quota and waits for {_checks(workload)}"
    reserved: Mapping[str, Any] = condition(workload, "QuotaReserved") or {}
    reason, message = reserved.get("reason", "Pending"), reserved.get("message", "")
    return reason, f"{before}{message or 'it waits for quota'}"


def _checks(workload: Body) -> str:
    states = workload.get("status", {}).get("admissionChecks", ())
    open_ones = [f"{each['name']} ({each['state']})" for each in states if each["state"] != "Ready"]
    return ", ".join(open_ones) or "its admission"
