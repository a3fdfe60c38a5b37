"""Days ahead of stacks: which VMs and slices exist when, chips by the hour, what limits leave, and dollars.

Owns the derivation, of stack files alone. Does not own when windows are open (windows), nor how a week is drawn (pages,
preview). Dollars are list prices; what exists early and what drains late is not in them. Slices that come when pods ask
for them cost an unknown amount between nothing and that of the worst case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from infra.model.catalogue import CapacityKind
from infra.model.cost import HOURS_PER_MONTH, places, runs_cost, slices_cost
from infra.model.dollars import NOTHING, Dollars, dearest
from infra.model.json_shape import CamelShape
from infra.model.ledger import account
from infra.model.schema import Pool, Slices, StackConfig
from infra.model.windows import openings, peak

DAYS = 7
HOUR = timedelta(hours=1)
WHEN_ASKED = "when pods ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(CamelShape):
    """VMs of a pool, or slices of the cluster, from one instant to another, in UTC.

    window: None for those that always exist, WHEN_ASKED for slices that pods ask for. usd: what they cost in that time;
    0 where they are reserved. worst: the same at the dearest of their pool's places.
    """

    stack: str
    pool: str
    zone: str
    window: str | None
    accelerator: str
    generation: str
    capacity: str
    start: datetime
    end: datetime
    vms: int
    chips: int
    usd: Dollars
    worst: Dollars

    @property
    def hours(self) -> Decimal:
        return _hours(self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipHour(CamelShape):
    """The most chips of one generation that stand in a zone at any instant of an hour."""

    at: datetime
    zone: str
    generation: str
    chips: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom(CamelShape):
    """A limit in these days. used: the most chips that draw on it at once, what is held elsewhere with them.

    at: the first instant at which it is so.
    """

    project: str
    zone: str
    generation: str
    kind: str
    chips: int
    used: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Week(CamelShape):
    """Days from `begin` to `end`, of stacks that were asked for. worst: of the worst case, with all that runs may make.

    unpriced: pools and slices whose cost is not known.
    """

    JSON = (
        "begin", "end", "stacks", "standing", "chip_hours", "limits",
        "usd", "atLeastUsd=usd.known", "worst", "unpriced",
    )  # fmt: skip

    begin: datetime
    end: datetime
    stacks: tuple[str, ...]
    standing: tuple[Standing, ...]
    chip_hours: tuple[ChipHour, ...]
    limits: tuple[Headroom, ...]
    usd: Dollars
    worst: Dollars
    unpriced: tuple[str, ...]


def week(
    configs: Sequence[StackConfig], begin: datetime, *, days: int = DAYS, others: Sequence[StackConfig] = ()
) -> Week:
    """The days from an instant on. others: stacks that are not shown and draw on the same limits."""
    end = begin + timedelta(days=days)
    rows = tuple(each for config in configs for each in standing(config, begin, end))
    return Week(
        begin=begin,
        end=end,
        stacks=tuple(config.stack for config in configs),
        standing=rows,
        chip_hours=tuple(_chip_hours(rows, begin, end)),
        limits=tuple(_limits(configs, others, begin, end)),
        usd=sum((each.usd for each in rows), NOTHING),
        worst=sum((each.worst for each in rows), NOTHING)
        + sum((runs_worst(each, begin, end) for each in configs), NOTHING),
        unpriced=tuple(sorted({each.pool for each in rows if each.usd.unknown})),
    )


def standing(config: StackConfig, begin: datetime, end: datetime) -> Iterator[Standing]:
    """What a stack has from one instant to another, pool by pool and zone by zone: what always exists, then the rest,
    one by one.
    """
    for pool in config.pools:
        for zone, count in pool.zones.items():
            if count:
                yield _standing(config, pool, zone, None, count, begin, end)
            for window in pool.windows:
                if added := window.adds.get(zone, 0):
                    for each in openings(window, begin, end):
                        part = each.within(begin, end)
                        yield _standing(config, pool, zone, window.name, added, part.start, part.end)
    for entry in config.slices:
        if entry.least:
            yield _standing(config, entry, entry.zone, None, entry.least, begin, end)
        if more := entry.slices - entry.least:
            found = _standing(config, entry, entry.zone, WHEN_ASKED, more, begin, end)
            why = f"how many {entry.name} slices pods ask for in {entry.zone}"
            yield replace(found, usd=Dollars.missing(why)) if found.usd != NOTHING else found


def runs_worst(config: StackConfig, begin: datetime, end: datetime) -> Dollars:
    """What VMs of runs come to at most from one instant to another."""
    return runs_cost(config).month * (_hours(begin, end) / HOURS_PER_MONTH)


def _hours(start: datetime, end: datetime) -> Decimal:
    return Decimal(int((end - start).total_seconds())) / 3600


def _standing(
    config: StackConfig, pool: Pool | Slices, zone: str, window: str | None, vms: int, start: datetime, end: datetime
) -> Standing:
    hours = _hours(start, end)
    hourly = [slices_cost(pool.accelerator, *place, vms, hours=hours).hour for place in places(pool, zone)]
    return Standing(
        stack=config.stack,
        pool=pool.name,
        zone=zone,
        window=window,
        accelerator=pool.accelerator.name,
        generation=pool.accelerator.generation.name,
        capacity=str(pool.capacity),
        start=start,
        end=end,
        vms=vms,
        chips=vms * pool.accelerator.chips,
        usd=hourly[0] * hours,
        worst=dearest(hourly) * hours,
    )


def _chip_hours(rows: Sequence[Standing], begin: datetime, end: datetime) -> Iterator[ChipHour]:
    for generation, zone in sorted({(each.generation, each.zone) for each in rows}):
        own = [each for each in rows if (each.generation, each.zone) == (generation, zone)]
        at = begin
        while at < end:
            yield ChipHour(at=at, zone=zone, generation=generation, chips=_most(own, at, min(at + HOUR, end)))
            at += HOUR


def _most(rows: Sequence[Standing], begin: datetime, end: datetime) -> int:
    there = [each for each in rows if each.start < end and begin < each.end]
    return most_of([(each.start, each.end, each.chips) for each in there], begin)


def most_of(spans: Sequence[tuple[datetime, datetime, int]], begin: datetime) -> int:
    """The most that spans have together at any instant from `begin` on: from one instant to another, so many each."""
    moments = {begin, *(start for start, _, _ in spans if start > begin)}
    return max(sum(count for start, end, count in spans if start <= moment < end) for moment in moments)


def _limits(
    configs: Sequence[StackConfig], others: Sequence[StackConfig], begin: datetime, end: datetime
) -> Iterator[Headroom]:
    seen: set[tuple[str, ...]] = set()
    for limit in (limit for config in configs for limit in (*config.reservations, *config.quotas)):
        kind = getattr(limit, "kind", CapacityKind.RESERVED).value
        identity = (limit.project, limit.zone, limit.generation.name, kind)
        drawn = account(limit, (*configs, *others))
        if identity in seen or not (drawn.used or drawn.windows):
            continue
        seen.add(identity)
        most = peak([(each.window, each.chips) for each in drawn.windows], begin, end)
        yield Headroom(
            project=limit.project,
            zone=limit.zone,
            generation=limit.generation.name,
            kind=kind,
            chips=limit.chips,
            used=drawn.used + most.amount,
            at=most.at,
        )
