"""How a fleet stands, on a screen of 80 columns or more: a line that says it all, a table of pools, then what is amiss.

What is not known is a question mark, never a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.cli.render.cluster import show_cluster
from infra.cli.render.console import indented, say, show, table
from infra.operations.fleet.status import (
    FleetIssue,
    FleetStatus,
    Next,
    PoolStatus,
    RolloutStatus,
    Unserved,
    amiss,
    drain_words,
    grouped_steps,
    rollout_words,
    sweep_words,
    unapplied_words,
    unknown,
)
from infra.preview.words import ago, clock, number, since, span

LATE: Final = timedelta(minutes=10)
"""A controller sweeps every two minutes: one that has not for this long is told loudly."""
_SHOWN: Final = 10
"""Of one kind, so that a fleet that is down as a whole still fits a screen."""


def show_status(console: Console, status: FleetStatus, cloud: str) -> None:
    """cloud: where it was looked at, in words."""
    say(console, headline(status, cloud))
    if status.pools:
        show(console, _pools(status))
    if status.cluster is not None:
        show_cluster(console, status.cluster)
    for title, lines in _sections(status):
        say(console, Text(title, style="bold"))
        for line in lines:
            indented(console, line)


def headline(status: FleetStatus, cloud: str) -> Text:
    """The stack, whether all is well, and where and when it was looked at."""
    said, style = {
        True: ("all well", "green"),
        False: (amiss(status), "red"),
        None: ("status partly unknown", "yellow"),
    }[status.healthy]
    jobs = sum(each.waiting for each in status.unserved)
    vain = (f", {jobs} {'job' if jobs == 1 else 'jobs'} for no pool", "bold yellow") if jobs else ("", "")
    return Text.assemble(
        (status.stack, "bold"),
        "  ",
        (said, f"bold {style}"),
        vain,
        f"  on {cloud} at {status.at:%Y-%m-%d %H:%M:%S} UTC",
    )


def _pools(status: FleetStatus) -> Table:
    figures = ("desired", "READY", "online", "busy", "queue")
    drawn = table("pool", *figures, "oldest", "state", right=figures, folded=("pool", "state"))
    for pool in status.pools:
        queue = pool.queue
        oldest = span(status.at - queue.oldest) if queue.oldest else "?" if queue.waiting is None else "-"
        counts = (str(pool.desired), *map(number, (pool.ready, pool.online, pool.busy, queue.waiting)))
        drawn.add_row(pool.pool, *counts, oldest, _state(pool, _of(pool, status.rollouts)))
    return drawn


def _state(pool: PoolStatus, rollout: RolloutStatus | None) -> Text:
    said: list[str] = []
    if pool.unhealthy:
        said.append(f"{len(pool.unhealthy)} unhealthy")
    if not pool.known:
        said.append("not known")
    if pool.drained:
        said.append("drained" if len(pool.drained) == pool.desired else f"{len(pool.drained)} drained")
    if pool.away:
        said.append(f"{pool.away} at a fallback")
    if rollout and rollout.under_way:
        said.append(f"rolling {rollout.proved}/{rollout.vms}")
    style = "red" if pool.unhealthy else "green" if pool.well else "yellow"
    if pool.well:
        said.insert(0, "ok")
    return Text(", ".join(said) or "on its way", style=style)


def _sections(status: FleetStatus) -> Iterator[tuple[str, Sequence[Text]]]:
    """What there is to say below the table; a section without lines is left out."""
    now = status.at
    yield from _section("Stack file", [Text(line, "" if "`" in line else "red") for line in unapplied_words(status)])
    yield from _section("Unhealthy", _troubles(status.unhealthy, now, "red"))
    yield from _section("Without owner", _troubles(status.orphans, now, "red"))
    yield from _section("To look at", _troubles(status.findings, now, "yellow"))
    yield from _section("Granted by hand", [Text(f"{each.resource}  {each.says}", "red") for each in status.grants])
    yield from _section("Jobs that no pool takes", [_unserved(each, now) for each in status.unserved])
    yield from _section("Not ours, left alone", _troubles(status.strangers, now, "dim"))
    unread = [Text(each, "dim") for each in status.unread]
    yield from _section("Not known", [*_troubles(unknown(status), now, "yellow"), *_problems(status), *unread])
    yield from _section("Drained", [Text(drain_words(each, status.at)) for each in status.drains])
    lost = [Text(f"{zone}  by {by}; `./tidepool zone found {zone}` takes it back") for zone, by in status.lost.items()]
    yield from _section("Given up", lost)
    yield from _section("Rollouts", [rollout_line(each, now) for each in status.rollouts if _is_told(each)])
    if status.pools:
        yield "Controller", [*_sweep(status), *_next(status.next, now)]


def _section(title: str, lines: Iterable[Text]) -> Iterator[tuple[str, Sequence[Text]]]:
    if found := list(lines):
        more = [Text(f"and {len(found) - _SHOWN} more (--json has all)", style="dim")] if len(found) > _SHOWN else []
        yield title, [*found[:_SHOWN], *more]


def _troubles(troubles: Iterable[FleetIssue], now: datetime, style: str) -> Iterator[Text]:
    for each in troubles:
        when = f" ({since(each.since, now)})" if each.since else ""
        yield Text.assemble((each.subject, style), f"  {each.reason}{when}")


def _unserved(jobs: Unserved, now: datetime) -> Text:
    many = f", {jobs.waiting} of them" if jobs.waiting > 1 else ""
    said = f"  {jobs.job} for {', '.join(jobs.labels)}{many}: {jobs.why} ({since(jobs.oldest, now)})"
    return Text.assemble((jobs.repository, "yellow"), said)


def _problems(status: FleetStatus) -> list[Text]:
    return [Text(problem, style="yellow") for problem in status.problems]


def _is_told(rollout: RolloutStatus) -> bool:
    back = rollout.stage in ("failed", "undone") or bool(rollout.returning)
    return rollout.under_way or rollout.paused or back or bool(rollout.wanted)


def rollout_line(rollout: RolloutStatus, now: datetime) -> Text:
    """One pool's rollout in a line."""
    style = {"steady": "green", "failed": "red", "undone": "yellow"}.get(rollout.stage, "cyan")
    paused = ("  paused", "yellow") if rollout.paused else ("", "")
    return Text.assemble(f"{rollout.pool}  ", (rollout.stage, style), paused, f"  {rollout_words(rollout, now)}")


