"""Cloud Storage: buckets and their IAM policies.

Owns that names are global, the defaults that the service fills in, and metageneration preconditions. Life-cycle rules,
retention and soft delete are kept and shown but nothing acts on them. Objects are in `objects`.
Sources: cloud.google.com/storage/docs/json_api/v1/buckets and .../docs/buckets, read 2026-11.
"""

from __future__ import annotations

import base64

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, handles
from bench.cloud.errors import ApiError, JsonObject
from bench.cloud.services import bodies, policies
from bench.cloud.services.listings import page
from bench.cloud.services.storage import objects
from bench.cloud.store import Resource
from bench.cloud.wire import Response

_SOFT_DELETE_SECONDS = "604800"


@handles("storage.buckets.insert")
def insert_bucket(call: ApiCall) -> JsonObject:
    cloud, name = call.cloud, call.body.get("name", "")
    project = cloud.project(call.params["project"]).id
    if held := cloud.store.find(objects.BUCKET, name):
        raise ApiError(409, f"The bucket '{held.name}' is not available: names are global.", reason="conflict")
    fields = _changed({"location": "US"}, call.body)
    body = {"project": project, "fields": {**fields, "location": fields["location"].upper()}}
    return _shown(call, cloud.store.insert(objects.BUCKET, name, body, now=cloud.now))


@handles("storage.buckets.get")
def get_bucket(call: ApiCall) -> JsonObject:
    return _shown(call, _found(call))


@handles("storage.buckets.list")
def list_buckets(call: ApiCall) -> JsonObject:
    project = call.cloud.project(call.params["project"]).id
    found = call.cloud.store.each(objects.BUCKET, call.params.get("prefix", ""))
    shown = [_shown(call, held) for held in found if held.body["project"] == project]
    return {"kind": "storage#buckets", **page(call, "items", shown)}


@handles("storage.buckets.patch")
def change_bucket(call: ApiCall) -> JsonObject:
    """Name and location never change."""
    held = _found(call)
    fixed = {key: held.body["fields"][key] for key in ("name", "location")}
    fields = {**_changed(held.body["fields"], call.body), **fixed}
    return _shown(call, call.cloud.store.replace(held, {**held.body, "fields": fields}, now=call.cloud.now))


@handles("storage.buckets.delete")
def delete_bucket(call: ApiCall) -> Response:
    held = _found(call)
    if not objects.is_empty(call.cloud, held.name):
        raise ApiError(409, "The bucket you tried to delete is not empty.", reason="conflict")
    call.cloud.store.delete(objects.BUCKET, held.name)
    policies.forget(call.cloud, _resource(held))
    return Response(204)


@handles("storage.buckets.getStorageLayout")
def get_layout(call: ApiCall) -> JsonObject:
    fields = _found(call).body["fields"]
    return {"kind": "storage#storageLayout", "bucket": fields["name"], "location": fields["location"]}


@handles("storage.managedFolders.list", "storage.anywhereCaches.list")
def list_nothing(call: ApiCall) -> JsonObject:
    """None can be made here; gcloud and the provider ask before they delete a bucket."""
    _found(call)
    return {"kind": f"storage#{call.method.split('.')[1]}"}


@handles("storage.buckets.getIamPolicy")
def get_policy(call: ApiCall) -> JsonObject:
    held = _found(call)
    return _policy(held, policies.read(call.cloud, _resource(held), initial=_initial(held)))


@handles("storage.buckets.setIamPolicy")
def set_policy(call: ApiCall) -> JsonObject:
    held = _found(call)
    project = held.body["project"]
    stored = policies.write(call.cloud, _resource(held), call.body, project=project, initial=_initial(held))
    return _policy(held, stored)


def _found(call: ApiCall) -> Resource:
    """The bucket of a call. Raises 404, and 412 when a precondition does not hold."""
    held = objects.bucket(call.cloud, call.ids["bucket"])
    objects.check(call.params, generation=0, metageneration=held.generation)
    return held


def _changed(fields: JsonObject, sent: JsonObject) -> JsonObject:
    """The fields with those that were sent; unset ones are dropped."""
    fields = bodies.merged(fields, sent)
    bodies.check_labels(fields.get("labels", {}))
    return {key: value for key, value in fields.items() if value not in ("", [], {})}


def _resource(held: Resource) -> str:
    return f"projects/_/buckets/{held.name}"


def _policy(held: Resource, policy: JsonObject) -> JsonObject:
    return {"kind": "storage#policy", "resourceId": _resource(held), **policy}


def _initial(held: Resource) -> JsonObject:
    """What a new bucket grants to the basic roles of its project."""
    project = held.body["project"]
    owners = [f"projectEditor:{project}", f"projectOwner:{project}"]
    return {
        "bindings": [
            {"role": "roles/storage.legacyBucketOwner", "members": owners},
            {"role": "roles/storage.legacyBucketReader", "members": [f"projectViewer:{project}"]},
        ]
    }


def _shown(call: ApiCall, held: Resource) -> JsonObject:
    fields = held.body["fields"]
    created = timestamp(held.created)
    return {
        "storageClass": "STANDARD",
        **fields,
        "kind": "storage#bucket",
        "id": held.name,
        "selfLink": f"{call.base}b/{held.name}",
        "projectNumber": str(call.cloud.project(held.body["project"]).number),
        "generation": str(int(held.created * 1_000_000)),
        "metageneration": str(held.generation),
        "etag": base64.b64encode(str(held.generation).encode()).decode(),
        "timeCreated": created,
        "updated": timestamp(held.updated),
        "locationType": "region" if "-" in fields["location"] else "multi-region",
        "softDeletePolicy": {"retentionDurationSeconds": _SOFT_DELETE_SECONDS, **fields.get("softDeletePolicy", {})},
        "iamConfiguration": {
            "publicAccessPrevention": "inherited",
            "uniformBucketLevelAccess": {"enabled": False},
            **fields.get("iamConfiguration", {}),
        },
    }
