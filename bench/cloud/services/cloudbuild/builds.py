"""Cloud Build v1: builds, from the queue to their end, and what the service refuses of one before it keeps it.

Owns the record of a build and its states: QUEUED (PENDING where a person must approve), WORKING, and one of the ends;
the rules of steps, substitution keys, and logging with an account of one's own; and how builds and triggers are named.
Nothing here runs a step: whoever does takes the next build of the queue and reports (`builds.control`). A build waits
for that for ever, where the real service gives up after `queueTtl`.
Sources: https://cloud.google.com/build/docs/api/reference/rest/v1/projects.builds, read 2026-11-21, and
https://cloud.google.com/build/docs/build-config-file-schema, read 2026-11.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Mapping
from types import MappingProxyType

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, failed_precondition, invalid, not_found
from bench.cloud.services import bodies, places
from bench.cloud.services.cloudbuild import substitutions
from bench.cloud.services.collection import Collection
from bench.cloud.services.policies import SERVICE_ACCOUNT_KIND, account_name
from bench.cloud.store import Resource

KIND = "cloudbuild.build"
ENDS = ("SUCCESS", "FAILURE", "INTERNAL_ERROR", "TIMEOUT", "CANCELLED", "EXPIRED")
_METADATA = "type.googleapis.com/google.devtools.cloudbuild.v1.BuildOperationMetadata"
_BUILD = "type.googleapis.com/google.devtools.cloudbuild.v1.Build"
_DEFAULTS = {"timeout": "3600s", "queueTtl": "3600s"}
# What is known of any build; triggers and their events add to it.
_OF_EVERY_BUILD = frozenset({"PROJECT_ID", "PROJECT_NUMBER", "BUILD_ID", "LOCATION"})
_KEY = re.compile(r"_[A-Z0-9_]+")
_ACCOUNT = re.compile(r"projects/([^/]+)/serviceAccounts/([^/@]+@[^/]+)")
_OWN_LOGGING = frozenset({"CLOUD_LOGGING_ONLY", "NONE"})
_PARENT = re.compile(r"projects/([^/]+)/locations/([^/]+)(?:/|$)")


class ByAge(Collection):
    """Builds and triggers: their ids are UUIDs of the service's, and the youngest is listed first.

    A path without a location means `global`. Generated clients take such a path too, and name the place, or all of
    what they ask for, beside it.
    """

    locations = frozenset({"global", *places.REGIONS})
    identity = "id"

    def parent(self, call: ApiCall) -> str:
        named = call.params.get("parent") or call.params.get("name") or call.body.get("name", "")
        hit = None if "locationsId" in call.ids else _PARENT.match(named)
        project = hit[1] if hit else call.ids.get("projectsId") or call.ids["projectId"]
        location = self.location(hit[2] if hit else call.ids.get("locationsId", "global"))
        return f"projects/{call.cloud.project(project).id}/{location}"

    def id_of(self, call: ApiCall) -> str:
        return [*call.ids.values()][-1]

    def asked_id(self, call: ApiCall) -> str:
        return self.made_id(call.cloud)

    def made_id(self, cloud: Cloud) -> str:
        """One that no other has; the same requests give the same ones."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.kind} {cloud.store.next_number(self.kind)}"))

    def listed(self, call: ApiCall) -> list[Resource]:
        return sorted(super().listed(call), key=lambda each: (each.created, each.body.get("number", 0)), reverse=True)


class _Builds(ByAge):
    api = "cloudbuild.projects.locations.builds"
    elsewhere = ("cloudbuild.projects.builds",)
    kind = KIND
    methods = "create get list"
    # cloud.google.com/build/docs/view-build-results#filtering_build_results_using_queries
    filtered_as = MappingProxyType({"triggerId": "buildTriggerId"})

    def create(self, call: ApiCall) -> JsonObject:
        parent = self.parent(call)
        template = bodies.without_unset(call.body)
        check_build(template)
        check_account(call.cloud, parent, template.get("serviceAccount", ""))
        if template.get("options", {}).get("substitutionOption") != "ALLOW_LOOSE":
            _check_match(template)
        return operation(add(call.cloud, parent, template, own=template.get("substitutions", {})))

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return shown(held)


