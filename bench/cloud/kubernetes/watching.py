"""Watches: what changes among the objects that a request chooses, told as it happens.

Owns the events of one watch: first those that exist (where it begins at no revision), then each change. An object that
no longer fits the selectors is DELETED to who watches, and one that comes to fit is ADDED.
Source: the Kubernetes documentation, "Efficient detection of changes", read 2026-11.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import verbs
from bench.cloud.kubernetes.verbs import KubernetesCall

_LONGEST: Final = 1800.0


class Watch:
    """seconds: how long it lasts at most."""

    def __init__(self, call: KubernetesCall) -> None:
        self._call = call
        self._fits = verbs.fitting(call.query)
        self.seconds = min(float(call.number("timeoutSeconds") or _LONGEST), _LONGEST)
        said = call.number("resourceVersion")
        self._initial = [] if said else list(verbs.chosen(call))
        self._at = said or call.keyspace.revision

    def read(self) -> bytes:
        """What is to be told since the last time, one JSON object a line."""
        return b"".join(json.dumps(event).encode() + b"\n" for event in self._events())

    def _events(self) -> Iterator[JsonObject]:
        while self._initial:
            yield {"type": "ADDED", "object": self._initial.pop(0)}
        for revision, change in self._call.keyspace.changes(self._at):
            self._at = revision
            yield from self._seen(change)

    def _seen(self, change: JsonObject) -> Iterator[JsonObject]:
        kind, entity = self._call.kind, change["object"]
        if (change["group"], change["plural"]) != (kind.group, kind.plural):
            return
        if self._call.namespace not in ("", entity["metadata"].get("namespace", "")):
            return
        fitted = change["before"] is not None and self._fits(change["before"])
        fits = not change["gone"] and self._fits(entity)
        if fits or fitted:
            sort = "MODIFIED" if fits and fitted else "ADDED" if fits else "DELETED"
            yield {"type": sort, "object": {**entity, "apiVersion": kind.api_version}}
