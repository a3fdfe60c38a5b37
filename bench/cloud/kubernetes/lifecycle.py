"""How objects end, and what a write leads to in the store itself: finalizers, owners, namespaces and definitions.

Owns deletion as the API server and the garbage collector carry it out, at once instead of by a controller: dependents
go with their last owner, a namespace with all that is in it, a definition with its objects. What a finalizer holds
stays until somebody takes the finalizer away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from bench.cloud.kubernetes import kinds
from bench.cloud.kubernetes.keyspace import Keyspace
from bench.cloud.kubernetes.kinds import Kind
from bench.cloud.kubernetes.status import StatusError

JsonObject = dict[str, Any]
Propagation = Literal["Background", "Foreground", "Orphan"]

FIRST_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_FOREGROUND: Final = "foregroundDeletion"


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """now: as metadata writes times."""

    keyspace: Keyspace
    now: str

    def insist_on_namespace(self, namespace: str, kind: Kind) -> None:
        """Nothing is made in a namespace that is not there or that is ending. Raises 403 and 404."""
        found = self.keyspace.find(kinds.of_kind("Namespace"), "", namespace)
        if found is None:
            about = {"kind": "namespaces", "name": namespace}
            raise StatusError(404, f'namespaces "{namespace}" not found', about=about)
        if "deletionTimestamp" in found["metadata"]:
            said = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise StatusError(403, f"{kind.resource} is forbidden: {said}", about=kind.about())

    def delete(self, kind: Kind, entity: JsonObject, propagation: Propagation) -> tuple[JsonObject, bool]:
        """Begin the end of an object: it as it is then, and whether it is gone."""
        metadata = dict(entity["metadata"])
        finalizers = list(metadata.get("finalizers", ()))
        if propagation == "Foreground" and _FOREGROUND not in finalizers and self._dependents(metadata["uid"]):
            finalizers.append(_FOREGROUND)
        if "deletionTimestamp" not in metadata:
            metadata |= {"deletionTimestamp": self.now, "deletionGracePeriodSeconds": 0}
        ending = {**entity, "metadata": {**metadata, **({"finalizers": finalizers} if finalizers else {})}}
        if kind.kind == "Namespace":
            ending["status"] = {**ending.get("status", {}), "phase": "Terminating"}
        if ending != entity and (finalizers or kind.kind in ("Namespace", kinds.DEFINITIONS)):
            ending = self.keyspace.put(kind, ending, entity)
        self._release(metadata["uid"], propagation)
        if kind.kind == "Namespace":
            self._empty(metadata["name"])
        if kind.kind == kinds.DEFINITIONS:
            self._forget_kinds(ending)
        return self.settle(kind, ending)

    def settle(self, kind: Kind, entity: JsonObject) -> tuple[JsonObject, bool]:
        """Let an object that is ending go once nothing holds it: it as it is then, and whether it is gone."""
        metadata = entity["metadata"]
        if "deletionTimestamp" not in metadata:
            return entity, False
        left = self._held_by(kind, entity)
        if left:
            return entity, False
        gone = self.keyspace.remove(kind, entity)
        self._after(metadata)
        return gone, True

    def _held_by(self, kind: Kind, entity: JsonObject) -> bool:
        metadata = entity["metadata"]
        holding = {*metadata.get("finalizers", ())}
        if _FOREGROUND in holding and not self._blocking(metadata["uid"]):
            holding.discard(_FOREGROUND)
        if kind.kind == "Namespace":
            return bool(holding) or any(self._inside(metadata["name"]))
        if kind.kind == kinds.DEFINITIONS:
            return bool(holding) or any(self._objects_of(entity))
        return bool(holding)

    def _after(self, metadata: JsonObject) -> None:
        """What waited for an object that is gone: owners in the foreground, its namespace, its definition."""
        for reference in metadata.get("ownerReferences", ()):
            owner = self._by_uid(reference["uid"])
            if owner is not None and _FOREGROUND in owner[1]["metadata"].get("finalizers", ()):
                self.settle(*owner)
        if namespace := metadata.get("namespace"):
            place = kinds.of_kind("Namespace")
            if found := self.keyspace.find(place, "", namespace):
                self.settle(place, found)
        definitions = kinds.of_kind(kinds.DEFINITIONS)
        for definition in list(self.keyspace.each(definitions)):
            self.settle(definitions, definition)

    def _release(self, owner: str, propagation: Propagation) -> None:
        """Dependents go with their last owner; orphans forget it."""
        for kind, dependent in self._dependents(owner):
            metadata = dependent["metadata"]
            others = [each for each in metadata["ownerReferences"] if each["uid"] != owner]
            if propagation == "Orphan" or any(self._by_uid(each["uid"]) for each in others):
                kept = {name: each for name, each in metadata.items() if name != "ownerReferences"}
                freed = {**dependent, "metadata": {**kept, **({"ownerReferences": others} if others else {})}}
                self.keyspace.put(kind, freed, dependent)
            elif "deletionTimestamp" not in metadata:
                self.delete(kind, dependent, propagation)

    def _empty(self, namespace: str) -> None:
        for kind, entity in list(self._inside(namespace)):
            if self.keyspace.find(kind, namespace, entity["metadata"]["name"]):
                self.delete(kind, entity, "Background")

    def _forget_kinds(self, definition: JsonObject) -> None:
        for kind, entity in list(self._objects_of(definition)):
            self.delete(kind, entity, "Background")

    def _objects_of(self, definition: JsonObject) -> Iterator[tuple[Kind, JsonObject]]:
        kind = next(kinds.of_definition(definition), None)
        return ((kind, each) for each in self.keyspace.each(kind)) if kind else iter(())

    def _inside(self, namespace: str) -> Iterator[tuple[Kind, JsonObject]]:
        for kind, entity in self._each():
            if entity["metadata"].get("namespace") == namespace:
                yield kind, entity

    def _dependents(self, owner: str) -> list[tuple[Kind, JsonObject]]:
        return [
            (kind, entity)
            for kind, entity in self._each()
            if any(each["uid"] == owner for each in entity["metadata"].get("ownerReferences", ()))
        ]

    def _blocking(self, owner: str) -> bool:
        return any(
            each["uid"] == owner and each.get("blockOwnerDeletion")
            for _, entity in self._dependents(owner)
            for each in entity["metadata"]["ownerReferences"]
        )

    def _by_uid(self, uid: str) -> tuple[Kind, JsonObject] | None:
        return next((found for found in self._each() if found[1]["metadata"]["uid"] == uid), None)

    def _each(self) -> Iterator[tuple[Kind, JsonObject]]:
        known = {(kind.group, kind.kind): kind for kind in self.keyspace.kinds()}
        for entity in list(self.keyspace.all()):
            group = entity["apiVersion"].rpartition("/")[0]
            if (group, entity["kind"]) in known:
                yield known[(group, entity["kind"])], entity


def established(definition: JsonObject, now: str) -> JsonObject:
    """A definition, served from the moment it is written."""
    spec = definition["spec"]
    conditions = [
        {"type": each, "status": "True", "reason": reason, "message": said, "lastTransitionTime": now}
        for each, reason, said in (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
    ]
    names = {"singular": spec["names"]["kind"].lower(), "listKind": f"{spec['names']['kind']}List", **spec["names"]}
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    status = {"conditions": conditions, "acceptedNames": names, "storedVersions": stored}
    return {**definition, "spec": {**spec, "names": names, "conversion": spec.get("conversion", {"strategy": "None"})},
            "status": status}  # fmt: skip
