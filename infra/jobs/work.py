"""How what runs for long in a cluster stands, and how a queue does: by pods, nodes and Kueue's objects. Pure.

Dask classes and groups are told apart by the labels of their pods. Counts are of conditions, what something waits for
is Kueue's own condition (`waiting`), why a pod ended or cannot start is `evidence`'s: nothing is read from a log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from infra.jobs.evidence import Body, condition, findings, holds, without_node
from infra.jobs.outcomes import Outcome
from infra.jobs.waiting import Waiting, amounts, flavors, reserved, unknown_to_kueue, waiting
from infra.model.json_shape import JsonShape
from infra.model.queue_objects import QUEUE_LABEL

_ENDED: Final = ("Succeeded", "Failed")
_GATE: Final = "kueue.x-k8s.io/admission"
"""Scheduling gate of a pod that Kueue has not admitted (kueue.sigs.k8s.io/docs/tasks/run/plain_pods, 2026-11)."""
UNSAID: Final = "Kueue has not said yet whether it admits"
"""What a ClusterQueue without the condition Active says: whether it admits is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSeen(JsonShape):
    """Pods of one part, such as a role. least: how many there shall be at least. ready: whose condition Ready is True.
    gated: that Kueue has not admitted. without_node: admitted, and the scheduler has no node for them."""

    name: str
    least: int
    pods: int
    ready: int
    gated: int
    without_node: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkWaiting(JsonShape):
    """What so many pods or gangs wait for alike. place, cluster_place: how many are ahead of the first of them in the
    queue of the namespace and in the whole one, None where nobody says. first: its Workload, or its pod where Kueue
    has made none."""

    JSON = ("first", "count", "queue=waits.queue", "place=waits.place", "cluster_place=waits.cluster_place",
            "reason=waits.reason", "says=waits.says")  # fmt: skip

    first: str
    count: int
    waits: Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSeen(JsonShape):
    """Of a class or a group. troubles: why pods ended or cannot start, in words."""

    parts: tuple[PartSeen, ...]
    waits: tuple[WorkWaiting, ...]
    troubles: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaSeen(JsonShape):
    """One resource of a flavor; cpus and chips as numbers, memory in bytes. held: None where Kueue has not said."""

    flavor: str
    resource: str
    quota: float
    held: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSeen(JsonShape):
    """A ClusterQueue. active: its condition, False where Kueue has set none; says: its message. admitted, pending: as
    many Workloads as Kueue counts, None where it has not counted."""

    active: bool
    says: str
    admitted: int | None
    pending: int | None
    quotas: tuple[QuotaSeen, ...]
    waits: tuple[WorkWaiting, ...]


def parts_seen(pods: Sequence[Body], label: str, least: Mapping[str, int]) -> tuple[PartSeen, ...]:
    """Each part by the value of a label of its pods. least: how many pods each shall have. Pods that end count not."""
    found = []
    for name, number in least.items():
        mine = [pod for pod in _staying(pods) if pod["metadata"].get("labels", {}).get(label) == name]
        gated = sum(map(_gated, mine))
        found.append(
            PartSeen(
                name=name,
                least=number,
                pods=len(mine),
                ready=sum(holds(pod, "Ready") for pod in mine),
                gated=gated,
                without_node=without_node([pod for pod in mine if not _gated(pod)]),
            )
        )
    return tuple(found)


def waits_of(
    pods: Sequence[Body],
    makers: Sequence[Body],
    workloads: Sequence[Body],
    pending: Mapping[str, Sequence[Body] | None],
) -> tuple[WorkWaiting, ...]:
    """What waits for Kueue. makers: what makes pods and may have none yet. pending: by queue, of the visibility API."""
    known = {each["metadata"]["uid"] for each in (*pods, *makers)}
    mine = [each for each in workloads if known & set(_owners(each))]
    owned = {uid for each in mine for uid in _owners(each)}
    alone = [pod for pod in pods if pod["metadata"]["uid"] not in owned and _gated(pod)]
    return tuple(_alike((*_waiting(mine, pending), *map(_without_workload, alone))))


