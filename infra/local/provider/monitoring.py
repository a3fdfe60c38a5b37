"""The calls of metrics, which are replaced by PUT, of what Cloud Monitoring gives a number to, and of dashboards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from infra.local.provider.resource import Call
from infra.local.provider.rest import Rest

_TEXT = "dashboardJson"


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
class Channel(Named):
    """A notification channel, which an alert policy may still use; what is said of `Named` holds but for its end."""

    def delete(self, call: Call) -> None:
        call.send("DELETE", self.path(call), query={"force": "true" if call.values.get("forceDelete") else "false"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard(Named):
    """A dashboard, whose one property is its whole body as JSON text; what is said of `Named` holds but for that."""

    def create(self, call: Call) -> None:
        path = f"{self.base}/{self.collection.fill(call.values)}"
        call.values["number"] = _number(call.send("POST", path, body=json.loads(call.values[_TEXT])))

    def read(self, call: Call) -> dict[str, Any] | None:
        """The whole answer as text, what the service added too."""
        found = Rest.read(self, call)
        if found is None:
            return None
        return {_TEXT: _written(found), "number": _number(found)}

    def update(self, call: Call) -> None:
        """The service takes a body with the etag of the one that it replaces: the last that the state has seen."""
        if self.changed_paths(call):
            held = json.loads(call.old[_TEXT])
            call.send("PATCH", self.path(call), body={**json.loads(call.values[_TEXT]), "etag": held["etag"]})


def normal_json(text: str) -> str:
    """As a state holds JSON."""
    return _written(json.loads(text))


def _written(value: Any) -> str:
    """As Go writes JSON: keys sorted, no blanks, what HTML would understand escaped."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _number(body: dict[str, Any]) -> str:
    return body["name"].rpartition("/")[2]
