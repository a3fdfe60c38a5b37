"""Between the properties that a program writes and the bodies of the REST APIs.

Owns translation alone, driven by the table of fields: which names, which nesting, what is left out. Knows no type and
makes no call.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any

from bench.engine.values import DEFAULTS
from bench.providers.google.fields import Field, Fields, Given, JsonObject, Shape, is_empty


def encode(fields: Fields, values: Given, body: JsonObject | None = None) -> JsonObject:
    """The REST body of these properties. False, zero and empty values are left out unless a field says otherwise."""
    body = {} if body is None else body
    for name, field in fields.items():
        value = values.get(name)
        if field.local or field.computed or (value is None and not field.always):
            continue
        if field.wire == ".":
            encode(field.inner, value or {}, body)
            continue
        sent = field.zero if value is None else _encode_value(field, value)
        if field.always or not is_empty(sent) or (field.keeps_empty and sent is not None):
            *parents, leaf = (field.wire or name).split(".")
            inside = body
            for parent in parents:
                inside = inside.setdefault(parent, {})
            inside[leaf] = sent
    return body


def _encode_value(field: Field, value: Any) -> Any:
    value = field.spelled(value) if field.spelled else value
    match field.kind:
        case Shape.WHOLE:
            return str(int(value)) if field.wire_text else int(value)
        case Shape.BLOCK:
            # An empty text or list in a block says nothing, and a block that says nothing is empty.
            says = any(value.get(name) not in (None, "", []) for name in field.inner)
            return encode(field.inner, value) if says else {}
        case Shape.BLOCKS if field.keyed:
            inner = {name: each for name, each in field.inner.items() if name != field.keyed}
            return {item[field.keyed]: encode(inner, item) for item in value}
        case Shape.BLOCKS:
            return [encode(field.inner, item) for item in value]
        case _:
            return value


def pick(body: Given, path: str) -> Any:
    """The value at a dotted path, None where there is none; of `.` the body itself."""
    value: Any = body
    for part in filter(None, path.split(".")):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def decode(fields: Fields, body: Given) -> JsonObject:
    """The properties that a REST body shows; what it does not mention reads as its kind's zero."""
    return {
        name: _decode_value(field, pick(body, field.wire or name)) for name, field in fields.items() if not field.local
    }


def _decode_value(field: Field, value: Any) -> Any:
    if field.shown and value is not None:
        value = field.shown(value)
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
        case _:
            return value


def as_written(fields: Fields, outputs: Given, written: Given) -> JsonObject:
    """The inputs of a resource after a refresh: what the program wrote, as the service has it now.

    As by the Terraform bridge of Pulumi 3.137: what the program left out stays out, whatever the service has, and a
    default that is not so any more is no default.
    """
    inputs: JsonObject = {
        name: _as_written_value(fields[name], outputs[name], before)
        for name, before in written.items()
        if name in fields and outputs.get(name) is not None
    }
    if DEFAULTS in written:
        inputs[DEFAULTS] = sorted(name for name in written[DEFAULTS] if inputs.get(name) == written[name])
    return inputs


def _as_written_value(field: Field, value: Any, before: Any) -> Any:
    match field.kind:
        case Shape.BLOCK:
            return as_written(field.inner, value, before)
        case Shape.BLOCKS if field.keyed:
            found = {item[field.keyed]: item for item in value}
            olds = [old for old in before if old[field.keyed] in found]
            return [as_written(field.inner, found[old[field.keyed]], old) for old in olds]
        case Shape.BLOCKS if field.unordered:
            return [old for old in before if any(as_written(field.inner, item, old) == old for item in value)]
        case Shape.BLOCKS:
            return [as_written(field.inner, item, old) for item, old in zip(value, before, strict=False)]
        case Shape.TABLE:
            return {key: value[key] for key in before if key in value}
        case Shape.TEXTS | Shape.REALS:
            return [item for item in before if item in value] if field.unordered else value[: len(before)]
        case _:
            return before if field.stored and field.is_same(value, before) else value


def overlay(fields: Fields, old: Given, inputs: Given) -> JsonObject:
    """Old properties with new inputs over them, block by block: what a change in place is expected to lead to."""
    merged = dict(old)
    for name, field in fields.items():
        value, held = inputs.get(name), old.get(name)
        if value is None:
            if name in merged and not (field.server or field.computed):
                merged[name] = field.zero
        elif name not in old or not field.is_same(held, value):
            merged[name] = _overlaid(field, held, value)
    return merged


def _overlaid(field: Field, held: Any, value: Any) -> Any:
    if field.kind is Shape.BLOCK and isinstance(value, Mapping):
        return overlay(field.inner, held or {}, value)
    if field.kind is Shape.BLOCKS and isinstance(value, list):
        before = chain(() if field.unordered else held or (), repeat({}))
        pairs = zip(before, value, strict=False)
        return [overlay(field.inner, one, item) if isinstance(item, Mapping) else item for one, item in pairs]
    return field.stored(value) if field.stored and isinstance(value, str) else value
