"""What differs between a resource as it is and as it is wanted.

Owns the comparison, property by property, by the marks of the table of fields. Compares with the last known outputs
rather than with the last inputs, as the official provider does: a drift that a refresh has seen becomes a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any, Literal

from bench.engine.provider import UNKNOWN, PropertyDiff
from bench.engine.values import DEFAULTS, has_unknown
from bench.providers.google.fields import Field, Fields, Given, Shape, is_empty
from infra.model import property_paths as paths

Differences = dict[str, PropertyDiff]


def under(path: str, key: str | int) -> str:
    """The path of a property below another one: `labels.owner`, or `labels["a.b"]` where the key has dots."""
    return path + paths.render_below(key, path)


def tops(differing: Iterable[str]) -> set[str]:
    """The top-level properties that these paths stand in."""
    return {str(paths.parse(path)[0]) for path in differing}


def compare(fields: Fields, old: Given, new: Given, path: str = "") -> Differences:
    """Every property that differs, by path."""
    found: Differences = {}
    for name, field in fields.items():
        if not field.computed:
            found |= _compare_values(under(path, name), field, old.get(name), new.get(name))
    return found


def _compare_values(path: str, field: Field, old: Any, new: Any) -> Differences:
    absent = new is None if field.kind is Shape.BLOCK else is_empty(new)
    if (new is None and field.server) or (is_empty(old) and absent) or field.is_same(old, new):
        return {}
    if field.kind is Shape.TABLE and new is not UNKNOWN:
        before, after = old or {}, new or {}
        items = ((key, before.get(key), after.get(key)) for key in sorted({*before, *after} - {DEFAULTS}))
        return _compare_items(path, field, items)
    if is_empty(old) or new is None or new is UNKNOWN:
        replaces = field.replaces or _replaces_within(field, old) or _replaces_within(field, new)
        return {path: PropertyDiff(_kind(old if isinstance(old, (str, int, float)) or old else None, new), replaces)}
    match field.kind:
        case Shape.BLOCK:
            return compare(field.inner, old, new, path)
        case Shape.BLOCKS:
            return _compare_blocks(path, field, old, new)
        case Shape.TEXTS | Shape.REALS:
            if field.unordered and not has_unknown(new):
                old, new = sorted(old), sorted(new)
            return _compare_items(path, field, ((at, *pair) for at, pair in enumerate(zip_longest(old, new))))
    if old == new:
        return {}
    replaces = field.replaces or bool(field.replaces_when and field.replaces_when(old, new))
    return {path: PropertyDiff("update", replaces)}


def _compare_items(path: str, field: Field, items: Iterable[tuple[str | int, Any, Any]]) -> Differences:
    return {
        under(path, key): PropertyDiff(_kind(before, after), field.replaces)
        for key, before, after in items
        if before != after
    }


def _compare_blocks(path: str, field: Field, old: list[Any], new: list[Any]) -> Differences:
    if field.unordered and not has_unknown(new):
        old, new = _unmatched(field, old, new)
    found: Differences = {}
    for index, (before, after) in enumerate(zip_longest(old, new)):
        at = under(path, index)
        within = any(_replaces_within(field, each) for each in (before, after))
        if before is None or after is None or after is UNKNOWN:
            found[at] = PropertyDiff(_kind(before, after), field.replaces or within)
        elif field.unordered and within:
            found[at] = PropertyDiff("update", replaces=True)
        else:
            found |= compare(field.inner, before, after, at)
    return found


def _unmatched(field: Field, old: list[Any], new: list[Any]) -> tuple[list[Any], list[Any]]:
    """What is left of two sets once everything that they share is taken out."""
    left, added = list(old), []
    for item in sorted(new, key=lambda each: each.get(field.keyed, "")):
        twin = next((each for each in left if not compare(field.inner, each, item)), None)
        if twin is None:
            added.append(item)
        else:
            left.remove(twin)
    return left, added


def _replaces_within(field: Field, value: Any) -> bool:
    """Whether a block that comes or goes as a whole carries a property that cannot change in place."""
    if isinstance(value, list):
        return any(_replaces_within(field, item) for item in value)
    return isinstance(value, Mapping) and any(
        each.replaces or _replaces_within(each, value[name])
        for name, each in field.inner.items()
        if not is_empty(value.get(name))
    )


def _kind(before: Any, after: Any) -> Literal["add", "update", "delete"]:
    if before is None:
        return "add"
    return "delete" if after is None else "update"
