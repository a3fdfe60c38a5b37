"""The store on a Redis server, Google's Memorystore among them: a hash a key, changed by scripts that run alone there.

A version is the microsecond of its write, and more than the one before: it is never given twice, also by a server that
lost its memory. Clients ask again by themselves after a lost connection; a write that was made then is told as lost to
another, which readers of it see through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import redis

from infra.jobs.store.entries import ABSENT, Entry, StoreError, Value, checked_key, decoded, encoded

SECONDS: Final = 5.0
"""How long a server may take to answer, or to take a connection."""
_PREFIX: Final = "tidepool/"
_READ: Final = """
local at = redis.call('TIME')
local held = redis.call('HMGET', KEYS[1], 'value', 'version', 'written')
return {held[1] or '', held[2] or '', held[3] or '', at[1], at[2]}
"""
_SWAP: Final = """
local at = redis.call('TIME')
local now = at[1] * 1000000 + at[2]
local version = redis.call('HGET', KEYS[1], 'version') or ''
if version ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) return 1 end
local next = math.max(now, (tonumber(version) or 0) + 1)
redis.call('HSET', KEYS[1], 'value', ARGV[2], 'version', string.format('%.0f', next),
  'written', string.format('%.0f', now))
return 1
"""
_GLOB: Final = re.compile(r"([*?\[\]\\])")


class RedisStore:
    """url: `redis://HOST:PORT`, or `rediss://` for TLS."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(
            url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS, decode_responses=True
        )
        self._read = self._client.register_script(_READ)
        self._swap = self._client.register_script(_SWAP)

    def read(self, key: str) -> Entry:
        text, version, written, seconds, micros = self._ask(self._read, key, [])
        now = int(seconds) * 1_000_000 + int(micros)
        age = timedelta(microseconds=max(0, now - int(written))) if version else timedelta()
        value = decoded(key, text) if version else None
        return Entry(value=value, version=version or ABSENT, age=age, now=datetime.fromtimestamp(now / 1e6, UTC))

    def swap(self, key: str, version: str, value: Value | None) -> bool:
        return bool(self._ask(self._swap, key, [version, "" if value is None else encoded(value)]))

    def keys(self, prefix: str = "") -> Iterator[str]:
        pattern = _GLOB.sub(r"\\\1", _PREFIX + prefix) + "*"
        try:
            found = {each.removeprefix(_PREFIX) for each in self._client.scan_iter(match=pattern, count=1000)}
        except (redis.RedisError, OSError) as error:
            raise StoreError(f"listing keys: {error}") from error
        yield from sorted(found)

    def close(self) -> None:
        self._client.close()

    def _ask(self, script: Any, key: str, told: list[str]) -> Any:
        try:
            return script(keys=[_PREFIX + checked_key(key)], args=told)
        except (redis.RedisError, OSError) as error:
            raise StoreError(f"{key!r}: {error}") from error
