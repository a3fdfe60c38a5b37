"""Whether Kueue can ever admit a request, and through which queue of its namespace, by the quotas there. Pure.

Kueue 0.19 (https://kueue.sigs.k8s.io/docs/concepts/cluster_queue, .../resource_flavor and .../cohort, 2026-11): all
pods of a job get one flavor, whose labels must not contradict their node selector; a queue may borrow what others of
its cohort lend of the same flavor, up to its limit. Who goes first is Kueue's to say. Quota of a Cohort object itself
is not read: no stack declares one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from infra.jobs.evidence import Body
from infra.jobs.quantities import quantity
from infra.jobs.request import JobRequest
from infra.jobs.waiting import amounts, flavors, reserved
from infra.model.errors import Problem, meant
from infra.model.gke_shapes import TPU_RESOURCE, gke_shape

DEFAULT_QUEUE = "default"
"""The LocalQueue that Kueue itself takes for a job that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One flavor behind a queue. labels: of its nodes, None where they may not be read. most: what one job may ever
    hold of each resource, with what others lend. free: what no job holds of the queue's own."""

    flavor: str
    labels: Mapping[str, str] | None
    most: Mapping[str, float]
    free: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TeamQueue:
    """A LocalQueue. rooms: None where nobody says what stands behind it."""

    name: str
    rooms: tuple[Room, ...] | None

    def serves(self, request: JobRequest) -> bool:
        """Whether it has nodes that the pods select; where nobody says, it may."""
        return self.rooms is None or any(_serves(room, request) for room in self.rooms)

    def slices(self, request: JobRequest) -> int | None:
        """The most slices (or pods without TPU) that it may ever admit at once; None where nobody says."""
        if self.rooms is None:
            return None
        return max((_fitting(room.most, request) for room in self.rooms if _serves(room, request)), default=0)

    def free_slices(self, request: JobRequest, flavor: str = "", held: int = 0) -> int:
        """How many slices it has free for a job that holds so many of a flavor, beside these; borrowed quota is not
        counted, for it may be taken back at any time. None of another flavor is of use to a job that stays where it
        is, so that a larger flavor counts for what it has more."""
        rooms = [room for room in self.rooms or () if _serves(room, request)]
        reach = (_fitting(room.free, request) + (held if room.flavor == flavor else 0) for room in rooms)
        return max(0, max(reach, default=0) - (held if flavor else 0))


def team_queue(local: Body, queues: Sequence[Body] | None, known: Sequence[Body] | None) -> TeamQueue:
    """A LocalQueue with what stands behind it. queues: ClusterQueues, known: ResourceFlavors; None where they may not
    be read."""
    name, behind = local["metadata"]["name"], local.get("spec", {}).get("clusterQueue")
    found = next((each for each in queues or () if each["metadata"]["name"] == behind), None)
    if found is None:
        return TeamQueue(name, None)
    return TeamQueue(name, tuple(_rooms(found, queues or (), known)))


def default_queue(request: JobRequest, queues: Sequence[TeamQueue]) -> TeamQueue | Problem:
    """The queue for a request that names none: Kueue's own default, else the one that serves it."""
    named = next((each for each in queues if each.name == DEFAULT_QUEUE), None)
    fitting = [named] if named else [each for each in queues if each.serves(request)]
    if len(fitting) == 1:
        return fitting[0]
    rule = f"jobs of namespace {request.namespace} start through a queue alone, and "
    rule += f"several serve {_asked(request)}" if fitting else f"none serves {_asked(request)}"
    return Problem(f"job {request.name}: queue", "", rule, _one_of(fitting, queues))


def refusals(request: JobRequest, queue: TeamQueue, queues: Sequence[TeamQueue]) -> Iterator[Problem]:
    """Why a queue would never admit a request; nothing where it can."""
    subject = f"job {request.name}: queue"
    if not queue.serves(request):
        rule = f"it has no nodes for {_asked(request)}, so that the job would wait for ever"
        yield Problem(subject, queue.name, rule, _one_of([each for each in queues if each.serves(request)], queues))
        return
    most = queue.slices(request)
    least = request.resources.slice_counts[0] if request.resources.flexible else request.replicas
    if most is None or most >= least:
        return
    unit = "slices" if request.resources.accelerator else "pods"
    rule = f"queue {queue.name} can never have more than {most} at once ({_quotas(queue, request)})"
    fix = f"at most {most} {unit}, or a larger quota" if most else f"less for each of the {unit}, or a larger quota"
    yield Problem(f"job {request.name}: {unit}", f"{least} of {_each(request)}", rule, fix)


