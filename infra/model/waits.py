"""How long jobs wait for a runner of their pool, by arithmetic alone.

Owns one upper estimate: an event starts all its jobs at once, the job in question asks last, every leg holds a VM for
the whole limit of its job, and a free VM goes to whoever asked first. Of one job alone this is (waves - 1) * limit,
where waves = legs / VMs that it may hold at once, rounded up. Legs of the same job on other pools go first where the
job says how many it runs at once: waves * limit for them. Real waits are shorter: tests seldom take their whole limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import ceil

from infra.model.demand import Code, Demand, Demands, Start
from infra.model.offers import Offer, Offers


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One job on its pools when one event starts everything that it starts there.

    vms: of the pools. legs, at_once: of this job; others: legs of other jobs that want the same VMs at that moment.
    first, last: minutes until its first and its last leg have a VM, at the most. None where a limit is not known.
    """

    pools: tuple[str, ...]
    stacks: tuple[str, ...]
    vms: int
    event: str
    code: Code
    demand: Demand
    legs: int
    at_once: int
    others: int
    first: float | None
    last: float | None

    def __str__(self) -> str:
        """`tpu-ci (6 VMs), push: 3 legs of tests.yaml tpu, beside 1 leg of other jobs; all start at once`."""
        pools = ", ".join(self.pools)
        legs = _legs(self.legs) + (f", {self.at_once} at once" if self.at_once < self.legs else "")
        others = f", beside {_legs(self.others)} of other jobs" if self.others else ""
        job = f"{self.demand.file.rpartition('/')[2]} {self.demand.job}"
        return f"{pools} ({_vms(self.vms)}), {self.event}: {legs} of {job}{others}; {self.waited}"

    @property
    def waited(self) -> str:
        """`the first starts at once, the last waits 16 min at most`."""
        if self.first is None or self.last is None:
            return "the wait is not known without time limits"
        if not self.last:
            return "it starts at once" if self.legs == 1 else "all start at once"
        if self.legs == 1:
            return f"it waits {minutes(self.last)} at most"
        first = f"waits {minutes(self.first)}" if self.first else "starts at once"
        return f"the first {first}, the last waits {minutes(self.last)} at most"


def waits(demands: Demands, offers: Offers) -> tuple[Wait, ...]:
    """Every job on pools with VMs, at every event that starts it; by pools, event, file and job."""
    groups: dict[tuple[str, ...], list[tuple[Demand, tuple[Offer, ...]]]] = {}
    for demand in demands.demands:
        taking = () if demand.hosted else tuple(each for each in offers.taking(demand) if each.vms)
        if taking:
            groups.setdefault(tuple(each.pool for each in taking), []).append((demand, taking))
    found = [wait for _, group in sorted(groups.items()) for wait in _of_group(group, demands)]
    return tuple(sorted(found, key=lambda each: (each.pools, each.event, each.code, each.demand.subject)))


def shares(demands: Demands, offers: Offers) -> Iterator[str]:
    """Who leaves room for whom where several jobs want the same pool, in the words of what GitHub really does."""
    for pool in offers.pools:
        asking = [each for each in demands.demands if not each.hosted and pool in offers.taking(each)]
        limited = [each for each in asking if each.max_parallel is not None]
        first = [each for each in asking if each.max_parallel is None]
        if not pool.vms or not limited or not first:
            continue
        names = ", ".join(_job(each) for each in first)
        kept = "; ".join(f"{_job(each)} takes {each.max_parallel} of {pool.vms} VMs at once" for each in limited)
        yield (
            f"{pool.pool}: {names} first. GitHub knows no priorities and gives a free runner to whoever asked first, "
            f"so the others ask for less: {kept}"
        )


def minutes(value: float) -> str:
    return f"{value:g} min" if value < 180 else f"{value / 60:.1f} h"


def _of_group(group: Sequence[tuple[Demand, tuple[Offer, ...]]], demands: Demands) -> Iterator[Wait]:
    """The jobs that want the same pools."""
    _, taking = group[0]
    vms = sum(each.vms for each in taking)
    for demand, _ in group:
        for start in demand.starts:
            if not start.legs:
                continue
            others = [
                (other, each)
                for other, _ in group
                for each in other.starts
                if other is not demand and (each.event, each.code) == (start.event, start.code) and each.legs
            ]
            first, last = _waited([*others, (demand, start)], vms)
            before = _elsewhere(demand, start, demands)
            yield Wait(
                pools=tuple(each.pool for each in taking),
                stacks=tuple(sorted({each.stack for each in taking})),
                vms=vms,
                event=start.event,
                code=start.code,
                demand=demand,
                legs=start.legs,
                at_once=_at_once(demand, start),
                others=sum(each.legs for _, each in others),
                first=None if first is None else first + before,
                last=None if last is None else last + before,
            )


def _elsewhere(demand: Demand, start: Start, demands: Demands) -> float:
    """Minutes that the job's legs on other pools take before these, where it runs so many at once and not more."""
    if demand.max_parallel is None:
        return 0.0
    legs = sum(
        each.legs
        for other in demands.demands
        if other.subject == demand.subject and other is not demand
        for each in other.starts
        if (each.event, each.code) == (start.event, start.code)
    )
    return ceil(legs / demand.max_parallel) * (demand.timeout_minutes or 0.0)


def _at_once(demand: Demand, start: Start) -> int:
    return min(start.legs, demand.max_parallel or start.legs)


def _waited(asking: Sequence[tuple[Demand, Start]], vms: int) -> tuple[float | None, float | None]:
    """Minutes until the first and the last leg of the last job have a VM; those before it in the list asked first."""
    limits = [demand.timeout_minutes for demand, _ in asking]
    if any(limit is None for limit in limits):
        return None, None
    jobs = [
        (start.legs, _at_once(demand, start), limit or 0.0)
        for (demand, start), limit in zip(asking, limits, strict=True)
    ]
    starts = list(_starts(jobs, vms))
    return min(starts), max(starts)


def _starts(jobs: Iterable[tuple[int, int, float]], vms: int) -> Iterator[float]:
    """When each leg of the last of the jobs (legs, most at once, minutes) starts."""
    todo = [[legs, most, limit] for legs, most, limit in jobs]
    running: list[tuple[float, int]] = []
    now = 0.0
    while todo[-1][0]:
        for index, (left, most, limit) in enumerate(todo):
            mine = sum(1 for _, job in running if job == index)
            for _ in range(int(min(left, most - mine, vms - len(running)))):
                heappush(running, (now + limit, index))
                todo[index][0] -= 1
                if index == len(todo) - 1:
                    yield now
        now, _ = heappop(running)
        while running and running[0][0] <= now:
            heappop(running)


def _job(demand: Demand) -> str:
    return f"{demand.file.rpartition('/')[2]} {demand.job}"


def _legs(count: int) -> str:
    return "1 leg" if count == 1 else f"{count} legs"


def _vms(count: int) -> str:
    return "1 VM" if count == 1 else f"{count} VMs"
