"""Secret Manager: secrets, their versions with payloads, and their IAM policies. Global secrets only.

Owns the life of a version (enabled, disabled, destroyed), aliases and payload checksums. A payload is the bytes of its
version's row: it is in no body, so no listing, log or error can show it; destroying the version erases it.
Names are answered with the project's number, as the service does, and taken with the number or the id.
Sources: cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets and .../quotas, read 2026-11.
"""

from __future__ import annotations

import base64
import re

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, failed_precondition, invalid
from bench.cloud.services import bodies, places
from bench.cloud.services.bodies import crc32c
from bench.cloud.services.collection import Collection, numbered
from bench.cloud.store import Resource

_MOST_BYTES = 65536


class _Secrets(Collection):
    api = "secretmanager.projects.secrets"
    kind = "secretmanager.secret"
    new_id = "secretId"
    id_form = re.compile(r"[A-Za-z0-9_-]{1,255}")
    id_rule = "it must hold 1 to 255 letters, digits, dashes and underscores"
    mutable = frozenset(
        {"labels", "annotations", "topics", "rotation", "ttl", "expireTime", "versionAliases", "versionDestroyTtl",
         "customerManagedEncryption", "tags"}
    )  # fmt: skip
    fixed = None
    mask = "refused"
    counted = True
    adds = ("createTime",)
    has_policy = True
    by_number = True
    absent = "Secret [{name}] not found."
    present = "Secret [{name}] already exists."

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        """The body with a ttl turned into the time it means."""
        replication = body.get("replication") or {}
        if ("automatic" in replication) == ("userManaged" in replication):
            raise invalid("Replication must be either automatic or userManaged.", field="secret.replication")
        if "userManaged" in replication and not _replicas(replication):
            raise invalid("User-managed replication needs a replica.", field="secret.replication.user_managed.replicas")
        for replica in _replicas(replication):
            if replica.get("location") not in places.REGIONS:
                raise invalid(f"Location '{replica.get('location')}' is not a region.", field="secret.replication")
        bodies.check_labels(body.get("labels", {}), field="secret.labels")
        if "rotation" in body and not body.get("topics"):
            raise invalid("Rotation needs at least one topic.", field="secret.topics")
        for alias, number in body.get("versionAliases", {}).items():
            if alias.isdigit() or alias == "latest":
                raise invalid(f"'{alias}' cannot be an alias.", field="secret.version_aliases")
            if self.find(cloud, name) and cloud.store.find(_Versions.kind, _version_name(name, number)) is None:
                raise failed_precondition(f"Alias '{alias}' names version {number}, which does not exist.")
        if "ttl" in body:
            expires = cloud.now + bodies.seconds(body["ttl"], field="secret.ttl")
            body = {**{key: value for key, value in body.items() if key != "ttl"}, "expireTime": timestamp(expires)}
        return body

    def clear(self, call: ApiCall, held: Resource) -> None:
        for version in list(call.cloud.store.each(_Versions.kind, f"{held.name}/versions/")):
            call.cloud.store.delete(version.kind, version.name)

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "etag": f'"{held.etag}"'}


SECRETS = _Secrets()


class _Versions(Collection):
    """Newest first, as the service lists them. Numbers are padded in the store, so that names sort as they do."""

    api = "secretmanager.projects.secrets.versions"
    kind = "secretmanager.version"
    methods = "get list"
    above = SECRETS
    page_size = 25_000
    counted = True
    adds = ("createTime",)
    by_number = True
    absent = "Secret Version [{name}] not found."

    def found(self, call: ApiCall) -> Resource:
        """`latest` is the newest one, whatever its state, and an alias stands for a number."""
        secret, asked = SECRETS.found(call), call.ids["versionsId"]
        number = secret.body.get("versionAliases", {}).get(asked, asked)
        newest = next(iter(self.listed(call)), None) if asked == "latest" else None
        held = self.find(call.cloud, _version_name(secret.name, number)) if number.isdigit() else newest
        if held is None:
            raise self.missing(call.cloud, f"{secret.name}/versions/{asked}")
        return held

    def listed(self, call: ApiCall) -> list[Resource]:
        return [*super().listed(call)][::-1]

    def public(self, cloud: Cloud, name: str) -> str:
        head, _, number = numbered(cloud, name).rpartition("/")
        return f"{head}/{number.lstrip('0') or 0}"

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        replication = SECRETS.named(cloud, held.name.rpartition("/versions/")[0]).body["replication"]
        if "automatic" in replication:
            status: JsonObject = {"automatic": {}}
        else:
            status = {"userManaged": {"replicas": [{"location": each["location"]} for each in _replicas(replication)]}}
        return {**super().shown(cloud, held), "replicationStatus": status, "etag": f'"{held.etag}"'}


_VERSIONS = _Versions()


@handles("secretmanager.projects.secrets.addVersion")
def add_version(call: ApiCall) -> JsonObject:
    held, cloud = SECRETS.found(call), call.cloud
    payload = call.body.get("payload") or {}
    data = bodies.decoded(payload.get("data", ""))
    if not 0 < len(data) <= _MOST_BYTES:
        raise invalid(f"The payload has {len(data)} bytes; 1 to {_MOST_BYTES} are allowed.", field="payload.data")
    checksum = payload.get("dataCrc32c")
    if checksum is not None and int(checksum) != crc32c(data):
        raise invalid("The checksum does not match the payload.", field="payload.data_crc32c")
    number = cloud.store.next_number(f"{_Versions.kind} {held.name} {held.created!r}")
    body: JsonObject = {"state": "ENABLED", **({} if checksum is None else {"clientSpecifiedPayloadChecksum": True})}
    name = _version_name(held.name, number)
    return _VERSIONS.shown(cloud, cloud.store.insert(_Versions.kind, name, body, now=cloud.now, data=data))


@handles("secretmanager.projects.secrets.versions.access")
def access_version(call: ApiCall) -> JsonObject:
    version = _VERSIONS.found(call)
    name = _VERSIONS.public(call.cloud, version.name)
    if version.body["state"] != "ENABLED":
        raise failed_precondition(f"Secret Version [{name}] is in {version.body['state']} state.")
    data = call.cloud.store.data(version.kind, version.name)
    return {"name": name, "payload": {"data": base64.b64encode(data).decode(), "dataCrc32c": str(crc32c(data))}}


@handles(*(f"secretmanager.projects.secrets.versions.{verb}" for verb in ("enable", "disable", "destroy")))
def change_version(call: ApiCall) -> JsonObject:
    version = _VERSIONS.found(call)
    _VERSIONS.check_etag(call, version)
    if version.body["state"] == "DESTROYED":
        name = _VERSIONS.public(call.cloud, version.name)
        raise failed_precondition(f"Secret Version [{name}] is in DESTROYED state.")
    state = {"enable": "ENABLED", "disable": "DISABLED", "destroy": "DESTROYED"}[call.method.rpartition(".")[2]]
    body = {**version.body, "state": state}
    if state == "DESTROYED":
        body["destroyTime"] = timestamp(call.cloud.now)
    erased = b"" if state == "DESTROYED" else None
    return _VERSIONS.shown(call.cloud, call.cloud.store.replace(version, body, now=call.cloud.now, data=erased))


def _version_name(secret: str, number: str | int) -> str:
    return f"{secret}/versions/{int(number):08d}"


def _replicas(replication: JsonObject) -> list[JsonObject]:
    return replication.get("userManaged", {}).get("replicas", [])
