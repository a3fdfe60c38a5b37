"""Workflow files as jobs and steps, for rules to read; a file with mistakes is read too, as far as it goes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workflows.checks.plain import asked_condition, at, listed, mapping, parsed, text, texts
from workflows.checks.shell import Command, commands
from workflows.dump import Path
from workflows.expressions import ExpressionError, parts
from workflows.expressions.syntax import Node
from workflows.legs import Leg, legs_if_any
from workflows.read import WorkflowFile
from workflows.triggering import triggers

_OTHER_SHELLS = re.compile(r"\s*(python|pwsh|powershell|cmd|node|perl|ruby)")
_STEP_SCRIPT_KEYS = ("script", "args", "entrypoint", "run")


@dataclass(frozen=True)
class ExpressionAt:
    """An expression where it stands; `lines` is how far into the text at `path`."""

    path: Path
    job: str
    node: Node
    lines: int


@dataclass(frozen=True, eq=False)
class StepView:
    """One step of a job."""

    job: JobView
    index: int
    data: Mapping[str, Any]

    @property
    def path(self) -> Path:
        return (*self.job.path, "steps", self.index)

    @property
    def id(self) -> str:
        return text(self.data.get("id"))

    @property
    def said(self) -> str:
        """How people name it."""
        name = text(self.data.get("name")) or self.id or self.action
        return name or self.run.strip().partition("\n")[0][:60] or f"step {self.index + 1}"

    @property
    def run(self) -> str:
        """Its script, where that is shell."""
        shell = self.shell or ("pwsh" if any("windows" in label for label in self.job.labels) else "")
        return "" if _OTHER_SHELLS.match(shell) else text(self.data.get("run"))

    @property
    def shell(self) -> str:
        return text(self.data.get("shell") or self.job.default_shell)

    @property
    def uses(self) -> str:
        return text(self.data.get("uses"))

    @property
    def action(self) -> str:
        """`owner/name` or `owner/name/path`, without the version."""
        return self.uses.partition("@")[0].lower()

    @property
    def inputs(self) -> Mapping[str, Any]:
        return mapping(self.data.get("with"))

    @property
    def env(self) -> Mapping[str, Any]:
        return mapping(self.data.get("env"))

    @property
    def known_env(self) -> Mapping[str, Any]:
        """What it finds in its environment: its own, its job's and its workflow's."""
        return {**self.job.env, **self.env}

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        return commands(self.run)

    @property
    def directory(self) -> str:
        return text(self.data.get("working-directory") or self.job.default_directory)

    @cached_property
    def condition(self) -> Node | None:
        """What its `if` asks, None where that cannot be read."""
        return asked_condition(self.data.get("if"))

    @property
    def scripts(self) -> Iterator[tuple[str, str]]:
        """What is run as code, by its key: the script, and those inputs that an action runs."""
        if "run" in self.data:
            yield "run", text(self.data["run"])
        for key in _STEP_SCRIPT_KEYS:
            if key in self.inputs:
                yield key, text(self.inputs[key])


@dataclass(frozen=True, eq=False)
class JobView:
    """One job of a workflow."""

    workflow: WorkflowView
    id: str
    data: Mapping[str, Any]

    @property
    def path(self) -> Path:
        return ("jobs", self.id)

    @property
    def reusable(self) -> bool:
        """Whether its steps are another file's."""
        return "uses" in self.data

    @cached_property
    def starts(self) -> dict[Any, bool]:
        """In which situations it can start, as far as `workflows.checks.possible` was asked."""
        return {}

    @cached_property
    def steps(self) -> tuple[StepView, ...]:
        found = self.data.get("steps")
        items = found if isinstance(found, list) else []
        return tuple(StepView(self, index, item) for index, item in enumerate(items) if isinstance(item, Mapping))

    @property
    def needs(self) -> tuple[str, ...]:
        """By the ids as the jobs have them, which GitHub compares without regard to case."""
        ids = {each.id.lower(): each.id for each in self.workflow.jobs}
        return tuple(ids.get(need.lower(), need) for need in listed(self.data.get("needs")))

    @cached_property
    def ancestors(self) -> tuple[JobView, ...]:
        """Every job that it waits for, however far."""
        found: dict[str, JobView] = {}
        waiting = list(self.needs)
        while waiting:
            job = self.workflow.job(waiting.pop())
            if job is not None and job.id not in found and job.id != self.id:
                found[job.id] = job
                waiting += job.needs
        return tuple(found.values())

    @property
    def env(self) -> Mapping[str, Any]:
        return {**mapping(self.workflow.data.get("env")), **mapping(self.data.get("env"))}

    @property
    def default_shell(self) -> str:
        return self._default("shell")

    @property
    def default_directory(self) -> str:
        return self._default("working-directory")

    def _default(self, key: str) -> str:
        for data in (self.data, self.workflow.data):
            run = mapping(mapping(data.get("defaults")).get("run"))
            if key in run:
                return text(run[key])
        return ""

    @cached_property
    def condition(self) -> Node | None:
        """What its `if` asks, None where that cannot be read."""
        return asked_condition(self.data.get("if"))

    @cached_property
    def legs(self) -> tuple[Leg, ...] | None:
        """The legs of its matrix, one without values where it has none; None where they are computed."""
        strategy = mapping(self.data.get("strategy"))
        return legs_of(strategy["matrix"]) if "matrix" in strategy else ({},)

    @property
    def labels(self) -> tuple[str, ...]:
        """What `runs-on` asks for, as written."""
        wanted = self.data.get("runs-on")
        return listed(wanted.get("labels")) if isinstance(wanted, Mapping) else listed(wanted)

    @property
    def group(self) -> str:
        """The runner group that `runs-on` asks for, as written."""
        return text(mapping(self.data.get("runs-on")).get("group"))

    @property
    def timeout_minutes(self) -> float | None:
        """Its limit in minutes, None where there is none or it is computed."""
        found = self.data.get("timeout-minutes")
        return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None

    @property
    def permissions(self) -> Any:
        """Its own rights or its workflow's, None where neither says."""
        own = self.data.get("permissions") if "permissions" in self.data else None
        return own if "permissions" in self.data else self.workflow.data.get("permissions")

    def mentions(self, pattern: str) -> bool:
        """Whether anything in it matches."""
        return any(re.search(pattern, each) for _, each in texts(self.data, ()))


