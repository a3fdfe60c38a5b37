"""The journal of one run: what has begun and what has ended, a line each, written before anything depends on it.

Owns the file and its lines. A step costs the same however large the stack is, because a checkpoint is written once, at
the end, by folding the journal into it (`bench.engine.checkpoint`).

Lines are JSON objects: `{"base": <digest>}` first; `{"begin": n, "type": "creating", "resource": {}}` before a provider
is asked to change something; `{"end": n, "set": [], "drop": []}` after it, with the entries as they now are; `end` is
null for changes that need no provider. Resources in it are entries of a checkpoint, so secrets are ciphertext here too.

A line is written at once, and survives the end of the process at any moment. It is synced to disk at most once a
second, so a power loss costs about the last second; a line cut short by one is no line.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Literal

OperationType = Literal["creating", "updating", "deleting", "reading", "importing"]
SYNC_SECONDS = 1.0
Entry = Mapping[str, Any]


class Journal:
    """The journal that is being written; safe to use from several threads."""

    def __init__(self, path: Path, base: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._lock = threading.Lock()
        self._file = path.open("xb")
        self._numbers = count(1)
        self._synced = time.monotonic()
        self._append({"base": base})

    def begin(self, kind: OperationType, resource: Entry) -> int:
        """Say what a provider is about to be asked; returns the number under which it ends."""
        number = next(self._numbers)
        self._append({"begin": number, "type": kind, "resource": resource})
        return number

    def note(self, entries: Iterable[Entry] = (), dropped: Iterable[str] = (), *, ended: int | None = None) -> None:
        """Say what has changed in the state: these entries are so now, those are no more.

        ended: the number of what came to this; nothing has changed where it failed without effect.
        """
        self._append({"end": ended, "set": list(entries), "drop": list(dropped)})

    def close(self) -> None:
        """Stop writing."""
        self._file.close()

    def _append(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()
            if time.monotonic() - self._synced >= SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()


def key_of(entry: Entry) -> str:
    """What tells an entry from every other one: replaced ones share their URN with what replaced them."""
    return f"{entry['urn']}::{entry.get('id', '')}" if entry.get("delete") else entry["urn"]


def replay(path: Path, entries: dict[str, Entry]) -> tuple[str, list[Entry]]:
    """Bring entries, by key, up to date with a journal, as far as it is whole.

    Returns the digest of the checkpoint that it began with, and what began and did not end: it was in flight.
    """
    base, in_flight = "", dict[int, Entry]()
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            record = json.loads(line)
        except ValueError:
            break
        base = record.get("base", base)
        if "begin" in record:
            in_flight[record["begin"]] = record
        in_flight.pop(record.get("end"), None)
        for key in record.get("drop", ()):
            entries.pop(key, None)
        entries.update((key_of(entry), entry) for entry in record.get("set", ()))
    return base, [{"type": each["type"], "resource": each["resource"]} for each in in_flight.values()]
