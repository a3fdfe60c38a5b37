"""Between the properties that a program writes and the bodies of the REST APIs.

Owns translation alone, driven by the table of fields: which names, which nesting, what is left out. Knows no type and
makes no call.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

from infra.local.engine.provider import UNKNOWN
from infra.local.provider.fields import Field, Kind, is_empty

DEFAULTS = "__defaults"
"""Names the properties of an object that the provider filled in; Pulumi's own mark in recorded inputs."""


def encode(fields: Mapping[str, Field], values: Mapping[str, Any]) -> dict[str, Any]:
    """The REST body of these properties. False, zero and empty values are left out unless a field keeps them."""
    body: dict[str, Any] = {}
    for name, field, value in _given(fields, values):
        if field.local or field.computed:
            continue
        sent = _encode_value(field, value)
        if not is_empty(sent) or field.keeps_empty:
            _put(body, field.wire or name, sent)
    return body


def _given(fields: Mapping[str, Field], values: Mapping[str, Any]) -> Iterator[tuple[str, Field, Any]]:
    for name, field in fields.items():
        value = values.get(name)
        if value is not None:
            yield name, field, value


def _encode_value(field: Field, value: Any) -> Any:
    match field.kind:
        case Kind.WHOLE:
            return str(int(value)) if field.wire_text else int(value)
        case Kind.BLOCK:
            return encode(field.inner, value)
        case Kind.BLOCKS if field.keyed:
            return {item[field.keyed]: encode(field.inner, item) for item in value}
        case Kind.BLOCKS:
            return [encode(field.inner, item) for item in value]
        case Kind.TABLE:
            return dict(value)
        case Kind.TEXTS:
            return list(value)
        case _:
            return field.spelled(value) if field.spelled else value


def _put(body: dict[str, Any], path: str, value: Any) -> None:
    *parents, leaf = path.split(".")
    for parent in parents:
        body = body.setdefault(parent, {})
    body[leaf] = value


def pick(body: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, None where there is none."""
    value: Any = body
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def decode(fields: Mapping[str, Field], body: Mapping[str, Any]) -> dict[str, Any]:
    """The properties that a REST body shows; what it does not mention reads as its kind's zero."""
    return {
        name: _decode_value(field, pick(body, field.wire or name)) for name, field in fields.items() if not field.local
    }


def _decode_value(field: Field, value: Any) -> Any:
    if value is None:
        return field.zero
    match field.kind:
        case Kind.WHOLE:
            return int(value)
        case Kind.BLOCK:
            return decode(field.inner, value) if value or field.keeps_empty else None
        case Kind.BLOCKS if field.keyed:
            return [decode(field.inner, {**item, field.keyed: key}) for key, item in sorted(value.items())]
        case Kind.BLOCKS:
            return [decode(field.inner, item) for item in (value if isinstance(value, list) else [value])]
        case Kind.TABLE:
            return dict(value)
        case Kind.TEXTS:
            return list(value)
        case _:
            return value


def as_written(
    fields: Mapping[str, Field], outputs: Mapping[str, Any], written: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Inputs as a program would write them to get `outputs`.

    `written` is what the program wrote last: of what it left out, only a value that the service would not have filled
    in by itself shows (drift). None stands for an import, where everything that says something shows, but of
    properties that exclude one another only the last.
    """
    inputs: dict[str, Any] = {}
    for name, field in fields.items():
        if field.computed:
            continue
        value, before = outputs.get(name), None if written is None else written.get(name)
        if before is None and (is_empty(value) or value == field.default or (written is not None and field.server)):
            continue
        if value is None and not is_empty(before):
            continue
        inputs[name] = _as_written_value(field, value, before)
        if written is None:
            for other in field.excludes:
                inputs.pop(other, None)
    marks = () if written is None else written.get(DEFAULTS, ())
    inputs[DEFAULTS] = [name for name in marks if name in inputs]
    return inputs


def _as_written_value(field: Field, value: Any, before: Any) -> Any:
    if before is not None and _is_same(field, before, value):
        return before
    if field.kind is Kind.BLOCK and isinstance(value, Mapping):
        return as_written(field.inner, value, before)
    if field.kind is Kind.BLOCKS:
        return [as_written(field.inner, item, old) for item, old in _paired(field, value, before)]
    return value


def _is_same(field: Field, before: Any, value: Any) -> bool:
    """Whether the service merely spells or orders otherwise what the program wrote."""
    if field.kind is not Kind.TEXTS:
        return field.same is not None and field.same(before, value)
    if field.unordered:
        before, value = sorted(before), sorted(value)
    same = field.same or operator.eq
    return len(before) == len(value) and all(map(same, before, value))


def _paired(
    field: Field, items: list[dict[str, Any]], before: list[dict[str, Any]] | None
) -> Iterator[tuple[dict[str, Any], Mapping[str, Any] | None]]:
    """Each element with what the program wrote for it: by its key and in the program's order, or by its place."""
    if before is None:
        yield from ((item, None) for item in items)
    elif field.keyed:
        written = {item.get(field.keyed): item for item in before}
        order = {key: place for place, key in enumerate(written)}
        for item in sorted(items, key=lambda item: order.get(item[field.keyed], len(order))):
            yield item, written.get(item[field.keyed], {})
    else:
        for place, item in enumerate(items):
            yield item, before[place] if place < len(before) else {}


def overlay(fields: Mapping[str, Field], old: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Old properties with new inputs over them, block by block: what a change in place is expected to lead to."""
    merged = dict(old)
    for name, value in inputs.items():
        field = fields.get(name)
        if field is None or value is None:
            continue
        if field.kind is Kind.BLOCK and isinstance(value, Mapping) and isinstance(old.get(name), Mapping):
            merged[name] = overlay(field.inner, old[name], value)
        else:
            merged[name] = plain(value)
    for name, field in fields.items():
        if name in merged and inputs.get(name) is None and not (field.server or field.computed or field.local):
            merged[name] = field.zero
    return merged


def plain(value: Any) -> Any:
    """The value without Pulumi's marks of defaults, at any depth."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if key != DEFAULTS}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def has_unknown(value: Any) -> bool:
    """Whether a value is not known yet, at any depth."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return value is UNKNOWN
