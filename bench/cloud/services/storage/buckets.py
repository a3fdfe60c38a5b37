"""Cloud Storage: buckets and their IAM policies.

Owns bucket names (global, as in the service), the defaults that the service fills in, and metageneration
preconditions. Life-cycle rules, retention and soft delete are kept and shown but nothing acts on them. Objects are in
`storage_objects`.
Sources: cloud.google.com/storage/docs/json_api/v1/buckets and .../docs/buckets, read 2026-11.
"""

from __future__ import annotations

import base64
import ipaddress
import re

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, handles
from bench.cloud.errors import ApiError, JsonObject, invalid
from bench.cloud.services import bodies, places, policies
from bench.cloud.services.listings import page
from bench.cloud.services.storage import versions
from bench.cloud.store import Resource
from bench.cloud.wire import Response

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_LONGEST_PART = 63
_MULTI_REGIONS = frozenset({"US", "EU", "ASIA"})
_DUAL_REGIONS = frozenset({"NAM4", "EUR4", "EUR5", "EUR7", "EUR8", "ASIA1"})
_CLASSES = frozenset(
    {"STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE", "MULTI_REGIONAL", "REGIONAL", "DURABLE_REDUCED_AVAILABILITY"}
)
_ACTIONS = frozenset({"Delete", "SetStorageClass", "AbortIncompleteMultipartUpload"})
_SOFT_DELETE_SECONDS = "604800"
_DAY = 86400
_LOCK_SECONDS = 90.0 * _DAY
_MADE_BY_SERVER = frozenset(
    {"kind", "id", "selfLink", "projectNumber", "timeCreated", "updated", "metageneration", "etag", "generation",
     "locationType", "owner"}
)  # fmt: skip


@handles("storage.buckets.insert")
def insert_bucket(call: ApiCall) -> JsonObject:
    cloud, name = call.cloud, call.body.get("name", "")
    _check_name(name)
    project = cloud.project(call.params["project"]).id
    held = cloud.store.find(versions.BUCKET, name)
    if held is not None:
        yours = "Your previous request to create the named bucket succeeded and you already own it."
        taken = "The requested bucket name is not available. The bucket namespace is shared by all users of the system."
        raise ApiError(409, yours if held.body["project"] == project else taken, reason="conflict")
    fields = bodies.merged({}, {key: value for key, value in call.body.items() if key not in _MADE_BY_SERVER})
    fields["location"] = _location(fields.get("location", "US"))
    body = {"project": project, "fields": _checked(fields)}
    return _shown(call, cloud.store.insert(versions.BUCKET, name, body, now=cloud.now))


@handles("storage.buckets.get")
def get_bucket(call: ApiCall) -> JsonObject | Response:
    held = versions.bucket(call.cloud, call.ids["bucket"])
    if versions.check(call.params, generation=None, metageneration=held.generation):
        return Response(304)
    return _shown(call, held)


@handles("storage.buckets.list")
def list_buckets(call: ApiCall) -> JsonObject:
    if call.params.get("softDeleted"):
        return {"kind": "storage#buckets"}
    project = call.cloud.project(call.params["project"]).id
    found = call.cloud.store.each(versions.BUCKET, call.params.get("prefix", ""))
    shown = [_shown(call, held) for held in found if held.body["project"] == project]
    return {"kind": "storage#buckets", **page(call, "items", shown)}


@handles("storage.buckets.patch", "storage.buckets.update")
def change_bucket(call: ApiCall) -> JsonObject:
    held = versions.bucket(call.cloud, call.ids["bucket"])
    _check_write(call, held)
    sent = {key: value for key, value in call.body.items() if key not in _MADE_BY_SERVER}
    fixed = {key: held.body["fields"][key] for key in ("name", "location")}
    for key, value in fixed.items():
        if (sent.get(key) or value).upper() != value.upper():
            raise invalid(f"The {key} of a bucket cannot be changed.", field=key)
    kept = held.body["fields"] if call.method.endswith(".patch") else {}
    fields = _checked({**bodies.merged(kept, sent), **fixed})
    return _shown(call, call.cloud.store.replace(held, {**held.body, "fields": fields}, now=call.cloud.now))


@handles("storage.buckets.delete")
def delete_bucket(call: ApiCall) -> Response:
    held = versions.bucket(call.cloud, call.ids["bucket"])
    _check_write(call, held)
    if not versions.is_empty(call.cloud, held.name):
        raise ApiError(409, "The bucket you tried to delete is not empty.", reason="conflict")
    call.cloud.store.delete(versions.BUCKET, held.name)
    policies.forget(call.cloud, _resource(held))
    return Response(204)


@handles("storage.buckets.getStorageLayout")
def get_layout(call: ApiCall) -> JsonObject:
    held = versions.bucket(call.cloud, call.ids["bucket"])
    location = held.body["fields"]["location"]
    return {
        "kind": "storage#storageLayout",
        "bucket": held.name,
        "location": location,
        "locationType": _location_type(location),
        "hierarchicalNamespace": {"enabled": False},
    }


