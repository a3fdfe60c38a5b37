"""Why a pool, a zone, a run or a job is as it is, for people, at 80 columns or more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from infra.fleet.status.explained import LimitUse, PoolCounts, PoolWhy, ZoneWhy
from infra.fleet.status.missing import Cause, MissingVm
from infra.fleet.status.queue import JobWait
from infra.fleet.status.timeline import VmTimeline
from infra.jobs.client import JobState
from infra.operations.fleet.status_words import grouped_steps, rollout_line, timeline_shown
from infra.operations.jobs_words import job_shown
from infra.operations.stacks.work import WorkStanding
from infra.operations.stacks.work_words import work_shown
from infra.operations.why.answer import JobsWhy, JobWhy, PoolFree, Why, ZonesWhy
from infra.operations.why.runs import RunSeen, RunVmSeen
from infra.preview.toned import Shown, Tone, TonedLine, lines_toned, toned
from infra.preview.words import ago, clock, due, number, ranges, since

_SHOWN: Final = 10
"""Of one kind; --json has all."""
_TONES: Final = dict.fromkeys((Cause.DRAIN, Cause.ROLLOUT, Cause.WINDOW, Cause.MAKING, Cause.BOOTING), Tone.WORKING)
_NEXT: Final = {Cause.WINDOW: "opens", Cause.BOOTING: "unhealthy"}
_TOLD: Final = {
    Cause.WINDOW: "window closed",
    Cause.UNSERVED: "created, never served",
    Cause.STATE: "not READY",
    Cause.RUNNER: "no runner",
    Cause.UNKNOWN: "not known",
}


def why_shown(told: Why, cloud: str) -> Iterator[Shown]:
    """The answer, whatever was asked about. cloud: where it was looked at, in words."""
    match told.body:
        case VmTimeline():
            yield from timeline_shown(told.body, cloud)
        case WorkStanding():
            yield from work_shown(told.body)
        case JobState():
            yield from job_shown(told.body)
        case PoolWhy():
            yield from _pool(told.body, cloud)
        case ZonesWhy():
            for each in told.body.stacks:
                yield from _zone(each, cloud)
            yield from lines_toned(Tone.WARNING, told.body.problems)
        case RunSeen():
            yield from _run(told.body)
        case JobsWhy():
            yield from _jobs(told.body)


def _pool(pool: PoolWhy, cloud: str) -> Iterator[Shown]:
    now, said = pool.at, pool.counts
    yield toned(
        (said.pool, Tone.HEADING), f"  pool of {pool.stack}, {pool.accelerator}, on {cloud} at {now:%H:%M:%S} UTC"
    )
    yield toned("  ", (_counted(said), _tone(said)))
    yield from (f"  {line}" for line in pool.problems)
    yield from _missing(pool.missing, now)
    if pool.rollout is not None and (pool.rollout.under_way or pool.rollout.held):
        yield toned("  rollout: ", rollout_line(pool.rollout, now))
    yield from _waits(pool, now)
    told = {each.vm for each in pool.missing if each.next}
    steps = grouped_steps([each for each in pool.next if each.subject not in told], now)[:_SHOWN]
    yield from (f"  {words}" if words.startswith("next") else f"  next {words}" for words, _ in steps)


def _tone(said: PoolCounts) -> Tone:
    if said.serving == said.declared:
        return Tone.GOOD
    return Tone.WORKING if said.serving is not None and said.serving + said.booting == said.declared else Tone.PROBLEM


def _counted(said: PoolCounts) -> str:
    missing = "?" if said.serving is None else said.declared - said.serving - said.booting
    booting = f"{said.booting} booting, " if said.booting else ""
    more = f"; {said.by_hour} more in windows that are closed" if said.by_hour else ""
    there = f"{number(said.standing)} standing, {number(said.serving)} serving, {booting}{missing} missing"
    return f"{said.declared} declared, {there}{more}"


def _missing(missing: Sequence[MissingVm], now: datetime) -> Iterator[TonedLine]:
    """VMs that are missing alike are one line."""
    for (cause, says, begun, then), alike in groupby(sorted(missing, key=_alike), key=_alike):
        names = ", ".join(ranges([each.vm for each in alike]))
        yield toned(f"  {names}  ", (_TOLD.get(cause, cause.value), _TONES.get(cause, Tone.PROBLEM)), f": {says}")
        what = _NEXT.get(cause, "next")
        times = [since(begun, now), f"{what} {due(then, now)}, {ago(then, now)}" if then else ""]
        if any(times):
            yield toned(("; ".join(filter(None, times)), Tone.QUIET), indent=4)


def _alike(vm: MissingVm) -> tuple[Cause, str, datetime | None, datetime | None]:
    return vm.cause, vm.says, vm.since, vm.next


def _waits(pool: PoolWhy, now: datetime) -> Iterator[TonedLine]:
    if pool.queue_reason:
        yield toned((f"  what waits is not known: {pool.queue_reason}", Tone.WARNING))
    elif not pool.waits:
        yield toned("  no job waits for it")
    yield from (toned("  waits: ", _job_line(each, now)) for each in pool.waits[:_SHOWN])
    yield from _more(pool.waits)


def _more(of: Sequence[object]) -> Iterable[TonedLine]:
    more = len(of) - _SHOWN
    return lines_toned(Tone.QUIET, [f"  and {more} more (--json has all)"] if more > 0 else [])


def _job_line(wait: JobWait, now: datetime) -> str:
    return f"{wait.name} of {wait.repository} for {', '.join(wait.labels)} ({since(wait.since, now)})"


def _zone(zone: ZoneWhy, cloud: str) -> Iterator[Shown]:
    now = zone.at
    answers = ("answers", Tone.GOOD) if zone.answers.known else (f"unknown: {zone.answers.reason}", Tone.WARNING)
    yield toned((zone.zone, Tone.HEADING), f"  zone of {zone.stack} on {cloud} at {now:%H:%M:%S} UTC: ", answers)
    if zone.lost_by:
        taken = f"`./tidepool zone found {zone.zone}` takes it back"
        yield toned((f"  {zone.lost_by} gave it up; {taken}", Tone.PROBLEM))
    yield from (f"  {line}" for line in zone.problems)
    yield from (f"  {each.pool}: {_counted(each)}" for each in zone.pools)
    if not zone.pools:
        yield f"  no VM is declared here{'; VMs for runs may be made' if zone.for_runs else ''}"
    if zone.away:
        yield f"  at a fallback here: {', '.join(ranges(zone.away))}"
    yield from _missing(zone.missing, now)
    yield from map(_limit, zone.limits)
    for failing in zone.failing:
        place = f"{failing.accelerator} {failing.capacity}"
        times = f"{failing.failures} in a row, {since(failing.since or failing.last, now)}"
        then = (
            f"next try {due(failing.next, now)}, {ago(failing.next, now)}" if failing.next > now else "tried again next"
        )
        yield toned("  ", (failing.trouble, Tone.PROBLEM), f" of {place}: {times}; {then}")
    if not zone.failing and zone.failed_creates:
        yield "  nothing fails now; the last creates that failed:"
    for each in zone.failed_creates:
        yield toned((f"{clock(each.at, now)}  {each.vm}  {each.trouble}: {each.text}", Tone.QUIET), indent=4)


def _limit(limit: LimitUse) -> TonedLine:
    kind = "reservation" if limit.reservation else "quota"
    tone = Tone.WARNING if limit.used >= limit.chips else Tone.PLAIN
    used = f"{limit.used} of {limit.chips} chips in use by this stack's VMs or kept for others"
    return toned(f"  {kind} {limit.name} ({limit.generation}, {', '.join(limit.covers)}): ", (used, tone))


def _run(run: RunSeen) -> Iterator[Shown]:
    last = run.vms[-1]
    ended = last.record.reason
    tone = Tone.GOOD if ended == "done" else Tone.PROBLEM if ended else Tone.WORKING
    yield toned((run.run, Tone.HEADING), f"  run of {run.stack}: ", (ended or _going(last, run.at), tone))
    for each in run.vms:
        yield from _run_vm(each, run.at)


def _going(vm: RunVmSeen, now: datetime) -> str:
    if not vm.record.stands(int(now.timestamp())):
        return "its client is gone, and its time to live is over"
    return "it runs" if vm.record.start else "it waits for a VM"


def _run_vm(vm: RunVmSeen, now: datetime) -> Iterator[Shown]:
    record = vm.record
    where = f"{record.accelerator} {record.capacity.value} in {record.zone}, as pool {record.pool}"
    yield f"  {record.vm}  {where}: {vm.node or 'state unknown'}"
    asked, expires = (datetime.fromtimestamp(each, UTC) for each in (record.asked, record.expires))
    billed = f"{vm.seconds} s billed" if record.start else "never READY"
    lives = (
        f"; deleted at {due(expires, now)} at the latest, {ago(expires, now)}"
        if record.stands(int(now.timestamp()))
        else ""
    )
    suite = f", suite {record.suite}" if record.suite else ""
    yield toned(
        (f"asked {clock(asked, now)}, {ago(asked, now)}; {billed}, {vm.usd}{suite}{lives}", Tone.QUIET), indent=4
    )


def _jobs(jobs: JobsWhy) -> Iterator[Shown]:
    yield toned((jobs.name, Tone.HEADING), f"  job: {len(jobs.waiting)} waiting, {len(jobs.running)} running")
    for each in jobs.waiting[:_SHOWN]:
        yield from _job(each, jobs.at)
    yield from _more(jobs.waiting)
    for each in jobs.running[:_SHOWN]:
        yield f"  runs on {each['runner']}, of {each['repository']}, {each['url']}".rstrip(", ")
    yield from _more(jobs.running)


def _job(job: JobWhy, now: datetime) -> Iterator[Shown]:
    yield toned("  waits: ", (_job_line(job.wait, now), Tone.WARNING))
    if job.wait.why:
        yield toned((job.wait.why, Tone.PROBLEM), indent=4)
    for pool in job.pools:
        yield toned(_free_words(pool), indent=4)


def _free_words(pool: PoolFree) -> str:
    said = f"{pool.pool} of {pool.stack}: {number(pool.serving)} of {pool.declared} VMs serve, {number(pool.free)} free"
    more = f"; `./tidepool why {pool.pool}` says what is missing" if pool.serving != pool.declared else ""
    return f"{said}, {pool.ahead} {'job' if pool.ahead == 1 else 'jobs'} ahead{more}"
