"""What there is and what there may be: the sections of capacity, limits and days ahead.

Pure: equal estates, equal sections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from infra.model.catalogue import AcceleratorType, region_of
from infra.model.cluster_state import ClusterNow
from infra.model.ledger import LimitAccount
from infra.model.schema import Reservation, StackConfig
from infra.operations.fleet.pools import PoolState
from infra.operations.report.estate import Estate
from infra.pages.calendar import calendar_chart, steady, week_title, week_words
from infra.pages.charts import Bar, bars
from infra.pages.kit import Block, Drawing, Folded, Lack, Said, Section, Table, Tone, Words
from infra.preview.sentences import plural

_NOT_DEPLOYED: Final = Said("not deployed", "muted")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneChips:
    """Chips of one generation in a zone: those that are declared at most, and those that stand, None if not known."""

    zone: str
    generation: str
    declared: int
    standing: int | None


def capacity(estate: Estate) -> Section:
    """Chips by region and zone, beside what stands of them."""
    rows = list[tuple[Words, ...]]()
    for stack, config in estate.stacks.items():
        pools = estate.pools[stack]
        for each in () if isinstance(pools, Lack) else pools:
            rows.append(_pool_row(config, each, deployed=estate.is_deployed(stack)))
        for name, zone, kind, counts in _slices(config, _cluster(estate, stack)):
            least, most, standing = counts
            chips_each = AcceleratorType.parse(kind).chips
            declared = f"{least} to {most}" if least != most else str(most)
            state: Words = "not known" if standing is None else Said(f"{standing} ready", _tone(standing, least))
            state = state if estate.is_deployed(stack) else _NOT_DEPLOYED
            rows.append((region_of(zone), zone, stack, name, kind, declared, str(most * chips_each), state))
    head = ("Region", "Zone", "Stack", "Pool", "Accelerator", "Slices", "Chips", "State")
    table = Table(
        caption="Pools and slices by region and zone",
        head=head,
        rows=tuple(sorted(rows, key=lambda row: tuple(map(str, row[:4])))),
        numbers=frozenset((5, 6)),
    )
    shown = chips_of(estate)
    drawn = [
        Bar(
            name=f"{each.zone} {each.generation}",
            part=each.standing or 0,
            whole=each.declared,
            says=total([each]),
            kind=each.generation,
        )
        for each in shown
    ]
    drawing = Drawing(
        title="Chips by zone",
        told=f"{'; '.join(f'{each.name}: {each.says} chips stand' for each in drawn)}.",
        note="Full as far as chips stand, pale as far as they are declared at most, outside windows.",
        key="chips",
        draw=bars(drawn, "d"),
    )
    lacks = (*estate.unread, *(each for each in estate.pools.values() if isinstance(each, Lack)))
    nothing = Lack("No stack declares a pool or slices; `./tidepool init` writes the files of a lab.")
    found = (drawing, table) if rows else () if lacks else (nothing,)
    return Section(id="capacity", title="Capacity", says=_capacity_words(shown), blocks=(*lacks, *found))


def total(places: Sequence[ZoneChips]) -> str:
    """`8 of 16`: chips that stand, a question mark where that is not known, of those that are declared at most."""
    standing, declared = _stand(places), sum(each.declared for each in places)
    return f"{'?' if standing is None else format(standing, ',')} of {declared:,}"


def _stand(places: Iterable[ZoneChips]) -> int | None:
    standing = [each.standing for each in places]
    return None if None in standing else sum(filter(None, standing))


def chips_of(estate: Estate) -> list[ZoneChips]:
    """By zone and generation."""
    pools = (each for every in estate.pools.values() if not isinstance(every, Lack) for each in every)
    answers = not isinstance(estate.statuses, Lack)
    slices = (
        _place(kind, zone, most, 0 if answers and cluster is None else standing)
        for stack, config in estate.stacks.items()
        for cluster in (_cluster(estate, stack),)
        for _, zone, kind, (_, most, standing) in _slices(config, cluster)
    )
    return _summed([*map(_pool_chips, pools), *slices])


def _capacity_words(places: list[ZoneChips]) -> str:
    regions = {region_of(each.zone) for each in places}
    zones = plural(len({each.zone for each in places}), "zone")
    where = f"in {zones} of {plural(len(regions), 'region')}"
    return f"{total(places)} chips stand, {where}." if places else ""


def _cluster(estate: Estate, stack: str) -> ClusterNow | None:
    found = estate.statuses
    return None if isinstance(found, Lack) else next((each.cluster for each in found if each.stack == stack), None)


def _pool_row(config: StackConfig, each: PoolState, *, deployed: bool) -> tuple[Words, ...]:
    row = each.row
    windows = (window for pool in config.pools if pool.name == row.pool for window in pool.windows)
    none = "none outside windows" if any(row.zone in window.adds for window in windows) else "none declared"
    tone = "good" if each.is_ready else "warning" if each.is_partly_ready else "bad"
    state: Words = Said(str(each), tone) if str(each) else Said(none, "muted")
    state = state if deployed or each.is_partly_ready else _NOT_DEPLOYED
    return (
        region_of(row.zone),
        row.zone,
        config.stack,
        row.pool,
        row.accelerator,
        str(row.slices),
        str(row.chips),
        state,
    )


def _pool_chips(each: PoolState) -> ZoneChips:
    return _place(each.row.accelerator, each.row.zone, each.row.slices, each.states.get("READY", 0))


def _place(accelerator: str, zone: str, declared: int, standing: int | None) -> ZoneChips:
    found = AcceleratorType.parse(accelerator)
    return ZoneChips(
        zone=zone,
        generation=found.generation.name,
        declared=declared * found.chips,
        standing=None if standing is None else standing * found.chips,
    )


def _slices(
    config: StackConfig, cluster: ClusterNow | None
) -> Iterator[tuple[str, str, str, tuple[int, int, int | None]]]:
    """Name, zone and type of the entries of slices; of each the least, the most and how many stand."""
    seen = {row.where: row.slices for row in cluster.rows} if cluster else {}
    for entry in config.slices:
        found = seen.get(f"{entry.name} {entry.zone}")
        yield (
            entry.name,
            entry.zone,
            entry.accelerator.name,
            (entry.least, entry.slices, found.standing if found else None),
        )


def _summed(places: list[ZoneChips]) -> list[ZoneChips]:
    keys = sorted({(region_of(each.zone), each.zone, each.generation) for each in places if each.declared})
    return [
        ZoneChips(
            zone=zone,
            generation=generation,
            declared=sum(each.declared for each in places if (each.zone, each.generation) == (zone, generation)),
            standing=_stand(each for each in places if (each.zone, each.generation) == (zone, generation)),
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
    uses = [(each, _most(each, estate)) for each in estate.limits]
    rows = tuple(
        (each.limit.zone, _limit(each), f"{used:,}", f"{each.limit.chips:,}", f"{each.limit.chips - used:,}", _by(each))
        for each, used in uses
    )
    drawn = [
        Bar(
            name=f"{each.limit.zone} {_limit(each)}",
            part=min(used / each.limit.chips, 1.0) if each.limit.chips else 1.0,
            whole=1.0,
            says=f"{each.limit.chips - used:,} of {each.limit.chips:,} free",
        )
        for each, used in uses
    ]
    free = sum(each.limit.chips - used for each, used in uses)
    passed = [bar.name for bar, (each, used) in zip(drawn, uses, strict=True) if used > each.limit.chips]
    whole = (
        f"{free:,} of {sum(each.limit.chips for each, _ in uses):,} chips of all limits are free; no limit is passed."
    )
    head = ("Zone", "Limit", "Used", "Of", "Free", "By")
    drawing = Drawing(
        title="What is drawn, and what is free",
        told=f"{'; '.join(f'{each.name}: {each.says}' for each in drawn)}.",
        note="Parts of each limit. What windows and fallbacks may take at their most counts as drawn.",
        key="limits",
        draw=bars(drawn, "%"),
    )
    return Section(
        id="limits",
        title="Limits",
        says=Said(f"Passed: {', '.join(passed)}", "bad") if passed else whole,
        blocks=(drawing, Table(caption="The ledger, in chips", head=head, rows=rows, numbers=frozenset((2, 3, 4)))),
    )


def _most(account: LimitAccount, estate: Estate) -> int:
    """What is drawn, with windows at their most."""
    return account.used + (account.peak(estate.made) if account.windows else 0)


def _limit(account: LimitAccount) -> str:
    limit = account.limit
    kind = f"reservation {limit.name}" if isinstance(limit, Reservation) else f"{limit.kind.value} quota"
    return f"{limit.generation.name} {kind}"


def _by(account: LimitAccount) -> str:
    held = (f"held elsewhere {account.held_elsewhere}",) if account.held_elsewhere else ()
    return ", ".join((*map(str, (*account.draws, *account.windows)), *held)) or "nobody"


def days(estate: Estate) -> Section:
    """Seven days: chips by the hour, dollars by the day, and when windows are open."""
    week = estate.week
    if isinstance(week, Lack):
        return Section(id="calendar", title="Calendar", blocks=(week,))
    always = ", ".join(f"{each.chips} {each.generation} in {each.zone}" for each in steady(week))
    drawing = Drawing(
        title=week_title(week),
        told=f"{week_words(week)}." + (f" The same all week: {always}." if always else ""),
        key="calendar",
        draw=calendar_chart(week),
    )
    opened = [each for each in week.standing if each.window]
    rows = tuple(
        (f"{each.start:%Y-%m-%d %H:%M}", f"{each.end:%Y-%m-%d %H:%M}", f"{each.stack}/{each.pool}", each.window or "",
         each.zone, str(each.chips), str(each.usd))
        for each in sorted(opened, key=lambda each: (each.start, each.pool, each.zone))
    )  # fmt: skip
    head = ("From (UTC)", "To", "Pool", "Window", "Zone", "Chips", "Cost")
    table = Table(caption="Windows", head=head, rows=rows, numbers=frozenset((5, 6)))
    more: tuple[Block, ...] = (
        (Folded(summary=f"{plural(len(rows), 'opening')} of windows", blocks=(table,)),) if rows else ()
    )
    worst = f", in the worst case {week.worst}" if week.worst != week.usd else ""
    says = f"{week.usd} by list prices in the seven days from {week.begin:%d %B}{worst}."
    return Section(id="calendar", title="Calendar", says=says, blocks=(drawing, *more))
