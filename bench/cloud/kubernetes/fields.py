"""Objects as flat fields, by which managers own parts of them, and sets of fields on the wire (`fieldsV1`).

Owns paths, taking a value apart and building it again. The rules are those of sigs.k8s.io/structured-merge-diff, read
2026-11. A path is a tuple of elements: `("f", name)` of an object or map, `("k", ((key, value), ...))` of a list whose
items have keys, `("v", value)` of a list that is a set.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from bench.cloud.kubernetes.shapes import ANY, Shape

Element: TypeAlias = tuple[str, Any]
FieldPath: TypeAlias = tuple[Element, ...]
FieldSet: TypeAlias = frozenset[FieldPath]

PART: Final = object()
"""The value of an item or of a map's entry that has fields below it."""


class _Node(dict[Element, Any]):
    """Parts of an object or a list, in their order."""


def flat(shape: Shape, value: Any) -> dict[FieldPath, Any]:
    """Every path that a value says something at: leaves, entries of maps, and items of lists that are merged."""
    return dict(_flat(shape, value, ()))


def _flat(shape: Shape, value: Any, at: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    members = list(_members(shape, value))
    for element, inner, each in members:
        here = (*at, element)
        if element[0] != "f" or shape.sort == "map":
            yield here, PART
        yield from _flat(inner, each, here)
    if at and not members:
        yield at, value


def _members(shape: Shape, value: Any) -> Iterator[tuple[Element, Shape, Any]]:
    """The parts of a value that have owners of their own; none of what is owned as a whole."""
    if shape.whole:
        return
    if isinstance(value, dict) and shape.sort in ("object", "map", "any"):
        for name, each in value.items():
            yield ("f", name), shape.field(name) or ANY, each
    elif isinstance(value, list) and (shape.distinct or shape.keys):
        for each in value:
            yield ("v", each) if shape.distinct else ("k", shape.key_of(each)), shape.items, each


def built(said: Mapping[FieldPath, Any]) -> Any:
    """The value that has these fields; what is said later stands where two do not go together."""
    root = _Node()
    for path, value in said.items():
        node = root
        for element in path[:-1]:
            node = _node(node, element)
        if value is PART or (value in ({}, []) and isinstance(node.get(path[-1]), _Node)):
            _node(node, path[-1])
        else:
            node[path[-1]] = value
    return _plain(root)


def _node(above: _Node, element: Element) -> _Node:
    found = above.get(element)
    if not isinstance(found, _Node):
        found = above[element] = _Node()
    return found


def _plain(found: Any) -> Any:
    if not isinstance(found, _Node):
        return found
    if any(sort != "f" for sort, _ in found):
        return [_plain(each) for each in found.values()]
    return {name: _plain(each) for (_, name), each in found.items()}


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
    return f"{sort}:{json.dumps(dict(what) if sort == 'k' else what, separators=(',', ':'))}"


def _read(key: str) -> Element:
    sort, _, said = key.partition(":")
    if sort == "f":
        return "f", said
    found = json.loads(said)
    return sort, tuple(found.items()) if sort == "k" else found
