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

from infra.local.cloud.clock import timestamp
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import ApiError, already_exists, invalid, not_found
from infra.local.cloud.registry import Call, JsonObject, handles, reacts
from infra.local.cloud.services import bodies, cloud_run, listings, places, pubsub_topics
from infra.local.cloud.store import Resource
from infra.local.cloud.timeline import Event

_KIND = "cloudscheduler.job"
_FIRE = "cloudscheduler.job.fire"
_ID = re.compile(r"[A-Za-z0-9_-]{1,500}")
_CRON_FIELDS = 5
_RUN = re.compile(r"https://run\.googleapis\.com/v2/(projects/[^/]+/locations/[^/]+/jobs/[^/:]+):run")
_TARGETS = ("pubsubTarget", "httpTarget", "appEngineHttpTarget")
_MUTABLE = frozenset({"description", "schedule", "timeZone", "attemptDeadline", "retryConfig", *_TARGETS})


@handles("cloudscheduler.projects.locations.jobs.create")
def create_job(call: Call) -> JsonObject:
    parent = _parent(call)
    name = call.body.get("name") or f"{parent}/jobs/{call.cloud.operations.new_id()}"
    identity = name.removeprefix(f"{parent}/jobs/")
    if not _ID.fullmatch(identity):
        raise invalid(f"Job name must be formatted: \"{parent}/jobs/<JOB_ID>\", and not '{name}'.", field="job.name")
    if call.cloud.store.find(_KIND, name):
        raise already_exists(name)
    job = _checked(call.cloud, _without_unset(call.body))
    held = call.cloud.store.insert(_KIND, name, {"job": job, "state": "ENABLED"}, now=call.cloud.now)
    _plan(call.cloud, held)
    return _shown(call.cloud, held)


@handles("cloudscheduler.projects.locations.jobs.get")
def get_job(call: Call) -> JsonObject:
    return _shown(call.cloud, _found(call))


@handles("cloudscheduler.projects.locations.jobs.list")
def list_jobs(call: Call) -> JsonObject:
    return listings.stored(call, "jobs", _KIND, f"{_parent(call)}/jobs/", lambda held: _shown(call.cloud, held))


@handles("cloudscheduler.projects.locations.jobs.patch")
def patch_job(call: Call) -> JsonObject:
    """Without a mask the body is the whole job, as the Google provider sends it."""
    held = _found(call)
    mask = call.params.get("updateMask") or "*"
    job = _checked(call.cloud, bodies.masked(held.body["job"], _without_unset(call.body), mask, mutable=_MUTABLE))
    changed = call.cloud.store.replace(held, {**held.body, "job": job}, now=call.cloud.now)
    _plan(call.cloud, changed)
    return _shown(call.cloud, changed)


@handles("cloudscheduler.projects.locations.jobs.delete")
def delete_job(call: Call) -> JsonObject:
    held = _found(call)
    call.cloud.store.delete(_KIND, held.name)
    call.cloud.timeline.cancel(held.name)
    return {}


@handles("cloudscheduler.projects.locations.jobs.pause", "cloudscheduler.projects.locations.jobs.resume")
def change_state(call: Call) -> JsonObject:
    """The Google provider resumes a job that it has just made, so a change to the state it is in is no error."""
    state = "PAUSED" if call.method.endswith(".pause") else "ENABLED"
    held = _found(call)
    if held.body["state"] != state:
        held = call.cloud.store.replace(held, {**held.body, "state": state}, now=call.cloud.now)
        _plan(call.cloud, held)
    return _shown(call.cloud, held)


@handles("cloudscheduler.projects.locations.jobs.run")
def run_job(call: Call) -> JsonObject:
    """Now, and besides its times; a paused job runs as well."""
    return _shown(call.cloud, _attempt(call.cloud, _found(call)))


@reacts(_FIRE)
def fire(cloud: Cloud, event: Event) -> None:
    held = cloud.store.find(_KIND, event.subject)
    if held is not None:
        _plan(cloud, _attempt(cloud, held))


