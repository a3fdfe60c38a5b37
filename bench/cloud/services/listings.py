"""Lists: one page of one, by what a client asks for.

Owns what `filter`, `pageSize` and `pageToken` do, so that every list of every service does the same.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable

from bench.cloud import filters
from bench.cloud.cloud import ApiCall
from bench.cloud.errors import JsonObject, invalid


def page(call: ApiCall, key: str, items: Iterable[JsonObject], *, identity: str = "name") -> JsonObject:
    """The answer of a list by `filter`, `pageSize` and `pageToken`. key: its field that has the items.

    items: everything there is, shown, in the order in which the service lists it. identity: a field in which no two of
    them are alike, by which a page begins after another. Raises 400.
    """
    params = call.params
    found = [item for item in items if filters.wanted(params.get("filter"), {})(item)]
    after, names = opened(params.get("pageToken")), [str(item[identity]) for item in found]
    rest = found[names.index(after) + 1 if after in names else sum(name <= after for name in names) :]
    size = int(params.get("pageSize") or params.get("maxResults") or 500)
    return listing(key, rest[:size], sealed(str(rest[size - 1][identity])) if len(rest) > size else None)


def sealed(name: str) -> str:
    """The token of the page after a name."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def opened(token: str | None) -> str:
    """The name after which a page begins. Raises 400."""
    try:
        return base64.b64decode(token or "", altchars=b"-_", validate=True).decode()
    except ValueError:
        raise invalid("Invalid page token.", field="pageToken") from None


def listing(key: str, items: list[JsonObject], next_token: str | None) -> JsonObject:
    """A list answer: empty lists and the last page's token are left out."""
    answer: JsonObject = {key: items} if items else {}
    if next_token:
        answer["nextPageToken"] = next_token
    return answer
