"""The controller's memory as one sweep reads it and writes it over what it read or wrote itself, and nothing else.

Owns the record's generation, what becomes of a write that got no answer, and when it is written while a sweep acts: as
it learns, so that one that is killed half-way has learned most of it. Does not own the memory's shape (`memory`) nor
what each outcome teaches (`outcomes`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Self

from infra.fleet.controller import memory as memories
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.events import LENGTH, FleetEvent
from infra.fleet.controller.memory import EMPTY, Memory
from infra.fleet.controller.outcomes import ActionOutcome, learned
from infra.fleet.google import GoogleError
from infra.fleet.records import ABSENT, JSON, Records
from infra.model import bucket_names
from infra.model.errors import OutsideError

WRITTEN_EVERY: Final = timedelta(seconds=15)
"""Names of operations and orders that were written may be lost for so long; what a place refused never is. One object
of a bucket takes one write a second (cloud.google.com/storage/quotas, read 2026-11)."""


class SweepError(OutsideError):
    """A sweep that could not begin, or must not go on; its text says why."""


@dataclass(slots=True, kw_only=True)
class Remembered:
    """memory: what the record says. generation: of the record that the next write replaces.

    holder: who writes; two sweeps may write the same, and only one of them may go on.
    unanswered: what the last write would have written, where nobody said whether it did.
    """

    records: Records
    name: str
    holder: str
    memory: Memory
    generation: int
    unanswered: bytes | None = None

    @classmethod
    def read(cls, records: Records, stack: str, holder: str, now: datetime) -> Self:
        """The memory of a stack, for a holder of its lease. What of it cannot be read is set aside, and forgotten.

        An older version does not stand in for it: what it lacks may have been made since. Raises GoogleError.
        """
        name = bucket_names.memory_object(stack)
        generation, _, content = records.live(name) or (ABSENT, now, None)
        try:
            memory, skipped = memories.salvaged(content)
        except memories.UnreadableMemoryError as error:
            memory, skipped = EMPTY, (str(error),)
        if content is not None and skipped:
            records.set_aside(name, generation, content)
            forgot = f"{len(skipped)} parts of it cannot be read and are forgotten, the first at {skipped[0]}"
            memory = memory.with_event(FleetEvent(at=now, subject=name, what=forgot[:LENGTH]))
        return cls(records=records, name=name, holder=holder, memory=memory, generation=generation)

    def write(self, memory: Memory, *, acts: bool = False) -> None:
        """Raises SweepError where somebody else wrote it meanwhile, who holds the lease by now; GoogleError.

        It is not read first: a large fleet's memory costs more to read than all else that a sweep does.
        acts: whether something is done by it, so that it is written though nothing in it is new: a sweep that lost the
        lease to this one can then write no more what it learned.
        """
        if memory == self.memory and self.unanswered is None and not acts:
            if self.records.generation(self.name) != self.generation:
                raise _overtaken()
            return
        content = memory.encoded(self.holder)
        before, self.unanswered = self.unanswered, content
        generation = self.records.replace_content(self.name, content, JSON, generation=self.generation)
        self.generation = self._own(content, before) if generation is None else generation
        self.memory, self.unanswered = memory, None

    def _own(self, content: bytes, before: bytes | None) -> int:
        """The generation of what this sweep wrote itself, the answer to which was lost."""
        generation, _, found = self.records.live(self.name) or (ABSENT, None, None)
        if found == content:
            return generation
        if found is not None and found == before:
            written = self.records.replace_content(self.name, content, JSON, generation=generation)
            if written is not None:
                return written
        raise _overtaken()


def _overtaken() -> SweepError:
    return SweepError("another sweep wrote the memory meanwhile; this one stops")


@dataclass(slots=True, kw_only=True)
class Lessons:
    """memory: with what was learned. write: it over what the record says. clock: of the cloud. last: when
    it was last written."""

    desired: Desired
    memory: Memory
    write: Callable[[Memory], None]
    clock: Callable[[], datetime]
    last: datetime
    outcomes: list[ActionOutcome] = field(default_factory=list)

    def hear(self, outcome: ActionOutcome) -> None:
        """Learn from an outcome. A bucket that does not answer is no reason to stop: `close` tries once more."""
        self.outcomes.append(outcome)
        now = self.clock()
        self.memory = learned(self.memory, self.desired, [outcome], now)
        if outcome.trouble is not None or now - self.last >= WRITTEN_EVERY:
            with suppress(GoogleError):
                self.close()

    def close(self) -> None:
        """Write what is not written yet. Raises GoogleError, and what `write` raises where others wrote."""
        self.write(self.memory)
        self.last = self.clock()