def _attempt(cloud: Cloud, held: Resource) -> Resource:
    body = {**held.body, "lastAttemptTime": timestamp(cloud.now)}
    body.pop("status", None)
    try:
        _call(cloud, held.body["job"])
    except ApiError as refusal:
        body["status"] = refusal.as_rpc()
    return cloud.store.replace(held, body, now=held.updated)


def _call(cloud: Cloud, job: JsonObject) -> None:
    if target := job.get("pubsubTarget"):
        message = {key: target[key] for key in ("data", "attributes") if key in target}
        pubsub_topics.deliver(cloud, pubsub_topics.find(cloud, target["topicName"]), message)
    elif run := _RUN.fullmatch(job.get("httpTarget", {}).get("uri", "")):
        cloud_run.run(cloud, run[1])


def _plan(cloud: Cloud, held: Resource) -> None:
    """Plan the next time alone: its reaction plans the one after it, so each happens once and at its own time."""
    cloud.timeline.cancel(held.name)
    if held.body["state"] == "ENABLED":
        cloud.timeline.add(_next(held.body["job"], cloud.now), _FIRE, held.name)


def _next(job: JsonObject, now: float) -> float:
    zone = zoneinfo.ZoneInfo(job.get("timeZone", "UTC"))
    return next(CronSim(job["schedule"], dt.datetime.fromtimestamp(now, zone))).timestamp()


def _parent(call: Call) -> str:
    location = call.ids["locationsId"]
    if location not in places.REGIONS:
        raise not_found(f"locations/{location}")
    return f"projects/{call.cloud.project(call.ids['projectsId']).id}/locations/{location}"


def _found(call: Call) -> Resource:
    held = call.cloud.store.find(_KIND, f"{_parent(call)}/jobs/{call.ids['jobsId']}")
    if held is None:
        raise ApiError(404, "Job not found.")
    return held


def _without_unset(body: JsonObject) -> JsonObject:
    return bodies.without_unset({key: value for key, value in body.items() if key in _MUTABLE})


def _checked(cloud: Cloud, job: JsonObject) -> JsonObject:
    targets = [target for target in _TARGETS if target in job]
    if len(targets) != 1:
        raise invalid(f"A job has exactly one of {', '.join(_TARGETS)}.", field="job.target")
    if "pubsubTarget" in job:
        target = job["pubsubTarget"]
        if not target.get("data") and not target.get("attributes"):
            raise invalid("PubsubTarget needs data or at least one attribute.", field="job.pubsub_target")
        pubsub_topics.find(cloud, target.get("topicName", ""))
    if job.get("timeZone", "UTC") not in zoneinfo.available_timezones():
        raise invalid(f"Time zone '{job['timeZone']}' is no name of the tz database.", field="job.time_zone")
    schedule = job.get("schedule", "")
    if not schedule.strip():
        raise invalid("A job needs a schedule.", field="job.schedule")
    if schedule.split()[0] in ("every", "each") or "of" in schedule.split():
        raise ApiError(501, f"The local cloud reads crontab schedules alone, and not '{schedule}'.")
    if why := _wrong_with(schedule, cloud.now):
        raise invalid(f"Schedule or time zone is invalid: '{schedule}': {why}.", field="job.schedule")
    return job


def _wrong_with(schedule: str, now: float) -> str:
    if len(schedule.split()) != _CRON_FIELDS:
        return f"a crontab has {_CRON_FIELDS} fields"
    try:
        next(CronSim(schedule, dt.datetime.fromtimestamp(now, dt.UTC)))
    except CronSimError as error:
        return str(error)
    except StopIteration:
        return "it never comes"
    return ""


def _shown(cloud: Cloud, held: Resource) -> JsonObject:
    shown = {
        "name": held.name,
        "userUpdateTime": timestamp(held.created),
        "state": held.body["state"],
        **{key: held.body[key] for key in ("lastAttemptTime", "status") if key in held.body},
        **held.body["job"],
    }
    planned = cloud.timeline.planned(held.name)
    return {**shown, "scheduleTime": timestamp(planned[0].due)} if planned else shown
