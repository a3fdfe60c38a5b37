"""What every backend of jobs answers to: submit, list, look at one, read its log, wait for it, cancel it, say why.

Owns the protocol and the words of a job's standing. The backends are `gke`, `ray`, `local` and, for tests, `fake`;
`current` chooses one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from pydantic import TypeAdapter

from infra.jobs.evidence import Finding
from infra.jobs.outcomes import Attempts, Outcome
from infra.jobs.request import JobRequest, Retries
from infra.jobs.waiting import Waiting
from infra.model.errors import OutsideError


class JobPhase(StrEnum):
    """Where a job is in its life."""

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"


class JobError(OutsideError):
    """A job that cannot be had, or did not succeed. outcome: how it ended, None where it was never run."""

    def __init__(self, said: str, outcome: Outcome | None = None) -> None:
        self.outcome = outcome
        super().__init__(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """How a job stands. outcome: of the whole job, None until it has ended. last: what ended the last attempt that is
    known. because: the facts behind, in words. created: as the backend tells it. retries: its budgets, None where the
    backend tries once."""

    name: str
    backend: str
    phase: JobPhase
    outcome: Outcome | None = None
    attempts: Attempts = field(default_factory=Attempts)
    retries: Retries | None = None
    replicas: int = 1
    accelerator: str = ""
    queue: str = ""
    created: str = ""
    waiting: Waiting | None = None
    last: Finding | None = None
    because: tuple[str, ...] = ()


STATES: Final = TypeAdapter(JobState)
"""Standings as plain data, and back."""


class Job(Protocol):
    """One job of a backend."""

    @property
    def name(self) -> str: ...

    def state(self) -> JobState:
        """How it stands now. JobError where there is no such job."""
        ...

    def logs(self, tail: int) -> Iterator[str]:
        """The last lines that each host wrote, with who wrote them."""
        ...

    def cancel(self) -> None:
        """End it; its program is sent the checkpoint signal first. Nothing where it has ended."""
        ...


class Client(Protocol):
    """One backend."""

    def submit(self, request: JobRequest) -> Job:
        """Begin a job. JobError where one of that name has not ended; one that has ended makes room."""
        ...

    def jobs(self) -> tuple[JobState, ...]:
        """Every job that the backend knows, the newest first."""
        ...

    def job(self, name: str) -> Job:
        """The job of that name, which need not be there until it is asked."""
        ...


class Clock(Protocol):
    """Time that passes."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class RealClock:
    """This machine's."""

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let them pass."""
        time.sleep(seconds)


def wait(
    job: Job,
    *,
    timeout: float | None = None,
    every: float = 10.0,
    clock: Clock | None = None,
    seen: Callable[[JobState], object] = lambda _: None,
) -> JobState:
    """Look until the job has ended. JobError where it ended in anything but success, or has not within `timeout`.

    seen: told how it stands at each look before its end.

    JobSet sets no limit to restarts after preemptions, so a job whose budget of them is used up is cancelled here.
    """
    clock = clock or RealClock()
    until = None if timeout is None else clock.monotonic() + timeout
    while (state := job.state()).phase is not JobPhase.ENDED:
        seen(state)
        if state.retries is not None and state.attempts.preemptions > state.retries.preemptions:
            job.cancel()
            used = f"interrupted {state.attempts.preemptions} times, of {state.retries.preemptions} allowed"
            raise JobError(f"{job.name}: {used}; it was cancelled", Outcome.PREEMPTED)
        if until is not None and clock.monotonic() >= until:
            raise JobError(f"{job.name} is {state.phase} after {timeout:.0f} s")
        clock.sleep(every)
    if state.outcome is not Outcome.SUCCESS:
        raise JobError(
            f"{job.name}: {state.outcome}; {'; '.join(state.because) or 'the cluster says nothing more'}", state.outcome
        )
    return state
