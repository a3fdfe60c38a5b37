"""Secret Manager: secrets, their versions with payloads, and their IAM policies. Global secrets only.

Owns the life of a version (enabled, disabled, destroyed). Nothing expires. A payload is the bytes of its version's
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
_STATES = {"enable": "ENABLED", "disable": "DISABLED", "destroy": "DESTROYED"}


class _Secrets(Collection):
    api = "secretmanager.projects.secrets"
    kind = "secretmanager.secret"
    new_id = "secretId"
    adds = ("createTime",)
    has_policy = True
    by_number = True

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        if not body.get("replication"):
            raise invalid("Replication must be either automatic or userManaged.")
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
        self._check_state(call, version, {"ENABLED"})
        data = call.cloud.store.data(version.kind, version.name)
        payload = {"data": base64.b64encode(data).decode(), "dataCrc32c": str(crc32c(data))}
        return {"name": self.public(call.cloud, version.name), "payload": payload}

    def enable(self, call: ApiCall) -> JsonObject:
        """Enable, disable or destroy it, as the method says."""
        version, state = self.found(call), _STATES[call.method.rpartition(".")[2]]
        self._check_state(call, version, {"ENABLED", "DISABLED"})
        data = b"" if state == "DESTROYED" else None
        body = {**version.body, "state": state, **({} if data is None else {"destroyTime": timestamp(call.cloud.now)})}
        return self.shown(call.cloud, call.cloud.store.replace(version, body, now=call.cloud.now, data=data))

    disable = destroy = enable

    def _check_state(self, call: ApiCall, version: Resource, wanted: set[str]) -> None:
        """Raises 400."""
        if (state := version.body["state"]) not in wanted:
            name = self.public(call.cloud, version.name)
            raise failed_precondition(f"Secret Version [{name}] is in {state} state.")


_VERSIONS = _Versions()


@handles("secretmanager.projects.secrets.addVersion")
def add_version(call: ApiCall) -> JsonObject:
    held, cloud = SECRETS.found(call), call.cloud
    data = bodies.decoded(call.body.get("payload", {}).get("data", ""))
    if not 0 < len(data) <= _MOST_BYTES:
        raise invalid(f"The payload has {len(data)} bytes; 1 to {_MOST_BYTES} are allowed.")
    number = cloud.store.next_number(f"{_Versions.kind} {held.name} {held.created!r}")
    name = f"{held.name}/versions/{number:08d}"
    made = cloud.store.insert(_Versions.kind, name, {"state": "ENABLED"}, now=cloud.now, data=data)
    return _VERSIONS.shown(cloud, made)
