"""Between the properties that a program writes and the bodies of the REST APIs.

Owns translation alone, driven by the table of fields: which names, which nesting, what is left out. Knows no type and
makes no call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from bench.engine.values import DEFAULTS
from bench.providers.google.fields import Field, Shape, is_empty


def encode(fields: Mapping[str, Field], values: Mapping[str, Any]) -> dict[str, Any]:
    """The REST body of these properties. False, zero and empty values are left out unless a field says otherwise."""
    body: dict[str, Any] = {}
    for name, field in fields.items():
        value = values.get(name)
        if field.local or field.computed or (value is None and not field.always):
            continue
        sent = field.zero if value is None else _encode_value(field, value)
        if field.always or not is_empty(sent) or (field.keeps_empty and value is not None):
            _put(body, field.wire or name, sent)
    return body


def _encode_block(field: Field, value: Mapping[str, Any]) -> dict[str, Any]:
    """`{}` for a block that says nothing: an empty text, list or map in it is nothing, false, 0 and a block are not."""
    return (
        encode(field.inner, value) if any(_says(known, value.get(name)) for name, known in field.inner.items()) else {}
    )


def _says(field: Field, value: Any) -> bool:
    return value is not None and (field.kind is Shape.BLOCK or value not in ("", [], {}))


def _encode_value(field: Field, value: Any) -> Any:
    match field.kind:
        case Shape.WHOLE:
            return str(int(value)) if field.wire_text else int(value)
        case Shape.BLOCK:
            return _encode_block(field, value)
        case Shape.BLOCKS if field.keyed:
            inner = {name: each for name, each in field.inner.items() if name != field.keyed}
            return {item[field.keyed]: encode(inner, item) for item in value}
        case Shape.BLOCKS:
            return [encode(field.inner, item) for item in value]
        case Shape.TABLE:
            return dict(value)
        case Shape.TEXTS | Shape.REALS:
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
        case Shape.WHOLE:
            return int(value)
        case Shape.BLOCK:
            return decode(field.inner, value) if value or field.keeps_empty else None
        case Shape.BLOCKS if field.keyed:
            return [decode(field.inner, {**item, field.keyed: key}) for key, item in sorted(value.items())]
        case Shape.BLOCKS:
            return [decode(field.inner, item) for item in (value if isinstance(value, list) else [value])]
        case Shape.TABLE:
            return dict(value)
        case Shape.TEXTS | Shape.REALS:
            return list(value)
        case _:
            return field.told(value) if field.told else value


def as_written(fields: Mapping[str, Field], outputs: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a resource after a refresh: what the program wrote, as the service has it now.

    As by the Terraform bridge of Pulumi 3.137: what the program left out stays out, whatever the service has, and a
    default that is not so any more is no default.
    """
    inputs: dict[str, Any] = {}
    marks = {*written.get(DEFAULTS, ())}
    for name, before in written.items():
        field, value = fields.get(name), outputs.get(name)
        if field is None or value is None:
            continue
        inputs[name] = _as_written_value(field, value, before)
        if inputs[name] != before:
            marks.discard(name)
    inputs[DEFAULTS] = sorted(marks & inputs.keys())
    return inputs


def _as_written_value(field: Field, value: Any, before: Any) -> Any:
    if field.kind is Shape.BLOCK:
        return as_written(field.inner, value, before)
    if field.kind is Shape.BLOCKS:
        return [as_written(field.inner, item, old) for item, old in _paired(field, value, before)]
    if field.kind is Shape.TABLE:
        return {key: value[key] for key in before if key in value}
    if field.unordered and isinstance(value, list):
        return [item for item in before if item in value]
    if field.stored is not None and field.same is not None and field.same(value, before):
        return before
    return value[: len(before)] if isinstance(value, list) else value


def _paired(
    field: Field, items: list[dict[str, Any]], before: list[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Each element that the program wrote with what the service has of it: by its key, its content, or its place."""
    if field.keyed:
        found = {item.get(field.keyed): item for item in items}
        yield from ((found[old[field.keyed]], old) for old in before if old[field.keyed] in found)
    elif field.unordered:
        for old in before:
            same = (item for item in items if plain(as_written(field.inner, item, old)) == plain(old))
            yield from ((item, old) for item in islice(same, 1))
    else:
        yield from zip(items, before, strict=False)


def overlay(fields: Mapping[str, Field], old: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Old properties with new inputs over them, block by block: what a change in place is expected to lead to."""
    merged = dict(old)
    for name, value in inputs.items():
        field = fields.get(name)
        if field is None or value is None:
            continue
        if field.kind is Shape.BLOCK and isinstance(value, Mapping) and isinstance(old.get(name), Mapping):
            merged[name] = overlay(field.inner, old[name], value)
        elif field.kind is Shape.BLOCKS and isinstance(value, list) and not field.unordered and not field.keyed:
            before = old.get(name) or []
            merged[name] = [
                overlay(field.inner, before[place], item) if place < len(before) and isinstance(item, Mapping) else item
                for place, item in enumerate(value)
            ]
        elif not (field.same and isinstance(old.get(name), str) and field.same(old[name], value)):
            merged[name] = plain(value)
    for name, field in fields.items():
        if name in merged and inputs.get(name) is None and not (field.server or field.computed):
            merged[name] = field.zero
    return merged


def plain(value: Any) -> Any:
    """The value without Pulumi's marks of defaults, at any depth."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items() if key != DEFAULTS}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value
