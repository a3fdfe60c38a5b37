"""How fleets stand on one screen that is drawn again and again: counts first, what is worst above what is well.

Owns what is left out where a terminal is small, that it is counted, and which lines are folded where it is large. What
there is to say is `status_words`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from infra.fleet.status.shape import FleetState, FleetStatus, PoolStatus
from infra.operations.fleet.status_words import all_sections, pool_state
from infra.preview.toned import Tone, TonedLine, lines_toned, toned
from infra.preview.words import number, span

_WORST_FIRST: Final = (Tone.PROBLEM, Tone.WARNING, Tone.WORKING, Tone.HEADING, Tone.PLAIN, Tone.GOOD, Tone.QUIET)
_INDENT: Final = "  "
"""Before what goes on below."""


def watched(found: Sequence[FleetStatus], *, columns: int, rows: int, every: float) -> list[TonedLine]:
    """So many rows at most, and no line longer than the columns."""
    pools = _sorted([line for status in found for line in (*_pools(status), *_cluster(status))])
    rest = _sorted([line for status in found for line in _issues(status)])
    room = max(rows - 1, 0)
    shown = _fitting(pools, max(room // 2, room - len(rest)), "pools")
    lines = [_counts(found, every, columns), *shown, *_fitting(rest, room - len(shown), "lines")]
    return _folded_where_free(lines[:rows], columns, rows)


def _counts(found: Sequence[FleetStatus], every: float, columns: int) -> TonedLine:
    unhealthy = sum(len(status.unhealthy) for status in found)
    troubled = [status.stack for status in found if status.state is FleetState.UNHEALTHY]
    unknown = [status.stack for status in found if status.state is FleetState.UNKNOWN]
    booting = sum(len(status.booting) for status in found)
    said = [f"{sum(status.desired for status in found)} VMs", f"{unhealthy} do not serve"]
    said += [f"{booting} booting"] if booting else []
    orphans = sum(len(status.orphans) for status in found)
    said += [f"{orphans} without owner"] if orphans else []
    waiting = [pool.queue.waiting for status in found for pool in status.pools]
    waiting += [jobs.waiting for status in found for jobs in status.unserved]
    jobs = _sum(waiting)
    said += ["1 job waits" if jobs == "1" else f"{jobs} jobs wait"]
    tone = Tone.PROBLEM if troubled else Tone.WARNING if unknown else Tone.GOOD
    absent = [status.stack for status in found if status.state is FleetState.NOT_DEPLOYED]
    calm = f"{', '.join(absent)} not deployed" if absent else "all well"
    who = ", ".join(troubled) or (f"{', '.join(unknown)} partly unknown" if unknown else calm)
    at = max((status.at for status in found), default=None)
    clock = f"  {at:%H:%M:%S} UTC" if at else ""
    line, pause = toned((who, tone), f": {', '.join(said)}{clock}"), f", every {every:g} s"
    return toned(line, (pause, Tone.QUIET)) if len(str(line)) + len(pause) <= columns else line


def _pools(status: FleetStatus) -> Iterator[TonedLine]:
    return (_pool(status, pool) for pool in status.pools)


def _cluster(status: FleetStatus) -> Iterator[TonedLine]:
    """One row for all slices and nodes of a stack, where it declares a cluster."""
    cluster = status.cluster
    if cluster is None:
        return
    amiss, slices = len(cluster.troubles), [row.slices for row in cluster.rows if row.slices]
    state = ("ok", Tone.GOOD) if cluster.known else ("partly unknown", Tone.WARNING)
    state = (f"{amiss} amiss", Tone.PROBLEM) if amiss else state
    standing, ready, there = (
        _sum(each)
        for each in (
            [each.standing for each in slices],
            [row.ready for row in cluster.rows],
            [row.there for row in cluster.rows],
        )
    )
    figures = f"{standing}/{sum(each.most for each in slices)} slices stand, {ready}/{there} nodes ready"
    yield toned(f"{status.stack}/{cluster.name}  ", state, f"  {cluster.state}, {figures}")


def _sum(counts: Sequence[int | None]) -> str:
    return number(None if None in counts else sum(filter(None, counts)))


def _pool(status: FleetStatus, pool: PoolStatus) -> TonedLine:
    rollout = next((each for each in status.rollouts if each.pool == pool.pool), None)
    queue = pool.queue
    oldest = f", oldest {span(status.at - queue.oldest)}" if queue.oldest else ""
    figures = (
        f"{number(pool.online)}/{pool.desired} online, {number(pool.busy)} busy, {number(queue.waiting)} queued{oldest}"
    )
    return toned(f"{status.stack}/{pool.pool}  ", pool_state(pool, rollout), f"  {figures}")


def _issues(status: FleetStatus) -> Iterator[TonedLine]:
    cluster = status.cluster
    troubles = lines_toned(Tone.PROBLEM, cluster.troubles) if cluster else []
    unread = lines_toned(Tone.WARNING, cluster.problems) if cluster else []
    for title, lines in (("Cluster", [*troubles, *unread]), *all_sections(status)):
        for line in lines:
            of = "" if str(line).startswith(f"{status.stack}  ") else f"{status.stack}  "
            yield toned(of, line, (f"  [{title.lower()}]", Tone.QUIET))


def _sorted(lines: Sequence[TonedLine]) -> list[TonedLine]:
    return sorted(lines, key=_badness)


def _badness(line: TonedLine) -> int:
    """0 for the worst."""
    return min((_WORST_FIRST.index(tone) for _, tone in line.parts[1:]), default=len(_WORST_FIRST))


def _fitting(lines: list[TonedLine], rows: int, what: str) -> list[TonedLine]:
    """All of them, or as many as fit above the count of the others."""
    if len(lines) <= rows:
        return lines
    kept = lines[: max(rows - 1, 0)]
    return [*kept, toned((f"and {len(lines) - len(kept)} more {what}", Tone.QUIET))][:rows]


def _folded_where_free(lines: Sequence[TonedLine], columns: int, rows: int) -> list[TonedLine]:
    """The lines in their order, on more than one row each where they are too long: the first, then the worst."""
    free = rows - len(lines)
    drawn: dict[int, list[TonedLine]] = {}
    for at in sorted(range(len(lines)), key=lambda at: (at > 0, _badness(lines[at]))):
        drawn[at] = _folded(lines[at], columns, 1 + free)
        free -= len(drawn[at]) - 1
    return [row for at in range(len(lines)) for row in drawn[at]]


def _folded(line: TonedLine, columns: int, most: int) -> list[TonedLine]:
    """On so many rows at most, broken at spaces; what has no room on the last is cut."""
    text = str(line)
    if len(text) <= columns or most == 1:
        return [_cut(line, columns)]
    space = text.rfind(" ", len(_INDENT) + 1, columns + 1)
    end = len(text[:space].rstrip()) if space > 0 else columns
    rest = len(text) - len(text[end:].lstrip())
    return [_piece(line, 0, end), *_folded(toned(_INDENT, _piece(line, rest, len(text))), columns, most - 1)]


def _piece(line: TonedLine, start: int, end: int) -> TonedLine:
    parts, at = [], 0
    for text, tone in line.parts:
        parts.append((text[max(start - at, 0) : max(end - at, 0)], tone))
        at += len(text)
    return toned(*parts)


def _cut(line: TonedLine, columns: int) -> TonedLine:
    """A line of one row, its end given up for dots."""
    if len(str(line)) <= columns:
        return line
    left, parts = max(columns - 3, 0), []
    for text, tone in line.parts:
        parts.append((text[:left], tone))
        left -= min(left, len(text))
    return toned(*parts, ("..."[:columns], Tone.QUIET))
