"""Sets of fields, by which managers own parts of an object, and their form on the wire (`fieldsV1`).

Owns paths, which fields a value has, and reading, removing and comparing what stands at a path. The rules are those of
sigs.k8s.io/structured-merge-diff, read 2026-11. A path is a tuple of elements: `("f", name)` of an object or map,
`("k", ((key, value), ...))` of a list whose items have keys, `("v", value)` of a list that is a set.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from bench.cloud.kubernetes.shapes import ANY, Shape

Element: TypeAlias = tuple[str, Any]
FieldPath: TypeAlias = tuple[Element, ...]
FieldSet: TypeAlias = frozenset[FieldPath]

ABSENT: Final = object()


def fields_of(shape: Shape, value: Any, at: FieldPath = ()) -> Iterator[FieldPath]:
    """Every path that a value says something at: leaves, entries of maps, and items of lists that are merged."""
    members = list(members_of(shape, value))
    if not members:
        if at:
            yield at
        return
    for element, inner, each in members:
        here = (*at, element)
        if element[0] != "f" or shape.sort == "map":
            yield here
        yield from fields_of(inner, each, here)


def members_of(shape: Shape, value: Any) -> Iterator[tuple[Element, Shape, Any]]:
    """The parts of a value that have owners of their own; none of what is owned as a whole."""
    if shape.whole:
        return
    if isinstance(value, dict) and (shape.sort in ("object", "map") or shape is ANY or shape.sort == "any"):
        for name, each in value.items():
            yield ("f", name), shape.field(name) or ANY, each
    elif isinstance(value, list) and shape.sort == "list" and shape.distinct:
        for each in value:
            yield ("v", each), shape.items, each
    elif isinstance(value, list) and shape.sort == "list" and shape.keys:
        for each in value:
            yield ("k", shape.key_of(each)), shape.items, each


def compared(shape: Shape, old: Any, new: Any, at: FieldPath = ()) -> tuple[set[FieldPath], set[FieldPath]]:
    """The paths that `new` has differently from `old` or that it adds, and those that it no longer has."""
    before = {element: (inner, each) for element, inner, each in members_of(shape, old)}
    after = {element: (inner, each) for element, inner, each in members_of(shape, new)}
    if not before and not after:
        return ({at} if at and old != new else set()), set()
    changed: set[FieldPath] = set()
    removed: set[FieldPath] = set()
    for element in before.keys() | after.keys():
        here = (*at, element)
        itself = {here} if element[0] != "f" or shape.sort == "map" else set()
        if element not in after:
            removed |= itself | {*fields_of(*before[element], here)}
        elif element not in before:
            changed |= itself | {*fields_of(*after[element], here)}
        else:
            more, less = compared(after[element][0], before[element][1], after[element][1], here)
            changed, removed = changed | more, removed | less
    return changed, removed


def without(shape: Shape, value: Any, path: FieldPath) -> Any:
    """The value with nothing at a path; a part that this leaves empty stays."""
    if not path:
        return ABSENT
    element, rest = path[0], path[1:]
    if isinstance(value, dict) and element[0] == "f":
        if element[1] not in value:
            return value
        left = without(shape.field(element[1]) or ANY, value[element[1]], rest)
        return {name: left if name == element[1] else each for name, each in value.items()
                if name != element[1] or left is not ABSENT}  # fmt: skip
    if isinstance(value, list) and element[0] in ("k", "v"):
        left_items = []
        for each in value:
            same = shape.key_of(each) == element[1] if element[0] == "k" else each == element[1]
            left = without(shape.items, each, rest) if same else each
            left_items += [] if left is ABSENT else [left]
        return left_items
    return value


def to_wire(paths: Iterable[FieldPath]) -> dict[str, Any]:
    """The tree of `fieldsV1`. The dot says that an item itself is owned, beside what is below it."""
    tree: dict[str, Any] = {}
    for path in sorted(paths, key=lambda each: (len(each), repr(each))):
        node = tree
        for element in path:
            node = node.setdefault(_spelled(element), {})
        node["."] = {}
    return _tidied(tree)


def _tidied(tree: dict[str, Any]) -> dict[str, Any]:
    """Without the dots of leaves."""
    return {key: {} if set(below) <= {"."} else _tidied(below) for key, below in sorted(tree.items())}


def from_wire(tree: dict[str, Any], at: FieldPath = ()) -> Iterator[FieldPath]:
    for key, below in tree.items():
        if key == ".":
            yield at
        else:
            here = (*at, _read(key))
            yield from from_wire(below, here) if below else iter((here,))


def _spelled(element: Element) -> str:
    sort, what = element
    if sort == "f":
        return f"f:{what}"
    if sort == "k":
        return f"k:{json.dumps(dict(what), separators=(',', ':'))}"
    return f"v:{json.dumps(what, separators=(',', ':'))}"


def _read(key: str) -> Element:
    sort, _, said = key.partition(":")
    if sort == "f":
        return "f", said
    found = json.loads(said)
    return (sort, tuple(found.items())) if sort == "k" else (sort, found)
