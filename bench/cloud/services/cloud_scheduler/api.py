"""Cloud Scheduler: jobs, their life, and their times.

Owns the reading of schedules (five crontab fields in the job's time zone) and that a job fires once at each of its
times, also at those that a move of the clock passed. A Pub/Sub target gets its message, and a job of Cloud Run is run;
what else a job may call is not called. Times of the App Engine style (`every 24 hours`) are not read.
Source: cloud.google.com/scheduler/docs/reference/rest/v1/projects.locations.jobs, read 2026-11.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo

from cronsim import CronSim, CronSimError

from bench.cloud.clock import DueEvent, timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles, reacts
from bench.cloud.errors import ApiError, JsonObject, invalid
from bench.cloud.services import places
from bench.cloud.services.cloud_run import api as cloud_run
from bench.cloud.services.collection import Collection
from bench.cloud.services.pubsub import api as pubsub
from bench.cloud.store import Resource

_FIRE = "cloudscheduler.job.fire"
_RUN = re.compile(r"https://run\.googleapis\.com/v2/(projects/[^/]+/locations/[^/]+/jobs/[^/:]+):run")


class _Jobs(Collection):
    api = "cloudscheduler.projects.locations.jobs"
    kind = "cloudscheduler.job"
    locations = places.REGIONS

    def new_name(self, call: ApiCall) -> str:
        return self.prefix(call) + call.body.get("name", "").rpartition("/")[2]

    # Without a mask the body is the whole job, as the Google provider sends it.
    mask = "whole"

    def merged(self, call: ApiCall, held: Resource) -> JsonObject:
        return {**super().merged(call, held), "state": held.body["state"]}

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        _next(body, cloud.now)
        if target := body.get("pubsubTarget"):
            pubsub.TOPICS.named(cloud, target.get("topicName", ""))
        return {"state": "ENABLED", **body}

    def clear(self, call: ApiCall, held: Resource) -> None:
        call.cloud.timeline.cancel(held.name)

    def answer(self, call: ApiCall, method: str, held: Resource) -> JsonObject:
        if method != "delete":
            _plan(call.cloud, held)
        return super().answer(call, method, held)

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        shown = {**super().shown(cloud, held), "userUpdateTime": timestamp(held.created)}
        planned = cloud.timeline.planned(held.name)
        return {**shown, "scheduleTime": timestamp(planned[0].due)} if planned else shown


_JOBS = _Jobs()


@handles("cloudscheduler.projects.locations.jobs.pause", "cloudscheduler.projects.locations.jobs.resume")
def change_state(call: ApiCall) -> JsonObject:
    """The Google provider resumes a job that it has just made, so a change to the state it is in is no error."""
    state = "PAUSED" if call.method.endswith(".pause") else "ENABLED"
    held = _JOBS.found(call)
    if held.body["state"] != state:
        held = call.cloud.store.replace(held, {**held.body, "state": state}, now=call.cloud.now)
        _plan(call.cloud, held)
    return _JOBS.shown(call.cloud, held)


@handles("cloudscheduler.projects.locations.jobs.run")
def run_job(call: ApiCall) -> JsonObject:
    """Now, and besides its times; a paused job runs as well."""
    return _JOBS.shown(call.cloud, _attempt(call.cloud, _JOBS.found(call)))


@reacts(_FIRE)
def fire(cloud: Cloud, event: DueEvent) -> None:
    held = _JOBS.find(cloud, event.subject)
    if held is not None:
        _plan(cloud, _attempt(cloud, held))


def _attempt(cloud: Cloud, held: Resource) -> Resource:
    body = {**held.body, "lastAttemptTime": timestamp(cloud.now)}
    body.pop("status", None)
    try:
        _call(cloud, held.body)
    except ApiError as refusal:
        body["status"] = refusal.as_rpc()
    return cloud.store.replace(held, body, now=held.updated)


def _call(cloud: Cloud, job: JsonObject) -> None:
    if target := job.get("pubsubTarget"):
        message = {key: target[key] for key in ("data", "attributes") if key in target}
        pubsub.deliver(cloud, pubsub.TOPICS.named(cloud, target["topicName"]), message)
    elif run := _RUN.fullmatch(job.get("httpTarget", {}).get("uri", "")):
        cloud_run.run(cloud, run[1])


def _plan(cloud: Cloud, held: Resource) -> None:
    """Plan the next time alone: its reaction plans the one after it, so each happens once and at its own time."""
    cloud.timeline.cancel(held.name)
    if held.body["state"] == "ENABLED":
        cloud.timeline.add(_next(held.body, cloud.now), _FIRE, held.name)


def _next(job: JsonObject, now: float) -> float:
    """The next time of a job after now. Raises 400 for a schedule or a time zone that cannot be read."""
    try:
        here = dt.datetime.fromtimestamp(now, zoneinfo.ZoneInfo(job.get("timeZone", "UTC")))
        return next(CronSim(job.get("schedule", ""), here)).timestamp()
    except (CronSimError, StopIteration, zoneinfo.ZoneInfoNotFoundError) as error:
        text = f"Schedule or time zone is invalid: '{job.get('schedule', '')}': {error}."
        raise invalid(text) from None
