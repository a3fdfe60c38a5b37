"""The calls of a service account, whose create and patch wrap it and whose `disabled` has verbs of its own."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from infra.local.provider.resource import Call, Path
from infra.local.provider.transport import ApiError

_MASKED = {"displayName": "display_name", "description": "description"}


@dataclass(frozen=True, slots=True)
class Account:
    """collection, item: where accounts stand, version included."""

    collection: Path
    item: Path

    def create(self, call: Call) -> None:
        """`disabled` is not sent, as by the official provider: an account that is made disabled shows a difference."""
        described = {name: call.body[name] for name in _MASKED if name in call.body}
        body = {"accountId": call.values["accountId"], "serviceAccount": described}
        try:
            call.send("POST", self.collection.fill(call.values), body=body)
        except ApiError as error:
            ours = error.doubtful or call.values.get("createIgnoreAlreadyExists")
            if not (ours and error.code == HTTPStatus.CONFLICT):
                raise

    def read(self, call: Call) -> dict[str, Any] | None:
        return call.find(self.item.fill(call.values))

    def update(self, call: Call) -> None:
        path = self.item.fill(call.values)
        if "disabled" in call.changed:
            call.send("POST", f"{path}:{'disable' if call.values.get('disabled') else 'enable'}", body={})
        if masked := sorted(call.changed & _MASKED.keys()):
            etag = call.send("GET", path).get("etag", "")
            body = {"etag": etag, **{name: call.body.get(name, "") for name in masked}}
            mask = ",".join(_MASKED[name] for name in masked)
            call.send("PATCH", path, body={"serviceAccount": body, "updateMask": mask})

    def delete(self, call: Call) -> None:
        call.send("DELETE", self.item.fill(call.values))
