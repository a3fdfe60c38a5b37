"""Secret Manager: secrets, their versions with payloads, and their IAM policies. Global secrets only.

Owns the life of a version (enabled, disabled, destroyed) and payload checksums. A payload is the bytes of its version's
row: it is in no body, so no listing, log or error can show it; destroying the version erases it.
Names are answered with the project's number, as the service does, and taken with the number or the id.
Sources: cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets, read 2026-11.
"""

from __future__ import annotations

import base64

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, failed_precondition, invalid
from bench.cloud.services import bodies
from bench.cloud.services.bodies import crc32c
from bench.cloud.services.collection import Collection, numbered
from bench.cloud.store import Resource

_MOST_BYTES = 65536


class _Secrets(Collection):
    api = "secretmanager.projects.secrets"
    kind = "secretmanager.secret"
    new_id = "secretId"
    mutable = frozenset(
        {"labels", "annotations", "topics", "rotation", "ttl", "expireTime", "versionAliases", "versionDestroyTtl",
         "customerManagedEncryption", "tags"}
    )  # fmt: skip
    fixed = None
    adds = ("createTime",)
    has_policy = True
    by_number = True
    absent = "Secret [{name}] not found."
    present = "Secret [{name}] already exists."

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        """The body with a ttl turned into the time it means."""
        if not body.get("replication"):
            raise invalid("Replication must be either automatic or userManaged.", field="secret.replication")
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
    methods = "get list access enable disable destroy"
    above = SECRETS
    adds = ("createTime",)
    by_number = True
    absent = "Secret Version [{name}] not found."

    def found(self, call: ApiCall) -> Resource:
        """`latest` is the newest one, whatever its state."""
        asked = call.ids["versionsId"]
        newest = next(iter(self.listed(call)), None) if asked == "latest" else None
        held = self.find(call.cloud, self.prefix(call) + asked.rjust(8, "0")) if asked.isdigit() else newest
        if held is None:
            raise self.missing(call.cloud, self.prefix(call) + asked)
        return held

    def listed(self, call: ApiCall) -> list[Resource]:
        return [*super().listed(call)][::-1]

    def public(self, cloud: Cloud, name: str) -> str:
        head, _, number = numbered(cloud, name).rpartition("/")
        return f"{head}/{number.lstrip('0') or 0}"

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "replicationStatus": {"automatic": {}}, "etag": f'"{held.etag}"'}

    def access(self, call: ApiCall) -> JsonObject:
        version = self.found(call)
        name = self.public(call.cloud, version.name)
        if version.body["state"] != "ENABLED":
            raise failed_precondition(f"Secret Version [{name}] is in {version.body['state']} state.")
        data = call.cloud.store.data(version.kind, version.name)
        return {"name": name, "payload": {"data": base64.b64encode(data).decode(), "dataCrc32c": str(crc32c(data))}}

    def enable(self, call: ApiCall) -> JsonObject:
        return self._becomes(call, {"state": "ENABLED"})

    def disable(self, call: ApiCall) -> JsonObject:
        return self._becomes(call, {"state": "DISABLED"})

    def destroy(self, call: ApiCall) -> JsonObject:
        return self._becomes(call, {"state": "DESTROYED", "destroyTime": timestamp(call.cloud.now)}, b"")

    def _becomes(self, call: ApiCall, changes: JsonObject, data: bytes | None = None) -> JsonObject:
        version = self.found(call)
        self.check_etag(call, version)
        if version.body["state"] == "DESTROYED":
            name = self.public(call.cloud, version.name)
            raise failed_precondition(f"Secret Version [{name}] is in DESTROYED state.")
        store, body = call.cloud.store, {**version.body, **changes}
        return self.shown(call.cloud, store.replace(version, body, now=call.cloud.now, data=data))


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
    name = f"{held.name}/versions/{number:08d}"
    return _VERSIONS.shown(cloud, cloud.store.insert(_Versions.kind, name, body, now=cloud.now, data=data))
