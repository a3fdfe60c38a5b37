"""The calls of a storage bucket: JSON merge patches, object states as flags, and a destroy that may empty it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from infra.local.engine.provider import ProviderError
from infra.local.provider.labels import MANAGED
from infra.local.provider.resource import Call
from infra.local.provider.rest import Rest

_IS_LIVE = {"LIVE": True, "ARCHIVED": False}
_CLEARED = {"lifecycle": {"rule": []}}
"""What an update says of a part that the program took out, where that is not null."""
_STATES = {True: "LIVE", False: "ARCHIVED", None: "ANY"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket(Rest):
    """A bucket; what is said of `Rest` holds but for the following."""

    def create(self, call: Call) -> None:
        _say_liveness(call.body)
        Rest.create(self, call)

    def read(self, call: Call) -> dict[str, Any] | None:
        found = Rest.read(self, call)
        if found is None:
            return None
        found.setdefault("hierarchicalNamespace", {"enabled": False})
        for rule in (found.get("lifecycle") or {}).get("rule", []):
            condition = rule.setdefault("condition", {})
            condition["withState"] = _STATES[condition.pop("isLive", None)]
        return found

    def update(self, call: Call) -> None:
        """The changed parts alone; in a merge patch null takes a block or a label away."""
        _say_liveness(call.body)
        tops = {path.split(".")[0] for path in self.changed_paths(call)}
        if not tops:
            return
        body = {top: call.body.get(top, _CLEARED.get(top)) for top in sorted(tops)}
        if "labels" in tops:
            lost = dict.fromkeys(call.old.get(MANAGED) or {})
            body["labels"] = lost | (call.body.get("labels") or {})
        call.send("PATCH", self.path(call), body=body)

    def delete(self, call: Call) -> None:
        """A bucket with objects is only deleted with `forceDestroy`, and then with all versions of all objects."""
        objects = f"{self.path(call)}/o"
        while items := call.send("GET", objects, query={"versions": "true"}).get("items"):
            if not call.values.get("forceDestroy"):
                raise ProviderError(
                    f"Error trying to delete bucket {call.values['name']} containing objects without `forceDestroy` "
                    "set to true"
                )
            for item in items:
                generation = {"generation": str(item["generation"])}
                call.send("DELETE", f"{objects}/{quote(item['name'], safe='')}", query=generation)
        call.send("DELETE", self.path(call))


def _say_liveness(body: dict[str, Any]) -> None:
    for rule in (body.get("lifecycle") or {}).get("rule", []):
        state = rule.get("condition", {}).pop("withState", None)
        if state in _IS_LIVE:
            rule["condition"]["isLive"] = _IS_LIVE[state]
