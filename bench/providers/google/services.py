"""The calls of types that are not quite ordinary: what is said of `rest.Rest` holds but for what stands here.

Owns the ways of IAM, Pub/Sub, Cloud Monitoring, Service Usage, networks and storage. GKE's have modules of their own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bench.engine.provider import ProviderError
from bench.providers.google.fields import JsonObject
from bench.providers.google.rest import ResourceCall, Rest
from bench.providers.google.settings import MANAGED
from bench.providers.google.spellings import written_json

# IAM, Service Usage, Pub/Sub, Cloud Monitoring


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccount(Rest):
    """A service account, whose create and patch wrap it."""

    def make(self, call: ResourceCall, method: str, path: str, body: Any, query: Any = None) -> None:
        body = {"accountId": call.values["accountId"], "serviceAccount": body}
        Rest.make(self, call, method, path, body, query)

    def update(self, call: ResourceCall) -> None:
        if paths := self.changed_paths(call):
            body = {"serviceAccount": {name: call.body.get(name, "") for name in paths}, "updateMask": ",".join(paths)}
            call.send("PATCH", self.path(call), body=body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enablement(Rest):
    """An enabled API of a project: enabling adopts silently, and a destroy leaves it on."""

    def create(self, call: ResourceCall) -> None:
        self.act(call, "POST", f"{self.path(call)}:enable", {})

    def delete(self, call: ResourceCall) -> None:
        """Another program may need the API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic(Rest):
    """A Pub/Sub topic, which is made by PUT."""

    def create(self, call: ResourceCall) -> None:
        self.make(call, "PUT", self.path(call), call.body)

    def update(self, call: ResourceCall) -> None:
        """The mask stands in the query, as the official provider sends it; the topic is a part of the body."""
        if paths := self.changed_paths(call):
            call.send("PATCH", self.path(call), query={"updateMask": ",".join(paths)}, body={"topic": call.body})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard(Rest):
    """A dashboard, whose one property is its whole body as JSON text."""

    def begin(self, call: ResourceCall, method: str, path: str, body: Any, query: Any) -> JsonObject:
        said = None if body is None else json.loads(call.values["dashboardJson"])
        return Rest.begin(self, call, method, path, said, query)

    def read(self, call: ResourceCall) -> JsonObject | None:
        """The whole answer as text, what the service added too."""
        found = Rest.read(self, call)
        return found and {"dashboardJson": written_json(found), "name": found["name"]}


# Networks


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnetwork(Rest):
    """Two of its properties change by verbs of their own."""

    def update(self, call: ResourceCall) -> None:
        verbs = {"ipCidrRange": "expandIpCidrRange", "privateIpGoogleAccess": "setPrivateIpGoogleAccess"}
        for name in sorted(call.changed & verbs.keys()):
            self.act(call, "POST", f"{self.path(call)}/{verbs[name]}", {name: call.body.get(name, False)})
        rest = sorted(name for name in call.changed - verbs.keys() if not self.fields[name].local)
        if rest:
            self.act(
                call, "PATCH", self.path(call), {name: call.body.get(name, self.fields[name].zero) for name in rest}
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterNat(Rest):
    """An entry in a router's list of NATs, which is read, changed and written back as a whole, one at a time."""

    def create(self, call: ResourceCall) -> None:
        self._write(call, [call.body], fresh=True)

    def read(self, call: ResourceCall) -> JsonObject | None:
        nats = (call.find(self.path(call)) or {}).get("nats") or []
        return next((nat for nat in nats if nat["name"] == call.values["name"]), None)

    def update(self, call: ResourceCall) -> None:
        self._write(call, [call.body])

    def delete(self, call: ResourceCall) -> None:
        self._write(call, [])

    def _write(self, call: ResourceCall, wanted: list[JsonObject], *, fresh: bool = False) -> None:
        path, name = self.path(call), call.values["name"]
        with call.api.turn(path):
            nats = call.send("GET", path).get("nats") or []
            others = [nat for nat in nats if nat["name"] != name]
            if fresh and others != nats:
                raise ProviderError(f"the router {call.values['router']!r} has a NAT {name!r} already")
            self.act(call, "PATCH", path, {"nats": [*others, *wanted]})


# Cloud Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketCalls(Rest):
    """A bucket, which takes JSON merge patches."""

    def update(self, call: ResourceCall) -> None:
        """The changed parts alone; in a merge patch null takes a block or a label away."""
        tops = {path.split(".")[0] for path in self.changed_paths(call)}
        body = {top: call.body.get(top, {"rule": []} if top == "lifecycle" else None) for top in sorted(tops)}
        if "labels" in tops:
            body["labels"] = dict.fromkeys(call.old.get(MANAGED) or {}) | (call.body.get("labels") or {})
        if tops:
            call.send("PATCH", self.path(call), body=body)

    def delete(self, call: ResourceCall) -> None:
        """A bucket with objects is never deleted."""
        if call.send("GET", f"{self.path(call)}/o", query={"versions": "true"}).get("items"):
            raise ProviderError(
                f"Error trying to delete bucket {call.values['name']} containing objects without `forceDestroy` "
                "set to true"
            )
        call.send("DELETE", self.path(call))


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketObject(Rest):
    """An object: an upload of its content, again for every change of it."""

    def create(self, call: ResourceCall) -> None:
        """A doubtful upload is made again: it writes the same bytes under the same name."""
        path, query = f"upload/{self.base}/{self.collection}", {"uploadType": "media", "name": call.values["name"]}
        content, kind = call.values["content"].encode(), call.values["contentType"]
        call.send("POST", path.format_map(call.values), query=query, body=content, content=kind)

    def path(self, call: ResourceCall) -> str:
        """The slashes of a name are no parts of the path."""
        return f"{self.base}/" + self.item.format_map({**call.values, "name": quote(call.values["name"], safe="")})

    def update(self, call: ResourceCall) -> None:
        """All that changes in place is the content: everything else that the table has replaces the object."""
        if call.changed & {"content", "detectMd5hash"}:
            self.create(call)
