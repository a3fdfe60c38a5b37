"""What differs between a resource as it is and as it is wanted.

Owns the comparison, property by property, by the marks of the table of fields. Compares with the last known outputs
rather than with the last inputs, as the official provider does: a drift that a refresh has seen becomes a difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal

from bench.engine.provider import UNKNOWN, PropertyDiff
from bench.engine.values import DEFAULTS, has_unknown
from bench.providers.google.fields import Field, Shape, is_empty

Differences = dict[str, PropertyDiff]

_BARE_KEY = re.compile(r"[^.\[\]\"]+")
_TOP = re.compile(r"[.\[]")


def compare(fields: Mapping[str, Field], old: Mapping[str, Any], new: Mapping[str, Any]) -> Differences:
    """Every property that differs, by path."""
    comparison = _Comparison(old, new)
    comparison.fields("", fields, old, new)
    return comparison.found


def under(path: str, key: str) -> str:
    """The path of a property below another one: `labels.owner`, or `labels["a.b"]` where the key has dots."""
    if not _BARE_KEY.fullmatch(key):
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def tops(paths: Iterable[str]) -> set[str]:
    """The top-level properties that these paths stand in."""
    return {_TOP.split(path, maxsplit=1)[0] for path in paths}


@dataclass(frozen=True, slots=True)
class _Comparison:
    """One resource as it is and as it is wanted, and what was found to differ so far."""

    old: Mapping[str, Any]
    new: Mapping[str, Any]
    found: Differences = field(default_factory=dict)

    def fields(self, path: str, fields: Mapping[str, Field], old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        for name, known in fields.items():
            if not known.computed:
                self._value(under(path, name), known, old.get(name), new.get(name))

    def _value(self, path: str, field: Field, old: Any, new: Any) -> None:
        absent = new is None if field.kind is Shape.BLOCK else is_empty(new)
        if (new is None and field.server) or (is_empty(old) and absent):
            return
        if field.hidden and field.hidden(old, new, self.old, self.new):
            return
        if field.kind is Shape.TABLE and new is not UNKNOWN:
            self._tables(path, old or {}, new or {}, replaces=field.replaces)
        elif is_empty(old):
            kind = "update" if isinstance(old, (str, int, float)) else "add"
            self.found[path] = PropertyDiff(kind, field.replaces or _replaces_within(field, new))
        elif new is None:
            self.found[path] = PropertyDiff("delete", field.replaces or _replaces_within(field, old))
        elif new is UNKNOWN:
            self.found[path] = PropertyDiff("update", field.replaces or _replaces_within(field, old))
        elif field.kind is Shape.BLOCK:
            self.fields(path, field.inner, old, new)
        elif field.kind is Shape.BLOCKS:
            self._blocks(path, field, old, new)
        elif field.kind in (Shape.TEXTS, Shape.REALS):
            self._texts(path, field, old, new)
        elif old != new and not (field.same and field.same(old, new)):
            replaces = field.replaces or bool(field.replaces_when and field.replaces_when(old, new))
            self.found[path] = PropertyDiff("update", replaces)

    def _tables(self, path: str, old: Any, new: Any, *, replaces: bool) -> None:
        for key in sorted({*old, *new} - {DEFAULTS}):
            before, after = old.get(key), new.get(key)
            if before != after:
                self.found[under(path, key)] = PropertyDiff(_kind(before, after), replaces)

    def _texts(self, path: str, field: Field, old: Any, new: Any) -> None:
        if field.unordered and not has_unknown(new):
            old, new = sorted(old), sorted(new)
        for index, (before, after) in enumerate(zip_longest(old, new)):
            known = before is not None and after is not None and after is not UNKNOWN
            if before != after and not (known and field.same and field.same(before, after)):
                self.found[f"{path}[{index}]"] = PropertyDiff(_kind(before, after), field.replaces)

    def _blocks(self, path: str, field: Field, old: Any, new: Any) -> None:
        if field.keyed and not has_unknown(new):
            old = sorted(old, key=lambda item: item.get(field.keyed, ""))
            new = sorted(new, key=lambda item: item.get(field.keyed, ""))
        if field.unordered and not has_unknown(new):
            old, new = self._unmatched(field, old, new)
        for index, (before, after) in enumerate(zip_longest(old, new)):
            at = f"{path}[{index}]"
            if field.unordered and (_any_replaces(field.inner, before) or _any_replaces(field.inner, after)):
                self.found[at] = PropertyDiff(_kind(before, after), replaces=True)
            elif before is None or after is None or after is UNKNOWN:
                replaces = field.replaces or _any_replaces(field.inner, before if before is not None else after)
                self.found[at] = PropertyDiff(_kind(before, after), replaces)
            else:
                self.fields(at, field.inner, before, after)

    def _unmatched(self, field: Field, old: list[Any], new: list[Any]) -> tuple[list[Any], list[Any]]:
        """What is left of two sets once everything that they share is taken out."""
        left, added = list(old), []
        for item in new:
            twin = next((each for each in left if not self._differ(field, each, item)), None)
            if twin is None:
                added.append(item)
            else:
                left.remove(twin)
        return left, added

    def _differ(self, field: Field, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        comparison = _Comparison(self.old, self.new)
        comparison.fields("", field.inner, old, new)
        return bool(comparison.found)


def _replaces_within(field: Field, value: Any) -> bool:
    """Whether a block that comes or goes as a whole carries a property that cannot change in place."""
    if field.kind is Shape.BLOCKS and isinstance(value, list):
        return any(_any_replaces(field.inner, item) for item in value)
    return field.kind is Shape.BLOCK and _any_replaces(field.inner, value)


def _any_replaces(fields: Mapping[str, Field], values: Any) -> bool:
    return isinstance(values, Mapping) and any(
        field.replaces or _replaces_within(field, values[name])
        for name, field in fields.items()
        if not is_empty(values.get(name))
    )


def _kind(before: Any, after: Any) -> Literal["add", "update", "delete"]:
    if before is None:
        return "add"
    return "delete" if after is None else "update"
