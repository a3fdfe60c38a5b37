"""Who manages which fields of an object: server-side apply with its conflicts, and what updates take over.

Owns `metadata.managedFields`. An object that is applied is merged into the one that stands; what its manager applied
before and now leaves out goes, unless another manager has it too. Source: the Kubernetes documentation, "Server-Side
Apply", and sigs.k8s.io/structured-merge-diff, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from bench.cloud.kubernetes import fields
from bench.cloud.kubernetes.fields import ABSENT, FieldPath, FieldSet
from bench.cloud.kubernetes.shapes import Shape
from bench.cloud.kubernetes.status import StatusError

JsonObject = dict[str, Any]

_UNOWNED: Final = frozenset(
    (("f", "metadata"), ("f", name))
    for name in (
        *("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink"),
        *("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "generateName"),
    )
) | {(("f", "apiVersion"),), (("f", "kind"),), (("f", "metadata"),)}
"""What the API server alone sets, or what names the object."""


@dataclass(frozen=True, slots=True)
class Manager:
    """name: as the client says it."""

    name: str
    operation: Literal["Apply", "Update"]
    api_version: str


@dataclass(frozen=True, slots=True)
class Owned:
    manager: Manager
    fields: FieldSet
    time: str

    def to_json(self) -> JsonObject:
        manager = self.manager
        return {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": manager.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields.to_wire(self.fields),
        }


def owners(entity: JsonObject) -> list[Owned]:
    """Who manages what of an object, as it says."""
    return [
        Owned(
            Manager(each["manager"], each["operation"], each["apiVersion"]),
            frozenset(fields.from_wire(each.get("fieldsV1", {}))),
            each.get("time", ""),
        )
        for each in entity.get("metadata", {}).get("managedFields") or []
    ]


def with_owners(entity: JsonObject, managed: Iterable[Owned]) -> JsonObject:
    """The object, with what its managers have; whoever has nothing is left out."""
    entries = [each.to_json() for each in managed if each.fields]
    kept = {key: value for key, value in entity["metadata"].items() if key != "managedFields"}
    return {**entity, "metadata": {**kept, **({"managedFields": entries} if entries else {})}}


def applied(
    shape: Shape, live: JsonObject, config: JsonObject, manager: Manager, *, force: bool, now: str
) -> JsonObject:
    """What stands once a configuration is applied. live: without fields where nothing stands yet. Raises 409."""
    wanted = frozenset(fields.fields_of(shape, config)) - _UNOWNED
    managed = owners(live)
    mine = next((each.fields for each in managed if each.manager == manager), frozenset())
    others = [each for each in managed if each.manager != manager]
    bare = _bare(live)
    merged = _merged(shape, bare, config)
    dropped = mine - wanted - frozenset().union(*(each.fields for each in others))
    # Deepest last: an item that goes takes what is below it along.
    for path in sorted(dropped, key=len):
        if not any(kept[: len(path)] == path for kept in wanted):
            merged = _removed(shape, merged, path)
    changed, gone = fields.compared(shape, bare, merged)
    taken = changed & wanted
    if not force and (owning := [f'"{each.manager.name}"' for each in others if each.fields & taken]):
        raise StatusError(409, f"Apply failed: fields are owned by {', '.join(owning)}")
    left = [replace(each, fields=each.fields - gone - taken) for each in others]
    same = mine == wanted and not changed and not gone
    time = next((each.time for each in managed if each.manager == manager), now) if same else now
    return with_owners(merged, [*left, Owned(manager, wanted, time)])


def updated(shape: Shape, live: JsonObject, new: JsonObject, manager: Manager, *, now: str) -> JsonObject:
    """What stands after a write that is no apply: its client has what it changed, and nobody has what is gone."""
    changed, gone = fields.compared(shape, _bare(live), _bare(new))
    changed, managed = changed - _UNOWNED, owners(live)
    if not changed and not gone:
        return with_owners(_bare(new), managed)
    mine = next((each.fields for each in managed if each.manager == manager), frozenset())
    # An item of a list or a whole value that was changed has a new owner; what others applied inside it, they keep.
    left = [replace(each, fields=each.fields - gone - changed) for each in managed if each.manager != manager]
    return with_owners(_bare(new), [*left, Owned(manager, frozenset((mine - gone) | changed), now)])


def _bare(entity: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in entity.get("metadata", {}).items() if key != "managedFields"}
    return {**entity, "metadata": metadata}


def _merged(shape: Shape, old: Any, new: Any) -> Any:
    """The old value with what the new one says; items that are new come last, in their order."""
    if not shape.merges and shape.sort != "any":
        return new
    if isinstance(old, dict) and isinstance(new, dict) and not shape.whole:
        inside = {name: _merged_member(shape, old, name, each) for name, each in new.items()}
        return {**old, **inside}
    if isinstance(old, list) and isinstance(new, list) and shape.distinct:
        return [*old, *(each for each in new if each not in old)]
    if isinstance(old, list) and isinstance(new, list) and shape.keys:
        said = {shape.key_of(each): each for each in new}
        stood = {shape.key_of(each): each for each in old}
        kept = {key: _merged(shape.items, each, said[key]) if key in said else each for key, each in stood.items()}
        return [*kept.values(), *(each for key, each in said.items() if key not in stood)]
    return new


def _merged_member(shape: Shape, old: JsonObject, name: str, new: Any) -> Any:
    inner = shape.field(name)
    return _merged(inner, old[name], new) if inner is not None and name in old else new


def _removed(shape: Shape, value: Any, path: FieldPath) -> Any:
    """Without what is at a path, and without the objects above it that this leaves empty."""
    left = fields.without(shape, value, path)
    for length in range(len(path) - 1, 0, -1):
        if _at(shape, left, path[:length]) not in ({}, []):
            break
        left = fields.without(shape, left, path[:length])
    return value if left is ABSENT else left


def _at(shape: Shape, value: Any, path: FieldPath) -> Any:
    for element in path:
        found = next(((inner, each) for one, inner, each in fields.members_of(shape, value) if one == element), None)
        if found is None:
            return None
        shape, value = found
    return value
