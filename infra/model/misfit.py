"""What does not fit between workflows and fleet, as a value, whichever rule finds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What a misfit is about; the id of the rule that tells it."""

    RUNNER = "job-finds-runner"
    IMAGE = "job-finds-image"
    LIMIT = "job-ends-in-time"
    WAIT = "job-waits"
    USER = "pool-has-user"


@dataclass(frozen=True, slots=True, order=True)
class Misfit:
    """What does not fit. subject: the job, or the pool. stacks: in whose files it can be mended, sorted."""

    kind: Kind
    subject: str
    reason: str
    fix: str
    stops: bool = True
    stacks: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason} [{self.kind}]\n  write: {self.fix}"
