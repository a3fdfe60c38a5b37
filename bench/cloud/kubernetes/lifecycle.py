"""How objects end, and what a write leads to in the store itself: finalizers, owners, namespaces and definitions.

Owns deletion as the API server and the garbage collector carry it out, at once instead of by a controller: dependents
go with their owner, whatever propagation is asked for, a namespace with all that is in it, a definition with its
objects. What a finalizer holds stays until somebody takes the finalizer away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from bench.cloud.kubernetes import kinds
from bench.cloud.kubernetes.keyspace import Keyspace
from bench.cloud.kubernetes.kinds import Kind
from bench.cloud.kubernetes.status import StatusError

JsonObject = dict[str, Any]

FIRST_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


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

    def delete(self, kind: Kind, entity: JsonObject) -> tuple[JsonObject, bool]:
        """Begin the end of an object: it as it is then, and whether it is gone."""
        metadata = dict(entity["metadata"])
        if "deletionTimestamp" not in metadata:
            metadata |= {"deletionTimestamp": self.now, "deletionGracePeriodSeconds": 0}
        ending = {**entity, "metadata": metadata}
        if kind.kind == "Namespace":
            ending["status"] = {**ending.get("status", {}), "phase": "Terminating"}
        if ending != entity and (metadata.get("finalizers") or kind.kind in ("Namespace", kinds.DEFINITIONS)):
            ending = self.keyspace.put(kind, ending, entity)
        for of, below in [*self._dependents(metadata["uid"]), *self._inside(kind, ending)]:
            if self.keyspace.find(of, below["metadata"].get("namespace", ""), below["metadata"]["name"]):
                self.delete(of, below)
        return self.settle(kind, ending)

    def settle(self, kind: Kind, entity: JsonObject) -> tuple[JsonObject, bool]:
        """Let an object that is ending go once nothing holds it: it as it is then, and whether it is gone."""
        metadata = entity["metadata"]
        if "deletionTimestamp" not in metadata or metadata.get("finalizers") or self._inside(kind, entity):
            return entity, False
        if self.keyspace.find(kind, metadata.get("namespace", ""), metadata["name"]) is None:
            return entity, True
        gone = self.keyspace.remove(kind, entity)
        for name in ("Namespace", kinds.DEFINITIONS):  # What waited for it.
            holder = kinds.of_kind(name)
            for each in list(self.keyspace.each(holder)):
                self.settle(holder, each)
        return gone, True

    def _inside(self, kind: Kind, entity: JsonObject) -> list[tuple[Kind, JsonObject]]:
        """What goes with a namespace, or with a definition."""
        if kind.kind == "Namespace":
            name = entity["metadata"]["name"]
            return [found for found in self._each() if found[1]["metadata"].get("namespace") == name]
        if kind.kind == kinds.DEFINITIONS:
            of = next(kinds.of_definition(entity), None)
            return [(of, each) for each in self.keyspace.each(of)] if of else []
        return []

    def _dependents(self, owner: str) -> list[tuple[Kind, JsonObject]]:
        """Objects whose only owner this is."""
        return [
            (kind, entity)
            for kind, entity in self._each()
            if [each["uid"] for each in entity["metadata"].get("ownerReferences", ())] == [owner]
        ]

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
