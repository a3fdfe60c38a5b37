"""The wall clock of this machine, which is also Google Cloud's time.

One invocation has one clock, its cloud's: an operation takes it from its session (`infra.operations.session`), a fleet
service from its place (`infra.fleet.place`). ruff bans this function and every other read of the wall clock
(`banned-api` in pyproject.toml); a permitted read names its reason beside `noqa: TID251`. Deadlines of calls use
`time.monotonic`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]
"""Gives the present, with a time zone."""


def machine_clock() -> datetime:
    """The present in UTC. Google Cloud has no clock that a client could ask: it keeps the same time."""
    return datetime.now(UTC)  # noqa: TID251 - the one clock of Google Cloud
