"""The calls of an enabled API of a project: enabling adopts silently, and a destroy may leave it on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infra.local.provider.operations import Wait, wait
from infra.local.provider.resource import Call, Path

_BASE = "v1"


@dataclass(frozen=True, slots=True)
class Enablement:
    """item: where the state of one API in one project stands."""

    item: Path

    def create(self, call: Call) -> None:
        wait(call.api, Wait.LRO, _BASE, call.send("POST", f"{self._path(call)}:enable", body={}), call.deadline)

    def read(self, call: Call) -> dict[str, Any] | None:
        found = call.find(self._path(call))
        return found if found and found.get("state") == "ENABLED" else None

    def update(self, call: Call) -> None:
        """What may change says how the API is to be disabled one day, and is nobody's business but the provider's."""

    def delete(self, call: Call) -> None:
        if not call.values.get("disableOnDestroy"):
            return
        body = {
            "disableDependentServices": bool(call.values.get("disableDependentServices")),
            "checkIfServiceHasUsage": "CHECK" if call.values.get("checkIfServiceHasUsageOnDestroy") else "SKIP",
        }
        wait(call.api, Wait.LRO, _BASE, call.send("POST", f"{self._path(call)}:disable", body=body), call.deadline)

    def _path(self, call: Call) -> str:
        return f"{_BASE}/{self.item.fill(call.values)}"
