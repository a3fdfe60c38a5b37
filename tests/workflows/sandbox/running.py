"""Runs one leg of a job as GitHub's runner does: steps in order with their conditions, environment, outputs and shell.

This project's own actions are run from their files. Others are not: each is written down with its inputs, succeeds
unless a test says otherwise, and does what the runner's table `actions` says. The shells are those of
https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax (read 2026-11-21).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.workflows.sandbox.programs import Call, Programs
from workflows.events import GitHubEvent
from workflows.expressions import JobStatus, Scope, condition, evaluate, expand, truthy
from workflows.expressions.values import text
from workflows.runs import Given, contexts
from workflows.triggering import started

SHELLS: Mapping[str | None, tuple[str, ...]] = {
    None: ("/bin/bash", "-e"),
    "bash": ("/bin/bash", "--noprofile", "--norc", "-eo", "pipefail"),
    "sh": ("/bin/sh", "-e"),
    "python": (sys.executable, "-I"),
}
_SECRET = re.compile(r"secrets\.(\w+)")
_PATIENCE = 60


@dataclass(frozen=True, kw_only=True)
class StepRun:
    """One step: how it ended, what it called, what it said, and of an action its inputs."""

    name: str
    outcome: str
    calls: tuple[Call, ...] = ()
    said: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class JobEnd:
    """How a leg ended, with its steps and what the job puts out."""

    result: str
    steps: tuple[StepRun, ...]
    outputs: Mapping[str, str]
    summary: str

    @property
    def calls(self) -> list[Call]:
        return [call for step in self.steps for call in step.calls]


@dataclass(kw_only=True)
class Runner:
    """A machine for one job.

    actions: what an action does, by its name without the commit: gets its inputs and the runner, gives its outputs.
    composites: what is in the file of an action, by its name with the commit.
    failing: steps that fail instead of running.
    """

    folder: Path
    programs: Programs
    environ: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    actions: Mapping[str, Callable[[Mapping[str, str], Runner], Mapping[str, str]]] = field(default_factory=dict)
    composites: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def temp(self) -> Path:
        return self.folder / "temp"

    def run(
        self,
        workflow: Mapping[str, Any],
        job: str,
        event: GitHubEvent,
        *,
        matrix: Mapping[str, Any] | None = None,
        needs: Mapping[str, Any] | None = None,
    ) -> JobEnd:
        for each in (self.workspace, self.temp):
            each.mkdir(parents=True, exist_ok=True)
        return _Job(self, workflow, job, event, matrix or {}, needs or {}).run()


def secrets(workflow: Mapping[str, Any]) -> dict[str, str]:
    """A value for each secret that the file names."""
    named = sorted(set(_SECRET.findall(json.dumps(workflow))))
    return {name: f"the-value-of-{name}" for name in named}


class _Job:
    def __init__(
        self,
        runner: Runner,
        workflow: Mapping[str, Any],
        job: str,
        event: GitHubEvent,
        matrix: Mapping[str, Any],
        needs: Mapping[str, Any],
    ) -> None:
        self._runner, self._spec = runner, workflow["jobs"][job]
        subject = started(workflow["on"], event).subject
        found = contexts(workflow, event, subject, Given(variables=runner.variables))
        github = found["github"]
        github |= {"workspace": str(runner.workspace), "token": "the-value-of-github.token", "job": job}
        self._contexts: dict[str, Any] = {
            **found,
            "matrix": dict(matrix),
            "needs": dict(needs),
            "secrets": secrets(workflow),
            "runner": {"temp": str(runner.temp), "os": "Linux", "arch": "X64"},
            "job": {"status": "success"},
            "strategy": {},
            "steps": {},
            "env": {},
        }
        self._status = JobStatus()
        self._env: dict[str, str] = {}
        self._added: dict[str, str] = {}
        for level in (workflow, self._spec):
            self._env |= self._filled(level.get("env", {}))
            self._contexts["env"] = dict(self._env)

    def run(self) -> JobEnd:
        (self._runner.folder / "summary").touch()
        done = tuple(self._step(number, step) for number, step in enumerate(self._spec["steps"]))
        result = "failure" if self._status.failure else "success"
        outputs = self._filled(self._spec.get("outputs", {}))
        return JobEnd(result=result, steps=done, outputs=outputs, summary=(self._runner.folder / "summary").read_text())

    def _step(self, number: int, step: Mapping[str, Any]) -> StepRun:
        name = named(step)
        asked = condition(step.get("if"))
        if not truthy(evaluate(asked, self._scope())):
            self._end(step, "skipped", {})
            return StepRun(name=name, outcome="skipped")
        composite = self._runner.composites.get(step.get("uses", ""))
        if composite:
            done = self._composite(name, number, step, composite)
        else:
            done = self._action(name, step) if "uses" in step else self._script(name, number, step, self._scope())
        self._end(step, done.outcome, done.outputs)
        return done

    def _end(self, step: Mapping[str, Any], outcome: str, outputs: Mapping[str, str]) -> None:
        forgiven = step.get("continue-on-error") is True and outcome == "failure"
        if "id" in step:
            conclusion = "success" if forgiven else outcome
            self._contexts["steps"][step["id"]] = {
                "outcome": outcome, "conclusion": conclusion, "outputs": dict(outputs),
            }  # fmt: skip
        if outcome == "failure" and not forgiven:
            self._status = JobStatus(success=False, failure=True)

    def _action(self, name: str, step: Mapping[str, Any]) -> StepRun:
        inputs = self._filled(step.get("with", {}))
        if name in self._runner.failing:
            return StepRun(name=name, outcome="failure", inputs=inputs)
        effect = self._runner.actions.get(step["uses"].partition("@")[0])
        outputs = effect(inputs, self._runner) if effect else {}
        return StepRun(name=name, outcome="success", inputs=inputs, outputs=outputs)

    def _composite(self, name: str, number: int, step: Mapping[str, Any], action: Mapping[str, Any]) -> StepRun:
        """The one step of an action, which gets what its caller hands over and none of the job's secrets."""
        [inner] = action["runs"]["steps"]
        given = self._filled(step.get("with", {}))
        assert given.keys() == action.get("inputs", {}).keys(), f"{step['uses']} has other inputs"
        there = {key: value for key, value in self._contexts.items() if key not in ("secrets", "needs", "vars")}
        done = self._script(name, number, inner, Scope({**there, "inputs": given}, JobStatus()))
        ended = Scope({"steps": {inner["id"]: {"outputs": done.outputs}}})
        outputs = {key: text(expand(each["value"], ended)) for key, each in action.get("outputs", {}).items()}
        return replace(done, outputs={key: value for key, value in outputs.items() if key in done.outputs})

    def _script(self, name: str, number: int, step: Mapping[str, Any], scope: Scope) -> StepRun:
        assert "${{" not in step["run"], "an expression in a script is an injection"
        own = self._filled(step.get("env", {}), scope)
        if name in self._runner.failing:
            return StepRun(name=name, outcome="failure")
        folder, before = self._runner.folder, self._runner.programs.mark()
        files = {key: folder / f"{key.lower()}-{number}" for key in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH")}
        for each in files.values():
            each.touch()
        script = self._runner.temp / f"script-{number}"
        script.write_text(step["run"])
        where = self._runner.workspace / text(expand(step.get("working-directory", "."), scope))
        where.mkdir(parents=True, exist_ok=True)
        environ = {
            **self._surroundings(), **self._env, **self._added, **own,
            **{key: str(path) for key, path in files.items()},
        }  # fmt: skip
        done = subprocess.run(
            [*SHELLS[step.get("shell")], str(script)], cwd=where, env=environ, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_PATIENCE, check=False,
        )  # fmt: skip
        self._added |= commanded(files["GITHUB_ENV"].read_text())
        return StepRun(
            name=name, outcome="failure" if done.returncode else "success", said=done.stdout,
            calls=tuple(self._runner.programs.calls(before)), outputs=commanded(files["GITHUB_OUTPUT"].read_text()),
        )  # fmt: skip

    def _surroundings(self) -> dict[str, str]:
        github, runner = self._contexts["github"], self._runner
        return {
            "PATH": f"{runner.programs.path}:/usr/bin:/bin", "HOME": str(runner.folder), "CI": "true",
            "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": github["repository"], "GITHUB_SHA": github["sha"],
            "GITHUB_REF": github["ref"], "GITHUB_REF_NAME": github["ref_name"], "GITHUB_RUN_ID": github["run_id"],
            "GITHUB_EVENT_NAME": github["event_name"], "GITHUB_WORKSPACE": str(runner.workspace),
            "GITHUB_SERVER_URL": github["server_url"], "GITHUB_STEP_SUMMARY": str(runner.folder / "summary"),
            "RUNNER_TEMP": str(runner.temp), **runner.environ,
        }  # fmt: skip

    def _scope(self) -> Scope:
        return Scope({**self._contexts, "job": {"status": "success"}}, self._status, lambda _: "d" * 64)

    def _filled(self, values: Mapping[str, Any], among: Scope | None = None) -> dict[str, str]:
        scope = among or self._scope()
        return {key: text(expand(each, scope) if isinstance(each, str) else each)
                for key, each in values.items()}  # fmt: skip


def named(step: Mapping[str, Any]) -> str:
    """As GitHub shows a step."""
    return step.get("name") or step.get("uses", "").partition("@")[0] or f"Run {step['run'].splitlines()[0]}"


def commanded(written: str) -> dict[str, str]:
    """What a file of the runner's sets: NAME=VALUE, or NAME<<END up to a line END."""
    found: dict[str, str] = {}
    lines = iter(written.splitlines())
    for line in lines:
        if match := re.fullmatch(r"([^=<]+)<<(\S+)", line):
            value = []
            for each in lines:
                if each == match[2]:
                    break
                value.append(each)
            found[match[1]] = "\n".join(value)
        elif line:
            name, equals, value = line.partition("=")
            assert equals, f"the runner refuses this line: {line}"
            found[name] = value
    return found
