"""One page of a list as a client asks for it: by `filter`, `orderBy`, `pageSize` and `pageToken`.

Owns what these four do to what a service shows, so that every list of every service does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from infra.local.cloud import filters
from infra.local.cloud.errors import invalid
from infra.local.cloud.registry import Call, JsonObject
from infra.local.cloud.services import bodies
from infra.local.cloud.store import Resource, opened, page_size, sealed


def page(
    call: Call,
    key: str,
    items: Iterable[JsonObject],
    *,
    identity: str = "name",
    default_size: int = 500,
    others: Mapping[str, str] | None = None,
) -> JsonObject:
    """The answer of a list. key: the field of the answer that has the items.

    items: everything there is, shown, in the order in which the service lists it. identity: a field in which no two of
    them are alike, by which a page begins after another. others: names that fields have in filters alone. Raises 400.
    """
    params = call.params
    wanted = filters.wanted(params.get("filter"), call.listed, others or {})
    ordered = filters.order(params.get("orderBy"), call.listed)
    found = ordered([item for item in items if wanted(item)])
    rest = found[_begin(found, opened(params.get("pageToken")), identity) :]
    size = page_size(params, default_size)
    return bodies.listing(key, rest[:size], sealed(str(rest[size - 1][identity])) if len(rest) > size else None)


def stored(call: Call, key: str, kind: str, prefix: str, show: Callable[[Resource], JsonObject]) -> JsonObject:
    """The answer of a list of stored resources whose full names begin with `prefix`, in the order of these names."""
    return page(call, key, [show(held) for held in call.cloud.store.each(kind, prefix)])


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
