"""What there is and what there may be: the sections of capacity, limits and days ahead.

Pure: equal estates, equal sections.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.model.catalogue import AcceleratorType, region_of
from infra.model.cluster_state import ClusterNow
from infra.model.ledger import LimitAccount
from infra.model.schema import Reservation, StackConfig
from infra.operations.report.estate import Estate
from infra.operations.stacks.pools import PoolState
from infra.pages.calendar import calendar_chart, week_title, week_words
from infra.pages.charts import LimitUse, ZoneChips, chips, limits
from infra.pages.kit import Block, Drawing, Folded, Lack, Said, Section, Table, Tone, Words


def capacity(estate: Estate) -> Section:
    """Chips by region and zone, beside what stands of them."""
    rows = list[tuple[Words, ...]]()
    for stack, config in estate.stacks.items():
        pools = estate.pools[stack]
        for each in () if isinstance(pools, Lack) else pools:
            rows.append(_pool_row(stack, each))
        for name, zone, kind, counts in _slices(config, _cluster(estate, stack)):
            least, most, standing = counts
            chips_each = AcceleratorType.parse(kind).chips
            declared = f"{least} to {most}" if least != most else str(most)
            state: Words = "not known" if standing is None else Said(f"{standing} ready", _tone(standing, least))
            rows.append((region_of(zone), zone, stack, name, kind, declared, str(most * chips_each), state))
    head = ("Region", "Zone", "Stack", "Pool", "Accelerator", "Slices", "Chips", "State")
    table = Table(
        caption="Pools and slices by region and zone",
        head=head,
        rows=tuple(sorted(rows, key=lambda row: tuple(map(str, row[:4])))),
        numbers=frozenset((5, 6)),
    )
    shown = chips_of(estate)
    told = "; ".join(f"{each.zone} {each.generation}: {each.said}" for each in shown)
    drawing = Drawing(title="Chips by zone", told=f"{told}.", key="chips", draw=chips(shown))
    lacks = (*estate.unread, *(each for each in estate.pools.values() if isinstance(each, Lack)))
    found = (drawing, table) if rows else ()
    return Section(id="capacity", title="Capacity", says=_capacity_words(shown), blocks=(*lacks, *found))


def total(places: Sequence[ZoneChips]) -> tuple[int, int]:
    """Chips that stand, and chips that are declared at most."""
    return sum(each.standing for each in places), sum(each.declared for each in places)


def chips_of(estate: Estate) -> list[ZoneChips]:
    """By zone and generation."""
    pools = (each for every in estate.pools.values() if not isinstance(every, Lack) for each in every)
    slices = (
        _place(kind, zone, most, standing or 0)
        for stack, config in estate.stacks.items()
        for _, zone, kind, (_, most, standing) in _slices(config, _cluster(estate, stack))
    )
    return _summed([*map(_pool_chips, pools), *slices])


def _capacity_words(places: list[ZoneChips]) -> str:
    standing, declared = total(places)
    regions = {region_of(each.zone) for each in places}
    where = f"in {len({each.zone for each in places})} zones of {len(regions)} regions"
    return f"{standing:,} of {declared:,} chips stand, {where}." if places else ""


def _cluster(estate: Estate, stack: str) -> ClusterNow | None:
    found = estate.statuses
    return None if isinstance(found, Lack) else next((each.cluster for each in found if each.stack == stack), None)


def _pool_row(stack: str, each: PoolState) -> tuple[Words, ...]:
    row = each.row
    tone = "good" if each.is_ready else "warning" if each.is_partly_ready else "bad"
    state: Words = Said(str(each), tone) if str(each) else Said("none outside windows", "muted")
    return region_of(row.zone), row.zone, stack, row.pool, row.accelerator, str(row.slices), str(row.chips), state


def _pool_chips(each: PoolState) -> ZoneChips:
    return _place(each.row.accelerator, each.row.zone, each.row.slices, each.states.get("READY", 0))


def _place(accelerator: str, zone: str, declared: int, standing: int) -> ZoneChips:
    found = AcceleratorType.parse(accelerator)
    return ZoneChips(
        zone=zone,
        generation=found.generation.name,
        declared=declared * found.chips,
        standing=standing * found.chips,
    )


def _slices(
    config: StackConfig, cluster: ClusterNow | None
) -> Iterator[tuple[str, str, str, tuple[int, int, int | None]]]:
    """Name, zone and type of the entries of slices; of each the least, the most and how many stand."""
    seen = {row.where: row.slices for row in cluster.rows} if cluster else {}
    for entry in config.slices:
        found = seen.get(f"{entry.name} {entry.zone}")
        yield entry.name, entry.zone, entry.accelerator.name, (entry.least, entry.slices, found and found.standing)


def _summed(places: list[ZoneChips]) -> list[ZoneChips]:
    keys = sorted({(region_of(each.zone), each.zone, each.generation) for each in places if each.declared})
    return [
        ZoneChips(
            zone=zone,
            generation=generation,
            declared=sum(each.declared for each in places if (each.zone, each.generation) == (zone, generation)),
            standing=sum(each.standing for each in places if (each.zone, each.generation) == (zone, generation)),
        )
        for _, zone, generation in keys
    ]


def _tone(standing: int, least: int) -> Tone:
    return "good" if standing >= least else "bad"


def ledger(estate: Estate) -> Section:
    """Chips against each reservation and quota, and what is free."""
    if not estate.limits:
        lack = Lack("No stack file declares a quota or a reservation; `tidepool:quotas` of docs/stack-file.md does.")
        return Section(id="limits", title="Limits", blocks=(lack,))
    uses = [_use(each, estate) for each in estate.limits]
    rows = tuple(
        (*_limit_row(account), f"{use.used:,}", f"{use.size:,}", f"{use.size - use.used:,}", _drawn(account))
        for account, use in zip(estate.limits, uses, strict=True)
    )
    head = ("Zone", "Generation", "Limit", "Used", "Of", "Free", "By")
    told = "; ".join(f"{each.name}: {each.used:,} of {each.size:,} used" for each in uses)
    tight = [each.name for each in uses if each.used > each.size]
    says: Words = Said(f"Passed: {', '.join(tight)}", "bad") if tight else _free_words(uses)
    drawn = (
        Drawing(title="What is drawn, and what is free", told=f"{told}.", key="limits", draw=limits(uses)),
        Table(caption="The ledger, in chips", head=head, rows=rows, numbers=frozenset((3, 4, 5))),
    )
    return Section(id="limits", title="Limits", says=says, blocks=drawn)


def _free_words(uses: list[LimitUse]) -> str:
    free = sum(each.size - each.used for each in uses)
    return f"{free:,} of {sum(each.size for each in uses):,} chips of all limits are free; no limit is passed."


def _use(account: LimitAccount, estate: Estate) -> LimitUse:
    """With what windows take at their most."""
    limit = account.limit
    used = account.used + (account.peak(estate.made).amount if account.windows else 0)
    zone, generation, kind = _limit_row(account)
    return LimitUse(name=f"{zone} {generation} {kind.removesuffix(' quota')}", used=used, size=limit.chips)


def _limit_row(account: LimitAccount) -> tuple[str, str, str]:
    limit = account.limit
    kind = f"reservation {limit.name}" if isinstance(limit, Reservation) else f"{limit.kind.value} quota"
    return limit.zone, limit.generation.name, kind


def _drawn(account: LimitAccount) -> str:
    held = (f"held elsewhere {account.held_elsewhere}",) if account.held_elsewhere else ()
    return ", ".join((*map(str, (*account.draws, *account.windows)), *held)) or "nobody"


def days(estate: Estate) -> Section:
    """Seven days: chips by the hour, dollars by the day, and when windows are open."""
    week = estate.week
    if isinstance(week, Lack):
        return Section(id="calendar", title="Calendar", blocks=(week,))
    drawing = Drawing(title=week_title(week), told=f"{week_words(week)}.", key="calendar", draw=calendar_chart(week))
    opened = [each for each in week.standing if each.window]
    rows = tuple(
        (f"{each.start:%Y-%m-%d %H:%M}", f"{each.end:%Y-%m-%d %H:%M}", f"{each.stack}/{each.pool}", each.window or "",
         each.zone, str(each.chips), "no price" if each.usd is None else f"${each.usd:,.2f}")
        for each in sorted(opened, key=lambda each: (each.start, each.pool, each.zone))
    )  # fmt: skip
    head = ("From (UTC)", "To", "Pool", "Window", "Zone", "Chips", "Cost")
    table = Table(caption="Windows", head=head, rows=rows, numbers=frozenset((5, 6)))
    more: tuple[Block, ...] = (Folded(summary=f"{len(rows)} openings of windows", blocks=(table,)),) if rows else ()
    says = f"${week.usd:,.2f} by list prices in the seven days from {week.begin:%d %B}."
    return Section(id="calendar", title="Calendar", says=says, blocks=(drawing, *more))