_BUILDS = _Builds()


@handles("cloudbuild.projects.builds.cancel", "cloudbuild.projects.locations.builds.cancel")
def cancel_build(call: ApiCall) -> JsonObject:
    held = _BUILDS.found(call)
    if held.body["status"] in ENDS:
        raise failed_precondition(f"Build '{held.body['id']}' is {held.body['status']} and cannot be cancelled.")
    return shown(end(call.cloud, held, {"status": "CANCELLED"}))


def add(
    cloud: Cloud,
    parent: str,
    template: JsonObject,
    *,
    own: Mapping[str, str],
    builtin: Mapping[str, str] | None = None,
    heard: substitutions.Heard | None = None,
    more: JsonObject | None = None,
) -> Resource:
    """Put a build into the queue of `parent` (`projects/P/locations/L`).

    template: its configuration, with variables. own: a person's substitutions. builtin: what a trigger and its event
    know. heard: the message that started it. more: fields that only the service sets.
    """
    identity = _BUILDS.made_id(cloud)
    _, project_id, _, location = parent.split("/")
    project = cloud.project(project_id)
    builtin = builtin or {}
    of_build = {
        "PROJECT_ID": project.id,
        "PROJECT_NUMBER": str(project.number),
        "BUILD_ID": identity,
        "LOCATION": location,
    }
    values = substitutions.resolved(own, {**builtin, **of_build}, heard)
    body = {
        **_DEFAULTS,
        **substitutions.applied(template, {**builtin, **of_build, **values}),
        "substitutions": {**builtin, **values},
        "status": "QUEUED",
        **(more or {}),
    }
    body["tags"] = [*body.get("tags", []), *body.pop("serviceTags", [])]
    body = {key: value for key, value in body.items() if value not in ([], {})}
    body |= {"id": identity, "projectId": project.id, "number": cloud.store.next_number(f"{KIND} order")}
    return cloud.store.insert(KIND, f"{parent}/builds/{identity}", body, now=cloud.now)


def end(cloud: Cloud, held: Resource, changes: JsonObject) -> Resource:
    """Let a build end now; `changes` holds its last status."""
    return cloud.store.replace(held, {**held.body, **changes, "finishTime": timestamp(cloud.now)}, now=cloud.now)


def queued(cloud: Cloud) -> list[Resource]:
    """Builds that wait to be run, the oldest first."""
    waiting = [held for held in cloud.store.each(KIND) if held.body["status"] == "QUEUED"]
    return sorted(waiting, key=lambda held: held.body["number"])


def shown(held: Resource) -> JsonObject:
    project = held.body["projectId"]
    url = f"https://console.cloud.google.com/cloud-build/builds;region={held.name.split('/')[3]}"
    return {
        "name": held.name,
        "createTime": timestamp(held.created),
        "logUrl": f"{url}/{held.body['id']}?project={project}",
        **{key: value for key, value in held.body.items() if key != "number"},
    }


def operation(held: Resource) -> JsonObject:
    """The operation of a build, which is done when the build is; its name holds the build's id, as Google's does."""
    name = (
        f"{held.name.partition('/builds/')[0]}/operations/{base64.urlsafe_b64encode(held.body['id'].encode()).decode()}"
    )
    build, status = shown(held), held.body["status"]
    begun = {"name": name, "metadata": {"@type": _METADATA, "build": build}, "done": status in ENDS}
    if status == "SUCCESS":
        return {**begun, "response": {"@type": _BUILD, **build}}
    if status in ENDS:
        return {**begun, "error": {"code": 2, "message": build.get("statusDetail", f"Build ended as {status}.")}}
    return begun


