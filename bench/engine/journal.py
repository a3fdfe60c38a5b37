"""The journal of one run: what has begun and what has ended, a line each, written before anything depends on it.

Owns the file and its lines. A step costs the same however large the stack is, because a checkpoint is written once, at
the end, by folding the journal into it (`bench.engine.checkpoint`).

Lines are JSON objects: `{"journal": 1, "base": <digest>}` first; `{"begin": n, "type": "creating", "resource": {}}`
before a provider is asked to change something; `{"end": n, "set": [], "drop": []}` after it, with the entries as they
now are; `set` and `drop` without `end` for changes that need no provider; `{"folded": <digest>}` before the checkpoint
is put in place. Resources in it are entries of a checkpoint, so secrets are ciphertext here too.

A line is one write() to a file opened for appending: it survives the end of the process at any moment. It is synced
to disk at most once a second, so a power loss costs about the last second; a line cut short by one is no line.
"""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from infra.model.errors import EngineError

OperationType = Literal["creating", "updating", "deleting", "reading", "importing"]
SYNC_SECONDS = 1.0
Entry = Mapping[str, Any]
RESTORE = "move the journal away, then run `./tidepool refresh STACK`"


class Journal:
    """The journal that is being written; safe to use from several threads."""

    def __init__(self, path: Path, base: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._lock = threading.Lock()
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._operations = 0
        self._synced = time.monotonic()
        self._append({"journal": 1, "base": base})

    def begin(self, kind: OperationType, resource: Entry) -> int:
        """Say what a provider is about to be asked; returns the number under which it ends."""
        with self._lock:
            self._operations += 1
            number = self._operations
        self._append({"begin": number, "type": kind, "resource": resource})
        return number

    def end(self, number: int, entries: Iterable[Entry] = (), dropped: Iterable[str] = ()) -> None:
        """Say what came of it: these entries are so now, those are no more; neither where it failed without effect."""
        self._append({"end": number, "set": list(entries), "drop": list(dropped)})

    def note(self, entries: Iterable[Entry] = (), dropped: Iterable[str] = ()) -> None:
        """Say what has changed in the state alone."""
        self._append({"set": list(entries), "drop": list(dropped)})

    def folding(self, digest: str) -> None:
        """Say that the checkpoint with this digest holds all of it."""
        self._append({"folded": digest})
        os.fsync(self._handle)

    def close(self) -> None:
        """Stop writing."""
        os.close(self._handle)

    def _append(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        with self._lock:
            self._write(line)
            if time.monotonic() - self._synced >= SYNC_SECONDS:
                os.fsync(self._handle)
                self._synced = time.monotonic()

    def _write(self, line: bytes) -> None:
        """Raises OSError where the disk takes less than all of it; then none of it stays."""
        written = os.write(self._handle, line)
        if written < len(line):
            # Half a line would swallow the next one, and a journal is read only as far as it is whole.
            os.ftruncate(self._handle, os.fstat(self._handle).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))


@dataclass(slots=True)
class Replay:
    """What a journal says, read back.

    entries: by key, in the order in which they last ended.
    dropped: keys that are no more.
    open: operations that began and did not end: they were in flight.
    """

    base: str = ""
    folded: str | None = None
    entries: dict[str, Entry] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    open: dict[int, tuple[OperationType, Entry]] = field(default_factory=dict)


def key_of(entry: Entry) -> str:
    """What tells an entry from every other one: replaced ones share their URN with what replaced them."""
    return f"{entry['urn']}::{entry.get('id', '')}" if entry.get("delete") else entry["urn"]


def replay(path: Path) -> Replay:
    """Read a journal as far as it is whole. Raises EngineError for a whole line that no engine wrote."""
    found = Replay()
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
        try:
            record = json.loads(line)
        except ValueError:
            break
        try:
            _add(found, record)
        except (AttributeError, KeyError, TypeError):
            raise EngineError(f"{path}:{number}: not a journal record. Fix: {RESTORE}") from None
    return found


def _add(found: Replay, record: Mapping[str, Any]) -> None:
    if "journal" in record:
        found.base = record["base"]
    elif "folded" in record:
        found.folded = record["folded"]
    elif "begin" in record:
        found.open[record["begin"]] = (record["type"], record["resource"])
    else:
        found.open.pop(record.get("end"), None)
        for key in record["drop"]:
            found.entries.pop(key, None)
            found.dropped.add(key)
        for entry in record["set"]:
            key = key_of(entry)
            found.entries.pop(key, None)
            found.entries[key] = entry
            found.dropped.discard(key)
