"""A client that runs nothing and records every request: for tests of whoever submits jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from infra.jobs.client import JobError, JobPhase, JobState
from infra.jobs.outcomes import Outcome
from infra.jobs.request import JobRequest


@dataclass
class FakeJob:
    """A job that has ended as soon as it was submitted."""

    request: JobRequest
    stands: JobState

    @property
    def name(self) -> str:
        return self.request.name

    def state(self) -> JobState:
        return self.stands

    def logs(self, tail: int) -> Iterator[str]:  # noqa: ARG002 - the protocol's
        yield from ()

    def cancel(self) -> None:
        if self.stands.phase is not JobPhase.ENDED:
            self.stands = replace(self.stands, phase=JobPhase.ENDED, outcome=Outcome.CANCELLED)


@dataclass
class FakeClient:
    """outcome: how every job ends; None for jobs that go on until they are cancelled."""

    outcome: Outcome | None = Outcome.SUCCESS
    requests: list[JobRequest] = field(default_factory=list)
    made: dict[str, FakeJob] = field(default_factory=dict)

    def submit(self, request: JobRequest) -> FakeJob:
        known = self.made.get(request.name)
        if known is not None and known.stands.phase is not JobPhase.ENDED:
            raise JobError(f"{request.name} has not ended")
        self.requests.append(request)
        phase = JobPhase.RUNNING if self.outcome is None else JobPhase.ENDED
        state = JobState(
            name=request.name,
            backend="fake",
            phase=phase,
            outcome=self.outcome,
            replicas=request.replicas,
            queue=request.queue,
        )
        self.made[request.name] = FakeJob(request, state)
        return self.made[request.name]

    def jobs(self) -> tuple[JobState, ...]:
        return tuple(each.stands for each in reversed(self.made.values()))

    def job(self, name: str) -> FakeJob:
        if name not in self.made:
            raise JobError(f"there is no job {name}")
        return self.made[name]