def _sweep(status: FleetStatus) -> Iterator[Text]:
    sweep, now = status.sweep, status.at
    if sweep is None:
        yield Text("no sweep yet: nothing is known of the past, and nothing heals by itself", style="yellow")
        return
    style = "red" if now - sweep.at > LATE else ""
    yield Text(f"last sweep {clock(sweep.at, now)}, {ago(sweep.at, now)}: {sweep_words(sweep)}", style=style)
    if sweep.fuse:
        yield Text("the fuse is blown: nothing is deleted", style="red")
    if sweep.freeze:
        yield Text(f"freeze window {sweep.freeze}", style="cyan")
    if sweep.engine:
        yield Text(sweep.engine, style="cyan")
    for failed in sweep.failed[:_SHOWN]:
        yield Text(f"failed: {failed}", style="red")


def _next(steps: Sequence[Next], now: datetime) -> Iterator[Text]:
    if not steps:
        yield Text("next: nothing")
        return
    alike = grouped_steps(steps, now)
    for words, _ in alike[:3]:
        yield Text(words)
    if left := sum(count for _, count in alike[3:]):
        yield Text(f"and {left} more (--json has all)", style="dim")


def _of(pool: PoolStatus, rollouts: Iterable[RolloutStatus]) -> RolloutStatus | None:
    return next((each for each in rollouts if each.pool == pool.pool), None)