def _rooms(queue: Body, queues: Sequence[Body], known: Sequence[Body] | None) -> Iterator[Room]:
    cohort = queue["spec"].get("cohortName")
    lenders = [each for each in queues if cohort and each is not queue and each["spec"].get("cohortName") == cohort]
    labels = {each["metadata"]["name"]: each["spec"].get("nodeLabels", {}) for each in known or ()}
    held = queue.get("status", {}).get("flavorsReservation", ())
    for flavor in flavors(queue):
        name, own = flavor["name"], amounts(flavor, "nominalQuota")
        used, lent = reserved(held, name), _lent(name, lenders)
        limits = amounts(flavor, "borrowingLimit")
        yield Room(
            flavor=name,
            labels=labels.get(name),
            most={each: amount + min(lent.get(each, 0), limits.get(each, math.inf)) for each, amount in own.items()},
            free={each: max(0.0, amount - used.get(each, 0)) for each, amount in own.items()},
        )


def _lent(flavor: str, lenders: Sequence[Body]) -> Mapping[str, float]:
    """The most that others of a cohort lend of each resource of a flavor."""
    sums: dict[str, float] = {}
    for offer in (each for lender in lenders for each in flavors(lender) if each["name"] == flavor):
        limits = amounts(offer, "lendingLimit")
        for name, quota in amounts(offer, "nominalQuota").items():
            sums[name] = sums.get(name, 0) + min(quota, limits.get(name, math.inf))
    return sums


def _serves(room: Room, request: JobRequest) -> bool:
    """Work without TPU is kept from nodes with chips: Kueue would admit it there, and GKE make a slice for it."""
    accelerator = request.resources.accelerator
    if accelerator is None:
        return TPU_RESOURCE not in room.most
    shape = gke_shape(accelerator)
    wanted = shape.node_labels if shape else {}
    return TPU_RESOURCE in room.most and (
        room.labels is None or all(room.labels.get(name) == value for name, value in wanted.items())
    )


def _needs(request: JobRequest) -> Mapping[str, float]:
    """What one slice asks of each resource."""
    resources = request.resources
    asked = {"cpu": resources.cpu, "memory": resources.memory}
    needs = {name: quantity(text) * resources.hosts for name, text in asked.items() if text}
    return needs | ({TPU_RESOURCE: resources.accelerator.chips} if resources.accelerator else {})


def _fitting(offered: Mapping[str, float], request: JobRequest) -> int:
    """How many slices fit into these amounts; what no quota covers is not counted, as Kueue is told."""
    most = max(request.replicas, request.resources.replicas)
    needs = {name: need for name, need in _needs(request).items() if name in offered and need > 0}
    return min((int(offered[name] // need) for name, need in needs.items()), default=most)


def _asked(request: JobRequest) -> str:
    return request.resources.type_name or "work without TPU"


def _each(request: JobRequest) -> str:
    return f"{request.resources.type_name or 'a pod'} ({_amounts(_needs(request))} each)"


def _quotas(queue: TeamQueue, request: JobRequest) -> str:
    """What each flavor has of what is asked."""
    rooms = [room for room in queue.rooms or () if _serves(room, request)]
    asked = _needs(request)
    offers = ({name: amount for name, amount in room.most.items() if name in asked} for room in rooms)
    return "; ".join(f"{room.flavor} has {_amounts(offer)}" for room, offer in zip(rooms, offers, strict=True))


def _amounts(of: Mapping[str, float]) -> str:
    said = {TPU_RESOURCE: "{:g} chips", "cpu": "{:g} CPUs"}
    return ", ".join(
        f"{amount / 1e9:.4g} GB" if name == "memory" else said[name].format(amount) for name, amount in of.items()
    )


def _one_of(fitting: Sequence[TeamQueue], queues: Sequence[TeamQueue]) -> str:
    if fitting:
        return "--queue " + " or ".join(sorted(each.name for each in fitting))
    there = ", ".join(sorted(each.name for each in queues)) or "none"
    return f"another TPU type; the namespace has the queues: {there}"


def unknown_name(request: JobRequest, what: str, name: str, rule: str, known: Iterable[str]) -> Problem:
    """A name in a request that its namespace or cluster does not know. rule: whose name it is not."""
    known = sorted(known)
    near = meant(name, known).strip()
    said = f"{rule} has this name" + (f". {near}" if near else "")
    return Problem(
        f"job {request.name}: {what}", name, said, f"one of: {', '.join(known)}" if known else "there is none"
    )
