"""A store within one process: for tests of programs that lock, and for jobs that run on one machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from infra.jobs.store.entries import ABSENT, Entry, Value, checked_key, decoded, encoded


def _utc() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the store is this process alone


@dataclass(slots=True)
class MemoryStore:
    """clock: with a time zone."""

    clock: Callable[[], datetime] = _utc
    _held: dict[str, tuple[str, str, datetime]] = field(default_factory=dict)
    _writes: int = 0
    _alone: threading.Lock = field(default_factory=threading.Lock)

    def read(self, key: str) -> Entry:
        with self._alone:
            now = self.clock()
            text, version, written = self._held.get(checked_key(key), ("", ABSENT, now))
        value = decoded(key, text) if version else None
        return Entry(value=value, version=version, age=now - written, now=now)

    def swap(self, key: str, version: str, value: Value | None) -> bool:
        text = None if value is None else encoded(value)
        with self._alone:
            if self._held.get(checked_key(key), ("", ABSENT))[1] != version:
                return False
            if text is None:
                self._held.pop(key, None)
            else:
                self._writes += 1
                self._held[key] = (text, str(self._writes), self.clock())
            return True

    def keys(self, prefix: str = "") -> Iterator[str]:
        with self._alone:
            found = sorted(key for key in self._held if key.startswith(prefix))
        yield from found
