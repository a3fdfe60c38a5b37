"""Days ahead as lines for a terminal: a strip of blocks for each pool and zone, its windows, limits and dollars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby

from infra.model.dollars import NOTHING
from infra.model.week import WHEN_ASKED, Standing, Week, most_of

_BLOCKS = "▁▂▃▄▅▆▇█"
_NONE = "·"
_WIDE = 100
"""Columns from which a day has twelve blocks of two hours; below, eight of three."""


def lines(week: Week, width: int) -> Iterator[str]:
    """The week of every pool that stands at any time of it."""
    last = week.end - timedelta(minutes=1)
    yield f"{week.begin:%a %d %b %Y %H:%M} to {last:%a %d %b %H:%M}, UTC: {', '.join(week.stacks)}, {week.usd}"
    if week.worst != week.usd:
        yield f"in the worst case {week.worst}: dearest fallbacks, all slices and all runs that may be"
    if not week.standing:
        yield "nothing stands in these days"
    for (stack, pool, zone), rows in groupby(week.standing, key=lambda each: (each.stack, each.pool, each.zone)):
        there = list(rows)
        yield ""
        yield f"{stack}/{pool}  {zone}  {there[0].accelerator} {there[0].capacity}"
        yield from _strip(there, week.begin, week.end, 12 if width >= _WIDE else 8)
        yield from (f"  {said}" for said in _said(there))
    if week.limits:
        yield ""
    for limit in week.limits:
        of = f"{limit.zone} {limit.generation} {limit.kind}"
        yield f"{of}: at most {limit.used:,} of {limit.chips:,} chips, on {limit.at:%a %d %b %H:%M}"
    if week.unpriced:
        yield f"not known: {', '.join(week.usd.reasons)}"


def _strip(rows: Sequence[Standing], begin: datetime, end: datetime, blocks: int) -> Iterator[str]:
    """Days from each midnight of `begin` on, and below them how many VMs stand, as parts of the most that ever do."""
    step = timedelta(days=1) / blocks
    days = [begin + timedelta(days=each) for each in range((end - begin).days)]
    counts = [[_vms(rows, day + part * step, step) for part in range(blocks)] for day in days]
    most = max(max(each) for each in counts)
    yield "  " + " ".join(f"{day:%a %d}".ljust(blocks) for day in days).rstrip()
    yield "  " + "|".join("".join(_block(count, most) for count in day) for day in counts)


def _vms(rows: Sequence[Standing], begin: datetime, step: timedelta) -> int:
    spans = [(each.start, each.end, each.vms) for each in rows if each.start < begin + step and begin < each.end]
    return most_of(spans, begin)


def _block(count: int, most: int) -> str:
    return _BLOCKS[max(0, count * len(_BLOCKS) // most - 1)] if count else _NONE


def _said(rows: Sequence[Standing]) -> Iterator[str]:
    """What always stands, and each window with its first start, its hours and its dollars."""
    for window in dict.fromkeys(each.window for each in rows):
        own = [each for each in rows if each.window == window]
        cost = sum((each.usd for each in own), NOTHING)
        vms = f"{own[0].vms} VM{'s' if own[0].vms > 1 else ''}"
        if window is None:
            yield f"always: {vms}, {cost}"
        elif window == WHEN_ASKED:
            yield f"{window}: up to {own[0].vms} more, {cost} of at most {own[0].worst}"
        else:
            hours = sum((each.hours for each in own), Decimal(0)).normalize()
            times = "once" if len(own) == 1 else f"{len(own)} times"
            first = f"{own[0].start:%a %H:%M}"
            yield f"{window}: {vms} more, {times}, first {first}, {hours:f} h together, {cost}"
