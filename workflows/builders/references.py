"""Whether what a job reads is there: steps before it, legs' values, needed jobs and their outputs, inputs.

Owns the contexts that may be read in each place of a job. Leaves who reads what to `workflows.builders.job`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from workflows.builders.step import Complaint

IN_CONDITION = frozenset(("github", "inputs", "needs", "vars"))
"""What the condition of a job may read, as its matrix: it is evaluated before there is a job.

https://docs.github.com/en/actions/reference/workflows-and-actions/contexts#context-availability (read 2026-11-21)
"""
IN_JOB = IN_CONDITION | {"matrix", "strategy"}
"""The same for its name, runner, environment and concurrency."""
IN_STEP = IN_JOB | {"env", "job", "runner", "secrets", "steps"}

_FIELDS = frozenset(("result", "outputs", "*"))


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is read: the paths it `reads`, the contexts `allowed` there, and ids of the steps `before`."""

    said: str
    reads: frozenset[str]
    allowed: frozenset[str]
    before: tuple[str, ...] = ()


def contexts(place: Place) -> Iterator[Complaint]:
    """Contexts that are not there in that place."""
    for path in sorted(place.reads):
        if path.partition(".")[0] not in place.allowed:
            yield f"{place.said} reads {path}", "the context is not there yet", ", ".join(sorted(place.allowed))


def steps(place: Place) -> Iterator[Complaint]:
    """Steps that do not come before, by `id`."""
    for path, name in _second(place, "steps"):
        if name not in {each.lower() for each in place.before}:
            yield (
                f"{place.said} reads {path}",
                "a step is read by its id, and after it ran",
                ", ".join(place.before) or "an id",
            )


def outputs(place: Place, declared: Mapping[str, Collection[str]]) -> Iterator[Complaint]:
    """Outputs that a step's action does not declare, and so does not hand on. declared: by the id of the step."""
    known = {step.lower(): {output.lower() for output in outputs} for step, outputs in declared.items()}
    for path, name in _second(place, "steps"):
        field, _, output = path.partition(f"steps.{name}.")[2].partition(".")
        if field == "outputs" and name in known and output not in known[name]:
            yield (
                f"{place.said} reads {path}",
                "an action hands on the outputs that it declares",
                f'outputs=("{output}",)',
            )


def matrix(place: Place, keys: Collection[str] | None) -> Iterator[Complaint]:
    """Values that no leg has; None where the legs are not known."""
    for path, name in _second(place, "matrix"):
        if keys is not None and name not in {each.lower() for each in keys}:
            yield f"{place.said} reads {path}", "a leg has the values of its matrix", ", ".join(keys) or "a matrix"


def needs(place: Place, needed: Mapping[str, Collection[str]]) -> Iterator[Complaint]:
    """Jobs that are not needed, and outputs that a needed one does not have."""
    known = {job.lower(): {output.lower() for output in outputs} for job, outputs in needed.items()}
    for path, name in _second(place, "needs"):
        field, _, output = path.partition(f"needs.{name}")[2].removeprefix(".").partition(".")
        if name not in known:
            yield f"{place.said} reads {path}", "a job reads the jobs that it needs", ", ".join(needed) or "needs"
        elif field and field not in _FIELDS:
            yield f"{place.said} reads {path}", "a job has a result and outputs", f"needs.{name}.result"
        elif output and output != "*" and output.partition(".")[0] not in known[name]:
            yield (
                f"{place.said} reads {path}",
                f"{name} puts out {', '.join(sorted(known[name])) or 'nothing'}",
                "an output",
            )


def inputs(place: Place, declared: Collection[str]) -> Iterator[Complaint]:
    """Inputs that nobody can give."""
    for path, name in _second(place, "inputs"):
        if name not in {each.lower() for each in declared}:
            yield (
                f"{place.said} reads {path}",
                "an input is declared by workflow_dispatch",
                ", ".join(declared) or "an input",
            )


def _second(place: Place, root: str) -> Iterator[tuple[str, str]]:
    """Paths below a context that is there, each with the name that follows it, without those that read all of it."""
    for path in sorted(place.reads if root in place.allowed else ()):
        first, _, rest = path.partition(".")
        name = rest.partition(".")[0]
        if first == root and name and name != "*":
            yield path, name
