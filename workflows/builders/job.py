"""A job that cannot be built without a time limit, permissions, a purpose and a place to run; its matrix is counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from infra.model.errors import ConfigError, Problem
from workflows.builders.expression import Expression, Text, Value, plain, reads, secret, unescaped, untrusted
from workflows.builders.policy import (
    IN_CONDITION,
    IN_JOB,
    IN_STEP,
    NEVER_CUT_OFF,
    Concurrency,
    ContextUse,
    Guard,
    Permissions,
    Purpose,
)
from workflows.builders.step import COMPOSED, Complaint, Step
from workflows.expressions import functions, parse
from workflows.legs import MOST_LEGS, Leg, legs_if_any

_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
LONGEST_JOB_MINUTES = 6 * 60
"""A job's limit on GitHub's runners: https://docs.github.com/en/actions/reference/limits (read 2026-11-21)."""
LONGEST_OWN_JOB_MINUTES = 5 * 24 * 60
"""The same on runners of one's own."""
Cell = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Hosted:
    """A runner of GitHub's, by its label; never `-latest`, which changes under a workflow."""

    label: str = "ubuntu-24.04"

    ours = False

    def plain(self) -> str:
        return self.label


@dataclass(frozen=True, slots=True)
class Ours:
    """A runner of one of the fleet's pools: every label must be on it, and the group must let the repository in.

    A label that the legs of a matrix differ in is an expression: `context("matrix.label")`.
    """

    labels: Sequence[str | Expression]
    group: str = ""

    ours = True

    def plain(self) -> Any:
        labels = [plain(label) for label in self.labels]
        return {"group": self.group, "labels": labels} if self.group else labels


