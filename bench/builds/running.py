"""Runs builds of Cloud Build v1, and the `run` steps of GitHub's jobs, on this machine.

Owns what the fields of a build mean to it; a field that it does not execute is refused by name. A step begins once
those that it waits for have ended well, and steps that wait for the same ones run at once. The first that fails ends
the build: what runs beside it is ended, and what waits does not begin, as with a step without `allowFailure` (read
2026-11-22: https://docs.cloud.google.com/build/docs/build-config-file-schema#allowfailure). In what image a step would
run, it does not heed. Variables have been filled in already, when the build was put into its queue.

Of a job it owns `${{ a.b.c }}` of a few contexts, by name alone, and GITHUB_OUTPUT; an expression that is more, and a
step that `uses` an action, are refused by name. Steps of a job run one after the other until one fails.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from bench.builds.machine import BuildMachine, BuildOutcome, Fault, StepOutcome, StepStatus

WORKSPACE = "/workspace"
BUILD_SECONDS = 600.0
"""What Cloud Build gives a build that does not say. A step that does not may take what is left of the build."""

_STEP_FIELDS = frozenset({"id", "name", "script", "entrypoint", "args", "env", "dir", "timeout", "waitFor"})
_OPTION_FIELDS = frozenset(
    {"env", "machineType", "diskSizeGb", "logging", "substitutionOption", "dynamicSubstitutions"}
)
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_NAME = re.compile(r"[a-z]+(\.[A-Za-z0-9_-]+)+")
_JOB_MINUTES = 360
MINUTE = 60.0


class UnsupportedError(Exception):
    """A build says something that is not executed here; the text names it."""


def run_build(build: Mapping[str, Any], machine: BuildMachine, *, fault: Fault | None = None) -> BuildOutcome:
    """Run the build to its end. UnsupportedError before anything runs where it cannot be run as it says."""
    _insist(build)
    return _Run(build, machine, fault).outcome()


class _Run:
    """One build while it runs. stop: tells the threads of steps to end them."""

    def __init__(self, build: Mapping[str, Any], machine: BuildMachine, fault: Fault | None) -> None:
        self._build, self._machine, self._fault = build, machine, fault
        self._workspace, self._scripts = machine.folder / "workspace", machine.folder / "scripts"
        self._steps = {step.get("id", str(number)): step for number, step in enumerate(build["steps"])}
        self._needs = _needs(self._steps)
        self._stop = threading.Event()
        self._deadline = 0.0

    def outcome(self) -> BuildOutcome:
        self._machine.clear(self._workspace)
        self._write_scripts()
        self._deadline = time.monotonic() + _seconds(self._build.get("timeout"), BUILD_SECONDS)
        done: dict[str, StepOutcome] = {}
        running: dict[Future[StepOutcome], str] = {}
        with ThreadPoolExecutor(max_workers=max(1, len(self._steps))) as threads:
            try:
                while True:
                    for step_id in () if self._stop.is_set() else self._ready(done, running.values()):
                        running[threads.submit(self._step, step_id)] = step_id
                    if not running:
                        break
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        done[running.pop(future)] = step = future.result()
                        if step.status is not StepStatus.SUCCESS:
                            self._stop.set()
            except BaseException:
                self._stop.set()
                raise
        steps = tuple(done.get(step_id) or StepOutcome(step_id, StepStatus.QUEUED) for step_id in self._steps)
        return BuildOutcome(status=_status(steps), steps=steps)

    def _ready(self, done: Mapping[str, StepOutcome], running: Iterable[str]) -> list[str]:
        """Steps that have not begun, and whose needed ones have all ended well."""
        begun = {*done, *running}
        return [each for each, needs in self._needs.items() if each not in begun and needs <= done.keys()]

    def _step(self, step_id: str) -> StepOutcome:
        build, step, workspace = self._build, self._steps[step_id], self._workspace
        env = _environment(build, step, workspace)
        if "WORKSPACE" in env:
            self._machine.bring(Path(env["WORKSPACE"]), step_id)
        return self._machine.run(
            step_id, self._command(step_id), cwd=workspace / step.get("dir", ""), env=env,
            timeout=min(_seconds(step.get("timeout"), math.inf), self._deadline - time.monotonic()),
            fault=self._fault, stop=self._stop,
        )  # fmt: skip

    def _write_scripts(self) -> None:
        """Before any step runs: a process that starts meanwhile would hold a script open, and nobody could run it."""
        self._scripts.mkdir(exist_ok=True)
        for step_id, step in self._steps.items():
            if "script" in step:
                script = self._scripts / step_id
                script.write_text(step["script"])
                script.chmod(0o700)

    def _command(self, step_id: str) -> list[str]:
        step, script = self._steps[step_id], str(self._scripts / step_id)
        if "script" in step:
            return [script] if step["script"].startswith("#!") else ["sh", script]
        return [step["entrypoint"], *(_local(argument, self._workspace) for argument in step.get("args", ()))]


def _needs(steps: Mapping[str, Mapping[str, Any]]) -> dict[str, set[str]]:
    """Ids of the steps that must have ended well before each: all those before it, where the step does not say."""
    before: list[str] = []
    found = {}
    for step_id, step in steps.items():
        found[step_id] = set(step.get("waitFor") or before) - {"-"}
        before.append(step_id)
    return found


def _status(steps: Iterable[StepOutcome]) -> StepStatus:
    ends = {step.status for step in steps}
    if StepStatus.TIMEOUT in ends:
        return StepStatus.TIMEOUT
    return StepStatus.SUCCESS if ends <= {StepStatus.SUCCESS} else StepStatus.FAILURE


def _environment(build: Mapping[str, Any], step: Mapping[str, Any], workspace: Path) -> dict[str, str]:
    written = (*build.get("options", {}).get("env", ()), *step.get("env", ()))
    return {key: _local(value, workspace) for key, _, value in (each.partition("=") for each in written)}


def _local(text: str, workspace: Path) -> str:
    """A path of the build as one of this machine."""
    return f"{workspace}{text.removeprefix(WORKSPACE)}" if text.startswith(f"{WORKSPACE}/") else text


def _insist(build: Mapping[str, Any]) -> None:
    unknown = [f"options.{key}" for key in sorted(build.get("options", {}).keys() - _OPTION_FIELDS)]
    seen: set[str] = set()
    for number, step in enumerate(build["steps"]):
        unknown += [f"steps[{number}].{key}" for key in sorted(step.keys() - _STEP_FIELDS)]
        unknown += [f"steps[{number}].waitFor: {each}" for each in step.get("waitFor", []) if each not in {*seen, "-"}]
        seen.add(step.get("id", str(number)))
    if unknown:
        raise UnsupportedError(f"builds on this machine do not support {', '.join(unknown)}")


def _seconds(duration: str | None, unsaid: float) -> float:
    return float(duration.removesuffix("s")) if duration else unsaid


# Jobs of GitHub


def run_jobs(
    jobs: Mapping[str, Mapping[str, Any]],
    machine: BuildMachine,
    *,
    wanted: tuple[str, ...],
    run: str,
    fault: Fault | None = None,
) -> Iterator[tuple[str, BuildOutcome]]:
    """Run the wanted jobs in the order in which they stand; one whose needed job failed is skipped, as GitHub does.

    run: the number of the workflow's run. Yields each job's name and what became of it.
    """
    done: dict[str, BuildOutcome] = {}
    for name in wanted:
        needs = [done[each] for each in jobs[name].get("needs", ()) if each in done]
        if all(each.status is StepStatus.SUCCESS for each in needs):
            done[name] = run_job(jobs[name], machine, needs=done, run=run, fault=fault)
        else:
            done[name] = BuildOutcome(StepStatus.QUEUED, ())
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
        if any(each.status is not StepStatus.SUCCESS for each in done):
            done.append(StepOutcome(step["id"], StepStatus.QUEUED))
            continue
        env = {key: _filled(value, values) for key, value in {**job.get("env", {}), **step.get("env", {})}.items()}
        machine.bring(workspace, step["id"])
        output = workspace / f".output-{step['id']}"
        output.touch()
        left = min(step.get("timeout-minutes", _JOB_MINUTES) * MINUTE, deadline - time.monotonic())
        done.append(
            machine.run(
                step["id"], _job_command(step, workspace), cwd=workspace,
                env={**env, "GITHUB_OUTPUT": str(output)}, timeout=left, fault=fault,
            )
        )  # fmt: skip
        lines = (line.partition("=") for line in output.read_text().splitlines())
        values |= {f"steps.{step['id']}.outputs.{key}": value for key, _, value in lines}
    outputs = {key: _filled(value, values) for key, value in job.get("outputs", {}).items()}
    status = StepStatus.SUCCESS if all(each.status is StepStatus.SUCCESS for each in done) else StepStatus.FAILURE
    return BuildOutcome(status, tuple(done), outputs)


def _job_command(step: Mapping[str, Any], workspace: Path) -> list[str]:
    if "uses" in step:
        raise UnsupportedError(f"jobs on this machine do not support actions: {step['uses']}")
    script = workspace / f".script-{step['id']}"
    script.write_text(step["run"])
    return [step.get("shell", "bash"), "-e", str(script)]


def _filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its expressions worked out. What is not there is empty, as on GitHub."""

    def one(found: re.Match[str]) -> str:
        if not _NAME.fullmatch(found[1]):
            raise UnsupportedError(f"jobs on this machine do not support the expression {found[0]}")
        return values.get(found[1], "")

    return _EXPRESSION.sub(one, text)
