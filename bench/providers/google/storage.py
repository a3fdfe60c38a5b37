"""The calls of Cloud Storage: of buckets, and of objects in them.

A bucket takes JSON merge patches, has object states as flags, and its destroy may empty it. An object is an upload of
its content, again for every change of it. What is said of `rest.Rest` holds but for what stands here.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Final
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


_SENT: Final = (
    "cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "contentType", "metadata",
    "storageClass",
)  # fmt: skip
_BINARY: Final = frozenset((*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketObject(Rest):
    """An object; what is said of `Rest` holds but for the following."""

    def create(self, call: ResourceCall) -> None:
        """An upload in two parts. A doubtful one is made again: it writes the same bytes under the same name."""
        content = call.values["content"].encode()
        if not content:
            raise ProviderError(f"object {call.values['name']}: its content is empty; the official provider takes none")
        path = f"upload/{self.collection_path(call)}"
        query = {"alt": "json", "name": call.values["name"], "prettyPrint": "false", "uploadType": "multipart"}
        described = {name: call.body[name] for name in _SENT if name in call.body}
        described["bucket"] = call.values["bucket"]
        call.send("POST", path, query=query, body=described, media=Media(content, _kind(content)))

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
        if call.changed & {"content", "sourceMd5hash", "detectMd5hash"}:
            self.create(call)


def _kind(content: bytes) -> str:
    """What Google's client takes bytes for where nobody names a type: text without control characters, or neither.

    Source: mimesniff.spec.whatwg.org as Go's net/http implements it, without its table of file signatures.
    """
    return "application/octet-stream" if _BINARY & {*content[:512]} else "text/plain; charset=utf-8"
