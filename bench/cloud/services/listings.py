"""Lists: one page of one, by what a client asks for, and collections that are there for everybody.

Owns what `filter`, `orderBy`, `pageSize` and `pageToken` do, so that every list of every service does the same.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from bench.cloud import filters
from bench.cloud.cloud import ApiCall, handles
from bench.cloud.errors import JsonObject, invalid, not_found


def page(
    call: ApiCall,
    key: str,
    items: Iterable[JsonObject],
    *,
    identity: str = "name",
    default_size: int = 500,
    others: Mapping[str, str] | None = None,
) -> JsonObject:
    """The answer of a list by `filter`, `orderBy`, `pageSize` and `pageToken`. key: its field that has the items.

    items: everything there is, shown, in the order in which the service lists it. identity: a field in which no two of
    them are alike, by which a page begins after another. others: names that fields have in filters alone. Raises 400.
    """
    params = call.params
    wanted = filters.wanted(params.get("filter"), call.listed, others or {})
    ordered = filters.order(params.get("orderBy"), call.listed)
    found = ordered([item for item in items if wanted(item)])
    rest = found[_begin(found, _opened(params.get("pageToken")), identity) :]
    size = _page_size(params, default_size)
    return listing(key, rest[:size], _sealed(str(rest[size - 1][identity])) if len(rest) > size else None)


def _begin(items: list[JsonObject], after: str, identity: str) -> int:
    """Where the page after an item begins. Raises 400 for one that is gone, unless the others are in its order."""
    if not after:
        return 0
    names = [str(item[identity]) for item in items]
    if after in names:
        return names.index(after) + 1
    if names != sorted(names):
        raise invalid("Invalid page token.", field="pageToken")
    return sum(name <= after for name in names)


def _page_size(params: Mapping[str, Any], default: int) -> int:
    """How many a listing answers at once. Raises 400."""
    size = int(params.get("pageSize") or params.get("maxResults") or default)
    if size < 0:
        raise invalid("Page size must not be negative.", field="pageSize")
    return size


def _sealed(name: str) -> str:
    """The token of the page after a name."""
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def _opened(token: str | None) -> str:
    """The name after which a page begins. Raises 400."""
    if not token:
        return ""
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise invalid("Invalid page token.", field="pageToken") from None


def serve_known(api: str, items: Callable[[ApiCall], list[JsonObject]]) -> None:
    """Register get and list of what is there for everybody, and that nobody makes. items: all of it, as it is shown."""

    @handles(f"{api}.list")
    def list_all(call: ApiCall) -> JsonObject:
        return page(call, api.rpartition(".")[2], items(call))

    @handles(f"{api}.get")
    def get_one(call: ApiCall) -> JsonObject:
        # What has a slash in it is escaped in names, and by some clients once more in paths.
        found = [item for item in items(call) if unquote(item["name"]) == unquote(call.params["name"])]
        if not found:
            raise not_found(call.params["name"])
        return found[0]


def listing(key: str, items: list[JsonObject], next_token: str | None) -> JsonObject:
    """A list answer: empty lists and the last page's token are left out."""
    answer: JsonObject = {key: items} if items else {}
    if next_token:
        answer["nextPageToken"] = next_token
    return answer
