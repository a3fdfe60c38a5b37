"""How a fleet stands, for people, at 80 columns or more: a line that says it all, a table of pools, then what is amiss.

What is not known is a question mark, never a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from infra.fleet.operator_requests import DrainRequest
from infra.fleet.status.queue import Unserved
from infra.fleet.status.shape import (
    BootingVm,
    FleetIssue,
    FleetState,
    FleetStatus,
    LastSweep,
    Next,
    PoolStatus,
    RolloutStatus,
)
from infra.fleet.status.timeline import API, BROKER, CONTROLLER, VM, VmTimeline
from infra.preview.cluster_lines import cluster_shown
from infra.preview.toned import Cell, Shown, TextTable, Tone, TonedLine, lines_toned, text_table, toned
from infra.preview.words import ago, clock, due, number, since, span, vms

LATE: Final = timedelta(minutes=10)
"""A controller sweeps every two minutes: one that has not for this long is told loudly."""
_SHOWN: Final = 10
"""Of one kind, so that a fleet that is down as a whole still fits a screen."""
_SOURCES: Final = {CONTROLLER: Tone.WORKING, VM: Tone.GOOD, BROKER: Tone.WARNING, API: Tone.HEADING}


def status_shown(status: FleetStatus, cloud: str) -> Iterator[Shown]:
    """All that is said of a fleet. cloud: where it was looked at, in words."""
    yield headline(status, cloud)
    if status.pools:
        yield _pools(status)
    if status.cluster is not None and status.deployed:
        yield from cluster_shown(status.cluster)
    for title, lines in sections(status):
        yield toned((title, Tone.HEADING))
        yield from (replace(line, indent=2) for line in lines)


def headline(status: FleetStatus, cloud: str) -> TonedLine:
    """The stack, whether all is well, and where and when it was looked at."""
    said = {
        FleetState.HEALTHY: ("all well", Tone.GOOD),
        FleetState.BOOTING: (f"{len(status.booting)} of {status.desired} VMs booting", Tone.WORKING),
        FleetState.NOT_DEPLOYED: (f"not deployed. Run `./tidepool up {status.stack}`.", Tone.WARNING),
        FleetState.UNHEALTHY: (amiss(status), Tone.PROBLEM),
        FleetState.UNKNOWN: ("status partly unknown", Tone.WARNING),
    }[status.state]
    jobs = sum(each.waiting for each in status.unserved)
    vain = (f", {jobs} {'job' if jobs == 1 else 'jobs'} for no pool" if jobs else "", Tone.WARNING)
    where = f"  on {cloud} at {status.at:%Y-%m-%d %H:%M:%S} UTC"
    return toned((status.stack, Tone.HEADING), "  ", said, vain, where)


def _pools(status: FleetStatus) -> TextTable:
    figures = ("desired", "READY", "online", "busy", "queue")
    titles = ("pool", *figures, "oldest", "state")
    rollouts = {each.pool: each for each in status.rollouts}
    rows = [_row(pool, rollouts.get(pool.pool), status.at) for pool in status.pools]
    return text_table(titles, rows, right=figures, folded=("pool", "state"))


def _row(pool: PoolStatus, rollout: RolloutStatus | None, now: datetime) -> tuple[Cell, ...]:
    queue = pool.queue
    oldest = span(now - queue.oldest) if queue.oldest else "?" if queue.waiting is None else "-"
    counts = map(number, (pool.desired, pool.ready, pool.online, pool.busy, queue.waiting))
    return pool.pool, *counts, oldest, pool_state(pool, rollout)


def pool_state(pool: PoolStatus, rollout: RolloutStatus | None) -> TonedLine:
    """A pool in a few words."""
    said: list[str] = []
    if pool.unhealthy:
        said.append(f"{len(pool.unhealthy)} unhealthy")
    if pool.booting:
        said.append(f"{len(pool.booting)} booting")
    if not pool.known:
        said.append("not known")
    if pool.drained:
        said.append("drained" if len(pool.drained) == pool.desired else f"{len(pool.drained)} drained")
    if pool.away:
        said.append(f"{pool.away} at a fallback")
    if rollout and rollout.under_way:
        said.append(f"rolling {rollout.proved}/{rollout.vms}")
    tone = Tone.PROBLEM if pool.unhealthy else Tone.GOOD if pool.well else Tone.WORKING if pool.known else Tone.WARNING
    if pool.well:
        said.insert(0, "ok")
    return toned((", ".join(said) or "on its way", tone))


def sections(status: FleetStatus) -> Iterator[tuple[str, Sequence[TonedLine]]]:
    """What there is to say below the table, of one kind not more than is read; one without lines is left out."""
    for title, lines in all_sections(status):
        more = [f"and {len(lines) - _SHOWN} more (--json has all)"] if len(lines) > _SHOWN else []
        yield title, [*lines[:_SHOWN], *lines_toned(Tone.QUIET, more)]


def all_sections(status: FleetStatus) -> Iterator[tuple[str, Sequence[TonedLine]]]:
    """The same with every line."""
    now = status.at
    unapplied = [toned((line, Tone.PLAIN if "`" in line else Tone.PROBLEM)) for line in unapplied_words(status)]
    unknown_ = (
        *_issues(unknown(status), now, Tone.WARNING),
        *lines_toned(Tone.WARNING, status.problems),
        *lines_toned(Tone.QUIET, status.unread),
    )
    lost = (f"{zone}  by {by}; `./tidepool zone found {zone}` takes it back" for zone, by in status.lost.items())
    every: dict[str, Iterable[TonedLine]] = {
        "Stack file": unapplied,
        "Unhealthy": _issues(status.unhealthy, now, Tone.PROBLEM),
        "Booting": [_booting(each, now) for each in status.booting],
        "Without owner": _issues(status.orphans, now, Tone.PROBLEM),
        "To look at": _issues(status.findings, now, Tone.WARNING),
        "Granted by hand": lines_toned(Tone.PROBLEM, (f"{each.resource}  {each.says}" for each in status.grants)),
        "Jobs that no pool takes": [_unserved(each, now) for each in status.unserved],
        "Not ours, left alone": _issues(status.strangers, now, Tone.QUIET),
        "Not known": unknown_,
        "Drained": [toned(drain_words(each, now)) for each in status.drains],
        "Given up": map(toned, lost),
        "Rollouts": [rollout_line(each, now) for each in status.rollouts if _is_told(each)],
    }
    for title, lines in every.items():
        if found := list(lines):
            yield title, found
    if status.pools:
        yield "Controller", [*_sweep(status), *_next(status.next, now)]


def _issues(issues: Iterable[FleetIssue], now: datetime, tone: Tone) -> Iterator[TonedLine]:
    for each in issues:
        when = f" ({since(each.since, now)})" if each.since else ""
        yield toned((each.subject, tone), f"  {each.reason}{when}")


def _booting(vm: BootingVm, now: datetime) -> TonedLine:
    times = [f"for {span(now - vm.since)}"] if vm.since else []
    times += [f"unhealthy {due(vm.until, now)}, {ago(vm.until, now)}, if it does not serve by then"] if vm.until else []
    when = f" ({'; '.join(times)})" if times else ""
    return toned((vm.vm, Tone.WORKING), f"  {vm.reason}{when}")


def _unserved(jobs: Unserved, now: datetime) -> TonedLine:
    many = f", {jobs.waiting} of them" if jobs.waiting > 1 else ""
    said = f"  {jobs.job} for {', '.join(jobs.labels)}{many}: {jobs.why} ({since(jobs.oldest, now)})"
    return toned((jobs.repository, Tone.WARNING), said)


def _is_told(rollout: RolloutStatus) -> bool:
    back = rollout.stage in ("failed", "undone") or bool(rollout.returning)
    return rollout.under_way or rollout.paused or back or bool(rollout.wanted)


def rollout_line(rollout: RolloutStatus, now: datetime) -> TonedLine:
    """One pool's rollout in a line."""
    tones = {"steady": Tone.GOOD, "failed": Tone.PROBLEM, "undone": Tone.WARNING}
    stage = (rollout.stage, tones.get(rollout.stage, Tone.WORKING))
    paused = ("  paused" if rollout.paused else "", Tone.WARNING)
    return toned(f"{rollout.pool}  ", stage, paused, f"  {rollout_words(rollout, now)}")


