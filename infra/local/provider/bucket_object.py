"""The calls of an object in a bucket: an upload of its content, again for every change of it, and its bytes' hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from infra.local.engine.provider import ProviderError
from infra.local.provider.resource import Call
from infra.local.provider.rest import Rest
from infra.local.provider.transport import Media

_SENT: Final = (
    "cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "contentType", "metadata",
    "storageClass",
)  # fmt: skip
_BINARY: Final = frozenset((*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)))


def md5(content: str) -> str:
    """As Cloud Storage writes it: base64 of the MD5 of the bytes."""
    return base64.b64encode(hashlib.md5(content.encode(), usedforsecurity=False).digest()).decode()


def is_same_content(hashed: Any, _default: Any, _old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the service's bytes are the declared ones: `detectMd5hash` is then no difference.

    A hash that the program gives itself switches this comparison off.
    """
    if new.get("sourceMd5hash"):
        return True
    content = new.get("content")
    return isinstance(content, str) and content != "" and hashed == md5(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketObject(Rest):
    """An object; what is said of `Rest` holds but for the following."""

    def create(self, call: Call) -> None:
        """An upload in two parts. A doubtful one is made again: it writes the same bytes under the same name."""
        content = call.values["content"].encode()
        if not content:
            raise ProviderError(f"object {call.values['name']}: its content is empty; the official provider takes none")
        path = f"upload/{self.base}/{self.collection.fill(call.values)}"
        query = {"alt": "json", "name": call.values["name"], "prettyPrint": "false", "uploadType": "multipart"}
        described = {name: call.body[name] for name in _SENT if name in call.body}
        described["bucket"] = call.values["bucket"]
        call.send("POST", path, query=query, body=described, media=Media(content, _kind(content)))

    def read(self, call: Call) -> dict[str, Any] | None:
        found = Rest.read(self, call)
        if found is None:
            return None
        return {**found, "md5HexHash": base64.b64decode(found.get("md5Hash", "")).hex()}

    def path(self, call: Call) -> str:
        """The slashes of a name are no parts of the path."""
        return f"{self.base}/" + self.item.fill({**call.values, "name": quote(call.values["name"], safe="")})

    def update(self, call: Call) -> None:
        """All that changes in place is the content: everything else that the table has replaces the object."""
        if call.changed & {"content", "sourceMd5hash", "detectMd5hash"}:
            self.create(call)


def _kind(content: bytes) -> str:
    """What Google's client takes bytes for where nobody names a type: text without control characters, or neither.

    Source: mimesniff.spec.whatwg.org as Go's net/http implements it, without its table of file signatures.
    """
    return "application/octet-stream" if _BINARY & {*content[:512]} else "text/plain; charset=utf-8"


UNSETTLED: Final[Mapping[str, tuple[str, ...]]] = {"detectMd5hash": ("md5hash", "crc32c", "generation")}
"""What only the service says once new content is there."""
