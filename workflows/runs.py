"""Which jobs of a workflow start at an event, with which legs on which runners, and why the others do not.

Owns conditions, needs, their results and matrices, in plain data of any workflow file. Leaves filters of `on` to
`workflows.triggering`. A job that another needs is taken to succeed unless it is said how it ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from infra.model.errors import ConfigError, Problem
from workflows.events import GitHubEvent
from workflows.expressions import (
    ExpressionError,
    JobStatus,
    Scope,
    condition,
    evaluate,
    expand,
    parse,
    parts,
    references,
    status_misplaced,
    truthy,
    written,
)
from workflows.expressions.syntax import FunctionCall, Logic, Node
from workflows.expressions.values import folded
from workflows.legs import Leg, MatrixError, circle, legs
from workflows.triggering import PatternError, listed, started, texts, triggers, typed

Result = Literal["success", "failure", "cancelled", "skipped"]
_PATH = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*", re.ASCII)
_READABLE = ("github", "inputs", "needs", "vars")
"""What a job's `if` may read.

https://docs.github.com/en/actions/reference/workflows-and-actions/contexts#context-availability (read 2026-11-21)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What is true of a run besides its event.

    results: how jobs end; all others succeed. outputs: what they put out. cancelled: the run is cancelled while the
    jobs that wait for none are running.
    """

    results: Mapping[str, Result] = field(default_factory=dict)
    outputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class LegRun:
    """One leg: its values, and the labels and the group of the runner that it waits for."""

    matrix: Leg
    labels: tuple[str, ...]
    group: str = ""


@dataclass(frozen=True, slots=True)
class JobRun:
    """One job: whether it starts, if not why, and how it ends."""

    id: str
    starts: bool
    result: Result
    why: str = ""
    legs: tuple[LegRun, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """What an event makes of a workflow; `why` says which filter keeps it from starting."""

    event: GitHubEvent
    starts: bool
    why: str = ""
    jobs: tuple[JobRun, ...] = ()


def run(workflow: Mapping[str, Any], event: GitHubEvent, given: Given | None = None) -> Run:
    """Ask a workflow about an event.

    workflow: the data of a file of the shape that GitHub's schema has. ConfigError where a filter or an expression is
    none, or needs lead nowhere or in a circle: GitHub refuses the whole file for it.
    """
    try:
        found = started(workflow["on"], event)
    except PatternError as error:
        raise ConfigError([Problem(f"on.{event.name}", "", str(error), "a pattern of GitHub's")]) from error
    if not found.starts:
        return Run(event, starts=False, why=found.why)
    _check_needs(workflow["jobs"])
    jobs = _Jobs(workflow, event, found.subject, given or Given())
    return Run(event, starts=True, jobs=tuple(jobs.run(job) for job in workflow["jobs"]))


def _check_needs(jobs: Mapping[str, Mapping[str, Any]]) -> None:
    needs = {job: set(needed(jobs, job)) for job in jobs}
    twice = [(job, other) for job in jobs for other in jobs if job < other and folded(job) == folded(other)]
    if twice:
        rule = "the ids of two jobs differ in case alone"
        raise ConfigError(Problem(f"jobs.{other}", job, rule, "another id") for job, other in twice)
    rule, fix = "a job needs jobs of its own workflow, and no circle of them", ", ".join(jobs)
    lost = [(job, missing) for job, each in needs.items() for missing in sorted(each - needs.keys())]
    if lost or (lost := [(job, ", ".join(sorted(each))) for job, each in circle(needs).items()]):
        raise ConfigError(Problem(f"jobs.{job}.needs", said, rule, fix) for job, said in lost)


def needed(jobs: Mapping[str, Mapping[str, Any]], job: str) -> tuple[str, ...]:
    """What a job needs, by the ids as the jobs have them: GitHub reads ids without regard to case."""
    ids = {folded(each): each for each in jobs}
    return tuple(ids.get(folded(each), each) for each in listed(jobs[job].get("needs")))


class _Jobs:
    """The jobs of one run, each asked once, after those that it needs."""

    def __init__(self, workflow: Mapping[str, Any], event: GitHubEvent, subject: str, given: Given) -> None:
        self._jobs: Mapping[str, Mapping[str, Any]] = workflow["jobs"]
        self._given = given
        self._asked: dict[str, JobRun] = {}
        self._contexts = contexts(workflow, event, subject, given)

    def run(self, job: str) -> JobRun:
        if job not in self._asked:
            self._asked[job] = self._run(job)
        return self._asked[job]

    def _run(self, job: str) -> JobRun:
        spec = self._jobs[job]
        needs = self._needs(job)
        scope = Scope({**self._contexts, "needs": {each: self._outcome(each) for each in needs}}, self._status(job))
        asked = self._condition(job)
        try:
            if not truthy(evaluate(asked, scope)):
                return JobRun(job, starts=False, result="skipped", why=self._against(job, asked, scope))
            started_legs = tuple(_legs(spec, scope))
            return JobRun(job, starts=True, result=self._result(job, started_legs, scope), legs=started_legs)
        except (ExpressionError, MatrixError) as error:
            return JobRun(job, starts=False, result="failure", why=str(error))

    def _condition(self, job: str) -> Node:
        """What the job's `if` asks; first that GitHub can read all that it evaluates before the job starts."""
        spec = self._jobs[job]
        try:
            _readable((spec.get("strategy") or {}).get("matrix"), _READABLE)
            for key in ("runs-on", "continue-on-error"):
                _readable(spec.get(key), (*_READABLE, "matrix", "strategy"))
            return condition(spec.get("if"), _READABLE)
        except ExpressionError as error:
            fix = "an expression that GitHub reads"
            raise ConfigError([Problem(f"jobs.{job}", error.text, error.said, fix)]) from error

    def _needs(self, job: str) -> tuple[str, ...]:
        return needed(self._jobs, job)

    def _ancestors(self, job: str) -> Iterator[str]:
        for each in self._needs(job):
            yield each
            yield from self._ancestors(each)

    def _status(self, job: str) -> JobStatus:
        """Of all that a job waits for, however far up: one that was skipped is no success either."""
        ended = {each: self.run(each).result for each in self._ancestors(job)}
        results = set(ended.values())
        cancelled = self._given.cancelled and bool(results)
        return JobStatus(
            success=not cancelled and results <= {"success"}, failure=not cancelled and "failure" in results,
            cancelled=cancelled, results=ended,
        )  # fmt: skip

    def _outcome(self, job: str) -> dict[str, Any]:
        found = self.run(job)
        return {"result": found.result, "outputs": dict(self._given.outputs.get(job, {})) if found.starts else {}}

    def _result(self, job: str, started_legs: tuple[LegRun, ...], scope: Scope) -> Result:
        """How it ends; a failure is taken to be one of every leg, each of which may say that it does no harm."""
        first = self._given.cancelled and not self._needs(job)
        result = self._given.results.get(job, "cancelled" if first else "success")
        if result != "failure":
            return result
        harmless = self._jobs[job].get("continue-on-error", False)
        said = [_expanded(harmless, Scope({**scope.contexts, "matrix": each.matrix})) for each in started_legs]
        return "success" if said and all(each is True for each in said) else result

    def _against(self, job: str, asked: Node, scope: Scope) -> str:
        """The first operand of the condition that does not hold, with what it read."""
        for operand in asked.operands if isinstance(asked, Logic) and asked.operator == "&&" else (asked,):
            if truthy(evaluate(operand, scope)):
                continue
            if operand == FunctionCall("success", (), 0) or (
                isinstance(operand, FunctionCall) and operand.function == "success"
            ):
                bad = sorted({each for each in self._ancestors(job) if self.run(each).result != "success"})
                ended = ", ".join(f"{each} {self.run(each).result}" for each in bad)
                return f"needs: {ended}" if ended else "the run was cancelled"
            read = sorted(set(references(operand)))
            values = ", ".join(f"{path} is {_shown(evaluate(path, scope))}" for path in read if _PATH.fullmatch(path))
            return f"if: {written(operand)}" + (f" ({values})" if values else "")
        return f"if: {written(asked)}"


