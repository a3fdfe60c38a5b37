"""Who manages which fields of an object: server-side apply with its conflicts, and what updates take over.

Owns `metadata.managedFields`. An object that is applied is merged into the one that stands; what its manager applied
before and now leaves out goes, unless another manager has it too. Source: the Kubernetes documentation, "Server-Side
Apply", and sigs.k8s.io/structured-merge-diff, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import fields
from bench.cloud.kubernetes.fields import FieldPath, FieldSet
from bench.cloud.kubernetes.shapes import Shape
from bench.cloud.kubernetes.status import StatusError

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
    said, stood = fields.flat(shape, config), fields.flat(shape, _bare(live))
    wanted, managed = said.keys() - _UNOWNED, owners(live)
    mine = next((each.fields for each in managed if each.manager == manager), frozenset())
    others = [each for each in managed if each.manager != manager]
    dropped = [
        path
        for path in mine.difference(wanted, *(each.fields for each in others))
        if not any(kept[: len(path)] == path for kept in wanted)
    ]
    # An item that goes takes what is below it along.
    left = {path: each for path, each in stood.items() if not any(path[: len(gone)] == gone for gone in dropped)}
    merged = fields.built(left | said)
    changed, gone = _compared(shape, stood, merged)
    taken = changed & wanted
    if not force and (owning := [f'"{each.manager.name}"' for each in others if each.fields & taken]):
        raise StatusError(409, f"Apply failed: fields are owned by {', '.join(owning)}")
    left_to_others = [replace(each, fields=each.fields - gone - taken) for each in others]
    same = mine == wanted and not changed and not gone
    time = next((each.time for each in managed if each.manager == manager), now) if same else now
    return with_owners(merged, [*left_to_others, Owned(manager, frozenset(wanted), time)])


def updated(shape: Shape, live: JsonObject, new: JsonObject, manager: Manager, *, now: str) -> JsonObject:
    """What stands after a write that is no apply: its client has what it changed, and nobody has what is gone."""
    changed, gone = _compared(shape, fields.flat(shape, _bare(live)), _bare(new))
    changed, managed = changed - _UNOWNED, owners(live)
    if not changed and not gone:
        return with_owners(new, managed)
    mine = next((each.fields for each in managed if each.manager == manager), frozenset())
    # An item of a list or a whole value that was changed has a new owner; what others applied inside it, they keep.
    left = [replace(each, fields=each.fields - gone - changed) for each in managed if each.manager != manager]
    return with_owners(new, [*left, Owned(manager, (mine - gone) | changed, now)])


def _bare(entity: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in entity.get("metadata", {}).items() if key != "managedFields"}
    return {**entity, "metadata": metadata}


def _compared(shape: Shape, stood: Mapping[FieldPath, Any], new: JsonObject) -> tuple[FieldSet, FieldSet]:
    """The paths that `new` has differently or that it adds, and those that it no longer has."""
    stands = fields.flat(shape, new)
    changed = frozenset(path for path, each in stands.items() if path not in stood or stood[path] != each)
    return changed, frozenset(stood.keys() - stands.keys())
