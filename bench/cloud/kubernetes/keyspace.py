"""The objects of one cluster, each with the revision at which it was written, and what changed since a revision.

Owns what etcd is to a real API server: keys, revisions (`resourceVersion`), and a history of the last changes. Knows no
rule of what an object may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import kinds
from bench.cloud.kubernetes.kinds import DEFINITIONS, Kind, of_definition, of_kind

_KEPT: Final = 5000
"""Changes that are kept; a real cluster keeps those of five minutes."""


class Keyspace:
    """cluster: the full name of a cluster, `projects/P/locations/L/clusters/C`."""

    def __init__(self, cloud: Cloud, cluster: str) -> None:
        self.cluster = cluster
        self._cloud = cloud
        self._store = cloud.store
        self._objects = f"kubernetes.object/{cluster}"
        self._history = f"kubernetes.history/{cluster}"

    @property
    def revision(self) -> int:
        """Of the last change; 0 before the first."""
        return int(self._store.setting(self._history, [0])[0])

    def find(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        """An object in the version of the kind."""
        found = self._store.find(self._objects, _key(kind, namespace, name))
        return {**found.body, "apiVersion": kind.api_version} if found else None

    def each(self, kind: Kind, namespace: str = "") -> Iterator[JsonObject]:
        """Of a kind, in one namespace or, where that is empty, in all."""
        within = f"{kind.group}/{kind.plural}/" + (f"{namespace}/" if namespace else "")
        return ({**found.body, "apiVersion": kind.api_version} for found in self._store.each(self._objects, within))

    def count(self) -> int:
        """How many objects the cluster has."""
        return self._store.count(self._objects)

    def kinds(self) -> Iterator[Kind]:
        """All kinds that the cluster serves."""
        yield from kinds.builtin()
        for definition in self.each(of_kind(DEFINITIONS)):
            yield from of_definition(definition)

    def put(self, kind: Kind, entity: JsonObject, before: JsonObject | None) -> JsonObject:
        """Write an object; the answer is it with its revision."""
        written = self._changed(kind, entity, before, gone=False)
        self._store.put(self._objects, _key_of(kind, entity), written, now=self._cloud.now)
        return written

    def remove(self, kind: Kind, entity: JsonObject) -> None:
        self._changed(kind, entity, entity, gone=True)
        self._store.delete(self._objects, _key_of(kind, entity))

    def _changed(self, kind: Kind, entity: JsonObject, before: JsonObject | None, *, gone: bool) -> JsonObject:
        """The object at its new revision, of which the history has the change."""
        revision = self.revision + 1
        written = {**entity, "metadata": {**entity["metadata"], "resourceVersion": str(revision)}}
        change = {"gone": gone, "group": kind.group, "plural": kind.plural, "object": written, "before": before}
        self._store.insert(self._history, _numbered(revision), change, now=self._cloud.now)
        self._store.delete(self._history, _numbered(revision - _KEPT))
        self._store.set_setting(self._history, [revision])
        return written

    def changes(self, since: int) -> Iterator[tuple[int, JsonObject]]:
        """What has happened after a revision, in order: group, plural, `gone`, and the object with it `before`."""
        return ((int(found.name), found.body) for found in self._store.after(self._history, _numbered(since)))

    def clear(self) -> None:
        """Forget all of the cluster; the revisions of the next one of this name go on."""
        for kind in (self._objects, self._history):
            for found in list(self._store.each(kind)):
                self._store.delete(kind, found.name)


def _key(kind: Kind, namespace: str, name: str) -> str:
    return f"{kind.group}/{kind.plural}/{namespace}/{name}"


def _key_of(kind: Kind, entity: JsonObject) -> str:
    return _key(kind, entity["metadata"].get("namespace", ""), entity["metadata"]["name"])


def _numbered(revision: int) -> str:
    return f"{revision:016d}"
