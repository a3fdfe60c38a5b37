"""The calls of Cloud KMS, where nothing is ever deleted: rings stay, and keys lose their versions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from infra.local.provider.resource import Call, Path
from infra.local.provider.rest import Rest

_LIVE = frozenset({"ENABLED", "DISABLED", "PENDING_GENERATION"})
_ROTATION_MASK = {"updateMask": "nextRotationTime,rotationPeriod"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRing(Rest):
    """A ring. It cannot be deleted, so a destroy makes no call: the ring is forgotten and its name stays taken."""

    def delete(self, call: Call) -> None:
        """Nothing that the API would do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CryptoKey(Rest):
    """A key. A destroy schedules all its versions for destruction and stops its rotation; its name stays taken."""

    def create(self, call: Call) -> None:
        _schedule_rotation(call)
        skips = Path("true" if call.values.get("skipInitialVersionCreation") else "false")
        Rest.create(replace(self, query={**self.query, "skipInitialVersionCreation": skips}), call)

    def update(self, call: Call) -> None:
        changed = call.changed
        if "rotationPeriod" in changed:
            _schedule_rotation(call)
            body = {name: call.body[name] for name in ("rotationPeriod", "nextRotationTime") if name in call.body}
            call.send("PATCH", self.path(call), query=_ROTATION_MASK, body=body)
        Rest.update(self, replace(call, changed=changed - {"rotationPeriod"}))

    def delete(self, call: Call) -> None:
        versions = f"{self.path(call)}/cryptoKeyVersions"
        for version in call.send("GET", versions).get("cryptoKeyVersions", []):
            if version.get("state") in _LIVE:
                call.send("POST", f"{self.base}/{version['name']}:destroy", body={})
        call.send("PATCH", self.path(call), query=_ROTATION_MASK, body={})


def _schedule_rotation(call: Call) -> None:
    """The service wants the first rotation as a time; the official provider counts from now as well."""
    if period := call.body.get("rotationPeriod"):
        due = datetime.now(UTC) + timedelta(seconds=float(period.removesuffix("s")))
        call.body["nextRotationTime"] = due.strftime("%Y-%m-%dT%H:%M:%SZ")
