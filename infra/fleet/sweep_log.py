"""Sweeps as lines of a log: one JSON object each, as Cloud Logging takes them; and one sweep that is told so.

Owns the events and what each says, which log-based metrics count (docs/controller.md has them for people,
`infra.model.alerts` for alerts), and what is asked for them beyond the sweep itself: the queue, images, and how old the
app's key is. What cannot be asked is left out of the lines, or said in one; it never fails a sweep. Does not own the
whole document of a sweep (`Swept.to_json`), which is a record and too large for a line.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self

from infra.fleet.broker.settings import BUCKET, KEY_SECRET, PROJECT
from infra.fleet.controller.act import CALL_SECONDS
from infra.fleet.controller.actions import described, verb
from infra.fleet.controller.events import Result
from infra.fleet.controller.lookout import Lookout
from infra.fleet.controller.sweep import NO_SWEEP, Swept, summary
from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.fleet.images.attempts import standing
from infra.fleet.images.store import Objects
from infra.fleet.place import FleetPlace, told_place
from infra.fleet.records import Records
from infra.fleet.status.queue import JobsSeen, queue, waiting_jobs
from infra.model import alerts
from infra.model.errors import ConfigError, Problem

Line = Mapping[str, Any]
_MINUTE: Final = timedelta(minutes=1)

JOB: Final = "CLOUD_RUN_JOB"
"""Set where a job of Cloud Run runs (cloud.google.com/run/docs/container-contract, read 2026-11)."""
_STARTS: Final = 30.0
"""Seconds by which looks end before the schedule starts the next job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepLog:
    """The log of one stack's sweeps. key: the version of the app's key, None where none is told of.

    write: gets each line, without its end.
    """

    stack: str
    place: FleetPlace
    google: Clients
    key: str | None
    write: Callable[[str], None]

    @classmethod
    def told(
        cls, stack: str, place: FleetPlace, google: Clients, environ: Mapping[str, str], write: Callable[[str], None]
    ) -> Self:
        """The log as the environment has it: TIDEPOOL_GITHUB_KEY_SECRET names the version of the key."""
        return cls(stack=stack, place=place, google=google, key=environ.get(KEY_SECRET) or None, write=write)

    def swept(self, swept: Swept) -> None:
        repositories = {each for slot in swept.desired.slots for each in slot.serves}
        for line in swept_lines(swept, waiting_jobs(self.place.github, repositories)):
            self._print(line)
        try:
            # A stack that builds nothing has no such record.
            if self.place.builds:
                records = Records(google=self.google, bucket=self.place.bucket)
                for line in image_lines(records, self.stack, swept.at):
                    self._print(line)
        except (GoogleError, ConfigError) as error:
            self._print(unlooked_line(self.stack, str(error), swept.at))
        if self.key:
            try:
                self._print(key_line(self.google, self.stack, self.key, swept.at))
            except GoogleError as error:
                self._print(unkeyed_line(self.stack, str(error), swept.at))

    def unswept(self, reason: str) -> None:
        self._print(unswept_line(self.stack, reason, self.place.clock()))

    def _print(self, line: Line) -> None:
        self.write(json.dumps(line, separators=(",", ":")))


