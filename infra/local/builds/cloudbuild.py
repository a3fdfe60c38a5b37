"""Runs a `Build` of Cloud Build v1 on this machine: its steps in order, each in the shared workspace.

Owns what the fields of a build mean to it; a field that it does not execute is refused by name. Steps run one at a
time, each once those that it waits for have ended well; in what image a step would run, it does not heed. Variables
have been filled in already, when the build was put into its queue.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infra.local.builds.machine import Fault, Machine, Outcome, Status, StepOutcome

WORKSPACE = "/workspace"
BUILD_SECONDS = 600.0
"""What Cloud Build gives a build that does not say. A step that does not may take what is left of the build."""

_BUILD_FIELDS = frozenset({"steps", "timeout", "options"})
_TOLD_FIELDS = frozenset({"queueTtl", "logsBucket", "serviceAccount", "tags", "substitutions"})
_STEP_FIELDS = frozenset({"id", "name", "script", "entrypoint", "args", "env", "dir", "timeout", "waitFor"})
_OPTION_FIELDS = frozenset(
    {"env", "machineType", "diskSizeGb", "logging", "substitutionOption", "dynamicSubstitutions"}
)
# What the service says of a build by itself.
_SERVICE_FIELDS = frozenset(
    {"id", "name", "projectId", "status", "createTime", "startTime", "finishTime", "logUrl", "buildTriggerId", "number"}
    | {"source", "sourceProvenance", "results", "timing", "statusDetail", "approval", "artifacts", "images"}
)


class UnsupportedError(Exception):
    """A build says something that is not executed here; the text names it."""


def run_build(build: Mapping[str, Any], machine: Machine, *, fault: Fault | None = None) -> Outcome:
    """Run the build to its end. UnsupportedError before anything runs where it cannot be run as it says."""
    _insist(build)
    workspace = machine.folder / "workspace"
    machine.clear(workspace)
    _bring_tools(build, machine, workspace)
    deadline = time.monotonic() + _seconds(build.get("timeout"), BUILD_SECONDS)
    done: dict[str, StepOutcome] = {}
    for number, step in enumerate(build["steps"]):
        step_id = step.get("id", str(number))
        if not all(done[each].status is Status.SUCCESS for each in _waits_for(step, done)):
            done[step_id] = StepOutcome(step_id, Status.QUEUED)
            continue
        left = min(_seconds(step.get("timeout"), math.inf), deadline - time.monotonic())
        done[step_id] = machine.run(
            step_id, _command(step, workspace), cwd=workspace / step.get("dir", ""),
            env=_environment(build, step, workspace), timeout=left, fault=fault,
        )  # fmt: skip
    return Outcome(status=_status(done), steps=tuple(done.values()))


def _status(done: Mapping[str, StepOutcome]) -> Status:
    ends = {step.status for step in done.values()}
    if Status.TIMEOUT in ends:
        return Status.TIMEOUT
    return Status.SUCCESS if ends == {Status.SUCCESS} else Status.FAILURE


def _waits_for(step: Mapping[str, Any], done: Mapping[str, StepOutcome]) -> Iterator[str]:
    """Ids of the steps that must have ended well: those before it, where the step does not say."""
    named = step.get("waitFor", [])
    if named == ["-"]:
        return iter(())
    return iter(named or list(done))


def _command(step: Mapping[str, Any], workspace: Path) -> list[str]:
    if "script" in step:
        script = workspace / f".script-{step['id']}"
        script.write_text(step["script"])
        script.chmod(0o700)
        return [str(script)] if step["script"].startswith("#!") else ["sh", str(script)]
    return [step["entrypoint"], *(_local(argument, workspace) for argument in step.get("args", ()))]


def _environment(build: Mapping[str, Any], step: Mapping[str, Any], workspace: Path) -> dict[str, str]:
    written = (*build.get("options", {}).get("env", ()), *step.get("env", ()))
    return {key: _local(value, workspace) for key, _, value in (each.partition("=") for each in written)}


def _local(text: str, workspace: Path) -> str:
    """A path of the build as one of this machine."""
    return f"{workspace}{text.removeprefix(WORKSPACE)}" if text.startswith(f"{WORKSPACE}/") else text


def _bring_tools(build: Mapping[str, Any], machine: Machine, workspace: Path) -> None:
    """Recorded tools in place of those that the build would fetch, under the checksums by which it asks for them."""
    for step in build["steps"]:
        env = _environment(build, step, workspace)
        if "TOOLS" in env:
            tools = {name: env[f"{name.upper()}_SHA256"] for name in env["TOOLS"].split()}
            machine.bring(Path(env["WORKSPACE"]), tools)


def _insist(build: Mapping[str, Any]) -> None:
    unknown = sorted(build.keys() - _BUILD_FIELDS - _TOLD_FIELDS - _SERVICE_FIELDS)
    unknown += [f"options.{key}" for key in sorted(build.get("options", {}).keys() - _OPTION_FIELDS)]
    seen: set[str] = set()
    for number, step in enumerate(build["steps"]):
        unknown += [f"steps[{number}].{key}" for key in sorted(step.keys() - _STEP_FIELDS)]
        unknown += [f"steps[{number}].waitFor: {each}" for each in step.get("waitFor", []) if each not in {*seen, "-"}]
        seen.add(step.get("id", str(number)))
    if unknown:
        raise UnsupportedError(f"builds run here do not know {', '.join(unknown)}")


def _seconds(duration: str | None, unsaid: float) -> float:
    return float(duration.removesuffix("s")) if duration else unsaid
