"""Cloud time: what time it is, how it is written, and what will happen.

Owns the wall clock plus an offset that a person may advance, by which time never runs backwards, and the durable events
with a due time that are settled when a request comes. There are no background threads. Before a request is answered,
every event due by then happens in order of its due time, each seeing the time it was due as the present, so the outcome
does not depend on when anybody looks. An event that cannot happen is set aside with the reason, so that it stands in
nobody's way and can still be looked at.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Callable
from dataclasses import dataclass

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

    def advance(self, seconds: float) -> float:
        """Move the offset forward and read. Raises ValueError for a step back."""
        if seconds < 0:
            raise ValueError(f"the clock cannot go back: {seconds} s")
        self.offset += seconds
        return self.read()


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

    id: int
    due: float
    kind: str
    subject: str
    data: JsonObject


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
        if not kinds:
            self._connection.execute("DELETE FROM events WHERE subject = ?", (subject,))
        for kind in kinds:
            self._connection.execute("DELETE FROM events WHERE subject = ? AND kind = ?", (subject, kind))

    def take(self, now: float) -> DueEvent | None:
        """Remove and return the earliest event due by `now`."""
        row = self._connection.execute(
            "SELECT id, due, kind, subject, data FROM events WHERE due <= ? ORDER BY due, id LIMIT 1", (now,)
        ).fetchone()
        if row is None:
            return None
        self._connection.execute("DELETE FROM events WHERE id = ?", (row[0],))
        return DueEvent(row[0], row[1], row[2], row[3], json.loads(row[4]))

    def set_aside(self, event: DueEvent, error: str) -> None:
        """Keep an event that failed, with what it failed by, where it is not taken again."""
        self._connection.execute(
            "INSERT INTO events_set_aside (id, due, kind, subject, data, error) VALUES (?, ?, ?, ?, ?, ?)",
            (event.id, event.due, event.kind, event.subject, json.dumps(event.data), error),
        )

    def failed(self) -> int:
        """How many events were set aside."""
        return int(self._connection.execute("SELECT COUNT(*) FROM events_set_aside").fetchone()[0])

    def planned(self, subject: str) -> list[DueEvent]:
        return self._each("subject", subject)

    def of_kind(self, kind: str) -> list[DueEvent]:
        return self._each("kind", kind)

    def _each(self, column: str, value: str) -> list[DueEvent]:
        rows = self._connection.execute(
            f"SELECT id, due, kind, subject, data FROM events WHERE {column} = ? ORDER BY due, id",  # noqa: S608 - ours
            (value,),
        )
        return [DueEvent(*row[:4], json.loads(row[4])) for row in rows]
