"""Capacity, ledger and money of an edit: the numbers, without a judgement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.cost import FREE, HOURS_PER_MONTH, Charge, charges, stack_cost
from infra.model.facts import facts as catalogue_facts
from infra.model.ledger import account
from infra.model.schema import Cluster, Pool, Quota, Reservation, Slices, StackConfig
from infra.preview.meaning import Counts, LedgerLine, PoolChange, Words
from infra.preview.money import Bill, Money, MoneyLine, Priced, Total
from infra.preview.vms import PlaceChange

Limit = Reservation | Quota
_PRICED = (Priced.LISTED, Priced.UNPRICED)


def pool_changes(places: Sequence[PlaceChange]) -> tuple[PoolChange, ...]:
    """A row for each pool and zone."""
    return tuple(_pool_change(place) for place in places)


def _pool_change(place: PlaceChange) -> PoolChange:
    was, becomes = place.before, place.after
    before, after = place.counts
    shapes = (was.accelerator if was else None, becomes.accelerator if becomes else None)

    def counts(size: Callable[[AcceleratorType], int]) -> Counts:
        old, new = shapes
        return Counts(before * size(old) if old else 0, after * size(new) if new else 0)

    return PoolChange(
        pool=place.pool,
        zone=place.zone,
        accelerator=Words(*(shape.name if shape else None for shape in shapes)),
        capacity=Words(*(str(pool.capacity) if pool else None for pool in (was, becomes))),
        spelled="; ".join(dict.fromkeys(spelled(shape) for shape in shapes if shape)),
        slices=Counts(before, after),
        always=_always(was, becomes),
        hosts=counts(lambda shape: shape.hosts),
        chips=counts(lambda shape: shape.chips),
        limit=_limit_kind(becomes or was),
    )


def _limit_kind(pool: Pool | Slices | None) -> str:
    """`v5e preemptible quota`: the generation and the kind of limit that its chips count against."""
    assert pool is not None, "a place is of a pool that one side declares"
    kind = pool.capacity.kind
    quota = kind if kind is CapacityKind.ON_DEMAND else CapacityKind.PREEMPTIBLE
    limit = "reservation" if kind is CapacityKind.RESERVED else f"{quota.value} quota"
    return f"{pool.accelerator.generation.name} {limit}"


def _always(was: Pool | Slices | None, becomes: Pool | Slices | None) -> Counts | None:
    if not isinstance(becomes or was, Slices):
        return None
    return Counts(*(entry.least if isinstance(entry, Slices) else 0 for entry in (was, becomes)))


def spelled(accelerator: AcceleratorType) -> str:
    """What the name does not say: `v6e-8 is 8 chips on 1 host`."""
    chips = "1 chip" if accelerator.chips == 1 else f"{accelerator.chips:,} chips"
    hosts = "1 host" if accelerator.hosts == 1 else f"{accelerator.hosts:,} hosts"
    return f"{accelerator.name} is {chips} on {hosts}"


def ledger_lines(
    base: StackConfig,
    base_siblings: Sequence[StackConfig],
    head: StackConfig,
    head_siblings: Sequence[StackConfig],
    begin: datetime,
) -> tuple[LedgerLine, ...]:
    """A line for each limit of either side, and for each generation and zone one of all pools; sorted by place.

    begin: from when on windows count.
    """
    sides = ([base, *base_siblings], [head, *head_siblings])
    limits = [{_identity(limit): limit for limit in _limits(stacks)} for stacks in sides]
    lines = [
        _limit_line(limits[0].get(identity), limits[1].get(identity), *sides, begin)
        for identity in limits[0] | limits[1]
    ]
    drawn = [_chips_by_place(base), _chips_by_place(head)]
    for zone, generation in drawn[0].keys() | drawn[1].keys():
        chips = Counts(drawn[0].get((zone, generation), 0), drawn[1].get((zone, generation), 0))
        lines.append(
            LedgerLine(
                zone=zone,
                generation=generation,
                limit="all pools",
                kind="sum",
                project=None,
                chips=chips,
                held_elsewhere=Counts(),
                size_before=None,
                size_after=None,
            )
        )
    return tuple(
        sorted(lines, key=lambda line: (line.zone, line.generation, not line.limited, line.limit, line.project or ""))
    )


def _limits(stacks: Sequence[StackConfig]) -> Iterator[Limit]:
    """This stack's limits, and those of siblings that bear on its project; the first to declare one is heard."""
    own, *others = stacks
    seen = set[tuple[str, ...]]()
    for stack in (own, *others):
        for limit in (*stack.reservations, *stack.quotas):
            complete = all(name in limit.__dict__ for name in type(limit).model_fields)
            concerns = stack is own or (complete and _drawn_by(own, limit))
            if complete and concerns and _identity(limit) not in seen:
                seen.add(_identity(limit))
                yield limit


def _drawn_by(config: StackConfig, limit: Limit) -> bool:
    drawn = account(limit, [config])
    return limit.project == config.project and bool(drawn.draws or drawn.windows)


def _identity(limit: Limit) -> tuple[str, ...]:
    """One project has one reservation of a generation in a zone, whatever its name, and one quota of a kind."""
    which = limit.kind.value if isinstance(limit, Quota) else CapacityKind.RESERVED.value
    return (limit.project, limit.zone, limit.generation.name, which)