def operation_named(cloud: Cloud, name: str) -> JsonObject | None:
    """The operation of that name when it is a build's."""
    parent, _, identity = name.rpartition("/operations/")
    try:
        build = base64.urlsafe_b64decode(identity).decode()
    except ValueError:
        return None
    held = cloud.store.find(KIND, f"{parent}/builds/{build}")
    return None if held is None else operation(held)


def _check_match(template: JsonObject) -> None:
    """Raises 400 where the variables of a build and the values given for them are not the same."""
    given = template.get("substitutions", {})
    named = {*substitutions.names_in(template), *substitutions.names_in(list(given.values()))}
    for name in sorted(named):
        if name not in given and name not in _OF_EVERY_BUILD:
            raise invalid(f'key in the template "{name}" is not a valid built-in substitution', field="build")
    automatic = template.get("options", {}).get("automapSubstitutions") or any(
        step.get("automapSubstitutions") for step in template["steps"]
    )
    for name in sorted(given):
        if name not in named and not automatic:
            raise invalid(f'key "{name}" in the substitution data is not matched in the template', field="build")


def check_build(build: JsonObject) -> None:
    """Steps, substitution keys, and a place for the logs of an account of one's own. Raises 400."""
    steps = build.get("steps", [])
    if not steps:
        raise invalid("build.steps: at least one step is required.", field="build.steps")
    seen: set[str] = set()
    for at, step in enumerate(steps):
        where = f"build.steps[{at}]"
        if not step.get("name"):
            raise invalid(f"invalid build step {at}: a name is required.", field=f"{where}.name")
        if "script" in step and ("entrypoint" in step or "args" in step):
            raise invalid(f"build step {at} has a script, so neither entrypoint nor args.", field=f"{where}.script")
        if unknown := [each for each in step.get("waitFor", []) if each != "-" and each not in seen]:
            raise invalid(f"build step {at} waits for '{unknown[0]}', which no step before it is.", field=where)
        if step.get("id") in seen:
            raise invalid(f"the step id '{step['id']}' is given twice.", field=f"{where}.id")
        seen.add(step.get("id", ""))
    check_keys(build.get("substitutions", {}), "build.substitutions")
    substitutions.check_readable([build, list(build.get("substitutions", {}).values())])
    options = build.get("options", {})
    if (
        build.get("serviceAccount")
        and not build.get("logsBucket")
        and options.get("logging") not in _OWN_LOGGING
        and options.get("defaultLogsBucketBehavior") != "REGIONAL_USER_OWNED_BUCKET"
    ):
        raise invalid(
            "if 'build.service_account' is specified, the build must either (a) specify 'build.logs_bucket', (b) use "
            "the REGIONAL_USER_OWNED_BUCKET build.options.default_logs_bucket_behavior option, or (c) use either "
            "CLOUD_LOGGING_ONLY / NONE logging options",
            field="build.service_account",
        )


def check_account(cloud: Cloud, parent: str, account: str) -> None:
    """Raises 400 for a malformed name, and 404 for an account of the parent's project that does not exist."""
    if not account:
        return
    found = _ACCOUNT.fullmatch(account)
    if found is None:
        raise invalid(f"Invalid service account '{account}': write projects/PROJECT/serviceAccounts/EMAIL.")
    project, email = parent.split("/")[1], found[2]
    if not email.endswith(f"@{project}.iam.gserviceaccount.com"):
        return
    name = account_name(project, email)
    if cloud.store.find(SERVICE_ACCOUNT_KIND, name) is None:
        raise not_found(name)


def check_keys(own: JsonObject, field: str) -> None:
    """Raises 400 for a name that no person's substitution may have."""
    for key in own:
        if not _KEY.fullmatch(key):
            raise invalid(
                f"substitution key '{key}' must begin with an underscore and hold capital letters, digits and "
                "underscores.",
                field=field,
            )