@handles("storage.managedFolders.list")
def list_folders(call: ApiCall) -> JsonObject:
    """None can be made here; gcloud asks before it deletes a bucket."""
    versions.bucket(call.cloud, call.ids["bucket"])
    return {"kind": "storage#managedFolders"}


@handles("storage.anywhereCaches.list")
def list_caches(call: ApiCall) -> JsonObject:
    """None can be made here; the provider asks before it deletes a bucket."""
    versions.bucket(call.cloud, call.ids["bucket"])
    return {"kind": "storage#anywhereCaches"}


@handles("storage.buckets.getIamPolicy")
def get_policy(call: ApiCall) -> JsonObject:
    held = versions.bucket(call.cloud, call.ids["bucket"])
    return _policy(held, policies.read(call.cloud, _resource(held), initial=_initial(held)))


@handles("storage.buckets.setIamPolicy")
def set_policy(call: ApiCall) -> JsonObject:
    held = versions.bucket(call.cloud, call.ids["bucket"])
    project = held.body["project"]
    stored = policies.write(call.cloud, _resource(held), call.body, project=project, initial=_initial(held))
    return _policy(held, stored)


@handles("storage.buckets.testIamPermissions")
def test_permissions(call: ApiCall) -> JsonObject:
    versions.bucket(call.cloud, call.ids["bucket"])
    return {"kind": "storage#testIamPermissionsResponse", **policies.permissions_held(call.params)}


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
    shown = {
        "kind": "storage#bucket",
        "id": held.name,
        "selfLink": f"{call.base}b/{held.name}",
        "projectNumber": str(call.cloud.project(held.body["project"]).number),
        "generation": str(int(held.created * 1_000_000)),
        "metageneration": str(held.generation),
        "etag": base64.b64encode(str(held.generation).encode()).decode(),
        "timeCreated": created,
        "updated": timestamp(held.updated),
        "locationType": _location_type(fields["location"]),
        "storageClass": "STANDARD",
        "softDeletePolicy": {"retentionDurationSeconds": _SOFT_DELETE_SECONDS, "effectiveTime": created},
        **fields,
        "iamConfiguration": _iam_configuration(fields, held),
    }
    shown["softDeletePolicy"] = {"effectiveTime": created, **shown["softDeletePolicy"]}
    return shown


def _iam_configuration(fields: JsonObject, held: Resource) -> JsonObject:
    sent = fields.get("iamConfiguration", {})
    uniform: JsonObject = dict(
        sent.get("uniformBucketLevelAccess") or sent.get("bucketPolicyOnly") or {"enabled": False}
    )
    if uniform.get("enabled"):
        uniform.setdefault("lockedTime", timestamp(held.created + _LOCK_SECONDS))
    return {
        "publicAccessPrevention": sent.get("publicAccessPrevention", "inherited"),
        "uniformBucketLevelAccess": uniform,
        "bucketPolicyOnly": uniform,
    }


def _check_write(call: ApiCall, held: Resource) -> None:
    """Raises 412 when a metageneration precondition does not hold."""
    if versions.check(call.params, generation=None, metageneration=held.generation):
        raise versions.not_met()


def _check_name(name: str) -> None:
    parts = name.split(".")
    try:
        ipaddress.IPv4Address(name)
        numeric = True
    except ValueError:
        numeric = False
    if (
        not _NAME.fullmatch(name)
        or any(not 0 < len(part) <= _LONGEST_PART for part in parts)
        or numeric
        or name.startswith("goog")
        or "google" in name
    ):
        raise invalid(f"Invalid bucket name: '{name}'", field="name")


def _location(sent: str) -> str:
    location = sent.upper()
    if location in _MULTI_REGIONS or location in _DUAL_REGIONS or location.lower() in places.REGIONS:
        return location
    raise invalid(f"The specified location constraint is not valid: '{sent}'.", field="location")


def _location_type(location: str) -> str:
    if location in _MULTI_REGIONS:
        return "multi-region"
    return "dual-region" if location in _DUAL_REGIONS else "region"


def _checked(fields: JsonObject) -> JsonObject:
    """The fields with unset ones dropped. Raises 400 for what the service refuses."""
    bodies.check_labels(fields.get("labels", {}))
    if fields.get("storageClass", "STANDARD") not in _CLASSES:
        raise invalid(f"Invalid storage class: '{fields['storageClass']}'", field="storageClass")
    for rule in fields.get("lifecycle", {}).get("rule", []):
        if rule.get("action", {}).get("type") not in _ACTIONS:
            raise invalid("A life-cycle rule's action must be one of " + ", ".join(sorted(_ACTIONS)) + ".")
        if not rule.get("condition"):
            raise invalid("A life-cycle rule must have a condition.", field="lifecycle.rule.condition")
    kept = int(fields.get("softDeletePolicy", {}).get("retentionDurationSeconds", _SOFT_DELETE_SECONDS))
    if kept and not 7 * _DAY <= kept <= 90 * _DAY:
        raise invalid("Soft delete keeps objects for 7 to 90 days, or 0 for not at all.", field="softDeletePolicy")
    return {key: value for key, value in fields.items() if value not in ("", [], {})}
