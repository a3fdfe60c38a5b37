"""How fleets stand on one screen that is drawn again and again: counts first, what is worst above what is well.

Owns what is left out where a terminal is small, and that it is counted. What there is to say is `status_words`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from infra.fleet.status.shape import FleetStatus, PoolStatus
from infra.operations.fleet.status_words import all_sections, pool_state
from infra.preview.toned import Tone, TonedLine, toned
from infra.preview.words import number, span

_WORST_FIRST: Final = (Tone.PROBLEM, Tone.WARNING, Tone.WORKING, Tone.HEADING, Tone.PLAIN, Tone.GOOD, Tone.QUIET)


def watched(found: Sequence[FleetStatus], *, columns: int, rows: int, every: float) -> list[TonedLine]:
    """So many rows at most, and no line longer than the columns."""
    pools = _sorted([_pool(status, pool) for status in found for pool in status.pools])
    rest = _sorted([line for status in found for line in _issues(status)])
    room = max(rows - 1, 0)
    shown = _fitting(pools, max(room // 2, room - len(rest)), "pools")
    lines = [_counts(found, every), *shown, *_fitting(rest, room - len(shown), "lines")]
    return [_cut(line, columns) for line in lines[:rows]]


def _counts(found: Sequence[FleetStatus], every: float) -> TonedLine:
    unhealthy = sum(len(status.unhealthy) for status in found)
    troubled = [status.stack for status in found if status.healthy is False]
    unknown = [status.stack for status in found if status.healthy is None]
    said = [f"{sum(status.desired for status in found)} VMs", f"{unhealthy} do not serve"]
    orphans = sum(len(status.orphans) for status in found)
    said += [f"{orphans} without owner"] if orphans else []
    waiting = [pool.queue.waiting for status in found for pool in status.pools]
    said += [f"{'?' if None in waiting else sum(filter(None, waiting))} jobs wait"]
    tone = Tone.PROBLEM if troubled else Tone.WARNING if unknown else Tone.GOOD
    who = ", ".join(troubled) or (f"{', '.join(unknown)} partly unknown" if unknown else "all well")
    at = max((status.at for status in found), default=None)
    clock = f"  {at:%H:%M:%S} UTC" if at else ""
    return toned((who, tone), f": {', '.join(said)}{clock}", (f", every {every:g} s", Tone.QUIET))


def _pool(status: FleetStatus, pool: PoolStatus) -> TonedLine:
    rollout = next((each for each in status.rollouts if each.pool == pool.pool), None)
    queue = pool.queue
    oldest = f", oldest {span(status.at - queue.oldest)}" if queue.oldest else ""
    figures = (
        f"{number(pool.online)}/{pool.desired} online, {number(pool.busy)} busy, {number(queue.waiting)} queued{oldest}"
    )
    return toned(f"{status.stack}/{pool.pool}  ", pool_state(pool, rollout), f"  {figures}")


def _issues(status: FleetStatus) -> Iterator[TonedLine]:
    for title, lines in all_sections(status):
        yield from (toned(f"{status.stack}  ", line, (f"  [{title.lower()}]", Tone.QUIET)) for line in lines)


def _sorted(lines: Sequence[TonedLine]) -> list[TonedLine]:
    return sorted(lines, key=lambda line: min(_WORST_FIRST.index(tone) for _, tone in line.parts[1:]))


def _fitting(lines: list[TonedLine], rows: int, what: str) -> list[TonedLine]:
    """All of them, or as many as fit above the count of the others."""
    if len(lines) <= rows:
        return lines
    kept = lines[: max(rows - 1, 0)]
    return [*kept, toned((f"and {len(lines) - len(kept)} more {what}", Tone.QUIET))][:rows]


def _cut(line: TonedLine, columns: int) -> TonedLine:
    """A line of one row, its end given up for dots."""
    if len(str(line)) <= columns:
        return line
    left, parts = max(columns - 3, 0), []
    for text, tone in line.parts:
        parts.append((text[:left], tone))
        left -= min(left, len(text))
    return toned(*parts, ("..."[:columns], Tone.QUIET))