def _sweep(status: FleetStatus) -> Iterator[TonedLine]:
    sweep, now = status.sweep, status.at
    if sweep is None:
        none = "no sweep yet: nothing is known of the past, and nothing heals by itself"
        yield toned((f"{none}; `./tidepool reconcile {status.stack}` sweeps once", Tone.WARNING))
        return
    tone = Tone.PROBLEM if now - sweep.at > LATE else Tone.PLAIN
    yield toned((f"last sweep {clock(sweep.at, now)}, {ago(sweep.at, now)}: {sweep_words(sweep)}", tone))
    if sweep.fuse:
        yield toned(("the fuse is blown: nothing is deleted", Tone.PROBLEM))
    if sweep.freeze:
        yield toned((f"freeze window {sweep.freeze}", Tone.WORKING))
    if sweep.engine:
        yield toned((sweep.engine, Tone.WORKING))
    for failed in sweep.failed[:_SHOWN]:
        yield toned((f"failed: {failed}", Tone.PROBLEM))


def _next(steps: Sequence[Next], now: datetime) -> Iterator[TonedLine]:
    if not steps:
        yield toned("next: nothing")
        return
    alike = grouped_steps(steps, now)
    for words, _ in alike[:3]:
        yield toned(words)
    if left := sum(count for _, count in alike[3:]):
        yield toned((f"and {left} more (--json has all)", Tone.QUIET))


