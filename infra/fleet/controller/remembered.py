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
from infra.fleet.records import Body, Records
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
    unanswered: Body | None = None

    @classmethod
    def read(cls, records: Records, stack: str, holder: str, now: datetime) -> Self:
        """The memory of a stack, for a holder of its lease. What of it cannot be read is set aside, and forgotten.

        An older version does not stand in for it: what it lacks may have been made since. Raises GoogleError.
        """
        name = bucket_names.memory_object(stack)
        found = records.newest(name, memories.salvaged, older=False)
        memory, skipped = found.value or (EMPTY, (found.unreadable,) if found.unreadable else ())
        if skipped:
            records.set_aside(name, found)
            forgot = f"{len(skipped)} parts of it cannot be read and are forgotten, the first at {skipped[0]}"
            memory = memory.with_event(FleetEvent(at=now, subject=name, what=forgot[:LENGTH]))
        return cls(records=records, name=name, holder=holder, memory=memory, generation=found.generation)

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
        body = memory.to_json() | {"written_by": self.holder}
        before, self.unanswered = self.unanswered, body
        generation = self.records.replace(self.name, body, generation=self.generation)
        self.generation = self._own(body, before) if generation is None else generation
        self.memory, self.unanswered = memory, None

    def _own(self, body: Body, before: Body | None) -> int:
        """The generation of what this sweep wrote itself, the answer to which was lost."""
        found = self.records.read(self.name)
        if found is not None and found.body == body:
            return found.generation
        if found is not None and found.body == before:
            generation = self.records.replace(self.name, body, generation=found.generation)
            if generation is not None:
                return generation
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