def logged_sweeps(
    stack: str,
    environ: Mapping[str, str],
    write: Callable[[str], None],
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """One sweep at the place that the environment names, told in lines; whether it did all that it decided.

    In a job of Cloud Run, also what follows until its schedule starts the next one: a look at VMs now and then, and
    another sweep where one of them is dead or gone. pause: waits so many seconds.

    Raises ConfigError where it names none, GoogleError without credentials, and as `Sweeper.sweep` does.
    """
    began = time.monotonic()
    place = told_place(stack, environ, stand_in=True)
    if place is None:
        missing = [name for name in (PROJECT, BUCKET) if not environ.get(name)]
        raise ConfigError(
            Problem(name, "", "not set, and the controller does not know where its fleet is", "the stack's")
            for name in missing
        )
    with clients(place.project, place.endpoint, hurried=True, seconds=CALL_SECONDS) as google:
        log = SweepLog.told(stack, place, google, environ, write)
        sweeper = place.sweeper(stack, google, pause=pause)
        failed, again = False, True
        while again:
            try:
                swept = sweeper.sweep()
            except NO_SWEEP as error:
                log.unswept(str(error))
                raise
            log.swept(swept)
            failed |= swept.failed
            left = swept.desired.settings.every * 60 - _STARTS - (time.monotonic() - began)
            again = bool(environ.get(JOB)) and Lookout(google=google, swept=swept).waits(left, pause)
    return not failed


def swept_lines(swept: Swept, jobs: JobsSeen) -> Iterator[Line]:
    """The lines of one sweep: itself, each pool, each action, and what stands. jobs: those that wait."""
    stack = swept.desired.stack
    for facts in (_sweep(swept), *_pools(swept, jobs), *_actions(swept), *_findings(swept)):
        yield {"time": swept.at.isoformat(), "stack": stack, **facts}


def unswept_line(stack: str, reason: str, at: datetime) -> Line:
    """The line of a sweep that could not begin."""
    return {
        "time": at.isoformat(),
        "stack": stack,
        "severity": "ERROR",
        "message": f"no sweep: {reason}",
        "event": alerts.UNSWEPT,
        "reason": reason,
    }


def key_line(google: Clients, stack: str, version: str, at: datetime) -> Line:
    """How old a version of a secret is. Reads when it was made and not what is in it. Raises GoogleError.

    version: `projects/P/secrets/S/versions/V`.
    """
    versions = google.api(Api.SECRETS).projects().secrets().versions()
    found = execute(versions.get(name=version), f"reading when {version} was made")
    days = (at - datetime.fromisoformat(found["createTime"])).days
    secret = version.split("/")[3]
    return {
        "time": at.isoformat(),
        "stack": stack,
        "severity": "INFO",
        "message": f"the key in {secret} is {days} days old",
        "event": alerts.KEY,
        "secret": secret,
        "version": found["name"].rpartition("/")[2],
        "age_days": days,
    }


def unkeyed_line(stack: str, reason: str, at: datetime) -> Line:
    """The line of a key whose age cannot be asked for."""
    return _unknown(alerts.KEY, stack, f"how old the app's key is cannot be told: {reason}", at)


def image_lines(bucket: Objects, stack: str, at: datetime) -> Iterator[Line]:
    """How each image stands that a build wrote down. GoogleError where the bucket does not answer."""
    for each in standing(bucket, at):
        said = "its last build is recorded or at work" if each.build else "no build of it ever began"
        said = "its last build ended without a record" if each.failed else said
        late = f", and no build came for {each.overdue_hours} hours" if each.overdue_hours else ""
        unread = f"; which began since cannot be told: {each.unreadable}" if each.unreadable else ""
        yield {
            "time": at.isoformat(),
            "stack": stack,
            "severity": "WARNING" if each.failed or each.overdue_hours or unread else "INFO",
            "message": f"{each.image}: {said}{late}{unread}",
            "event": alerts.IMAGE,
            "image": each.image,
            "build": each.build,
            "failed": int(each.failed),
            "overdue_hours": each.overdue_hours,
        }


def unlooked_line(stack: str, reason: str, at: datetime) -> Line:
    """The line of images that cannot be asked about."""
    return _unknown(alerts.IMAGE, stack, f"how images stand cannot be told: {reason}", at)


def _unknown(event: str, stack: str, message: str, at: datetime) -> Line:
    return {"time": at.isoformat(), "stack": stack, "severity": "WARNING", "message": message, "event": event}


def _sweep(swept: Swept) -> Line:
    unknown = sorted(str(name) for name, source in swept.observed.sources.items() if not source.known)
    failed = sum(each.result is Result.FAILED for each in swept.outcomes)
    return {
        "severity": "ERROR" if failed or swept.decision.fuse_blown else "WARNING" if unknown else "INFO",
        "message": f"swept: {summary(swept)}",
        "event": alerts.SWEEP,
        "settled": swept.settled,
        "actions": len(swept.outcomes),
        "failed": failed,
        "held": len(swept.decision.held),
        "waiting": len(swept.decision.waiting),
        "fuse": swept.decision.fuse_blown,
        "unknown": unknown,
    }


def _pools(swept: Swept, jobs: JobsSeen) -> Iterator[Line]:
    """What GitHub did not say is left out, and runners where none are wanted: neither must look like an outage."""
    for pool, figures in swept.decision.pools.items():
        slots = swept.desired.of_pool(pool)
        waiting = queue(slots[0].labels, {each for slot in slots for each in slot.serves}, jobs)
        facts: dict[str, Any] = {
            "severity": "WARNING" if figures.unhealthy else "INFO",
            "message": f"{pool}: {figures.ready} of {figures.desired} READY",
            "event": alerts.POOL,
            "pool": pool,
            "desired": figures.desired,
            "ready": figures.ready,
            "away": figures.away,
            "unhealthy": len(figures.unhealthy),
            "booting": len(figures.booting),
        }
        if swept.observed.hears(swept.desired.scopes_of(pool)) and any(slot.has_runner for slot in slots):
            facts |= {"online": figures.online, "busy": figures.busy}
            facts["message"] += f", {figures.online} online"
        if waiting.waiting is not None:
            oldest = (swept.at - waiting.oldest).total_seconds() if waiting.oldest else 0.0
            facts |= {"queue": waiting.waiting, "oldest_minutes": max(0, int(oldest // 60))}
            facts["message"] += f", {waiting.waiting} waiting"
        yield facts


def _actions(swept: Swept) -> Iterator[Line]:
    pools = {slot.name: slot.pool for slot in swept.desired.slots}
    for outcome in swept.outcomes:
        what = described(outcome.action)
        pool = pools.get(what["subject"])
        yield {
            "severity": "ERROR" if outcome.result is Result.FAILED else "NOTICE",
            "message": f"{verb(outcome.action)} {what['subject']}: {what['reason']}",
            "event": alerts.ACTION,
            **what,
            **({"pool": pool} if pool else {}),
            "result": outcome.result.value,
            "text": outcome.text,
        }


def _findings(swept: Swept) -> Iterator[Line]:
    for finding in swept.decision.findings:
        yield {
            "severity": "WARNING",
            "message": f"{finding.subject}: {finding.reason}",
            "event": alerts.FINDING,
            "subject": finding.subject,
            "rule": finding.rule,
            "reason": finding.reason,
            "since": finding.since.isoformat(),
            **({"capacity_minutes": int((swept.at - finding.since) / _MINUTE)} if finding.costs else {}),
        }