def _legs(spec: Mapping[str, Any], scope: Scope) -> Iterator[LegRun]:
    """The legs with their runners. A matrix that is computed from outputs that nobody gave has none."""
    strategy = spec.get("strategy") or {}
    matrix = _expanded(strategy.get("matrix"), scope)
    for leg in legs(matrix) if isinstance(matrix, Mapping) else ({},):
        runner = _expanded(spec.get("runs-on"), Scope({**scope.contexts, "matrix": leg}, scope.status))
        group = runner.get("group", "") if isinstance(runner, Mapping) else ""
        labels = runner.get("labels") if isinstance(runner, Mapping) else runner
        yield LegRun(leg, listed(labels), str(group))


def _readable(value: Any, contexts: tuple[str, ...]) -> None:
    """ExpressionError where an expression in plain data is none."""
    if isinstance(value, str):
        for part in parts(value):
            if part.expression and (said := status_misplaced(parse(part.text, contexts), in_if=False, of_job=True)):
                raise ExpressionError(said, value)
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        _readable(each, contexts)


def _expanded(value: Any, scope: Scope) -> Any:
    """Plain data with the expressions in it evaluated."""
    if isinstance(value, str):
        return expand(value, scope)
    if isinstance(value, Mapping):
        return {key: _expanded(each, scope) for key, each in value.items()}
    return [_expanded(each, scope) for each in value] if isinstance(value, list | tuple) else value


def contexts(workflow: Mapping[str, Any], event: GitHubEvent, subject: str, given: Given) -> dict[str, Any]:
    """What the expressions of every job can read at an event; `subject` as `workflows.triggering.started` found it."""
    payload = dict(event.payload)
    if event.name == "schedule":
        payload["schedule"] = subject
    if event.name == "workflow_run":
        payload["workflow_run"] = {**payload["workflow_run"], "name": subject}
        payload["workflow"] = {"name": subject}
    inputs: dict[str, str | bool] = {}
    if event.name == "workflow_dispatch":
        declared = (triggers(workflow["on"]).get("workflow_dispatch") or {}).get("inputs") or {}
        inputs = typed(declared, event.inputs)
        payload["inputs"] = texts(declared, event.inputs)
    repository = payload["repository"]["full_name"]
    github = {
        "event_name": event.name, "event": payload, "repository": repository, "repository_id": "1",
        "repository_owner": repository.partition("/")[0], "actor": "someone", "workflow": workflow.get("name", ""),
        "run_id": "1", "run_attempt": "1", "server_url": "https://github.com", **event.github,
    }  # fmt: skip
    return {"github": github, "inputs": inputs, "vars": dict(given.variables)}


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"'{value}'"
    return str(value).lower() if isinstance(value, bool | int | float) else "an object"
