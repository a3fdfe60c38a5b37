"""What the fields of a kind are: their types, and how lists and maps merge; of built-in kinds and of custom ones.

Owns the shape of every type in `builtin.json` (whose notation `infra/tools/kubernetes/condense.py` explains), shapes
made from a CustomResourceDefinition's schema, which fields are unknown, and defaults. Values are judged by `schemas`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from bench.cloud.errors import JsonObject

Sort = Literal["object", "map", "list", "string", "integer", "number", "boolean", "scalar", "any"]

KEY_DEFAULTS: Final = {"protocol": "TCP"}
"""What a key of a list's items counts as where an item leaves it out (ports)."""
_PYTHON: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "scalar": (str, int, float),
    "object": (dict,), "map": (dict,), "list": (list,),
}  # fmt: skip
_DOCUMENT: Final = Path(__file__).with_name("builtin.json")


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The type of one value.

    sort: `any` takes everything; `scalar` is a text or a number. fields: of an object, notations of built-in types or
    shapes. of: of the items of a list, or the values of a map. keys: a list's items are told apart by these.
    distinct: a list that is a set. whole: it is owned and replaced as one value. strategic: the key by which a
    strategic merge patch merges the list, empty for none. open: fields that are not known are kept. default: None for
    none.
    """

    sort: Sort
    fields: Mapping[str, Any] = field(default_factory=dict)
    of: Any = "any"
    keys: tuple[str, ...] = ()
    distinct: bool = False
    whole: bool = False
    strategic: str = ""
    open: bool = False
    default: Any = None

    def field(self, name: str) -> Shape | None:
        """The shape of a member; None where an object has no such field."""
        if self.sort == "object":
            known = self.fields.get(name)
            return _resolved(known) if known is not None else ANY if self.open else None
        return _resolved(self.of) if self.sort == "map" else ANY

    @property
    def items(self) -> Shape:
        return _resolved(self.of) if self.sort == "list" else ANY

    def key_of(self, item: Any) -> tuple[tuple[str, Any], ...]:
        """What tells an item of a list from the others."""
        found, known = item if isinstance(item, dict) else {}, self.items
        return tuple((key, found.get(key, _key_default(known, key))) for key in self.keys)


def _key_default(item: Shape, key: str) -> Any:
    known = item.field(key)
    return known.default if known is not None and known.default is not None else KEY_DEFAULTS.get(key)


ANY: Final = Shape("any", open=True)


def _resolved(known: Any) -> Shape:
    return known if isinstance(known, Shape) else shape_of(known)


@cache
def document() -> JsonObject:
    """The kinds and types that are built in."""
    return json.loads(_DOCUMENT.read_bytes())


@cache
def shape_of(notation: str) -> Shape:
    """The shape that a notation of `builtin.json` stands for."""
    if notation.startswith("["):
        inner, _, how = notation[1:].rpartition("]")
        merging, _, strategic = how.strip().partition("~")
        words = tuple(merging.split())
        keys = () if words == ("set",) else words
        return Shape("list", of=inner, keys=keys, distinct=words == ("set",), strategic=strategic or "".join(keys[:1]))
    whole, bare = notation.endswith("!"), notation.removesuffix("!")
    if bare.startswith("{"):
        return Shape("map", of=bare[1:-1], whole=whole)
    if bare in _PYTHON or bare == "any":
        return Shape(bare, open=bare == "any", whole=whole)  # ty: ignore[invalid-argument-type] - one of Sort
    return Shape("object", fields=document()["types"][bare], whole=whole)


METADATA: Final = "meta.v1.ObjectMeta"
"""The notation of the metadata that every object has."""


def shape_of_schema(schema: Mapping[str, Any], *, root: bool = False) -> Shape:
    """The shape of a structural schema of a CustomResourceDefinition. root: the schema of a whole object."""
    kept = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    default = schema.get("default")
    if schema.get("x-kubernetes-int-or-string"):
        return Shape("scalar", default=default)
    match schema.get("type"):
        case "array":
            how = schema.get("x-kubernetes-list-type", "atomic")
            keys = tuple(schema.get("x-kubernetes-list-map-keys", ())) if how == "map" else ()
            return Shape(
                "list", of=shape_of_schema(schema.get("items", {})), keys=keys, distinct=how == "set", default=default
            )
        case "object" if isinstance(values := schema.get("additionalProperties"), dict):
            whole = schema.get("x-kubernetes-map-type") == "atomic"
            return Shape("map", of=shape_of_schema(values), whole=whole, default=default)
        case "object":
            fields: dict[str, Any] = {
                name: shape_of_schema(each) for name, each in schema.get("properties", {}).items()
            }
            if root or schema.get("x-kubernetes-embedded-resource"):
                fields |= {"apiVersion": "string", "kind": "string", "metadata": METADATA}
            whole = schema.get("x-kubernetes-map-type") == "atomic"
            loose = kept or schema.get("additionalProperties") is True
            return Shape("object", fields=fields, whole=whole, open=loose, default=default)
        case "string" | "integer" | "number" | "boolean" as plain:
            return Shape(plain, default=default)
        case _:
            return Shape("any", open=True, default=default)


def pruned(shape: Shape, value: Any, unknown: list[str], wrong: list[str], at: str = "") -> Any:
    """The value without what no field of the shape takes.

    unknown: gets the paths of that. wrong: gets what has another type than its field: `spec.replicas: not of type
    integer`.
    """
    if value is None or shape.sort == "any":
        return value
    if not isinstance(value, _PYTHON[shape.sort]) or (isinstance(value, bool) and shape.sort != "boolean"):
        wrong.append(f"{at}: not of type {shape.sort}")
    elif isinstance(value, dict):
        paths = {name: f"{at}.{name}" if at else name for name in value}
        unknown += [paths[name] for name in value if shape.field(name) is None]
        known = ((name, each, shape.field(name)) for name, each in value.items())
        return {name: pruned(of, each, unknown, wrong, paths[name]) for name, each, of in known if of is not None}
    elif isinstance(value, list):
        return [pruned(shape.items, each, unknown, wrong, f"{at}[{index}]") for index, each in enumerate(value)]
    return value


def defaulted(shape: Shape, value: Any) -> Any:
    """The value with the defaults of its schema, as the API server fills them in for custom kinds.

    A null gives way to the default of its field.
    """
    if isinstance(value, dict) and shape.sort in ("object", "map"):
        filled = dict(value)
        for name, known in shape.fields.items():
            if isinstance(known, Shape) and known.default is not None and filled.get(name) is None:
                filled[name] = copy.deepcopy(known.default)
        return {name: defaulted(shape.field(name) or ANY, each) for name, each in filled.items()}
    if isinstance(value, list) and shape.sort == "list":
        return [defaulted(shape.items, each) for each in value]
    return value
