"""The calls of Cloud Storage: of buckets, and of objects in them.

A bucket takes JSON merge patches, and has object states as flags. An object is an upload of
its content, again for every change of it. What is said of `rest.Rest` holds but for what stands here.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bench.engine.provider import ProviderError
from bench.providers.google.resource import ResourceCall
from bench.providers.google.rest import Rest
from bench.providers.google.settings import MANAGED
from bench.providers.google.transport import Media

_IS_LIVE = {"LIVE": True, "ARCHIVED": False}
_CLEARED = {"lifecycle": {"rule": []}}
"""What an update says of a part that the program took out, where that is not null."""
_STATES = {True: "LIVE", False: "ARCHIVED", None: "ANY"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketCalls(Rest):
    """A bucket; what is said of `Rest` holds but for the following."""

    def create(self, call: ResourceCall) -> None:
        _say_liveness(call.body)
        Rest.create(self, call)

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        found = Rest.read(self, call)
        if found is None:
            return None
        found.setdefault("hierarchicalNamespace", {"enabled": False})
        for rule in (found.get("lifecycle") or {}).get("rule", []):
            condition = rule.setdefault("condition", {})
            condition["withState"] = _STATES[condition.pop("isLive", None)]
        return found

    def update(self, call: ResourceCall) -> None:
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

    def delete(self, call: ResourceCall) -> None:
        """A bucket with objects is never deleted."""
        objects = f"{self.path(call)}/o"
        if call.send("GET", objects, query={"versions": "true"}).get("items"):
            raise ProviderError(
                f"Error trying to delete bucket {call.values['name']} containing objects without `forceDestroy` "
                "set to true"
            )
        call.send("DELETE", self.path(call))


def _say_liveness(body: dict[str, Any]) -> None:
    for rule in (body.get("lifecycle") or {}).get("rule", []):
        state = rule.get("condition", {}).pop("withState", None)
        if state in _IS_LIVE:
            rule["condition"]["isLive"] = _IS_LIVE[state]


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketObject(Rest):
    """An object; what is said of `Rest` holds but for the following."""

    def create(self, call: ResourceCall) -> None:
        """An upload in two parts. A doubtful one is made again: it writes the same bytes under the same name."""
        path = f"upload/{self.collection_path(call)}"
        query = {"alt": "json", "name": call.values["name"], "prettyPrint": "false", "uploadType": "multipart"}
        kind = call.values["contentType"]
        described = {"bucket": call.values["bucket"], "contentType": kind}
        call.send("POST", path, query=query, body=described, media=Media(call.values["content"].encode(), kind))

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        found = Rest.read(self, call)
        if found is None:
            return None
        return {**found, "md5HexHash": base64.b64decode(found.get("md5Hash", "")).hex()}

    def path(self, call: ResourceCall) -> str:
        """The slashes of a name are no parts of the path."""
        return f"{self.base}/" + self.item.fill({**call.values, "name": quote(call.values["name"], safe="")})

    def update(self, call: ResourceCall) -> None:
        """All that changes in place is the content: everything else that the table has replaces the object."""
        if call.changed & {"content", "detectMd5hash"}:
            self.create(call)
