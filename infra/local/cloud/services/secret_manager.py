"""Secret Manager: secrets, their versions with payloads, and their IAM policies. Global secrets only.

Owns the life of a version (enabled, disabled, destroyed), aliases and payload checksums. A payload is the bytes of its
version's row: it is in no body, so no listing, log or error can show it; destroying the version erases it.
Names are answered with the project's number, as the service does, and taken with the number or the id.
Sources: cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets and .../quotas, read 2026-11.
"""

from __future__ import annotations

import base64
import re

from infra.local.cloud.clock import timestamp
from infra.local.cloud.errors import ApiError, aborted, failed_precondition, invalid
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies, listings, places, policies
from infra.local.cloud.services.checksums import crc32c
from infra.local.cloud.store import Resource

_SECRET = "secretmanager.secret"  # noqa: S105 - a kind of resource
_VERSION = "secretmanager.version"
_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")
_MOST_BYTES = 65536
_MUTABLE = frozenset(
    {"labels", "annotations", "topics", "rotation", "ttl", "expireTime", "versionAliases", "versionDestroyTtl",
     "customerManagedEncryption", "tags"}
)  # fmt: skip


@handles("secretmanager.projects.secrets.create")
def create_secret(call: Call) -> JsonObject:
    identity = call.params.get("secretId", "")
    if not _ID.fullmatch(identity):
        raise invalid(
            f"Invalid secret id '{identity}': it must hold 1 to 255 letters, digits, dashes and underscores.",
            field="secret_id",
        )
    body = _checked(call, bodies.without_unset(call.body))
    name = f"projects/{_project(call)}/secrets/{identity}"
    if call.cloud.store.find(_SECRET, name):
        raise ApiError(409, f"Secret [{_numbered(call, name)}] already exists.")
    return _shown(call, call.cloud.store.insert(_SECRET, name, body, now=call.cloud.now))


@handles("secretmanager.projects.secrets.get")
def get_secret(call: Call) -> JsonObject:
    return _shown(call, _found(call))


@handles("secretmanager.projects.secrets.list")
def list_secrets(call: Call) -> JsonObject:
    prefix = f"projects/{_project(call)}/secrets/"
    answer = listings.stored(call, "secrets", _SECRET, prefix, lambda held: _shown(call, held))
    return {**answer, "totalSize": call.cloud.store.count(_SECRET, prefix)}


@handles("secretmanager.projects.secrets.patch")
def patch_secret(call: Call) -> JsonObject:
    held = _found(call)
    _check_etag(call.body.get("etag"), held)
    if not call.params.get("updateMask"):
        raise invalid("An update mask is required.", field="update_mask")
    body = _checked(call, bodies.masked(held.body, call.body, call.params["updateMask"], mutable=_MUTABLE))
    for alias, number in body.get("versionAliases", {}).items():
        if call.cloud.store.find(_VERSION, _version_name(held, int(number))) is None:
            raise failed_precondition(f"Alias '{alias}' names version {number}, which does not exist.")
    return _shown(call, call.cloud.store.replace(held, body, now=call.cloud.now))


@handles("secretmanager.projects.secrets.delete")
def delete_secret(call: Call) -> JsonObject:
    held = _found(call)
    _check_etag(call.params.get("etag"), held)
    for version in list(call.cloud.store.each(_VERSION, f"{held.name}/versions/")):
        call.cloud.store.delete(_VERSION, version.name)
    call.cloud.store.delete(_SECRET, held.name)
    policies.forget(call.cloud, held.name)
    return {}


policies.serve("secretmanager.projects.secrets", lambda call: (_found(call).name, _project(call)))


@handles("secretmanager.projects.secrets.addVersion")
def add_version(call: Call) -> JsonObject:
    held, cloud = _found(call), call.cloud
    payload = call.body.get("payload") or {}
    data = bodies.decoded(payload.get("data", ""))
    if not 0 < len(data) <= _MOST_BYTES:
        raise invalid(f"The payload has {len(data)} bytes; 1 to {_MOST_BYTES} are allowed.", field="payload.data")
    checksum = payload.get("dataCrc32c")
    if checksum is not None and int(checksum) != crc32c(data):
        raise invalid("The checksum does not match the payload.", field="payload.data_crc32c")
    number = cloud.store.next_number(f"{_VERSION} {held.name} {held.created!r}")
    body: JsonObject = {"state": "ENABLED"}
    if checksum is not None:
        body["clientSpecifiedPayloadChecksum"] = True
    version = cloud.store.insert(_VERSION, _version_name(held, number), body, now=cloud.now, data=data)
    return _shown_version(call, version, held)


@handles("secretmanager.projects.secrets.versions.get")
def get_version(call: Call) -> JsonObject:
    return _shown_version(call, *_found_version(call))


@handles("secretmanager.projects.secrets.versions.list")
def list_versions(call: Call) -> JsonObject:
    """Newest first, as the service lists them."""
    held = _found(call)
    versions = sorted(call.cloud.store.each(_VERSION, f"{held.name}/versions/"), key=_number, reverse=True)
    shown = [_shown_version(call, version, held) for version in versions]
    return {**listings.page(call, "versions", shown, default_size=25_000), "totalSize": len(versions)}


