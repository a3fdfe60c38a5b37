"""Runs the `run` steps of a GitHub job on this machine, with its environment, outputs and those of jobs before it.

Owns `${{ a.b.c }}` of a few contexts, by name alone, and GITHUB_OUTPUT; an expression that is more, and a step that
`uses` an action, are refused by name. Steps run one after the other until one fails.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infra.local.builds.cloudbuild import UnsupportedError
from infra.local.builds.machine import Fault, Machine, Outcome, Status, StepOutcome

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_NAME = re.compile(r"[a-z]+(\.[A-Za-z0-9_-]+)+")
_JOB_MINUTES = 360
MINUTE = 60.0


def run_jobs(
    jobs: Mapping[str, Mapping[str, Any]],
    machine: Machine,
    *,
    wanted: tuple[str, ...],
    run: str,
    fault: Fault | None = None,
) -> Iterator[tuple[str, Outcome]]:
    """Run the wanted jobs in the order in which they stand; one whose needed job failed is skipped, as GitHub does.

    run: the number of the workflow's run. Yields each job's name and what became of it.
    """
    done: dict[str, Outcome] = {}
    for name in wanted:
        needs = [done[each] for each in jobs[name].get("needs", ()) if each in done]
        if all(each.status is Status.SUCCESS for each in needs):
            done[name] = run_job(jobs[name], machine, needs=done, run=run, fault=fault)
        else:
            done[name] = Outcome(Status.QUEUED, ())
        yield name, done[name]


def run_job(
    job: Mapping[str, Any],
    machine: Machine,
    *,
    needs: Mapping[str, Outcome],
    run: str,
    fault: Fault | None = None,
) -> Outcome:
    """Run one job in a workspace of its own."""
    workspace = machine.folder / "workspace"
    machine.clear(workspace)
    values = {
        "github.workspace": str(workspace),
        "github.run_id": run,
        "github.run_attempt": "1",
        "github.actor": "builder",
        "github.sha": "",
        "secrets.GITHUB_TOKEN": "a-token-of-the-job",
    }
    for name, outcome in needs.items():
        values |= {f"needs.{name}.outputs.{key}": value for key, value in outcome.outputs.items()}
    deadline = time.monotonic() + job.get("timeout-minutes", _JOB_MINUTES) * MINUTE
    done: list[StepOutcome] = []
    for step in job["steps"]:
        if any(each.status is not Status.SUCCESS for each in done):
            done.append(StepOutcome(step["id"], Status.QUEUED))
            continue
        env = {key: _filled(value, values) for key, value in {**job.get("env", {}), **step.get("env", {})}.items()}
        machine.bring(workspace, step["id"])
        output = workspace / f".output-{step['id']}"
        output.touch()
        left = min(step.get("timeout-minutes", _JOB_MINUTES) * MINUTE, deadline - time.monotonic())
        done.append(
            machine.run(
                step["id"], _command(step, workspace), cwd=workspace,
                env={**env, "GITHUB_OUTPUT": str(output)}, timeout=left, fault=fault,
            )
        )  # fmt: skip
        lines = (line.partition("=") for line in output.read_text().splitlines())
        values |= {f"steps.{step['id']}.outputs.{key}": value for key, _, value in lines}
    outputs = {key: _filled(value, values) for key, value in job.get("outputs", {}).items()}
    status = Status.SUCCESS if all(each.status is Status.SUCCESS for each in done) else Status.FAILURE
    return Outcome(status, tuple(done), outputs)


def _command(step: Mapping[str, Any], workspace: Path) -> list[str]:
    if "uses" in step:
        raise UnsupportedError(f"jobs run here do not know actions: {step['uses']}")
    script = workspace / f".script-{step['id']}"
    script.write_text(step["run"])
    return [step.get("shell", "bash"), "-e", str(script)]


def _filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its expressions worked out. What is not there is empty, as on GitHub."""

    def one(found: re.Match[str]) -> str:
        if not _NAME.fullmatch(found[1]):
            raise UnsupportedError(f"jobs run here do not know the expression {found[0]}")
        return values.get(found[1], "")

    return _EXPRESSION.sub(one, text)
