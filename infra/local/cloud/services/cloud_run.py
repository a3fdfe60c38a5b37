"""Cloud Run v2: services and jobs, their policies, and that a job was run.

Owns what a declaration must have and what the service tells of it. Nothing is started here: no container runs, so a run
of a job is recorded as an execution and ends at once. `./tidepool broker serve` and `reconcile --watch` are what these
would run. Source: cloud.google.com/run/docs/reference/rest/v2, read 2026-11.
"""

from __future__ import annotations

import re
import uuid

from infra.local.cloud.clock import timestamp
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import aborted, already_exists, invalid, not_found
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, listings, places, policies
from infra.local.cloud.store import Resource

SERVICE = "run.service"
JOB = "run.job"
_ID = re.compile(r"[a-z]([a-z0-9-]{0,47}[a-z0-9])?")
_IMAGE = re.compile(r"[^\s:@]+(:\d+)?/[^\s@]+(@sha256:[0-9a-f]{64})?")
_TYPE = "type.googleapis.com/google.cloud.run.v2"
_OF_BOTH = frozenset({"annotations", "labels", "launchStage", "template"})
_MUTABLE = {
    SERVICE: _OF_BOTH | {"customAudiences", "description", "ingress", "invokerIamDisabled", "scaling", "traffic"},
    JOB: _OF_BOTH,
}
_COLLECTION = {SERVICE: "services", JOB: "jobs"}
_MESSAGE = {SERVICE: "Service", JOB: "Job"}
_CHANGE_SECONDS = {SERVICE: 12.0, JOB: 3.0}


@handles("run.projects.locations.services.create")
def create_service(call: Call) -> JsonObject:
    return _create(call, SERVICE, call.params.get("serviceId", ""))


@handles("run.projects.locations.jobs.create")
def create_job(call: Call) -> JsonObject:
    return _create(call, JOB, call.params.get("jobId", ""))


@handles("run.projects.locations.services.get")
def get_service(call: Call) -> JsonObject:
    return _shown(call.cloud, _found(call, SERVICE))


@handles("run.projects.locations.jobs.get")
def get_job(call: Call) -> JsonObject:
    return _shown(call.cloud, _found(call, JOB))


@handles("run.projects.locations.services.list")
def list_services(call: Call) -> JsonObject:
    return _list(call, SERVICE)


@handles("run.projects.locations.jobs.list")
def list_jobs(call: Call) -> JsonObject:
    return _list(call, JOB)


@handles("run.projects.locations.services.patch")
def patch_service(call: Call) -> JsonObject:
    return _patch(call, SERVICE)


@handles("run.projects.locations.jobs.patch")
def patch_job(call: Call) -> JsonObject:
    return _patch(call, JOB)


@handles("run.projects.locations.services.delete")
def delete_service(call: Call) -> JsonObject:
    return _delete(call, SERVICE)


@handles("run.projects.locations.jobs.delete")
def delete_job(call: Call) -> JsonObject:
    return _delete(call, JOB)


@handles("run.projects.locations.jobs.run")
def run_job(call: Call) -> JsonObject:
    held = run(call.cloud, _found(call, JOB).name)
    execution = held.body["latestCreatedExecution"]
    response = {"@type": f"{_TYPE}.Execution", **execution, "job": held.name, "succeededCount": 1}
    return _operation(call, JOB, response)


for _kind in (SERVICE, JOB):
    policies.serve(
        f"run.projects.locations.{_COLLECTION[_kind]}",
        lambda call, kind=_kind: ((held := _found(call, kind)).name, held.name.split("/")[1]),
    )


def run(cloud: Cloud, name: str) -> Resource:
    """Record one execution of a job. Raises 404 where there is none."""
    held = cloud.store.find(JOB, name)
    if held is None:
        raise not_found(name)
    count = held.body.get("executionCount", 0) + 1
    execution = {"name": f"{held.name}-{count:05d}", "createTime": timestamp(cloud.now)}
    body = {**held.body, "executionCount": count, "latestCreatedExecution": execution}
    return cloud.store.replace(held, body, now=held.updated)


def _create(call: Call, kind: str, identity: str) -> JsonObject:
    if not _ID.fullmatch(identity):
        raise invalid(
            f"Invalid id '{identity}': at most 49 lowercase letters, digits and dashes, a letter first, no dash last.",
            field=f"{_COLLECTION[kind][:-1]}_id",
        )
    name = f"{_parent(call)}/{_COLLECTION[kind]}/{identity}"
    if call.cloud.store.find(kind, name):
        raise already_exists(name)
    body = _checked(call.cloud, _kept(kind, call.body), name)
    held = call.cloud.store.insert(kind, name, {**body, "generation": 1}, now=call.cloud.now)
    return _operation(call, kind, _answer(call.cloud, held))


