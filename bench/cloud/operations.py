"""Long-running operations: what they will answer is decided when they begin, and the clock says which answer it is.

Owns their rows, names and the `google.longrunning` shape. Services with another shape (Compute Engine) hand in
their own two bodies through `begin`. Effects on resources are events of the timeline, not of an operation.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from bench.cloud.clock import timestamp
from bench.cloud.errors import JsonObject, not_found, rpc_status
from bench.cloud.store import Store, prefix_end

_EMPTY = {"@type": "type.googleapis.com/google.protobuf.Empty"}


class Operations:
    """now: cloud time. compressed: a realistic delay as it is here."""

    def __init__(self, store: Store, now: Callable[[], float], compressed: Callable[[float], float]) -> None:
        self._store = store
        self._connection = store.connection
        self._now = now
        self._compressed = compressed

    def begin(self, name: str, *, seconds: float, pending: JsonObject, finished: JsonObject) -> JsonObject:
        """Record an operation and return its present answer.

        name: the key it will be asked by, unique in the whole cloud. seconds: realistic duration; compressed here.
        pending, finished: its answer before and from the due time on.
        """
        due = self._now() + self._compressed(seconds)
        self._connection.execute(
            "INSERT INTO operations (name, due, pending, finished) VALUES (?, ?, ?, ?)",
            (name, due, json.dumps(pending), json.dumps(finished)),
        )
        return pending if due > self._now() else finished

    def lro(
        self,
        parent: str,
        *,
        seconds: float,
        metadata: JsonObject | None = None,
        response: JsonObject | None = None,
        error: JsonObject | None = None,
    ) -> JsonObject:
        """Begin a `google.longrunning.Operation` below `parent` (`projects/P/locations/Z`) and return it.

        metadata: with its `@type`; `createTime` and, once it ended, `endTime` are filled in, except where the type is
            all there is: such a message is empty, and a client that knows it refuses every field.
        response: with its `@type`; an Empty where left out.
        error: a `google.rpc.Status` (`errors.rpc_status`) instead of a response.
        """
        identity = self.new_id()
        name = f"{parent}/operations/{identity}" if parent else f"operations/{identity}"
        began: JsonObject = {"metadata": metadata} if metadata else {}
        ended = began
        if metadata and metadata.keys() > {"@type"}:
            created = {**metadata, "createTime": timestamp(self._now())}
            began = {"metadata": created}
            ended = {"metadata": {**created, "endTime": timestamp(self._now() + self._compressed(seconds))}}
        outcome = {"error": error} if error else {"response": response or _EMPTY}
        return self.begin(
            name,
            seconds=seconds,
            pending={"name": name, **began, "done": False},
            finished={"name": name, **ended, "done": True, **outcome},
        )

    def new_id(self) -> str:
        """A name part no operation has had before: `operation-1763712000000-000000000001`."""
        number = self._store.next_number("operation")
        return f"operation-{int(self._now() * 1000)}-{number:012x}"

    def get(self, name: str) -> JsonObject:
        """Raises 404."""
        due, pending, finished = self._row(name)
        return json.loads(pending if due > self._now() else finished)

    def each(self, prefix: str) -> list[JsonObject]:
        """Operations whose name starts with `prefix`, sorted by name."""
        rows = self._connection.execute(
            "SELECT due, pending, finished FROM operations WHERE name >= ? AND name < ? ORDER BY name",
            (prefix, prefix_end(prefix)),
        )
        return [json.loads(pending if due > self._now() else finished) for due, pending, finished in rows]

    def fail(self, name: str, status: str, message: str) -> None:
        """End a running operation now with an error; nothing happens to one that ended. Raises 404."""
        if self._row(name)[0] > self._now():
            self.postpone(name, self._now(), {"error": rpc_status(status, message)})

    def postpone(self, name: str, due: float, outcome: JsonObject | None = None) -> None:
        """Let an operation end at another time, or otherwise. Raises 404."""
        answer = json.loads(self._row(name)[2])
        for part in (answer, answer.get("metadata", {})):
            if "endTime" in part:
                part["endTime"] = timestamp(due)
        if outcome:
            answer = {key: value for key, value in answer.items() if key != "response"} | outcome
        self._connection.execute(
            "UPDATE operations SET due = ?, finished = ? WHERE name = ?", (due, json.dumps(answer), name)
        )

    def _row(self, name: str) -> tuple[float, str, str]:
        found = self._connection.execute("SELECT due, pending, finished FROM operations WHERE name = ?", (name,))
        if (row := found.fetchone()) is None:
            raise not_found(name)
        return row
