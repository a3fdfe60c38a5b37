"""Why a pool or a zone has fewer VMs that serve than are declared, and what waits for it: pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from infra.fleet.controller.desired import Cap
from infra.fleet.controller.events import EventKind
from infra.fleet.controller.observed import Source, unknown
from infra.fleet.controller.placing import Room
from infra.fleet.status.derive import status, takers
from infra.fleet.status.missing import Judged, MissingVm
from infra.fleet.status.queue import JobWait, job_wait
from infra.fleet.status.shape import Next, RolloutStatus
from infra.model.json_shape import JsonShape

_LATEST: Final = 5
"""Of a zone's creates that came to nothing, the latest that are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCounts(JsonShape):
    """Of a pool, or of its part in one zone. declared: slots that stand at this hour. by_hour: of closed windows.

    standing: those with a VM, whatever its state; serving: with a runner online. None where that is not known.
    booting: those that do not serve yet, and still have time to.
    """

    pool: str
    declared: int
    by_hour: int
    standing: int | None
    serving: int | None
    booting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolWhy(JsonShape):
    """One pool. missing: every declared VM that does not serve. waits: jobs that its runners may take, oldest first.

    queue_reason: why it is not known which jobs wait, else empty. next: what the controller does with its VMs.
    """

    JSON = ("stack", "counts.*", "at", "accelerator", "missing", "waits", "queue_reason", "rollout", "next", "problems")

    stack: str
    counts: PoolCounts
    at: datetime
    accelerator: str
    missing: tuple[MissingVm, ...]
    waits: tuple[JobWait, ...]
    queue_reason: str
    rollout: RolloutStatus | None
    next: tuple[Next, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse(JsonShape):
    """A reservation or a quota. used: chips drawn on it, or that others may draw. covers: kinds of capacity."""

    name: str
    generation: str
    reservation: str | None
    covers: tuple[str, ...]
    chips: int
    used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingPlace(JsonShape):
    """Where creates fail: how often in a row, since when, and when the next try may be."""

    accelerator: str
    capacity: str
    trouble: str
    failures: int
    since: datetime | None
    last: datetime
    next: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCreate(JsonShape):
    """A create of a VM here that came to nothing."""

    at: datetime
    vm: str
    trouble: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneWhy(JsonShape):
    """One zone, to one stack. answers: whether it could be listed. lost_by: who gave it up, empty for nobody.

    away: VMs of slots of other zones that stand here, at a fallback. failing: where creates fail now.
    failed_creates: the latest that came to nothing.
    """

    stack: str
    zone: str
    at: datetime
    answers: Source
    lost_by: str
    pools: tuple[PoolCounts, ...]
    away: tuple[str, ...]
    missing: tuple[MissingVm, ...]
    limits: tuple[LimitUse, ...]
    failing: tuple[FailingPlace, ...]
    failed_creates: tuple[FailedCreate, ...]
    for_runs: bool
    problems: tuple[str, ...]


def pool_why(seen: Judged, pool: str) -> PoolWhy:
    """seen: of a fleet that was looked at with the jobs that wait."""
    scene = seen.scene
    now = status(scene)
    found = next(each for each in now.pools if each.pool == pool)
    missing = tuple(each for each in seen.missing() if each.pool == pool)
    vms = {slot.name for slot in seen.desired.possible if slot.pool == pool}
    return PoolWhy(
        stack=scene.stack,
        counts=counts(seen, pool),
        at=scene.at,
        accelerator=next(slot.accelerator.name for slot in seen.desired.possible if slot.pool == pool),
        missing=missing,
        waits=tuple(each for each in job_waits(seen) if pool in each.ahead),
        queue_reason=found.queue.reason,
        rollout=next((each for each in now.rollouts if each.pool == pool), None),
        next=tuple(each for each in now.next if each.subject in vms),
        problems=scene.problems,
    )


def zone_why(seen: Judged, zone: str) -> ZoneWhy:
    """Of a zone where the stack has, had or may have VMs."""
    scene, desired = seen.scene, seen.desired
    homes = {slot.name for slot in desired.possible if slot.home.zone == zone}
    pools = sorted({slot.pool for slot in desired.possible if slot.home.zone == zone})
    room = Room(desired, seen.fleet, seen.decision.memory)
    failed = [each for each in scene.memory.events if each.kind is EventKind.NOT_MADE and each.zone == zone]
    return ZoneWhy(
        stack=scene.stack,
        zone=zone,
        at=scene.at,
        answers=seen.observed.zones.get(zone, unknown("nothing of this stack may be there, so that it is not asked")),
        lost_by=seen.observed.requests.lost.get(zone, ""),
        pools=tuple(counts(seen, pool, zone) for pool in pools),
        away=tuple(name for name, node in seen.fleet.slots.items() if node and node.zone == zone and name not in homes),
        missing=tuple(each for each in seen.missing() if zone == each.zone or each.vm in homes),
        limits=tuple(_limit(cap, used) for cap, used in room.uses() if cap.zone == zone),
        failing=tuple(
            FailingPlace(
                accelerator=key.accelerator,
                capacity=key.capacity.value,
                trouble=each.trouble.value,
                failures=each.failures,
                since=each.since,
                last=each.last,
                next=each.until,
                text=each.text,
            )
            for key, each in seen.tries({zone})
        ),
        failed_creates=tuple(
            FailedCreate(at=each.at, vm=each.subject, trouble=str(each.trouble or ""), text=each.what)
            for each in failed[-_LATEST:]
        ),
        for_runs=zone in desired.run_zones,
        problems=scene.problems,
    )


def job_waits(seen: Judged) -> tuple[JobWait, ...]:
    """Every job that waits in the fleet's repositories, the oldest first."""
    pools, jobs = tuple(takers(seen.scene, seen.desired)), seen.scene.jobs
    return tuple(job_wait(job, jobs, pools) for job in sorted(jobs.jobs, key=lambda job: job.since))


def counts(seen: Judged, pool: str, zone: str | None = None) -> PoolCounts:
    """zone: of the slots that are at home there alone."""
    slots = [each for each in seen.desired.of_pool(pool) if zone in (None, each.home.zone)]
    closed = Counter(each.home.zone for each in seen.desired.closed if each.pool == pool)
    listed = all(seen.observed.zone_known(place.zone) for slot in slots for place in slot.places)
    return PoolCounts(
        pool=pool,
        declared=len(slots),
        by_hour=closed.total() if zone is None else closed[zone],
        standing=sum(seen.stands(slot) is not None for slot in slots) if listed else None,
        serving=_sum(seen.serves(slot) for slot in slots),
        booting=sum(slot.name in seen.decision.pools[pool].booting for slot in slots),
    )


def _sum(known: Iterable[bool | None]) -> int | None:
    found = list(known)
    return None if None in found else sum(map(bool, found))


def _limit(cap: Cap, used: int) -> LimitUse:
    covers = tuple(sorted(kind.value for kind in cap.covers))
    return LimitUse(
        name=cap.name,
        generation=cap.generation,
        reservation=cap.reservation,
        covers=covers,
        chips=cap.chips,
        used=used,
    )
