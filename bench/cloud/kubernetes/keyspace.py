"""The objects of one cluster, each with the revision at which it was written, and what changed since a revision.

Owns what etcd is to a real API server: keys, revisions (`resourceVersion`), and a history that is compacted. Knows no
rule of what an object may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import kinds
from bench.cloud.kubernetes.kinds import DEFINITIONS, Kind, of_definition, of_kind

_OBJECTS: Final = "kubernetes.object"
_HISTORY: Final = "kubernetes.history"
_KEPT: Final = 5000
"""Changes that are kept; a real cluster keeps those of five minutes."""


class Keyspace:
    """cluster: the full name of a cluster, `projects/P/locations/L/clusters/C`."""

    def __init__(self, cloud: Cloud, cluster: str) -> None:
        self.cluster = cluster
        self._cloud = cloud
        self._store = cloud.store
        self._objects = f"{_OBJECTS}/{cluster}"
        self._history = f"{_HISTORY}/{cluster}"

    @property
    def revision(self) -> int:
        """Of the last change; 0 before the first."""
        return int(self._store.setting(self._history, [0, 0])[0])

    @property
    def compacted(self) -> int:
        """Up to which revision changes are forgotten."""
        revision, begun = self._store.setting(self._history, [0, 0])
        return max(begun, revision - _KEPT)

    def find(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        found = self._store.find(self._objects, _key(kind, namespace, name))
        return found.body if found else None

    def each(self, kind: Kind, namespace: str = "") -> Iterator[JsonObject]:
        """Of a kind, in one namespace or, where that is empty, in all."""
        within = f"{kind.group}/{kind.plural}/" + (f"{namespace}/" if namespace else "")
        return (found.body for found in self._store.each(self._objects, within))

    def count(self) -> int:
        """How many objects the cluster has."""
        return self._store.count(self._objects)

    def kind_at(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind behind a path, None where the cluster serves no such thing."""
        if found := kinds.at(group, version, plural):
            return found
        definition = self.find(of_kind(DEFINITIONS), "", f"{plural}.{group}")
        served = of_definition(definition) if definition else iter(())
        return next((kind for kind in served if kind.version == version), None)

    def kinds(self) -> Iterator[Kind]:
        """All kinds that the cluster serves."""
        yield from kinds.builtin()
        for definition in self.each(of_kind(DEFINITIONS)):
            yield from of_definition(definition)

    def put(self, kind: Kind, entity: JsonObject, before: JsonObject | None) -> JsonObject:
        """Write an object; the answer is it with its revision."""
        return self._write(kind, entity, before, gone=False)

    def remove(self, kind: Kind, entity: JsonObject) -> JsonObject:
        """The object as it was last, at the revision of its end."""
        return self._write(kind, entity, entity, gone=True)

    def _write(self, kind: Kind, entity: JsonObject, before: JsonObject | None, *, gone: bool) -> JsonObject:
        now, metadata = self._cloud.now, entity["metadata"]
        revision, begun = self.revision + 1, self._store.setting(self._history, [0, 0])[1]
        written = {**entity, "metadata": {**metadata, "resourceVersion": str(revision)}}
        key = _key(kind, metadata.get("namespace", ""), metadata["name"])
        if gone:
            self._store.delete(self._objects, key)
        else:
            self._store.put(self._objects, key, written, now=now)
        change = {"gone": gone, "group": kind.group, "plural": kind.plural, "object": written, "before": before}
        self._store.insert(self._history, _numbered(revision), change, now=now)
        self._store.delete(self._history, _numbered(revision - _KEPT))
        self._store.set_setting(self._history, [revision, begun])
        return written

    def changes(self, since: int) -> Iterator[tuple[int, JsonObject]]:
        """What has happened after a revision, in order: group, plural, `gone`, and the object with it `before`."""
        return ((int(found.name), found.body) for found in self._store.after(self._history, _numbered(since)))

    def clear(self) -> None:
        """Forget all of the cluster; the revisions of the next one of this name go on, so that none is met twice."""
        at = self.revision + 1
        for kind in (self._objects, self._history):
            for found in list(self._store.each(kind)):
                self._store.delete(kind, found.name)
        self._store.set_setting(self._history, [at, at])


def _key(kind: Kind, namespace: str, name: str) -> str:
    return f"{kind.group}/{kind.plural}/{namespace}/{name}"


def _numbered(revision: int) -> str:
    return f"{revision:016d}"