def timeline_shown(told: VmTimeline, cloud: str) -> Iterator[Shown]:
    """One VM's timeline, below how it stands now and what comes next."""
    yield toned((told.vm, Tone.HEADING), f"  of {told.stack} on {cloud}, at {told.at:%Y-%m-%d %H:%M:%S} UTC")
    yield from (f"  now: {line}" for line in told.now)
    for step in told.next:
        when = f" at {due(step.at, told.at)}, {ago(step.at, told.at)}" if step.at else ""
        yield f"  next{when}: {step.what}"
    if not told.lines:
        yield "no timeline: it was never made, or the controller no longer remembers it"
    width = max((len(ago(line.at, told.at)) for line in told.lines), default=0)
    for line in told.lines:
        when = f"{line.at:%m-%d %H:%M:%S}  {ago(line.at, told.at):>{width}}  "
        yield toned(when, (f"{line.source:<10}", _SOURCES[line.source]), f"  {line.what}")


def amiss(status: FleetStatus) -> str:
    said = [f"{len(status.unhealthy)} of {status.desired} VMs do not serve"] if status.unhealthy else []
    said += [f"{len(status.orphans)} without owner"] if status.orphans else []
    said += [f"{len(status.findings)} to look at"] if status.findings else []
    troubled = status.deployed and status.cluster and status.cluster.troubles
    said += ["the cluster is not as declared"] if troubled else []
    said += ["not as the stack file says"] if status.unapplied and status.deployed else []
    said += [] if status.deployed else ["not deployed"]
    return ", ".join(said) or "not as declared yet"


def unknown(status: FleetStatus) -> list[FleetIssue]:
    queues = [
        FleetIssue(subject=f"queue of {pool.pool}", reason=pool.queue.reason)
        for pool in status.pools
        if pool.queue.waiting is None
    ]
    return [*status.unknown, *queues]


