"""How a stack stands, for people: its pools, its registries, and what an apply will find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from infra.operations.fleet.pools import GrantsSeen, PoolState
from infra.operations.stacks.preview import Planned
from infra.preview.toned import Cell, Shown, TextTable, Tone, TonedLine, lines_toned, text_table, toned
from infra.preview.words import ended_words, missing_words


def away_lines(planned: Planned) -> Iterator[str]:
    """VMs that an apply deletes or changes where they are, and those that count though nobody declares them."""
    away = planned.away
    yield from (f"at a fallback: {vm}, where it is deleted" for vm in away.leaving)
    yield from (f"at a fallback: {vm}, where it is changed" for vm in away.changing)
    yield from (f"{vm.whose}: {vm}, whose chips count while it stands" for vm in away.strays)


def grants_shown(found: GrantsSeen) -> Iterator[Shown]:
    said = (f"granted by hand: {each.resource}: {each.says}" for each in found.strange)
    yield from lines_toned(Tone.PROBLEM, said)
    yield from lines_toned(Tone.WARNING, (f"not known: {why}" for why in found.unread))


def pools_shown(stack: str, pools: Sequence[PoolState]) -> Iterator[Shown]:
    """The table of pools, and below it what VMs that have ended or are not there need."""
    yield pools_table(pools)
    if ended := [name for pool in pools for name in pool.ended]:
        yield from ("", toned((ended_words(stack, ended), Tone.WARNING)))
    if missing := [name for pool in pools for name in pool.missing]:
        yield from ("", toned((missing_words(stack, missing), Tone.WARNING)))


def pools_table(pools: Sequence[PoolState]) -> TextTable:
    """One row a pool and zone, and their sum."""
    counted = ("VMs", "hosts", "chips")
    titles = ("pool", "zone", "accelerator", *counted, "state")
    made = text_table(titles, map(_row, pools), right=counted, folded=("pool", "state"))
    totals = map(sum, zip((0, 0, 0), *map(_counts, pools), strict=True))
    return replace(made, footer=("all pools", "", "", *map(str, totals), ""))


def _row(pool: PoolState) -> tuple[Cell, ...]:
    tone = Tone.GOOD if pool.is_ready else Tone.WARNING if pool.is_partly_ready else Tone.PROBLEM
    row = pool.row
    return row.pool, row.zone, row.accelerator, *map(str, _counts(pool)), toned((str(pool) or "-", tone))


def _counts(pool: PoolState) -> tuple[int, int, int]:
    return pool.row.slices, pool.row.hosts, pool.row.chips


def registries_line(repositories: Mapping[str, Sequence[str]]) -> TonedLine:
    """The regions that have registries, and the repositories in each."""
    names = sorted({name for region in repositories.values() for name in region})
    said = f"in {len(repositories)} regions: {', '.join(repositories)} (each has {', '.join(names)})"
    return toned(("registries ", Tone.HEADING), said)
