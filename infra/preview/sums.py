"""Capacity, ledger and money of an edit: the numbers, without a judgement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.cost import HOURS_PER_MONTH, Amount, average_hours, pool_cost
from infra.model.facts import facts as catalogue_facts
from infra.model.ledger import account
from infra.model.schema import Cluster, Pool, Quota, Reservation, Slices, StackConfig
from infra.preview.meaning import Counts, LedgerLine, PoolChange, Words
from infra.preview.money import Bill, Money, MoneyLine, Priced, Total
from infra.preview.vms import PlaceChange

Limit = Reservation | Quota


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


def money(places: Sequence[PlaceChange], window_hours: Mapping[str, float] | None, of: StackConfig) -> Money:
    """What the fleet costs before and after by list prices, pool by pool and in total. of: the later version."""
    lines = tuple(_money_line(place, window_hours) for place in places)
    totals: defaultdict[str, list[Amount]] = defaultdict(lambda: [Amount(), Amount()])
    standing: defaultdict[str, set[Priced]] = defaultdict(set)
    for line in lines:
        for side, bill in enumerate((line.before, line.after)):
            if bill.priced is Priced.LISTED and bill.capacity and bill.amount:
                totals[bill.capacity][side] += bill.amount
        told = line.after if line.after.priced is not Priced.NONE else line.before
        standing[line.pool].add(told.priced)
    by_kind = {kind: Total(before=before, after=after) for kind, (before, after) in sorted(totals.items())}
    table = catalogue_facts("prices")
    return Money(
        lines=lines,
        by_kind=by_kind,
        total=Total(
            before=sum((each.before for each in by_kind.values()), Amount()),
            after=sum((each.after for each in by_kind.values()), Amount()),
        ),
        estimated=_pools_of(standing, Priced.LISTED),
        sunk=_pools_of(standing, Priced.SUNK),
        unpriced=_pools_of(standing, Priced.UNPRICED),
        as_of=table["as_of"],
        source=table["source"],
        hours_per_month=HOURS_PER_MONTH,
        budget_usd_per_month=of.budget.usd_per_month if of.budget else None,
        not_counted=tuple(_not_counted(of.cluster)) if of.cluster else (),
    )


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


def _money_line(place: PlaceChange, window_hours: Mapping[str, float] | None) -> MoneyLine:
    before, after = place.counts
    declared = place.after or place.before
    assert declared is not None, "a place is of a pool that one side declares"
    return MoneyLine(
        pool=place.pool,
        zone=place.zone,
        before=_bill(place.before, place.zone, before, window_hours),
        after=_bill(place.after, place.zone, after, window_hours),
        hours_per_month=average_hours(declared, place.zone, window_hours),
    )


def _bill(pool: Pool | Slices | None, zone: str, slices: int, window_hours: Mapping[str, float] | None) -> Bill:
    if pool is None or not (slices or (isinstance(pool, Pool) and pool.added.get(zone))):
        return Bill(priced=Priced.NONE, capacity=str(pool.capacity.kind) if pool else None, amount=Amount())
    kind = pool.capacity.kind
    if kind is CapacityKind.RESERVED:
        return Bill(priced=Priced.SUNK, capacity=kind.value, amount=None)
    amount = pool_cost(pool, zone, slices, window_hours)
    return Bill(priced=Priced.UNPRICED if amount is None else Priced.LISTED, capacity=kind.value, amount=amount)