def drain_words(drain: DrainRequest, now: datetime) -> str:
    return f"{drain.subject}  by {drain.by}, {since(drain.since, now)}, waits {drain.minutes} min for running jobs"


def to_come(rollout: RolloutStatus) -> str:
    """What no sweep has begun yet, and what none will begin by itself."""
    said = f"; {', '.join(rollout.coming)} begins with the next sweep" if rollout.coming else ""
    if rollout.not_tried:
        return f"{said}; {not_tried(rollout)}"
    return said + ("; goes back with the next sweep" if rollout.taken_back else "")


def not_tried(rollout: RolloutStatus) -> str:
    """What of a pool's target was taken back, and what people can do."""
    again = f"`./tidepool rollout redo {rollout.pool}`"
    return f"{' and '.join(rollout.not_tried)} {_is(rollout.not_tried)} tried again only by {again}"


def coming_line(rollout: RolloutStatus) -> str:
    """What the next sweeps try in a pool, and what they do not."""
    tried = f"{' and '.join(rollout.coming)} {_is(rollout.coming)} tried on one VM first" if rollout.coming else ""
    back = not_tried(rollout) if rollout.not_tried else ""
    return f"{rollout.pool}: " + "; ".join(filter(None, (tried, back)))


def _is(some: Sequence[str]) -> str:
    return "are" if len(some) > 1 else "is"


def when_words(step: Next, now: datetime) -> str:
    if step.at:
        return f"{due(step.at, now)}, {ago(step.at, now)}"
    return "waiting" if step.waits else "next sweep"


def grouped_steps(steps: Sequence[Next], now: datetime) -> list[tuple[str, int]]:
    """What the controller does next, in a line for all that is done alike at one time, with how many those are."""
    alike: dict[tuple[str, str], list[str]] = {}
    for each in steps:
        alike.setdefault((when_words(each, now), each.what), []).append(each.subject)
    others = {key: f" and {len(subjects) - 1} more" if len(subjects) > 1 else "" for key, subjects in alike.items()}
    return [(f"{key[0]}: {subjects[0]}{others[key]}  {key[1]}", len(subjects)) for key, subjects in alike.items()]


def sweep_words(sweep: LastSweep) -> str:
    """What a sweep came to."""
    counts = {"done or begun": sweep.done, "deferred": sweep.deferred, "changed": sweep.changed, "left": sweep.left}
    came = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing done, some of it waits"
    return "nothing to do" if sweep.settled else came


def unapplied_words(status: FleetStatus) -> list[str]:
    """How what is published differs from the stack file; the last line says what tells more."""
    found = status.unapplied
    if not found or not status.deployed:
        return []
    told = (
        (found.missing, "declared and not published"),
        (found.extra, "published and declared no more"),
        (found.changed, "published otherwise than declared"),
    )
    lines = [f"{vms(names)} {what}" for names, what in told if names]
    lines += [f"{', '.join(found.settings)} published otherwise than declared"] if found.settings else []
    return [*lines, f"`./tidepool preview {status.stack}` says what an `up` would change"]


def rollout_words(rollout: RolloutStatus, now: datetime) -> str:
    """How far one pool's rollout is, behind its stage."""
    said = rollout.target if rollout.stage == "steady" else f"{rollout.stable} -> {rollout.target}"
    if rollout.stage in ("failed", "undone"):
        said = f"back to {rollout.stable}: {rollout.why}"
    if rollout.under_way:
        waits = f", waiting for {', '.join(rollout.waiting)}" if rollout.waiting else ""
        said += f"; {rollout.proved} of {rollout.vms} proved{waits}"
    lists = (
        ("", rollout.returning, " on the way back"),
        ("held by ", rollout.held, ""),
        ("failed on ", rollout.failed, ""),
    )
    said += "".join(f"; {before}{', '.join(names)}{behind}" for before, names, behind in lists if names)
    return f"{said} ({since(rollout.since, now)}){to_come(rollout)}"
