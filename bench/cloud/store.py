"""Durable state of the local cloud: one SQLite file, one transaction a request.

Owns resources (kind, full name, JSON body, generation, optional bytes), settings and counters. A transaction that was
committed survives a kill of the process; one that was not leaves no trace. Knows no service and no time of its own:
callers say when a thing was made.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.cloud.errors import JsonObject, already_exists, not_found

_SCHEMA = """
CREATE TABLE IF NOT EXISTS resources (
    kind TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL, data BLOB,
    generation INTEGER NOT NULL, created REAL NOT NULL, updated REAL NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS operations (
    name TEXT PRIMARY KEY, due REAL NOT NULL, pending TEXT NOT NULL, finished TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY, due REAL NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, data TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_due ON events (due, id);
CREATE INDEX IF NOT EXISTS events_subject ON events (subject);
CREATE INDEX IF NOT EXISTS events_kind ON events (kind);
CREATE TABLE IF NOT EXISTS settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counters (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
_COLUMNS = "kind, name, body, generation, created, updated"


@dataclass(frozen=True, slots=True)
class Resource:
    """One stored thing. `body` is a fresh copy: change it freely, then `replace` it.

    generation: 1 when made, plus one with every change. created, updated: cloud time in epoch seconds.
    """

    kind: str
    name: str
    body: JsonObject = field(repr=False)
    generation: int
    created: float
    updated: float

    @property
    def etag(self) -> str:
        """Changes with every change of the resource, and between two lives of one name."""
        seed = f"{self.kind} {self.name} {self.created!r} {self.generation}"
        return base64.b64encode(hashlib.sha256(seed.encode()).digest()[:9]).decode()

    @property
    def uid(self) -> int:
        """A positive 63-bit number of this life of the name."""
        digest = hashlib.sha256(f"{self.kind} {self.name} {self.created!r}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 1 or 1


class Store:
    """path: None keeps everything in memory. patience: seconds to wait for another process that ends."""

    def __init__(self, path: Path | None = None, *, patience: float = 5.0) -> None:
        if path is not None:
            # Secret payloads and key material lie in it.
            path.touch(mode=0o600)
        # By sqlite3's own check, one thread uses a store and closes it: closing under another's query ends the process.
        self.connection = sqlite3.connect(path or ":memory:", timeout=patience, isolation_level=None)
        # A second process on the same file would serve a second truth.
        self.connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=NORMAL")
        self.connection.executescript(_SCHEMA)

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """All or nothing; whatever is raised inside, or by the commit itself, undoes everything done inside."""
        self.connection.execute("BEGIN")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            # SQLite ends the transaction by itself after some errors, such as a full disk.
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    @contextmanager
    def attempt(self) -> Generator[None]:
        """A part of a transaction that is undone by itself when something is raised inside; that is raised on."""
        self.connection.execute("SAVEPOINT attempt")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK TO attempt")
            raise
        finally:
            self.connection.execute("RELEASE attempt")

    # Resources

    def find(self, kind: str, name: str) -> Resource | None:
        row = self.connection.execute(
            f"SELECT {_COLUMNS} FROM resources WHERE kind = ? AND name = ?",  # noqa: S608 - a constant list of columns
            (kind, name),
        ).fetchone()
        return _resource(row) if row else None

    def get(self, kind: str, name: str) -> Resource:
        """Raises 404 NOT_FOUND."""
        found = self.find(kind, name)
        if found is None:
            raise not_found(name)
        return found

    def insert(self, kind: str, name: str, body: JsonObject, *, now: float, data: bytes | None = None) -> Resource:
        """Raises 409 ALREADY_EXISTS."""
        try:
            self.connection.execute(
                "INSERT INTO resources (kind, name, body, data, generation, created, updated) VALUES (?,?,?,?,1,?,?)",
                (kind, name, _text(body), data, now, now),
            )
        except sqlite3.IntegrityError:
            raise already_exists(name) from None
        return Resource(kind, name, body, 1, now, now)

    def replace(self, resource: Resource, body: JsonObject, *, now: float, data: bytes | None = None) -> Resource:
        """Store a new body (and new bytes, where given); the generation goes up by one. Raises 404 when it is gone."""
        changed = self.connection.execute(
            "UPDATE resources SET body = ?, data = COALESCE(?, data), generation = generation + 1, updated = ? "
            "WHERE kind = ? AND name = ?",
            (_text(body), data, now, resource.kind, resource.name),
        )
        if changed.rowcount == 0:
            raise not_found(resource.name)
        return Resource(resource.kind, resource.name, body, resource.generation + 1, resource.created, now)

    def put(self, kind: str, name: str, body: JsonObject, *, now: float, data: bytes | None = None) -> Resource:
        """Insert what is not there, replace what is."""
        found = self.find(kind, name)
        if found is None:
            return self.insert(kind, name, body, now=now, data=data)
        return self.replace(found, body, now=now, data=data)

    def delete(self, kind: str, name: str) -> bool:
        """Whether there was something to delete."""
        gone = self.connection.execute("DELETE FROM resources WHERE kind = ? AND name = ?", (kind, name))
        return gone.rowcount > 0

    def data(self, kind: str, name: str) -> bytes:
        """The bytes stored with a resource; empty where none are. Raises 404."""
        row = self.connection.execute("SELECT data FROM resources WHERE kind = ? AND name = ?", (kind, name)).fetchone()
        if row is None:
            raise not_found(name)
        return row[0] or b""

    def each(self, kind: str, prefix: str = "") -> Iterator[Resource]:
        """Resources whose full name starts with `prefix`, in the order of their names."""
        rows = self.connection.execute(
            f"SELECT {_COLUMNS} FROM resources WHERE kind = ? AND name >= ? AND name < ? ORDER BY name",  # noqa: S608
            (kind, prefix, prefix_end(prefix)),
        )
        return map(_resource, rows)

    def after(self, kind: str, name: str) -> Iterator[Resource]:
        """Resources whose full name sorts behind one, in the order of their names."""
        rows = self.connection.execute(
            f"SELECT {_COLUMNS} FROM resources WHERE kind = ? AND name > ? ORDER BY name",  # noqa: S608
            (kind, name),
        )
        return map(_resource, rows)

    def count(self, kind: str, prefix: str = "") -> int:
        row = self.connection.execute(
            "SELECT COUNT(*) FROM resources WHERE kind = ? AND name >= ? AND name < ?",
            (kind, prefix, prefix_end(prefix)),
        ).fetchone()
        return int(row[0])

    def tally(self, kind: str, path: str) -> dict[str, int]:
        """How many resources of a kind have each value at a JSON path (`$.state`), by value."""
        rows = self.connection.execute(
            "SELECT json_extract(body, ?), COUNT(*) FROM resources WHERE kind = ? GROUP BY 1 ORDER BY 1", (path, kind)
        )
        return dict(rows.fetchall())

    # Settings and counters

    def setting(self, key: str, default: Any = None) -> Any:
        row = self.connection.execute("SELECT value FROM settings WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else default

    def set_setting(self, key: str, value: Any) -> None:
        self.connection.execute("INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", (key, json.dumps(value)))

    def next_number(self, key: str) -> int:
        """1, 2, 3 ... for each key, never twice; what names made by the server are built from."""
        row = self.connection.execute(
            "INSERT INTO counters (key, value) VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET value = value + 1 "
            "RETURNING value",
            (key,),
        ).fetchone()
        return int(row[0])

    def counted(self, key: str) -> int:
        """The last number that `next_number` gave for a key; 0 before the first."""
        row = self.connection.execute("SELECT value FROM counters WHERE key = ?", (key,)).fetchone()
        return row[0] if row else 0

    def clear(self) -> None:
        """Forget everything but what time it is."""
        tables = self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            keep = " WHERE key != 'clock-offset'" if table == "settings" else ""
            self.connection.execute(f"DELETE FROM {table}{keep}")  # noqa: S608 - names of our own tables


def _resource(row: tuple[Any, ...]) -> Resource:
    kind, name, body, generation, created, updated = row
    return Resource(kind, name, json.loads(body), generation, created, updated)


def _text(body: JsonObject) -> str:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False)


def prefix_end(prefix: str) -> str:
    """What sorts after every text that begins with `prefix`, in which no name has the last of all characters."""
    return f"{prefix}\U0010ffff"
