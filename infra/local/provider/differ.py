"""What differs between a resource as it is and as it is wanted.

Owns the comparison, property by property, by the marks of the table of fields. Compares with the last known outputs
rather than with the last inputs, as the official provider does: a drift that a refresh has seen becomes a difference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, Literal

from infra.local.engine.provider import UNKNOWN, PropertyDiff
from infra.local.provider.codec import DEFAULTS, has_unknown
from infra.local.provider.fields import Field, Kind, is_empty

Differences = dict[str, PropertyDiff]

_BARE_KEY = re.compile(r"[^.\[\]\"]+")


def compare(fields: Mapping[str, Field], old: Mapping[str, Any], new: Mapping[str, Any]) -> Differences:
    """Every property that differs, by path."""
    found: Differences = {}
    _compare_fields(found, "", fields, old, new)
    return found


def under(path: str, key: str) -> str:
    """The path of a property below another one: `labels.owner`, or `labels["a.b"]` where the key has dots."""
    if not _BARE_KEY.fullmatch(key):
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def _compare_fields(
    found: Differences, path: str, fields: Mapping[str, Field], old: Mapping[str, Any], new: Mapping[str, Any]
) -> None:
    for name, field in fields.items():
        if not field.computed:
            _compare_value(found, under(path, name), field, old.get(name), new.get(name))


def _compare_value(found: Differences, path: str, field: Field, old: Any, new: Any) -> None:
    absent = new is None if field.kind is Kind.BLOCK else is_empty(new)
    if (new is None and field.server) or (is_empty(old) and absent):
        return
    if field.kind is Kind.TABLE and new is not UNKNOWN:
        _compare_tables(found, path, old or {}, new or {}, replaces=field.replaces)
    elif is_empty(old):
        found[path] = PropertyDiff("add", field.replaces or _replaces_within(field, new))
    elif new is None:
        found[path] = PropertyDiff("delete", field.replaces or _replaces_within(field, old))
    elif new is UNKNOWN:
        found[path] = PropertyDiff("update", field.replaces or _replaces_within(field, old))
    elif field.kind is Kind.BLOCK:
        _compare_fields(found, path, field.inner, old, new)
    elif field.kind is Kind.BLOCKS:
        _compare_blocks(found, path, field, old, new)
    elif field.kind is Kind.TEXTS:
        _compare_texts(found, path, field, old, new)
    elif old != new and not (field.same and field.same(old, new)):
        replaces = field.replaces or bool(field.replaces_when and field.replaces_when(old, new))
        found[path] = PropertyDiff("update", replaces)


def _replaces_within(field: Field, value: Any) -> bool:
    """Whether a block that comes or goes as a whole carries a property that cannot change in place."""
    if field.kind is Kind.BLOCKS and isinstance(value, list):
        return any(_any_replaces(field.inner, item) for item in value)
    return field.kind is Kind.BLOCK and _any_replaces(field.inner, value)


def _any_replaces(fields: Mapping[str, Field], values: Any) -> bool:
    return isinstance(values, Mapping) and any(
        field.replaces or _replaces_within(field, values[name])
        for name, field in fields.items()
        if not is_empty(values.get(name))
    )


def _compare_tables(found: Differences, path: str, old: Any, new: Any, *, replaces: bool) -> None:
    for key in sorted({*old, *new} - {DEFAULTS}):
        before, after = old.get(key), new.get(key)
        if before != after:
            found[under(path, key)] = PropertyDiff(_kind(before, after), replaces)


def _compare_texts(found: Differences, path: str, field: Field, old: Any, new: Any) -> None:
    if field.unordered and not has_unknown(new):
        old, new = sorted(old), sorted(new)
    for index, (before, after) in enumerate(zip_longest(old, new)):
        known = before is not None and after is not None and after is not UNKNOWN
        if before != after and not (known and field.same and field.same(before, after)):
            found[f"{path}[{index}]"] = PropertyDiff(_kind(before, after), field.replaces)


def _compare_blocks(found: Differences, path: str, field: Field, old: Any, new: Any) -> None:
    if field.keyed and not has_unknown(new):
        old = sorted(old, key=lambda item: item.get(field.keyed, ""))
        new = sorted(new, key=lambda item: item.get(field.keyed, ""))
    for index, (before, after) in enumerate(zip_longest(old, new)):
        at = f"{path}[{index}]"
        if before is None or after is None or after is UNKNOWN:
            replaces = field.replaces or _any_replaces(field.inner, before if before is not None else after)
            found[at] = PropertyDiff(_kind(before, after), replaces)
        else:
            _compare_fields(found, at, field.inner, before, after)


def _kind(before: Any, after: Any) -> Literal["add", "update", "delete"]:
    if before is None:
        return "add"
    return "delete" if after is None else "update"