@handles("secretmanager.projects.secrets.versions.access")
def access_version(call: Call) -> JsonObject:
    version, _ = _found_version(call)
    name = _numbered(call, _public_name(version))
    if version.body["state"] != "ENABLED":
        raise failed_precondition(f"Secret Version [{name}] is in {version.body['state']} state.")
    data = call.cloud.store.data(_VERSION, version.name)
    return {"name": name, "payload": {"data": base64.b64encode(data).decode(), "dataCrc32c": str(crc32c(data))}}


@handles(
    "secretmanager.projects.secrets.versions.enable",
    "secretmanager.projects.secrets.versions.disable",
    "secretmanager.projects.secrets.versions.destroy",
)
def change_version(call: Call) -> JsonObject:
    version, held = _found_version(call)
    _check_etag(call.body.get("etag"), version)
    if version.body["state"] == "DESTROYED":
        raise failed_precondition(f"Secret Version [{_numbered(call, _public_name(version))}] is in DESTROYED state.")
    state = {"enable": "ENABLED", "disable": "DISABLED", "destroy": "DESTROYED"}[call.method.rpartition(".")[2]]
    body = {**version.body, "state": state}
    if state == "DESTROYED":
        body["destroyTime"] = timestamp(call.cloud.now)
    erased = b"" if state == "DESTROYED" else None
    return _shown_version(call, call.cloud.store.replace(version, body, now=call.cloud.now, data=erased), held)


def _project(call: Call) -> str:
    return call.cloud.project(call.ids["projectsId"]).id


def _found(call: Call) -> Resource:
    name = f"projects/{_project(call)}/secrets/{call.ids['secretsId']}"
    held = call.cloud.store.find(_SECRET, name)
    if held is None:
        raise ApiError(404, f"Secret [{_numbered(call, name)}] not found.")
    return held


def _version_name(secret: Resource, number: int) -> str:
    """Padded, so that names sort as numbers do."""
    return f"{secret.name}/versions/{number:08d}"


def _number(version: Resource) -> int:
    return int(version.name.rpartition("/")[2])


def _public_name(version: Resource) -> str:
    return f"{version.name.rpartition('/')[0]}/{_number(version)}"


def _numbered(call: Call, name: str) -> str:
    """The name with the project's number in place of its id."""
    head, project, rest = name.split("/", 2)
    return f"{head}/{call.cloud.project(project).number}/{rest}"


def _found_version(call: Call) -> tuple[Resource, Resource]:
    """The version and its secret; `latest` is the newest one, whatever its state, and an alias stands for a number."""
    held, asked = _found(call), call.ids["versionsId"]
    if asked == "latest":
        versions = call.cloud.store.each(_VERSION, f"{held.name}/versions/")
        version = max(versions, key=_number, default=None)
    else:
        number = held.body.get("versionAliases", {}).get(asked, asked)
        version = call.cloud.store.find(_VERSION, _version_name(held, int(number))) if number.isdigit() else None
    if version is None:
        raise ApiError(404, f"Secret Version [{_numbered(call, held.name)}/versions/{asked}] not found.")
    return version, held


def _shown(call: Call, held: Resource) -> JsonObject:
    return {
        "name": _numbered(call, held.name),
        "createTime": timestamp(held.created),
        "etag": f'"{held.etag}"',
        **held.body,
    }


def _shown_version(call: Call, version: Resource, secret: Resource) -> JsonObject:
    replication = secret.body["replication"]
    if "automatic" in replication:
        status: JsonObject = {"automatic": {}}
    else:
        status = {"userManaged": {"replicas": [{"location": each["location"]} for each in _replicas(replication)]}}
    return {
        "name": _numbered(call, _public_name(version)),
        "createTime": timestamp(version.created),
        "replicationStatus": status,
        "etag": f'"{version.etag}"',
        **version.body,
    }


def _check_etag(sent: str | None, held: Resource) -> None:
    if sent and sent.strip('"') != held.etag:
        raise aborted(f"Etag mismatch: current etag is '\"{held.etag}\"', request had '{sent}'.")


def _replicas(replication: JsonObject) -> list[JsonObject]:
    return replication.get("userManaged", {}).get("replicas", [])


def _checked(call: Call, body: JsonObject) -> JsonObject:
    """The body with a ttl turned into the time it means. Raises 400 for what the service refuses."""
    replication = body.get("replication") or {}
    if ("automatic" in replication) == ("userManaged" in replication):
        raise invalid("Replication must be either automatic or userManaged.", field="secret.replication")
    if "userManaged" in replication and not _replicas(replication):
        raise invalid("User-managed replication needs a replica.", field="secret.replication.user_managed.replicas")
    for replica in _replicas(replication):
        if replica.get("location") not in places.REGIONS:
            raise invalid(f"Location '{replica.get('location')}' is no region.", field="secret.replication")
    bodies.check_labels(body.get("labels", {}), field="secret.labels")
    if "rotation" in body and not body.get("topics"):
        raise invalid("Rotation needs at least one topic.", field="secret.topics")
    for name in body.get("versionAliases", {}):
        if name.isdigit() or name == "latest":
            raise invalid(f"'{name}' cannot be an alias.", field="secret.version_aliases")
    if "ttl" in body:
        expires = call.cloud.now + bodies.seconds(body["ttl"], field="secret.ttl")
        body = {**{key: value for key, value in body.items() if key != "ttl"}, "expireTime": timestamp(expires)}
    return body
