"""What a rule is: its id and a function from all files, and what is known beside them, to what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from infra.model.run_labels import HOSTED
from infra.model.schema import StackConfig, Trust
from workflows.checks.shell import Command
from workflows.checks.situations import Situation, situations
from workflows.checks.views import ExpressionAt, JobView, StepView, WorkflowView
from workflows.dump import Path


@dataclass(frozen=True, slots=True)
class Pool:
    """Runners of one's own: the labels that each has, and whether the pool is made for pull requests of forks."""

    name: str
    labels: frozenset[str]
    forks: bool = False


def pools_of(stacks: Iterable[StackConfig]) -> tuple[Pool, ...]:
    """Pools with at least one VM, by name; GitHub gives every runner of one's own the label self-hosted."""
    return tuple(
        Pool(pool.name, frozenset(("self-hosted", *pool.runner_labels)), forks=pool.trust is Trust.FORK)
        for stack in stacks
        for pool in sorted(stack.pools, key=lambda pool: pool.name)
        if pool.slices
    )


@dataclass(frozen=True, slots=True, order=True)
class TestCase:
    """One test of the consumer repository: its file, and its markers."""

    __test__ = False

    path: str
    markers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known beside the files. What is not known is None or empty, and its rules say nothing.

    repository: `owner/name`, empty where the files may be of any. pools: every pool of the fleet, None where it is not
    known. workflows: names of workflows that exist besides the files. dockerfiles: the images that a Dockerfile, by its
    path in the repository, is built FROM. bases: images of ghcr.io or Artifact Registry that others push. tests: what
    pytest collects. accepted_gaps: markers of tests that run nowhere on purpose.
    """

    repository: str = ""
    hosted: frozenset[str] = HOSTED
    pools: tuple[Pool, ...] | None = None
    workflows: frozenset[str] = frozenset()
    dockerfiles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bases: frozenset[str] = frozenset()
    tests: tuple[TestCase, ...] = ()
    accepted_gaps: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Repository:
    """Every file that is judged, and what is known beside them."""

    workflows: tuple[WorkflowView, ...]
    known: Known

    def jobs(self) -> Iterator[JobView]:
        for workflow in self.workflows:
            yield from workflow.jobs

    def steps(self) -> Iterator[StepView]:
        for job in self.jobs():
            yield from job.steps

    def commands(self) -> Iterator[tuple[StepView, Command]]:
        """Every command of every script."""
        for step in self.steps():
            yield from ((step, command) for command in step.commands)

    @cached_property
    def upstreams(self) -> Mapping[str, WorkflowView]:
        """Workflows by the name that workflow_run follows them by."""
        return {workflow.name: workflow for workflow in self.workflows}

    def situations(self, workflow: WorkflowView) -> tuple[Situation, ...]:
        """What the triggers of one of the files can bring about."""
        return self._situations[workflow]

    @cached_property
    def _situations(self) -> Mapping[WorkflowView, tuple[Situation, ...]]:
        return {each: situations(each, self.known.repository, self.upstreams) for each in self.workflows}


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """One place where a rule does not hold. lines: how far into the text at `path`. fix: in place of the rule's own."""

    workflow: WorkflowView
    reason: str
    path: Path = ()
    job: str = ""
    lines: int | None = None
    fix: str = ""


def broken(
    place: WorkflowView | JobView | StepView, reason: str, *keys: str | int, line: int | None = None, fix: str = ""
) -> Broken:
    """A place of a file that breaks a rule, by what it is and the keys from there. line: how far into its script."""
    path = (*place.path, *keys) if line is None or keys else (*place.path, "run")
    if isinstance(place, WorkflowView):
        return Broken(workflow=place, reason=reason, path=path, lines=line, fix=fix)
    job = place.job if isinstance(place, StepView) else place
    return Broken(workflow=job.workflow, reason=reason, path=path, job=job.id, lines=line, fix=fix)


def asks_wrongly(workflow: WorkflowView, asked: ExpressionAt, reason: str) -> Broken:
    """An expression that breaks a rule."""
    return Broken(workflow=workflow, reason=reason, path=asked.path, job=asked.job, lines=asked.lines or None)


@dataclass(frozen=True, slots=True)
class WorkflowRule:
    """One rule. fix: what to write instead. What must hold, why, and what breaks it: docs/workflow-rules.md."""

    id: str
    judge: Callable[[Repository], Iterator[Broken]]
    fix: str


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault of one file; `job` is empty for what concerns the whole file. Sorted by file, then line."""

    file: str
    line: int
    rule: str
    job: str
    reason: str
    fix: str

    def __str__(self) -> str:
        where = f" job {self.job}" if self.job else ""
        return f"{self.file}:{self.line}{where} [{self.rule}]\n  {self.reason}\n  write: {self.fix}"
