"""What will happen: durable events with a due time, settled when a request comes.

There are no background threads. Before a request is answered, every event due by then happens in order of its due
time, each seeing the time it was due as the present, so the outcome does not depend on when anybody looks. An event
that cannot happen is set aside with the reason, so that it stands in nobody's way and can still be looked at.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from infra.local.cloud.registry import JsonObject
from infra.local.cloud.store import Store


@dataclass(frozen=True, slots=True)
class Event:
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

    def take(self, now: float) -> Event | None:
        """Remove and return the earliest event due by `now`."""
        row = self._connection.execute(
            "SELECT id, due, kind, subject, data FROM events WHERE due <= ? ORDER BY due, id LIMIT 1", (now,)
        ).fetchone()
        if row is None:
            return None
        self._connection.execute("DELETE FROM events WHERE id = ?", (row[0],))
        return Event(row[0], row[1], row[2], row[3], json.loads(row[4]))

    def set_aside(self, event: Event, error: str) -> None:
        """Keep an event that failed, with what it failed by, where it is not taken again."""
        self._connection.execute(
            "INSERT INTO events_set_aside (id, due, kind, subject, data, error) VALUES (?, ?, ?, ?, ?, ?)",
            (event.id, event.due, event.kind, event.subject, json.dumps(event.data), error),
        )

    def failed(self) -> int:
        """How many events were set aside."""
        return int(self._connection.execute("SELECT COUNT(*) FROM events_set_aside").fetchone()[0])

    def planned(self, subject: str) -> list[Event]:
        return self._each("subject", subject)

    def of_kind(self, kind: str) -> list[Event]:
        return self._each("kind", kind)

    def _each(self, column: str, value: str) -> list[Event]:
        rows = self._connection.execute(
            f"SELECT id, due, kind, subject, data FROM events WHERE {column} = ? ORDER BY due, id",  # noqa: S608 - ours
            (value,),
        )
        return [Event(*row[:4], json.loads(row[4])) for row in rows]