@dataclass(frozen=True, eq=False)
class WorkflowView:
    """One file."""

    file: WorkflowFile
    path: Path = ()

    @property
    def data(self) -> Mapping[str, Any]:
        return self.file.data

    @property
    def name(self) -> str:
        """The name that it shows, and by which workflow_run follows it."""
        return text(self.data.get("name")) or self.file.source

    @cached_property
    def triggers(self) -> Mapping[str, Any]:
        on = self.data.get("on")
        return triggers(on if isinstance(on, Mapping) else listed(on))

    def filters(self, event: str) -> Mapping[str, Any]:
        return mapping(self.triggers.get(event))

    @cached_property
    def jobs(self) -> tuple[JobView, ...]:
        found = mapping(self.data.get("jobs"))
        return tuple(JobView(self, name, data) for name, data in found.items() if isinstance(data, Mapping))

    def job(self, name: str) -> JobView | None:
        return next((job for job in self.jobs if job.id == name), None)

    def line(self, path: Path, lines: int | None = None) -> int:
        """The line of a key; with `lines`, of the text that stands below it, so far from its start."""
        positions = self.file.positions
        while path and path not in positions:
            path = path[:-1]
        here = positions[path].line
        if lines is None:
            return here
        begun = self.file.values.get(path)
        value = at(self.data, path)
        block = isinstance(value, str) and "\n" in value
        return (begun.line if begun else here) + lines + (1 if block else 0)

    @cached_property
    def asked(self) -> tuple[ExpressionAt, ...]:
        """Every expression that can be read."""
        return tuple(self._asked())

    def _asked(self) -> Iterator[ExpressionAt]:
        for path, whole in texts(self.data, ()):
            job = str(path[1]) if len(path) > 1 and path[0] == "jobs" else ""
            if path and path[-1] == "if" and "${{" not in whole:
                node = asked_condition(whole)
                if node is not None:
                    yield ExpressionAt(path, job, node, 0)
                continue
            try:
                pieces = [piece for piece in parts(whole) if piece.expression]
            except ExpressionError:
                continue
            for piece in pieces:
                node = parsed(piece.text)
                if node is not None:
                    yield ExpressionAt(path, job, node, whole.count("\n", 0, piece.offset))


def legs_of(matrix: Any) -> tuple[Leg, ...] | None:
    """The legs of a matrix that is written out; None where a part of it is computed, or is no matrix.

    None at all, (), where GitHub makes no job of it.
    """
    if not isinstance(matrix, Mapping) or any(not isinstance(values, list) for values in matrix.values()):
        return None
    if any(not isinstance(part, Mapping) for key in ("include", "exclude") for part in matrix.get(key) or ()):
        return None
    return legs_if_any(matrix)
