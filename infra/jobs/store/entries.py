"""What a store keeps, and the three calls by which locks and statuses are built on any of them.

Owns the interface and what keys and values may be. A value changes by compare-and-swap alone. How old it is the store's
own clock says, so that a client whose clock is wrong takes no lease from another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol, TypeAlias

ABSENT: Final = ""
"""The version of a key that is not there."""
LONGEST_KEY: Final = 400
"""Bytes. Firestore takes names of at most 1,500, in which some characters take three."""
LARGEST_VALUE: Final = 256 * 1024
"""Bytes as JSON. Firestore takes documents of at most 1 MiB (firebase.google.com/docs/firestore/quotas, 2026-11)."""

Value: TypeAlias = Mapping[str, Any]


class StoreError(Exception):
    """The store did not answer, or refused: whether a write was made is not known. Read again before going on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A key as one read found it.

    value: None where it is not there. version: another one after each write, ABSENT where it is not there. age: since
    that write. now: when it was read. Both are by the store's clock.
    """

    value: Value | None
    version: str
    age: timedelta
    now: datetime


class SharedStore(Protocol):
    """A store that many programs share. Every call raises StoreError where it does not answer."""

    def read(self, key: str) -> Entry: ...

    def swap(self, key: str, version: str, value: Value | None) -> bool:
        """Write if the key still has that version, ABSENT for a key that is not there; None takes it away.

        False where another write came first. ValueError for a key or a value that no store takes.
        """
        ...

    def keys(self, prefix: str = "") -> Iterator[str]:
        """The keys that begin so, in order. One that comes or goes meanwhile may be among them or not."""
        ...


def checked_key(key: str) -> str:
    """ValueError for one that no store takes."""
    size = len(key.encode("utf-8", "surrogatepass"))
    if not 0 < size <= LONGEST_KEY or any(ord(each) < ord(" ") or 0xD800 <= ord(each) < 0xE000 for each in key):
        raise ValueError(f"{key[:60]!r} is not a key: 1 to {LONGEST_KEY} bytes of text, without control characters")
    return key


def encoded(value: Value) -> str:
    """A value as it is kept. ValueError for one that is not JSON or too large."""
    try:
        text = json.dumps(dict(value), sort_keys=True, allow_nan=False)
    except TypeError as error:
        raise ValueError(f"the value is not JSON: {error}") from None
    if len(text) > LARGEST_VALUE:
        raise ValueError(f"the value has {len(text)} bytes as JSON, more than {LARGEST_VALUE}")
    return text


def decoded(key: str, text: object) -> Value:
    """What `encoded` gave. StoreError where something else stands at the key."""
    try:
        value = json.loads(text) if isinstance(text, str | bytes) else None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise StoreError(f"{key!r} holds no value of this store: another program wrote it")
    return value