def queue_waits(workloads: Iterable[Body], queue: str, pending: Sequence[Body] | None) -> Iterator[WorkWaiting]:
    """Every Workload of a namespace that waits in a queue, one by one."""
    mine = [each for each in workloads if each["spec"].get("queueName") == queue]
    return (WorkWaiting(first=name, count=1, waits=found) for name, found in _waiting(mine, {queue: pending}))


def troubles_of(pods: Sequence[Body], nodes: Mapping[str, Body]) -> tuple[str, ...]:
    """Why pods ended or cannot start, one line for all alike. nodes: by name, those that exist."""
    alike: dict[tuple[Outcome, str], list[str]] = {}
    for pod in pods:
        for each in findings([pod], nodes, {}):
            if each.outcome is not Outcome.SUCCESS:
                alike.setdefault((each.outcome, each.because), []).append(pod["metadata"]["name"])
    others = {key: f" and {len(names) - 1} more" if len(names) > 1 else "" for key, names in alike.items()}
    return tuple(f"{names[0]}{others[key]}: {key[0]}, {key[1]}" for key, names in alike.items())


def queue_seen(queue: Body, waits: Iterable[WorkWaiting]) -> QueueSeen:
    """waits: of every namespace; the result has them in Kueue's order, as far as it is told."""
    status, active = queue.get("status", {}), condition(queue, "Active")
    held = status.get("flavorsReservation")
    ordered = sorted(waits, key=lambda each: (each.waits.cluster_place is None, each.waits.cluster_place or 0))
    return QueueSeen(
        active=active is not None and active["status"] == "True",
        says=active.get("message", "") if active is not None else UNSAID,
        admitted=status.get("admittedWorkloads"),
        pending=status.get("pendingWorkloads"),
        quotas=tuple(
            QuotaSeen(
                flavor=flavor["name"],
                resource=resource,
                quota=quota,
                held=None if held is None else reserved(held, flavor["name"]).get(resource, 0),
            )
            for flavor in flavors(queue)
            for resource, quota in amounts(flavor, "nominalQuota").items()
        ),
        waits=tuple(ordered),
    )


def _staying(pods: Iterable[Body]) -> list[Body]:
    """Without those that are told to end, or have ended."""
    return [
        pod
        for pod in pods
        if "deletionTimestamp" not in pod["metadata"] and pod.get("status", {}).get("phase") not in _ENDED
    ]


def _gated(pod: Body) -> bool:
    return any(gate["name"] == _GATE for gate in pod["spec"].get("schedulingGates", ()))


def _owners(body: Body) -> Iterator[str]:
    return (each["uid"] for each in body["metadata"].get("ownerReferences", ()))


def _waiting(workloads: Iterable[Body], pending: Mapping[str, Sequence[Body] | None]) -> Iterator[tuple[str, Waiting]]:
    for each in workloads:
        if (found := waiting(each, pending.get(each["spec"].get("queueName", "")))) is not None:
            yield each["metadata"]["name"], found


def _without_workload(pod: Body) -> tuple[str, Waiting]:
    told = pod["metadata"]
    return told["name"], unknown_to_kueue(told.get("labels", {}).get(QUEUE_LABEL, ""), told["namespace"], None)


def _alike(found: Iterable[tuple[str, Waiting]]) -> Iterator[WorkWaiting]:
    """One for all that wait for the same in the same queue, in the order of the first of each."""
    groups: dict[tuple[str, str, str], list[tuple[str, Waiting]]] = {}
    for name, waits in found:
        groups.setdefault((waits.queue, waits.reason, waits.says), []).append((name, waits))
    for group in groups.values():
        first, waits = min(group, key=lambda each: (each[1].place is None, each[1].place or 0))
        yield WorkWaiting(first=first, count=len(group), waits=waits)
