"""Cloud Build v1: triggers, in global and in regions.

Owns their identifiers (a UUID the service makes, beside the name a person gives) and updates. Leaves the rules of a
trigger to `cloudbuild_rules` and what a trigger does to `cloudbuild_firing`.
"""

from __future__ import annotations

from infra.local.cloud.clock import timestamp
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import already_exists, not_found
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, cloudbuild_names, cloudbuild_rules, listings
from infra.local.cloud.store import Resource

KIND = "cloudbuild.trigger"
_MUTABLE = frozenset(
    {"name", "description", "disabled", "tags", "substitutions", "filename", "build", "gitFileSource", "autodetect",
     "sourceToBuild", "github", "repositoryEventConfig", "pubsubConfig", "webhookConfig", "triggerTemplate",
     "includedFiles", "ignoredFiles", "includeBuildLogs", "serviceAccount", "approvalConfig", "filter", "eventType"}
)  # fmt: skip


@handles("cloudbuild.projects.triggers.create", "cloudbuild.projects.locations.triggers.create")
def create_trigger(call: Call) -> JsonObject:
    parent = cloudbuild_names.parent(call)
    identity = cloudbuild_names.new_id(call.cloud, KIND)
    sent = bodies.without_unset(_mutable(call.body))
    body = {"name": f"trigger-{identity[:8]}", **sent}
    cloudbuild_rules.check_trigger(call.cloud, parent, body)
    _check_name(call.cloud, parent, body["name"])
    body["number"] = call.cloud.store.next_number(f"{KIND} order")
    return shown(call.cloud.store.insert(KIND, f"{parent}/triggers/{identity}", body, now=call.cloud.now))


@handles("cloudbuild.projects.triggers.get", "cloudbuild.projects.locations.triggers.get")
def get_trigger(call: Call) -> JsonObject:
    return shown(found(call))


@handles("cloudbuild.projects.triggers.list", "cloudbuild.projects.locations.triggers.list")
def list_triggers(call: Call) -> JsonObject:
    found_here = cloudbuild_names.newest_first(call.cloud, KIND, f"{cloudbuild_names.parent(call)}/triggers/")
    return listings.page(call, "triggers", [shown(held) for held in found_here], identity="id")


@handles("cloudbuild.projects.triggers.patch", "cloudbuild.projects.locations.triggers.patch")
def patch_trigger(call: Call) -> JsonObject:
    """Without a mask the body is the whole trigger, as the document says and the Google provider relies on."""
    held = found(call)
    parent = held.name.partition("/triggers/")[0]
    mask = call.params.get("updateMask") or "*"
    body = bodies.masked(held.body, _mutable(call.body), mask, mutable=_MUTABLE)
    body = {**body, "name": body.get("name", held.body["name"]), "number": held.body["number"]}
    cloudbuild_rules.check_trigger(call.cloud, parent, body)
    if body["name"] != held.body["name"]:
        _check_name(call.cloud, parent, body["name"])
    return shown(call.cloud.store.replace(held, body, now=call.cloud.now))


@handles("cloudbuild.projects.triggers.delete", "cloudbuild.projects.locations.triggers.delete")
def delete_trigger(call: Call) -> JsonObject:
    call.cloud.store.delete(KIND, found(call).name)
    return {}


def found(call: Call) -> Resource:
    """By id, or by the name a person gave. Raises 404."""
    parent = cloudbuild_names.parent(call)
    asked = call.ids.get("triggersId") or call.ids["triggerId"]
    held = call.cloud.store.find(KIND, f"{parent}/triggers/{asked}") or _named(call.cloud, parent, asked)
    if held is None:
        raise not_found(f"{parent}/triggers/{asked}")
    return held


def shown(held: Resource) -> JsonObject:
    body = {key: value for key, value in held.body.items() if key != "number"}
    identity = held.name.rpartition("/")[2]
    if "pubsubConfig" in body:
        project = cloudbuild_names.project_of(held.name)
        subscription = f"projects/{project}/subscriptions/gcb-{body['name']}"
        body["pubsubConfig"] = {**body["pubsubConfig"], "subscription": subscription, "state": "OK"}
    if "repositoryEventConfig" in body:
        body["repositoryEventConfig"] = {**body["repositoryEventConfig"], "repositoryType": "GITHUB"}
    return {"resourceName": held.name, "id": identity, "createTime": timestamp(held.created), **body}


def _named(cloud: Cloud, parent: str, name: str) -> Resource | None:
    return next((held for held in cloud.store.each(KIND, f"{parent}/triggers/") if held.body["name"] == name), None)


def _check_name(cloud: Cloud, parent: str, name: str) -> None:
    if _named(cloud, parent, name) is not None:
        raise already_exists(f"{parent}/triggers/{name}")


def _mutable(body: JsonObject) -> JsonObject:
    return {key: value for key, value in body.items() if key in _MUTABLE}
