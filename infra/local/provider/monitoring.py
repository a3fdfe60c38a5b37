"""The calls of metrics, which are replaced by PUT, of what Cloud Monitoring gives a number to, and of dashboards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from infra.local.provider.resource import Call
from infra.local.provider.rest import Rest

_TEXT = "dashboardJson"
_ADDED = ("name", "etag")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Rest):
    """A log-based metric; what is said of `Rest` holds but for the update."""

    def update(self, call: Call) -> None:
        if self.changed_paths(call):
            call.send("PUT", self.path(call), body=call.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named(Rest):
    """What the service names by a number of its own; what is said of `Rest` holds but for the following.

    A create whose answer was lost is not found again: nothing in it is unique, so it is made once more.
    """

    def create(self, call: Call) -> None:
        """Its number joins what is known of it."""
        path = f"{self.base}/{self.collection.fill(call.values)}"
        call.values["number"] = _number(call.send("POST", path, body=call.body))

    def read(self, call: Call) -> dict[str, Any] | None:
        found = Rest.read(self, call)
        return None if found is None else {**found, "number": _number(found)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard(Named):
    """A dashboard, whose one property is its whole body as JSON text; what is said of `Named` holds but for that."""

    def create(self, call: Call) -> None:
        path = f"{self.base}/{self.collection.fill(call.values)}"
        call.values["number"] = _number(call.send("POST", path, body=json.loads(call.values[_TEXT])))

    def read(self, call: Call) -> dict[str, Any] | None:
        """As text, without what the service added: of a dashboard that is written here, keys that were not written."""
        found = Rest.read(self, call)
        if found is None:
            return None
        number = _number(found)
        shown: Any = {key: value for key, value in found.items() if key not in _ADDED}
        if written := call.values.get(_TEXT):
            shown = _as_far_as(shown, json.loads(written))
        return {_TEXT: json.dumps(shown, sort_keys=True), "number": number}

    def update(self, call: Call) -> None:
        """The service takes a body with the etag of the one that it replaces."""
        if self.changed_paths(call):
            held = call.send("GET", self.path(call))
            body = {**json.loads(call.values[_TEXT]), "etag": held["etag"]}
            call.send("PATCH", self.path(call), body=body)


def _as_far_as(found: Any, written: Any) -> Any:
    """Of what was found, the keys that were written, at every depth."""
    if isinstance(found, dict) and isinstance(written, dict):
        return {key: _as_far_as(value, written[key]) for key, value in found.items() if key in written}
    if isinstance(found, list) and isinstance(written, list) and len(found) == len(written):
        return [_as_far_as(one, other) for one, other in zip(found, written, strict=True)]
    return found


def _number(body: dict[str, Any]) -> str:
    return body["name"].rpartition("/")[2]
