"""Watches: what changes among the objects that a request chooses, told as it happens.

Owns the events of one watch: first those that exist (where it begins at no revision), then each change.
A watch whose changes are forgotten before they were told, or whose cluster has ended, ends with an ERROR (410), upon
which clients list again.
An object that no longer fits the selectors is DELETED to who watches, and one that comes to fit is ADDED.
Source: the Kubernetes documentation, "Efficient detection of changes", read 2026-11.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import verbs
from bench.cloud.kubernetes.status import StatusError
from bench.cloud.kubernetes.verbs import KubernetesCall

_LONGEST: Final = 1800.0


class Watch:
    """seconds: how long it lasts at most. ended: whether it has told its last."""

    def __init__(self, call: KubernetesCall) -> None:
        """Raises 410."""
        self._call = call
        self._fits = verbs.fitting(call.query)
        self.seconds = min(float(call.number("timeoutSeconds") or _LONGEST), _LONGEST)
        said = call.number("resourceVersion")
        self._initial = None if said else list(verbs.chosen(call))
        self._at = said or call.keyspace.revision
        self.ended = False
        if refusal := self._expired():
            raise refusal

    def _expired(self) -> StatusError | None:
        """Why what has changed since can no longer be told; None where it can."""
        keyspace = self._call.keyspace
        if keyspace.compacted <= self._at <= keyspace.revision:  # A later one is of a cluster of this name that ended.
            return None
        return StatusError(410, f"too old resource version: {self._at} ({keyspace.compacted})")

    def read(self) -> bytes:
        """What is to be told since the last time, one JSON object a line."""
        if refusal := self._expired():
            self.ended = True
            return json.dumps({"type": "ERROR", "object": refusal.to_json()}).encode() + b"\n"
        return b"".join(json.dumps(event).encode() + b"\n" for event in self._events())

    def _events(self) -> Iterator[JsonObject]:
        if self._initial is not None:
            first, self._initial = self._initial, None
            yield from ({"type": "ADDED", "object": each} for each in first)
        if self._call.keyspace.revision != self._at:
            for revision, change in self._call.keyspace.changes(self._at):
                self._at = revision
                yield from self._seen(change)

    def _seen(self, change: JsonObject) -> Iterator[JsonObject]:
        call, entity = self._call, change["object"]
        if (change["group"], change["plural"]) != (call.kind.group, call.kind.plural):
            return
        if call.namespace not in ("", entity["metadata"].get("namespace", "")):
            return
        fitted = change["before"] is not None and self._fits(change["before"])
        fits = not change["gone"] and self._fits(entity)
        if fits or fitted:
            sort = "MODIFIED" if fits and fitted else "ADDED" if fits else "DELETED"
            yield {"type": sort, "object": verbs.seen(call, entity)}
