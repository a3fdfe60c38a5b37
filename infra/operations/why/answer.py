"""The answer to `why NAME`, as a value: what the name is, and how that stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

from infra.fleet.google import GoogleError
from infra.fleet.status.explained import PoolWhy, ZoneWhy, counts, job_waits, pool_why, zone_why
from infra.fleet.status.missing import Judged
from infra.fleet.status.queue import JobWait
from infra.fleet.status.timeline import VmTimeline
from infra.jobs.client import JobState
from infra.model.fleet import every_slot
from infra.model.json_shape import JsonShape
from infra.operations.declared.known import Named
from infra.operations.errors import Failure
from infra.operations.fleet.looks import Fleet, open_fleet
from infra.operations.fleet.status import vm_timeline
from infra.operations.fleet.subjects import Subject
from infra.operations.jobs import state_json
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.stacks.work import WorkStanding, work_standing
from infra.operations.why.find import Asked
from infra.operations.why.runs import RunSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonesWhy(JsonShape):
    """One zone, to each stack that names it. problems: of stacks of which nothing is known, why."""

    zone: str
    stacks: tuple[ZoneWhy, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFree(JsonShape):
    """A pool that may take a job. free: runners online without a job; ahead: jobs that wait longer for the pool."""

    stack: str
    pool: str
    declared: int
    serving: int | None
    free: int | None
    ahead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWhy(JsonShape):
    """One job of a workflow that waits, and the pools whose runners may take it."""

    JSON = ("wait.repository", "wait.name", "wait.labels", "wait.since", "pools", "wait.why")

    wait: JobWait
    pools: tuple[PoolFree, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsWhy(JsonShape):
    """All jobs of workflows of one name. running: each with `repository`, `name`, `runner` and `url`."""

    name: str
    at: datetime
    waiting: tuple[JobWhy, ...]
    running: tuple[Mapping[str, str], ...]


JobKey: TypeAlias = tuple[str, datetime, tuple[str, ...]]
Body: TypeAlias = VmTimeline | PoolWhy | ZonesWhy | RunSeen | JobsWhy | JobState | WorkStanding


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """kind: what the name is; body: how that stands."""

    kind: Named
    body: Body

    def to_json(self) -> dict[str, Any]:
        if isinstance(self.body, WorkStanding):
            return {"kind": self.kind, "work": [self.body.to_json()]}
        return {
            "kind": self.kind,
            **(state_json(self.body) if isinstance(self.body, JobState) else self.body.to_json()),
        }


def why(name: str, *, stack: str | None = None, cloud: CloudName | None = None, teller: Teller = SILENT) -> Why:
    """How what has this name stands, and why.

    Raises Refusal where nothing has it, or several things have; what knows of it may raise GoogleError, Failure or
    JobError where it does not answer.
    """
    asked = Asked.of(name, stack, cloud, teller)
    subject = asked.subject()
    return Why(kind=subject.kind, body=_body(subject, asked))


def _body(subject: Subject, asked: Asked) -> Body:
    match subject.kind:
        case Named.POOL:
            return _pool(subject, asked)
        case Named.ZONE:
            return _zones(subject, asked)
        case Named.VM:
            return vm_timeline(open_fleet(subject.stacks[0], asked.cloud, asked.teller), subject.name)
        case Named.RUN:
            return _run(subject, asked)
        case Named.JOB:
            return _jobs(asked)
        case Named.TRAINING:
            return asked.jobs.state(subject.name)
        case _:
            found = work_standing(subject.name, stack=subject.stacks[0], cloud=asked.cloud, teller=asked.teller)
            return next(each for each in found if each.named is subject.kind)


def _judged(fleet: Fleet) -> Judged:
    seen = Judged.of(scene := fleet.look(with_jobs=True))
    if seen is None:
        raise Failure(f"{fleet.stack}: {'; '.join(scene.problems)}")
    return seen


def _pool(subject: Subject, asked: Asked) -> PoolWhy:
    fleet = open_fleet(subject.stacks[0], asked.cloud, asked.teller)
    seen = _judged(fleet)
    if subject.name not in seen.desired.pools:
        pool = f"{fleet.stack}: pool {subject.name}"
        if not any(slot.pool.name == subject.name for slot in every_slot(fleet.config)):
            raise Failure(f"{pool} has no VM to ask about: its stack file says 0 in every zone")
        raise Failure(f"{pool} is declared and not published; `./tidepool up {fleet.stack}` makes it")
    return pool_why(seen, subject.name)


def _zones(subject: Subject, asked: Asked) -> ZonesWhy:
    """A stack that is not up yet, or does not answer, hides no other."""
    found, problems = [], []
    for stack in subject.stacks:
        try:
            found.append(zone_why(_judged(open_fleet(stack, asked.cloud, asked.teller)), subject.name))
        except (Failure, GoogleError) as error:
            problems.append(str(error))
    if not found:
        raise Failure("; ".join(problems))
    return ZonesWhy(zone=subject.name, stacks=tuple(found), problems=tuple(problems))


def _run(subject: Subject, asked: Asked) -> RunSeen:
    """The run of a number, or of a VM whose name has it."""
    by_number = replace(asked, name=subject.name) if asked.name != subject.name else asked
    found = by_number.run
    if found is None:
        said = f"no record of a run {subject.name} is kept of the latest days; a run is its number"
        raise Failure("; ".join([said, *dict.fromkeys(asked.silent)]))
    return found


def _jobs(asked: Asked) -> JobsWhy:
    """Each fleet that serves a repository lists its jobs, so that one job may come from several."""
    waiting: dict[tuple[JobKey, int], JobWhy] = {}
    for judged in filter(None, (Judged.of(scene) for _, scene in asked.fleets)):
        alike: Counter[JobKey] = Counter()
        for wait in job_waits(judged):
            if wait.name == asked.name:
                job = wait.repository, wait.since, wait.labels
                alike[job] += 1
                before = waiting.get((job, alike[job]))
                pools = (
                    _free(judged, pool, ahead) for pool, ahead in wait.ahead.items() if pool in judged.desired.pools
                )
                waiting[job, alike[job]] = JobWhy(wait=wait, pools=(*(before.pools if before else ()), *pools))
    running = {job.url or job.runner: job for _, job in asked.running}
    return JobsWhy(
        name=asked.name,
        at=max(scene.at for _, scene in asked.fleets),
        waiting=tuple(sorted(waiting.values(), key=lambda each: each.wait.since)),
        running=tuple(
            {"repository": job.repository, "name": job.name, "runner": job.runner, "url": job.url}
            for job in running.values()
        ),
    )


def _free(judged: Judged, pool: str, ahead: int) -> PoolFree:
    now, figures = counts(judged, pool), judged.decision.pools[pool]
    free = None if now.serving is None else figures.online - figures.busy
    return PoolFree(
        stack=judged.scene.stack,
        pool=pool,
        declared=now.declared,
        serving=now.serving,
        free=free,
        ahead=ahead,
    )
