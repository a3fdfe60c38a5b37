"""How objects end: a namespace with all that is in it, a definition with its objects, at once and not by a controller.

Nothing here waits for a finalizer or goes with its owner: those are the work of controllers.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import kinds
from bench.cloud.kubernetes.keyspace import Keyspace
from bench.cloud.kubernetes.kinds import Kind


def delete(keyspace: Keyspace, kind: Kind, entity: JsonObject, now: str) -> JsonObject:
    """The object as it was last. now: as metadata writes times."""
    metadata = {**entity["metadata"], "deletionTimestamp": now, "deletionGracePeriodSeconds": 0}
    ending = {**entity, "metadata": metadata}
    if kind.kind in ("Namespace", kinds.DEFINITIONS):
        if kind.kind == "Namespace":
            ending["status"] = {**ending.get("status", {}), "phase": "Terminating"}
        inside = list(_inside(keyspace, kind, entity))
        ending = keyspace.put(kind, ending, entity)
        for of, below in inside:
            delete(keyspace, of, below, now)
    return keyspace.remove(kind, ending)


def _inside(keyspace: Keyspace, kind: Kind, entity: JsonObject) -> Iterator[tuple[Kind, JsonObject]]:
    """What goes with a namespace, or with a definition."""
    if kind.kind == "Namespace":
        # Of a kind with several versions, one.
        served = {(of.group, of.plural): of for of in keyspace.kinds() if of.namespaced}.values()
        return ((of, each) for of in served for each in keyspace.each(of, entity["metadata"]["name"]))
    of = next(kinds.of_definition(entity))
    return ((of, each) for each in keyspace.each(of))


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