Runner = Hosted | Ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job. Every mistake in it is refused together when it is made, as a ConfigError."""

    id: str
    runs_on: Runner
    timeout_minutes: int
    permissions: Permissions
    purpose: Purpose
    steps: Sequence[Step]
    name: Text = ""
    concurrency: Concurrency | None = None
    """A group of the job's own, beside its workflow's."""
    needs: Sequence[str] = ()
    condition: Expression | None = None
    guarded: bool = False
    """Not for forks even on a runner of GitHub's, as a job with an identity is; on our runners a job always is."""
    matrix: Matrix | None = None
    environment: Text = ""
    outputs: Mapping[str, Expression] = field(default_factory=dict)
    env: Mapping[str, Value] = field(default_factory=dict)
    why: str = ""
    """Lines written above the job."""

    def __post_init__(self) -> None:
        found = [Problem(f"job {self.id}", *complaint) for complaint in self._complaints()]
        if found:
            raise ConfigError(found)

    def places(self) -> Iterator[ContextUse]:
        """Each place of the job that reads contexts."""
        ids = tuple(step.id for step in self.steps if step.id)
        labels = self.runs_on.labels if isinstance(self.runs_on, Ours) else ()
        if self.condition:
            yield ContextUse("if", self.condition.reads, IN_CONDITION)
        if self.matrix:
            yield ContextUse("matrix", self.matrix.reads(), IN_CONDITION)
        for said, value in (
            ("name", self.name),
            ("environment", self.environment),
            ("concurrency", self.concurrency.group if self.concurrency else ""),
            *(("runs-on", label) for label in labels),
        ):
            yield ContextUse(said, reads(value), IN_JOB)
        for key, value in self.env.items():
            yield ContextUse(f"env {key}", reads(value), IN_JOB | {"secrets"})
        for key, value in self.outputs.items():
            yield ContextUse(f"output {key}", reads(value), IN_STEP, ids)
        for position, step in enumerate(self.steps):
            before = tuple(each.id for each in self.steps[:position] if each.id)
            yield ContextUse(f"step {step.name or step.id or position + 1}", step.reads(), IN_STEP, before)

    def plain(self, guard: Guard, *, written: bool = False) -> dict[str, Any]:
        """The job in a workflow whose events `guard` knows, in full or as it is written: with its actions called."""
        condition = self._condition(guard)
        said: dict[str, Any] = {
            "name": plain(self.name),
            "needs": self.needs[0] if len(self.needs) == 1 else list(self.needs),
            "if": condition.condition if condition else "",
            "strategy": self.matrix.plain() if self.matrix else None,
            "runs-on": self.runs_on.plain(),
            "timeout-minutes": self.timeout_minutes,
            "environment": plain(self.environment),
            "concurrency": self.concurrency.plain() if self.concurrency else None,
        }
        return {
            **{key: value for key, value in said.items() if value},
            "permissions": self.permissions.plain(),
            **({"outputs": {key: plain(value) for key, value in self.outputs.items()}} if self.outputs else {}),
            **({"env": {key: plain(value) for key, value in self.env.items()}} if self.env else {}),
            "steps": [step.written() if written else step.plain() for step in self.steps],
        }

    def _condition(self, guard: Guard) -> Expression | None:
        ours = guard.condition() if self.guarded or self.runs_on.ours else None
        if ours is None or self.condition is None:
            return ours or self.condition
        return ours & self.condition

    def _complaints(self) -> Iterator[Complaint]:
        if not _ID.fullmatch(self.id):
            yield self.id, "not an id: letters, digits, _ and -, a letter or _ first", "tpu-tests"
        longest = LONGEST_OWN_JOB_MINUTES if self.runs_on.ours else LONGEST_JOB_MINUTES
        if not 0 < self.timeout_minutes <= longest:
            yield (
                f"{self.timeout_minutes} minutes",
                f"not a time limit of a job, which has 1 to {longest} minutes",
                "timeout_minutes=15",
            )
        if not self.steps:
            yield "no steps", "the job does nothing", "steps=[...]"
        yield from self.permissions.problems()
        yield from self.matrix.complaints() if self.matrix else ()
        yield from self._runner()
        yield from self._concurrency()
        yield from self._text()
        yield from self._references()
        ids = [step.id for step in self.steps if step.id]
        for twice in sorted({each for each in ids if ids.count(each) > 1}):
            yield f"step {twice}", "two steps of the job have this id", "another id"
        for step in self.steps:
            yield from step.complaints(self.timeout_minutes)

    def _references(self) -> Iterator[Complaint]:
        keys = self.matrix.keys() if self.matrix else frozenset()
        outputs = {step.id: step.shared.outputs for step in self.steps if step.id and step.shared}
        for place in self.places():
            yield from place.contexts()
            yield from place.steps()
            yield from place.outputs(outputs)
            yield from place.matrix(keys)

    def _runner(self) -> Iterator[Complaint]:
        if isinstance(self.runs_on, Hosted):
            if self.runs_on.label.endswith("-latest"):
                yield self.runs_on.label, "the label moves to another system without a commit here", "ubuntu-24.04"
            return
        if not self.runs_on.labels:
            yield (
                "no labels",
                "the job names no runner: one of ours is found by its labels",
                "Ours(['self-hosted', 'tpu-ci'])",
            )
        for label in self.runs_on.labels:
            if chosen := untrusted(reads(label)):
                yield (
                    chosen[0],
                    "whoever opens a pull request chooses this text, and with it the runner",
                    "a label by name",
                )
            for key in sorted(path.removeprefix("matrix.") for path in reads(label) if path.startswith("matrix.")):
                bare = [leg for leg in (self.matrix.legs() if self.matrix else ()) if key not in leg]
                if bare:
                    said = ", ".join(f"{name} {value}" for name, value in bare[0].items())
                    yield f"the leg {said} has no {key}", "this leg would find no runner", f"{key} in every leg"

    def _concurrency(self) -> Iterator[Complaint]:
        if self.concurrency and self.purpose.must_finish and self.concurrency.cancels:
            said = f"{self.concurrency.purpose} group of a job that is {self.purpose}"
            yield said, NEVER_CUT_OFF, f"Concurrency(..., Purpose.{self.purpose.name})"
        if self.purpose is not Purpose.CLEANUP:
            return
        if self.concurrency and "github.run_id" not in reads(self.concurrency.group):
            rule = "the next clean-up would cancel one that waits, and leave what that one had to delete"
            yield "a clean-up with a group of its own", rule, 'template("...", context("github.run_id")), or none'
        calls = functions(parse(self.condition.source)) if self.condition else frozenset()
        if self.needs and "always" not in calls:
            rule = "the clean-up is skipped after a failure or when the run is cancelled"
            yield "a clean-up that needs others", rule, "condition=always()"

    def _text(self) -> Iterator[Complaint]:
        group = self.concurrency.group if self.concurrency else ""
        labels = self.runs_on.labels if isinstance(self.runs_on, Ours) else (self.runs_on.label,)
        places = {**self.env, "name": self.name, "environment": self.environment, "concurrency": group}
        for key, value in (*places.items(), *(("runs-on", label) for label in labels)):
            if unescaped(value):
                yield f"{key}: {value}", COMPOSED, "context(...), template(...)"
        for key, value in self.env.items():
            if held := secret(reads(value)):
                yield f"env {key}: {held[0]}", "every step of the job could read the secret", "the step's env"
        for key, value in self.outputs.items():
            if held := secret(reads(value)):
                yield (
                    f"output {key}: {held[0]}",
                    "an output is kept with the run, so a secret in it is no secret any more",
                    "the secret where it is needed",
                )
        if chosen := untrusted(reads(self.environment)):
            yield (
                chosen[0],
                "whoever opens a pull request chooses this text, and with it the environment",
                "an environment by name",
            )
        if self.condition and (held := secret(self.condition.reads)):
            yield held[0], "a condition cannot read secrets", "a variable (vars)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Axes and what is added and left out; or, `computed`, a matrix that an earlier job puts out as JSON."""

    axes: Mapping[str, Sequence[Cell]] = field(default_factory=dict)
    include: Sequence[Mapping[str, Cell]] = ()
    exclude: Sequence[Mapping[str, Cell]] = ()
    computed: Expression | None = None
    fail_fast: bool = False
    max_parallel: int | None = None

    def legs(self) -> tuple[Leg, ...]:
        """The legs, which are not known of a computed matrix and none of an empty one: ()."""
        return legs_if_any(self._matrix())

    def _matrix(self) -> dict[str, Any]:
        written: dict[str, Any] = {name: list(values) for name, values in self.axes.items()}
        if self.include:
            written["include"] = [dict(leg) for leg in self.include]
        if self.exclude:
            written["exclude"] = [dict(leg) for leg in self.exclude]
        return written

    def keys(self) -> frozenset[str] | None:
        """The names of the values of its legs; None of a computed matrix."""
        return None if self.computed else frozenset().union(self.axes, *self.include)

    def reads(self) -> frozenset[str]:
        return self.computed.reads if self.computed else frozenset()

    def plain(self) -> dict[str, Any]:
        parallel = {} if self.max_parallel is None else {"max-parallel": self.max_parallel}
        matrix = self._matrix() if self.computed is None else str(self.computed)
        return {"fail-fast": self.fail_fast, **parallel, "matrix": matrix}

    def complaints(self) -> Iterator[Complaint]:
        if self.computed is not None:
            if self.axes or self.include or self.exclude:
                yield str(self.computed), "the matrix is computed and has axes of its own too", "axes, or computed"
        elif named := self.axes.keys() & {"include", "exclude"}:
            yield ", ".join(sorted(named)), "an axis has the name of a key of the matrix", "Matrix(include=...)"
        else:
            yield from self._counted()
        if self.max_parallel is not None and self.max_parallel < 1:
            yield f"max-parallel {self.max_parallel}", "no leg could run", "max_parallel=1"

    def _counted(self) -> Iterator[Complaint]:
        count = len(self.legs())
        if not count:
            yield "a matrix without legs", "the matrix makes no job", "an axis with values, or include"
        if count > MOST_LEGS:
            yield f"{count} legs", f"GitHub makes at most {MOST_LEGS} jobs of a matrix", "fewer values, or two jobs"
        for name, values in self.axes.items():
            if len(set(map(str, values))) < len(values):
                yield f"{name}: {', '.join(map(str, values))}", "the axis has a value twice", "each value once"
        for leg in self.exclude:
            if not leg.keys() <= self.axes.keys():
                unknown = ", ".join(sorted(leg.keys() - self.axes.keys()))
                yield unknown, "not axes of the matrix, so that nothing is left out", ", ".join(self.axes)
