"""What a kind takes: the schemas of built-in kinds and of custom ones, and what is done to values by them.

A schema is what a CustomResourceDefinition has; those of built-in kinds are made of `builtin.json`, whose notation
`infra/tools/kubernetes/condense.py` explains. The library jsonschema judges values. CEL rules
(`x-kubernetes-validations`) are not evaluated here: a real API server does that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from bench.cloud.errors import JsonObject

Schema: TypeAlias = "Mapping[str, Any]"

ANY: Final[Schema] = {"x-kubernetes-preserve-unknown-fields": True}
METADATA: Final = "meta.v1.ObjectMeta"
"""The notation of the metadata that every object has."""
_HOW: Final = "x-kubernetes-list-type"
_KEYS: Final = "x-kubernetes-list-map-keys"
_KEY_DEFAULTS: Final = {"protocol": "TCP"}
"""What a key of a list's items counts as where an item leaves it out (ports)."""


@cache
def document() -> JsonObject:
    """The kinds and types that are built in."""
    return json.loads(Path(__file__).with_name("builtin.json").read_bytes())


@cache
def schema_of(notation: str) -> Schema:
    """The schema that a notation of `builtin.json` stands for."""
    if notation.startswith("["):
        inner, _, keys = notation[1:].rpartition("]")
        how = "set" if keys == " set" else "map" if keys else "atomic"
        return {"type": "array", "items": schema_of(inner), _HOW: how, _KEYS: keys.split()}
    bare = notation.removesuffix("!")
    whole = {"x-kubernetes-map-type": "atomic"} if bare != notation else {}
    if bare == "any":
        return {**ANY, **whole}
    if bare.startswith("{"):
        return {"type": "object", "additionalProperties": schema_of(bare[1:-1]), **whole}
    if members := document()["types"].get(bare):
        return {"type": "object", "properties": {name: schema_of(each) for name, each in members.items()}, **whole}
    return {"type": ["string", "number"] if bare == "scalar" else bare}


def _member(schema: Schema, name: str) -> Schema | None:
    """The schema of a member; None where an object has no such field."""
    more = schema.get("additionalProperties")
    if name in schema.get("properties", ()):
        return schema["properties"][name]
    if isinstance(more, dict):
        return more
    loose = more is True or "x-kubernetes-preserve-unknown-fields" in schema or schema.get("type") != "object"
    return ANY if loose else None


def members(schema: Schema, value: Any) -> Iterator[tuple[str, Schema, Any]]:
    """The parts of a value that are merged and have owners of their own, by their names in `fieldsV1`: none of a value
    that is replaced as a whole."""
    how = schema.get(_HOW)
    if isinstance(value, dict) and schema.get("x-kubernetes-map-type") != "atomic":
        for name, each in value.items():
            yield f"f:{name}", _member(schema, name) or ANY, each
    elif isinstance(value, list) and how == "set":
        yield from ((f"v:{json.dumps(each)}", schema["items"], each) for each in value)
    elif isinstance(value, list) and how == "map" and all(isinstance(each, dict) for each in value):
        for each in value:
            key = {name: each.get(name, _KEY_DEFAULTS.get(name)) for name in schema[_KEYS]}
            yield f"k:{json.dumps(key, separators=(',', ':'))}", schema["items"], each


def merged(schema: Schema, old: Any, new: Any) -> Any:
    """A value laid over another: members of objects and items with a key are merged, null removes what it names, and
    all else takes the other's place. Of the directives of strategic merge patches, `$patch: delete` is followed."""
    if isinstance(new, dict) and isinstance(old, dict) and schema.get("x-kubernetes-map-type") != "atomic":
        said = {name: each for name, each in new.items() if not name.startswith("$")}
        over = {name: merged(_member(schema, name) or ANY, old.get(name), each) for name, each in said.items()}
        gone = new.get("$patch") == "delete"
        return None if gone else {name: each for name, each in {**old, **over}.items() if each is not None}
    if isinstance(new, list) and isinstance(old, list) and schema.get(_HOW) in ("map", "set"):
        items = {key: each for key, _, each in members(schema, old)}
        items |= {key: merged(inner, items.get(key), each) for key, inner, each in members(schema, new)}
        return [each for each in items.values() if each is not None]
    return new


def fitted(schema: Schema, value: Any, unknown: list[str], at: str = "", *, filled: bool = False) -> Any:
    """A value without nulls and without what no field of the schema takes.

    unknown: gets the paths of that. filled: with the schema's defaults.
    """
    if isinstance(value, list):
        inner = schema.get("items", ANY)
        return [fitted(inner, each, unknown, f"{at}[{place}]", filled=filled) for place, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    usual = schema.get("properties", {}) if filled else {}
    said = {name: each["default"] for name, each in usual.items() if "default" in each}
    said |= {name: each for name, each in value.items() if each is not None}
    known = {name: found for name in said if (found := _member(schema, name)) is not None}
    unknown += [f"{at}.{name}".removeprefix(".") for name in said if name not in known]
    return {name: fitted(inner, said[name], unknown, f"{at}.{name}", filled=filled) for name, inner in known.items()}


def faults(schema: Schema, value: Any) -> list[str]:
    """What the schema refuses: `spec.depth: what is wrong`."""
    from jsonschema import Draft4Validator  # Few clouds have a cluster, and a fifth of what one takes to start.

    return [
        f"{error.json_path.removeprefix('$.')}: {error.message}" for error in Draft4Validator(schema).iter_errors(value)
    ]