def _patch(call: Call, kind: str) -> JsonObject:
    held = _found(call, kind)
    _check_etag(call.body.get("etag"), held)
    mask = call.params.get("updateMask") or "*"
    mutable = _MUTABLE[kind]
    rest = {key: value for key, value in held.body.items() if key not in mutable}
    wanted = bodies.masked(
        {key: held.body[key] for key in held.body.keys() & mutable}, _kept(kind, call.body), mask, mutable=mutable
    )
    body = {**rest, **_checked(call.cloud, wanted, held.name), "generation": held.body["generation"] + 1}
    return _operation(call, kind, _answer(call.cloud, call.cloud.store.replace(held, body, now=call.cloud.now)))


def _delete(call: Call, kind: str) -> JsonObject:
    held = _found(call, kind)
    _check_etag(call.params.get("etag"), held)
    call.cloud.store.delete(kind, held.name)
    policies.forget(call.cloud, held.name)
    return _operation(call, kind, _answer(call.cloud, held))


def _list(call: Call, kind: str) -> JsonObject:
    prefix = f"{_parent(call)}/{_COLLECTION[kind]}/"
    return listings.stored(call, _COLLECTION[kind], kind, prefix, lambda held: _shown(call.cloud, held))


def _kept(kind: str, body: JsonObject) -> JsonObject:
    return bodies.without_unset({key: value for key, value in body.items() if key in _MUTABLE[kind]})


def _checked(cloud: Cloud, body: JsonObject, name: str) -> JsonObject:
    """A job's tasks stand one template deeper than a service's containers."""
    template = body.get("template") or {}
    bodies.check_labels(body.get("labels", {}), field=f"{name.split('/')[4].removesuffix('s')}.labels")
    bodies.check_labels(template.get("labels", {}), field="template.labels")
    task = template.get("template") or {} if f"/{_COLLECTION[JOB]}/" in name else template
    containers = task.get("containers") or []
    if not containers:
        raise invalid("At least one container is required.", field="template.containers")
    for container in containers:
        if not _IMAGE.fullmatch(container.get("image", "")):
            raise invalid(f"'{container.get('image', '')}' is no image.", field="template.containers.image")
    account, project = task.get("serviceAccount", ""), name.split("/")[1]
    own = account.endswith(f"@{project}.iam.gserviceaccount.com")
    if own and cloud.store.find(policies.SERVICE_ACCOUNT_KIND, policies.account_name(project, account)) is None:
        raise invalid(f"Service account {account} does not exist.", field="template.service_account")
    return body


def _check_etag(sent: str | None, held: Resource) -> None:
    if sent and sent != held.etag:
        raise aborted(f"The etag '{sent}' is not the current one of '{held.name}'.")


def _parent(call: Call) -> str:
    location = call.ids["locationsId"]
    if location not in places.REGIONS:
        raise not_found(f"locations/{location}")
    return f"projects/{call.cloud.project(call.ids['projectsId']).id}/locations/{location}"


def _found(call: Call, kind: str) -> Resource:
    name = f"{_parent(call)}/{_COLLECTION[kind]}/{call.ids[f'{_COLLECTION[kind]}Id']}"
    held = call.cloud.store.find(kind, name)
    if held is None:
        raise not_found(name)
    return held


def _shown(cloud: Cloud, held: Resource) -> JsonObject:
    generation = str(held.body["generation"])
    shown = {
        **held.body,
        "name": held.name,
        "uid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{held.name} {held.created}")),
        "generation": generation,
        "observedGeneration": generation,
        "createTime": timestamp(held.created),
        "updateTime": timestamp(held.updated),
        "launchStage": held.body.get("launchStage", "GA"),
        "etag": held.etag,
        "terminalCondition": {"type": "Ready", "state": "CONDITION_SUCCEEDED"},
    }
    if held.kind == JOB:
        return shown
    _, project, _, location, _, identity = held.name.split("/")
    url = f"https://{identity}-{cloud.project(project).number}.{location}.run.app"
    revision = f"{held.name}/revisions/{identity}-{int(generation):05d}"
    return {
        **shown,
        "ingress": held.body.get("ingress", "INGRESS_TRAFFIC_ALL"),
        "uri": url,
        "urls": [url],
        "latestCreatedRevision": revision,
        "latestReadyRevision": revision,
    }


def _answer(cloud: Cloud, held: Resource) -> JsonObject:
    return {"@type": f"{_TYPE}.{_MESSAGE[held.kind]}", **_shown(cloud, held)}


def _operation(call: Call, kind: str, response: JsonObject) -> JsonObject:
    return call.cloud.operations.lro(_parent(call), seconds=_CHANGE_SECONDS[kind], response=response)
