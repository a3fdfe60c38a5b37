"""A workflow of jobs, as the plain data and the comments of one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from infra.model.errors import ConfigError, Problem
from workflows.builders.expression import Text, Value, plain, reads, secret, unescaped
from workflows.builders.job import Job
from workflows.builders.policy import NEVER_CUT_OFF, Concurrency, Guard
from workflows.builders.step import COMPOSED, Complaint
from workflows.builders.triggers import IssueComment, PullRequestTarget, Triggers, WorkflowDispatch, WorkflowRun
from workflows.dump import CommentedData, Path
from workflows.legs import circle


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """One file. Every mistake between its jobs is refused together when it is made, as a ConfigError."""

    name: str
    triggers: Triggers
    jobs: Sequence[Job]
    concurrency: Concurrency | None = None
    run_name: Text = ""
    env: Mapping[str, Value] = field(default_factory=dict)
    header: str = ""
    """Lines above the file: what made it, and what it is for."""

    def __post_init__(self) -> None:
        found = [Problem(f"workflow {self.name}", *complaint) for complaint in self._complaints()]
        if found:
            raise ConfigError(found)

    def plain(self, *, written: bool = False) -> dict[str, Any]:
        """All that it does, in the order in which it is written; outside a job the token has no right.

        written: as the file has it, where steps call the actions that have their scripts.
        """
        guard = Guard(self.triggers.events)
        return {
            "name": self.name,
            **({"run-name": plain(self.run_name)} if self.run_name else {}),
            "on": self.triggers.plain(),
            "permissions": {},
            **({"concurrency": self.concurrency.plain()} if self.concurrency else {}),
            **({"env": {key: plain(value) for key, value in self.env.items()}} if self.env else {}),
            "jobs": {job.id: job.plain(guard, written=written) for job in self.jobs},
        }

    def document(self) -> CommentedData:
        """The file with its comments: why a job, a step and a right are there, and which version a commit is."""
        above: dict[Path, str] = {}
        beside: dict[Path, str] = {}
        reasons = [
            each.why for each in self.triggers.each if isinstance(each, WorkflowRun | IssueComment | PullRequestTarget)
        ]
        if reasons:
            beside["on",] = f"zizmor: ignore[dangerous-triggers] {'; '.join(reasons)}"
        for job in self.jobs:
            if job.why:
                above["jobs", job.id] = job.why
            for grant in job.permissions.grants:
                if grant.why:
                    beside["jobs", job.id, "permissions", grant.scope.value] = grant.why
            for index, step in enumerate(job.steps):
                here: Path = ("jobs", job.id, "steps", index)
                if step.why:
                    above[here] = step.why
                if step.calls:
                    beside[*here, "uses"] = step.calls.version
        return CommentedData(self.plain(written=True), self.header, above, beside)

    def _complaints(self) -> Iterator[Complaint]:
        yield from self.triggers.complaints()
        ids = [job.id for job in self.jobs]
        if not ids:
            yield "no jobs", "the workflow does nothing", "jobs=[...]"
        for twice in sorted({each for each in ids if ids.count(each) > 1}):
            yield f"job {twice}", "two jobs of the workflow have this id", "another id"
        yield from self._needs()
        yield from self._references()
        yield from self._concurrency()
        for key, value in self.env.items():
            if held := secret(reads(value)):
                yield f"env {key}: {held[0]}", "every step of the workflow could read the secret", "the step's env"
        for key, value in {**self.env, "name": self.name, "run-name": self.run_name}.items():
            if unescaped(value):
                yield f"{key}: {value}", COMPOSED, "context(...), template(...)"

    def _needs(self) -> Iterator[Complaint]:
        """Needs that name no job, and needs that wait for one another."""
        known = {job.id: set(job.needs) for job in self.jobs}
        for job in self.jobs:
            for missing in sorted(set(job.needs) - known.keys()):
                yield f"job {job.id} needs {missing}", "the workflow has no such job", ", ".join(sorted(known))
        if waiting := circle({each: needs & known.keys() for each, needs in known.items()}):
            yield ", ".join(sorted(waiting)), "these jobs wait for one another in a circle", "needs without the circle"

    def _references(self) -> Iterator[Complaint]:
        outputs = {job.id: tuple(job.outputs) for job in self.jobs}
        inputs = [name for each in self.triggers.each if isinstance(each, WorkflowDispatch) for name in each.inputs]
        for job in self.jobs:
            needed = {each: outputs.get(each, ()) for each in job.needs}
            for place in job.places():
                yield from place.needs(needed)
                yield from place.inputs(inputs)

    def _concurrency(self) -> Iterator[Complaint]:
        for job in self.jobs:
            if not self.concurrency and not job.concurrency:
                rule = "nothing says whether a second run cancels the first or waits"
                yield f"job {job.id}: no concurrency", rule, "Concurrency(group, purpose)"
        if self.concurrency and self.concurrency.cancels:
            for job in self.jobs:
                if job.purpose.must_finish:
                    said = f"job {job.id} is {job.purpose}, and a newer run of the workflow cancels it"
                    yield said, NEVER_CUT_OFF, f"Concurrency(group, Purpose.{job.purpose.name}) for the workflow"
