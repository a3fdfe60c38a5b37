"""What a sweep learns while it acts, written as it is learned: one that is killed half-way has learned most of it.

Owns when it is written. Does not own what each outcome teaches (`outcomes`) nor how it is written (`sweep`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from infra.fleet.controller.desired import Desired
from infra.fleet.controller.memory import Memory
from infra.fleet.controller.outcomes import Outcome, learned
from infra.fleet.google import GoogleError

WRITTEN_EVERY: Final = timedelta(seconds=15)
"""Names of operations and orders that were written may be lost for so long; what a place refused never is. One object
of a bucket takes one write a second (cloud.google.com/storage/quotas, read 2026-11)."""


@dataclass(slots=True, kw_only=True)
class Lessons:
    """memory: with what was learned. write: it over what the record says. clock: of the cloud. wall: of this machine.
    last: when it was last written."""

    desired: Desired
    memory: Memory
    write: Callable[[Memory], None]
    clock: Callable[[], datetime]
    wall: Callable[[], datetime]
    last: datetime
    outcomes: list[Outcome] = field(default_factory=list)

    def hear(self, outcome: Outcome) -> None:
        """Learn from an outcome. A bucket that does not answer is no reason to stop: `close` tries once more."""
        self.outcomes.append(outcome)
        self.memory = learned(self.memory, self.desired, [outcome], self.clock())
        if outcome.trouble is not None or self.wall() - self.last >= WRITTEN_EVERY:
            with suppress(GoogleError):
                self.close()

    def close(self) -> None:
        """Write what is not written yet. Raises GoogleError, and what `write` raises where others wrote."""
        self.write(self.memory)
        self.last = self.wall()