def _limit_line(
    was: Limit | None,
    becomes: Limit | None,
    before: Sequence[StackConfig],
    after: Sequence[StackConfig],
    begin: datetime,
) -> LedgerLine:
    limit = becomes or was
    assert limit is not None, "a line is of a limit that one side declares"
    # A side that does not declare the limit is judged by the other's: what draws on it draws on it all the same.
    accounts = [account(each or limit, stacks) for each, stacks in ((was, before), (becomes, after))]
    reserved = isinstance(limit, Reservation)
    names = [each.name for each in (was, becomes) if isinstance(each, Reservation)]
    renamed = f" (was {names[0]})" if len(set(names)) > 1 else ""
    return LedgerLine(
        zone=limit.zone,
        generation=limit.generation.name,
        limit=f"reservation {limit.name}{renamed}" if reserved else f"{limit.kind.value} quota",
        kind="reservation" if reserved else f"{limit.kind.value} quota",
        project=limit.project,
        chips=Counts(*(each.used + each.peak(begin) for each in accounts)),
        held_elsewhere=Counts(*(each.held_elsewhere for each in accounts)),
        size_before=was.chips if was else None,
        size_after=becomes.chips if becomes else None,
    )


def _chips_by_place(config: StackConfig) -> dict[tuple[str, str], int]:
    chips: defaultdict[tuple[str, str], int] = defaultdict(int)
    for pool in config.holders:
        for zone, count in pool.zones.items():
            chips[zone, pool.accelerator.generation.name] += count * pool.accelerator.chips
    return dict(chips)


def money(before: StackConfig, after: StackConfig, now: datetime, window_hours: Mapping[str, float] | None) -> Money:
    """What the fleet costs before and after by list prices, pool by pool and in total."""
    sides = [
        {(each.pool.name, each.zone): each for each in charges(config, now, window_hours)} for config in (before, after)
    ]
    lines = tuple(_money_line(key, *(side.get(key) for side in sides)) for key in sorted(sides[0] | sides[1]))
    standing: defaultdict[str, set[Priced]] = defaultdict(set)
    for line in lines:
        told = line.after if line.after.priced is not Priced.NONE else line.before
        standing[line.pool].add(told.priced)
    kinds = {bill.capacity for line in lines for bill in (line.before, line.after) if bill.priced in _PRICED}
    costs = [stack_cost(config, now, window_hours) for config in (before, after)]
    table = catalogue_facts("prices")
    return Money(
        lines=lines,
        by_kind={kind: _total_of(lines, kind) for kind in sorted(filter(None, kinds))},
        total=Total(before=costs[0].declared, after=costs[1].declared),
        worst=Total(before=costs[0].worst, after=costs[1].worst),
        runs=Total(before=costs[0].runs, after=costs[1].runs),
        estimated=_pools_of(standing, Priced.LISTED),
        sunk=_pools_of(standing, Priced.SUNK),
        unpriced=_pools_of(standing, Priced.UNPRICED),
        as_of=table["as_of"],
        source=table["source"],
        hours_per_month=HOURS_PER_MONTH,
        budget_usd_per_month=after.budget.usd_per_month if after.budget else None,
        not_counted=tuple(_not_counted(after.cluster)) if after.cluster else (),
    )


def _total_of(lines: Sequence[MoneyLine], kind: str) -> Total:
    """Of one kind of capacity."""
    sides = ([line.before for line in lines], [line.after for line in lines])
    before, after = (sum((each.amount for each in side if each.capacity == kind), FREE) for side in sides)
    return Total(before=before, after=after)


def _not_counted(cluster: Cluster) -> Iterator[str]:
    """What a cluster costs beside its chips: the price table has chips alone."""
    system = cluster.system
    yield "the cluster's fee"
    yield f"{system.nodes * len(cluster.zones):,} x {system.machine_type} (system, always)"
    for pool in cluster.cpu_pools:
        least, most = (count * len(pool.zones) for count in (pool.minimum, pool.maximum))
        yield f"{least:,} to {most:,} x {pool.machine_type} ({pool.name}{', spot' if pool.spot else ''})"
    yield "its disks and traffic"


def _pools_of(standing: Mapping[str, set[Priced]], priced: Priced) -> tuple[str, ...]:
    """A pool counts once: as unpriced where any zone is, then as sunk, then as estimated; one without VMs for none."""
    for worse in (Priced.UNPRICED, Priced.SUNK, Priced.LISTED):
        standing = {name: states for name, states in standing.items() if worse is priced or worse not in states}
        if worse is priced:
            break
    return tuple(sorted(name for name, states in standing.items() if priced in states))


def _money_line(key: tuple[str, str], before: Charge | None, after: Charge | None) -> MoneyLine:
    declared = after or before
    assert declared is not None, "a line is of a pool that one side declares"
    pool, zone = key
    return MoneyLine(pool=pool, zone=zone, before=_bill(before), after=_bill(after), hours_per_month=declared.hours)


def _bill(charge: Charge | None) -> Bill:
    if charge is None:
        return Bill(priced=Priced.NONE, capacity=None)
    kind = charge.pool.capacity.kind
    if not charge.chips:
        priced = Priced.NONE
    elif kind is CapacityKind.RESERVED:
        priced = Priced.SUNK
    else:
        priced = Priced.UNPRICED if charge.declared.hour.unknown else Priced.LISTED
    return Bill(priced=priced, capacity=kind.value, amount=charge.declared, worst=charge.worst)
