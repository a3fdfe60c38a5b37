"""The calls of types that are not quite ordinary: what is said of `rest.Rest` holds but for what stands here.

Owns the ways of Cloud Build, IAM, Pub/Sub, Cloud Logging, Cloud Monitoring and Service Usage. Networks and storage have
modules of their own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final

from bench.providers.google.resource import ResourceCall
from bench.providers.google.rest import Rest, conflict_with_ourselves
from bench.providers.google.spellings import written_json

# Cloud Build


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger(Rest):
    """A Cloud Build trigger: the service makes its id, and an update carries all of it."""

    def create(self, call: ResourceCall) -> None:
        """Its id joins what is known of it. One whose answer was lost is found again by its name."""
        path, made = self.collection_path(call), None
        with conflict_with_ourselves():
            made = call.send("POST", path, body=call.body)
        call.values["triggerId"] = (made or call.send("GET", f"{path}/{call.values['name']}"))["id"]

    def update(self, call: ResourceCall) -> None:
        if self.changed_paths(call):
            call.send("PATCH", self.path(call), body={**call.body, "id": call.values["triggerId"]})


# IAM, Service Usage

_MASKED: Final = {"displayName": "display_name", "description": "description"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccount(Rest):
    """A service account, whose create and patch wrap it."""

    def create(self, call: ResourceCall) -> None:
        described = {name: call.body[name] for name in _MASKED if name in call.body}
        body = {"accountId": call.values["accountId"], "serviceAccount": described}
        with conflict_with_ourselves(always=bool(call.values.get("createIgnoreAlreadyExists"))):
            call.send("POST", self.collection_path(call), body=body)

    def update(self, call: ResourceCall) -> None:
        path = self.path(call)
        if masked := sorted(call.changed & _MASKED.keys()):
            etag = call.send("GET", path).get("etag", "")
            body = {"etag": etag, **{name: call.body.get(name, "") for name in masked}}
            mask = ",".join(_MASKED[name] for name in masked)
            call.send("PATCH", path, body={"serviceAccount": body, "updateMask": mask})


@dataclass(frozen=True, slots=True, kw_only=True)
class Enablement(Rest):
    """An enabled API of a project: enabling adopts silently, and a destroy leaves it on."""

    def create(self, call: ResourceCall) -> None:
        self.ended(call, call.send("POST", f"{self.path(call)}:enable", body={}))

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        found = Rest.read(self, call)
        return found if found and found.get("state") == "ENABLED" else None

    def delete(self, call: ResourceCall) -> None:
        """Another program may need the API."""


# Pub/Sub


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic(Rest):
    """A Pub/Sub topic, which is made by PUT."""

    def create(self, call: ResourceCall) -> None:
        with conflict_with_ourselves():
            call.send("PUT", self.path(call), body=call.body)

    def update(self, call: ResourceCall) -> None:
        """The mask stands in the query, as the official provider sends it; the topic is a part of the body."""
        if paths := self.changed_paths(call):
            call.send("PATCH", self.path(call), query={"updateMask": ",".join(paths)}, body={"topic": call.body})


# Cloud Logging, Cloud Monitoring


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Rest):
    """A log-based metric, which is replaced by PUT."""

    def update(self, call: ResourceCall) -> None:
        if self.changed_paths(call):
            call.send("PUT", self.path(call), body=call.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered(Rest):
    """What the service names by a number of its own.

    A create whose answer was lost is not found again: nothing in it is unique, so it is made once more.
    """

    def create(self, call: ResourceCall) -> None:
        """Its number joins what is known of it."""
        call.values["number"] = _number(call.send("POST", self.collection_path(call), body=call.body))

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        found = Rest.read(self, call)
        return None if found is None else {**found, "number": _number(found)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(Numbered):
    """A budget of Cloud Billing, whose filter has a list of values for each label, of which it takes one."""

    def create(self, call: ResourceCall) -> None:
        Numbered.create(self, replace(call, body=_labels_listed(call.body)))

    def update(self, call: ResourceCall) -> None:
        Numbered.update(self, replace(call, body=_labels_listed(call.body)))

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        found = Numbered.read(self, call)
        if found is None or not (labels := found.get("budgetFilter", {}).get("labels")):
            return found
        plain = {key: values[0] for key, values in labels.items()}
        return {**found, "budgetFilter": {**found["budgetFilter"], "labels": plain}}


def _labels_listed(body: dict[str, Any]) -> dict[str, Any]:
    chosen = body.get("budgetFilter", {})
    if not chosen.get("labels"):
        return body
    return {**body, "budgetFilter": {**chosen, "labels": {key: [value] for key, value in chosen["labels"].items()}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard(Numbered):
    """A dashboard, whose one property is its whole body as JSON text."""

    def create(self, call: ResourceCall) -> None:
        Numbered.create(self, replace(call, body=json.loads(call.values["dashboardJson"])))

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        """The whole answer as text, what the service added too."""
        found = Rest.read(self, call)
        return None if found is None else {"dashboardJson": written_json(found), "number": _number(found)}

    def update(self, call: ResourceCall) -> None:
        """The service takes a body with the etag of the one that it replaces: the last that the state has seen."""
        if self.changed_paths(call):
            held = json.loads(call.old["dashboardJson"])
            body = {**json.loads(call.values["dashboardJson"]), "etag": held["etag"]}
            call.send("PATCH", self.path(call), body=body)


def _number(body: dict[str, Any]) -> str:
    return body["name"].rpartition("/")[2]
