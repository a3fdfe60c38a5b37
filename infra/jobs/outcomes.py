"""How one attempt of a job ended, how a gang of slices did, and whether there is another attempt.

The words are those of the lab's former launcher: `failed` is a machine's fault, `error` the program's. Owns what they
mean and what counts against which budget; `evidence` says which one API objects show.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from infra.jobs.request import Retries


class Outcome(StrEnum):
    """How an attempt ended."""

    SUCCESS = "success"
    PREEMPTED = "preempted"
    """Its capacity was taken: a spot VM was reclaimed, or a job of higher priority came."""
    MAINTENANCE = "maintenance"
    """Google or an upgrade took its machine down for a while."""
    FAILED = "failed"
    """Its machine failed: a node was lost, or a TPU stayed in use."""
    ERROR = "error"
    """Its program ended with an error, or could not be started."""
    CANCELLED = "cancelled"

    @property
    def interrupted(self) -> bool:
        """Ended from outside: counts as a preemption, not as a failure."""
        return self in (Outcome.PREEMPTED, Outcome.MAINTENANCE, Outcome.FAILED)


_WEIGHT = (
    Outcome.CANCELLED, Outcome.PREEMPTED, Outcome.MAINTENANCE, Outcome.FAILED, Outcome.ERROR, Outcome.SUCCESS,
)  # fmt: skip
"""What outweighs what in a gang: one slice that is taken away breaks the programs of all others."""


def gang_outcome(outcomes: Iterable[Outcome]) -> Outcome | None:
    """How a gang ended by how its members did; None where none has ended."""
    found = set(outcomes)
    return next((each for each in _WEIGHT if each in found), None)


@dataclass(frozen=True, slots=True)
class Attempts:
    """How often a job was interrupted and how often its program failed."""

    preemptions: int = 0
    failures: int = 0

    def after(self, outcome: Outcome) -> Attempts:
        """The count with one more attempt that ended so."""
        if outcome.interrupted:
            return replace(self, preemptions=self.preemptions + 1)
        return replace(self, failures=self.failures + 1) if outcome is Outcome.ERROR else self

    def again(self, outcome: Outcome, retries: Retries) -> bool:
        """Whether another attempt follows; self counts this one too."""
        if outcome.interrupted:
            return self.preemptions <= retries.preemptions
        return outcome is Outcome.ERROR and self.failures <= retries.failures
