"""Who manages which fields of an object: server-side apply with its conflicts, and what updates take over.

Owns `metadata.managedFields`. An object that is applied is merged into the one that stands; what its manager applied
before and now leaves out goes, unless another manager has it too. A path is a tuple of names as `fieldsV1` has them
(`f:spec`, `k:{"name":"main"}`). Source: the Kubernetes documentation, "Server-Side Apply", read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes.schemas import Schema, members, merged
from bench.cloud.kubernetes.status import StatusError

Manager: TypeAlias = tuple[str, str, str]
"""The name that the client says, `Apply` or `Update`, and the version of the object."""
FieldPath: TypeAlias = tuple[str, ...]
Owners: TypeAlias = dict[Manager, frozenset[FieldPath]]

_OWNED: Final = ("labels", "annotations", "finalizers", "ownerReferences")
"""What of the metadata anybody owns."""
_PART: Final = object()
"""The value of an item or of a map's entry that has fields below it."""


def made(schema: Schema, entity: JsonObject, said: JsonObject, manager: Manager) -> JsonObject:
    """A new object, of which its manager owns what was said."""
    return _with_owners(entity, {manager: frozenset(_flat(schema, said))})


def applied(schema: Schema, live: JsonObject, config: JsonObject, manager: Manager, *, force: bool) -> JsonObject:
    """What stands once a configuration is applied. Raises 409."""
    wanted, others = frozenset(_flat(schema, config)), _owners(live)
    mine = others.pop(manager, frozenset())
    left = _without(schema, live, mine.difference(wanted, *others.values()), ())
    new = merged(schema, left, config)
    changed, gone = _compared(schema, live, new)
    taken = changed & wanted
    if not force and (owning := [f'"{name}"' for (name, *_), fields in others.items() if fields & taken]):
        raise StatusError(409, f"Apply failed: fields are owned by {', '.join(owning)}")
    return _with_owners(new, {**{each: fields - gone - taken for each, fields in others.items()}, manager: wanted})


def updated(schema: Schema, live: JsonObject, new: JsonObject, manager: Manager) -> JsonObject:
    """What stands after a write that is no apply: its client has what it changed, and nobody has what is gone."""
    changed, gone = _compared(schema, live, new)
    left = {each: fields - gone - changed for each, fields in _owners(live).items()}
    return _with_owners(new, {**left, manager: left.get(manager, frozenset()) | changed})


def _compared(schema: Schema, live: JsonObject, new: JsonObject) -> tuple[frozenset[FieldPath], frozenset[FieldPath]]:
    """The paths that `new` has differently or that it adds, and those that it no longer has."""
    stood, stands = _flat(schema, live), _flat(schema, new)
    changed = (path for path, each in stands.items() if path not in stood or stood[path] != each)
    return frozenset(changed), frozenset(stood.keys() - stands.keys())


def _flat(schema: Schema, entity: JsonObject) -> dict[FieldPath, Any]:
    """Every path that can be owned, with its value: leaves, entries of maps, and items of lists that are merged."""
    metadata = {name: each for name, each in entity["metadata"].items() if name in _OWNED}
    said = {name: each for name, each in entity.items() if name not in ("apiVersion", "kind", "metadata")}
    return dict(_paths(schema, {**said, **({"metadata": metadata} if metadata else {})}, ()))


def _paths(schema: Schema, value: Any, at: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    parts = list(members(schema, value))
    for key, inner, each in parts:
        if key[0] != "f" or "additionalProperties" in schema:
            yield (*at, key), _PART
        yield from _paths(inner, each, (*at, key))
    if at and not parts:
        yield at, value


def _without(schema: Schema, value: Any, gone: frozenset[FieldPath], at: FieldPath) -> Any:
    """The value without these paths, without what is below them, and without what is empty by that."""
    parts = list(members(schema, value))
    if not parts:
        return value
    below = {
        key: (each, _without(inner, each, gone, (*at, key))) for key, inner, each in parts if (*at, key) not in gone
    }
    left = {key: kept for key, (each, kept) in below.items() if kept or kept == each}
    return {key[2:]: each for key, each in left.items()} if isinstance(value, dict) else list(left.values())


# On the wire


def _owners(entity: JsonObject) -> Owners:
    return {
        (each["manager"], each["operation"], each["apiVersion"]): frozenset(_read(each["fieldsV1"], ()))
        for each in entity["metadata"].get("managedFields", ())
    }


def _with_owners(entity: JsonObject, owners: Owners) -> JsonObject:
    """The object with what its managers have; whoever has nothing is left out."""
    entries = [
        {
            "manager": name,
            "operation": operation,
            "apiVersion": version,
            "fieldsType": "FieldsV1",
            "fieldsV1": _tree(fields),
        }
        for (name, operation, version), fields in owners.items()
        if fields
    ]
    return {**entity, "metadata": {**entity["metadata"], "managedFields": entries}}


def _tree(paths: frozenset[FieldPath]) -> JsonObject:
    """The dot says that an item itself is owned, beside what is below it."""
    tree: JsonObject = {}
    for path in sorted(paths):
        node = tree
        for depth, key in enumerate(path):
            if depth and path[:depth] in paths:
                node["."] = {}
            node = node.setdefault(key, {})
    return tree


def _read(tree: JsonObject, at: FieldPath) -> Iterator[FieldPath]:
    for key, below in tree.items():
        here = at if key == "." else (*at, key)
        yield from _read(below, here) if below else (here,)
