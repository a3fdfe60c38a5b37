"""The calls of metrics, which are replaced by PUT, and of what Cloud Monitoring gives a number to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infra.local.provider.resource import Call
from infra.local.provider.rest import Rest


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


def _number(body: dict[str, Any]) -> str:
    return body["name"].rpartition("/")[2]
