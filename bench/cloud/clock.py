"""Cloud time: what time it is, how it is written, and what will happen.

Owns the wall clock plus an offset that a person may advance, by which time never runs backwards, and the durable events
with a due time that are settled when a request comes. There are no background threads. Before a request is answered,
every event due by then happens in order of its due time, each seeing the time it was due as the present, so the outcome
does not depend on when anybody looks. An event that fails is dropped and logged, so that it stands in nobody's way.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.cloud.errors import JsonObject
from bench.cloud.store import Store


class OffsetClock:
    """`wall` is the source of real seconds since the epoch; tests hand in their own."""

    def __init__(self, *, offset: float = 0.0, wall: Callable[[], float] = time.time) -> None:  # noqa: TID251 - below the offset
        self._wall = wall
        self._last = 0.0
        self.offset = offset

    def read(self) -> float:
        """Now, in epoch seconds; never less than this process has read before, however the machine's clock is set."""
        self._last = max(self._last, self._wall() + self.offset)
        return self._last


def timestamp(seconds: float) -> str:
    """RFC 3339 in UTC with microseconds, as Google's APIs write it: `2026-11-21T08:00:00.250000Z`."""
    return dt.datetime.fromtimestamp(seconds, tz=dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def whole_seconds(seconds: float) -> str:
    """The same without microseconds, as GitHub and Kubernetes' metadata write it."""
    return dt.datetime.fromtimestamp(seconds, tz=dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(text: str) -> float:
    """Epoch seconds of an RFC 3339 text. Raises ValueError."""
    return dt.datetime.fromisoformat(text).timestamp()


@dataclass(frozen=True, slots=True)
class DueEvent:
    """kind: the name of a reaction (`tpu.node.ready`). subject: full name of the resource. due: cloud time."""

    due: float
    kind: str
    subject: str
    data: JsonObject
    id: int = 0


class Timeline:
    def __init__(self, store: Store) -> None:
        self._connection = store.connection

    def add(self, due: float, kind: str, subject: str, data: JsonObject | None = None) -> None:
        self._connection.execute(
            "INSERT INTO events (due, kind, subject, data) VALUES (?, ?, ?, ?)",
            (due, kind, subject, json.dumps(data or {})),
        )

    def cancel(self, subject: str, *kinds: str) -> None:
        """Drop what is planned for a resource: everything, or the kinds named."""
        for event in self.planned(subject):
            if not kinds or event.kind in kinds:
                self._connection.execute("DELETE FROM events WHERE id = ?", (event.id,))

    def take(self, now: float) -> DueEvent | None:
        """Remove and return the earliest event due by `now`."""
        event = next(iter(self._each("due <= ?", (now,), " LIMIT 1")), None)
        if event is not None:
            self._connection.execute("DELETE FROM events WHERE id = ?", (event.id,))
        return event

    def planned(self, subject: str = "", *, kind: str = "") -> list[DueEvent]:
        """What is planned for a resource, or of a kind, by its time."""
        return self._each("subject = ? OR kind = ?", (subject, kind))

    def _each(self, condition: str, values: tuple[Any, ...], more: str = "") -> list[DueEvent]:
        rows = self._connection.execute(
            f"SELECT due, kind, subject, data, id FROM events WHERE {condition} ORDER BY due, id{more}",  # noqa: S608 - ours
            values,
        )
        return [DueEvent(due, kind, subject, json.loads(data), number) for due, kind, subject, data, number in rows]
