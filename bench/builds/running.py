"""Runs builds of Cloud Build v1, and the `run` steps of GitHub's jobs, on this machine.

Owns what the fields of a build and of a job mean here; a field that is not executed is refused by name. Steps run one
after the other, as they stand, until one fails: those that a step waits for always stand before it. In what image a
step would run does not matter. Variables of a build have been filled in when it was put into its queue. Of a job,
`${{ a.b.c }}` of a few contexts is filled in by name, and a step that `uses` an action is refused.
"""

from __future__ import annotations

import math
import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.builds.machine import BuildMachine, BuildStep, Fault, Status, StepOutcome

WORKSPACE = "/workspace"
BUILD_SECONDS = 600.0
"""What Cloud Build gives a build that does not say. A step that does not may take what is left of the build."""

_STEP_FIELDS = frozenset({"id", "name", "script", "entrypoint", "args", "env", "timeout", "waitFor"})
_OPTION_FIELDS = frozenset(
    {"env", "machineType", "diskSizeGb", "logging", "substitutionOption", "dynamicSubstitutions"}
)
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_NAME = re.compile(r"[a-z]+(\.[A-Za-z0-9_-]+)+")
_JOB_MINUTES = 360
MINUTE = 60.0


class UnsupportedError(Exception):
    """A build says something that is not executed here; the text names it."""


@dataclass(frozen=True, slots=True)
class BuildOutcome:
    """One build, or one job of a workflow. steps: by id. outputs: what a job hands on."""

    status: Status
    steps: Mapping[str, StepOutcome]
    outputs: Mapping[str, str] = field(default_factory=dict)


def run_build(build: Mapping[str, Any], machine: BuildMachine, *, fault: Fault | None = None) -> BuildOutcome:
    """Run the build to its end. UnsupportedError before anything runs where it cannot be run as it says."""
    options = build.get("options", {})
    unknown = [f"options.{key}" for key in sorted(options.keys() - _OPTION_FIELDS)]
    for number, step in enumerate(build["steps"]):
        unknown += [f"steps[{number}].{key}" for key in sorted(step.keys() - _STEP_FIELDS)]
    if unknown:
        raise UnsupportedError(f"builds on this machine do not support {', '.join(unknown)}")

    def here(text: str) -> str:
        """A path of the build as one of this machine."""
        return f"{machine.workspace}{text.removeprefix(WORKSPACE)}" if text.startswith(f"{WORKSPACE}/") else text

    steps = [
        BuildStep(
            id=step.get("id", str(number)),
            script=step.get("script") or shlex.join(map(here, (step["entrypoint"], *step.get("args", ())))),
            env={
                key: here(value)
                for key, _, value in (each.partition("=") for each in (*options.get("env", ()), *step.get("env", ())))
            },
            seconds=_seconds(step.get("timeout"), math.inf),
        )
        for number, step in enumerate(build["steps"])
    ]
    return _run(steps, {}, machine, _seconds(build.get("timeout"), BUILD_SECONDS), fault)


def _seconds(duration: str | None, unsaid: float) -> float:
    return float(duration.removesuffix("s")) if duration else unsaid


def run_jobs(
    jobs: Mapping[str, Mapping[str, Any]],
    machine: BuildMachine,
    *,
    wanted: Sequence[str],
    run: str,
    fault: Fault | None = None,
) -> Iterator[tuple[str, BuildOutcome]]:
    """Run the wanted jobs in the order in which they stand; one whose needed job failed is skipped, as GitHub does.

    run: the number of the workflow's run. Yields each job's name and what became of it.
    """
    done: dict[str, BuildOutcome] = {}
    for name in wanted:
        needs = {each: done[each] for each in jobs[name].get("needs", ()) if each in done}
        if all(each.status == "SUCCESS" for each in needs.values()):
            done[name] = run_job(jobs[name], machine, needs=needs, run=run, fault=fault)
        else:
            done[name] = BuildOutcome("QUEUED", {})
        yield name, done[name]


def run_job(
    job: Mapping[str, Any],
    machine: BuildMachine,
    *,
    needs: Mapping[str, BuildOutcome],
    run: str,
    fault: Fault | None = None,
) -> BuildOutcome:
    """Run one job in a workspace of its own."""
    values = {
        "github.workspace": str(machine.workspace),
        "github.run_id": run,
        "github.run_attempt": "1",
        "github.actor": "builder",
        "secrets.GITHUB_TOKEN": "a-token-of-the-job",
    }
    for name, outcome in needs.items():
        values |= {f"needs.{name}.outputs.{key}": value for key, value in outcome.outputs.items()}
    for step in job["steps"]:
        if "uses" in step:
            raise UnsupportedError(f"jobs on this machine do not support actions: {step['uses']}")
    steps = [
        BuildStep(
            id=step["id"],
            script=step["run"],
            env={**job.get("env", {}), **step.get("env", {})},
            seconds=step.get("timeout-minutes", _JOB_MINUTES) * MINUTE,
        )
        for step in job["steps"]
    ]
    outcome = _run(steps, values, machine, job.get("timeout-minutes", _JOB_MINUTES) * MINUTE, fault)
    return replace(outcome, outputs={key: _filled(text, values) for key, text in job.get("outputs", {}).items()})


def _run(
    steps: Sequence[BuildStep], values: dict[str, str], machine: BuildMachine, seconds: float, fault: Fault | None
) -> BuildOutcome:
    """Run steps until one fails. values: of expressions, to which each step adds the outputs that it writes."""
    machine.clear()
    deadline = time.monotonic() + seconds
    done: dict[str, StepOutcome] = {}
    status: Status = "SUCCESS"
    for step in steps:
        if status != "SUCCESS":
            done[step.id] = StepOutcome("QUEUED")
            continue
        env = {key: _filled(value, values) for key, value in step.env.items()}
        if "WORKSPACE" in env:
            machine.bring(Path(env["WORKSPACE"]), step.id)
        left = min(step.seconds, deadline - time.monotonic())
        done[step.id] = machine.run(replace(step, env=env, seconds=left), fault)
        status = done[step.id].status
        values |= {f"steps.{step.id}.outputs.{key}": value for key, value in done[step.id].outputs.items()}
    return BuildOutcome(status, done)


def _filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its expressions worked out. What is not there is empty, as on GitHub."""

    def one(found: re.Match[str]) -> str:
        if not _NAME.fullmatch(found[1]):
            raise UnsupportedError(f"jobs on this machine do not support the expression {found[0]}")
        return values.get(found[1], "")

    return _EXPRESSION.sub(one, text)
