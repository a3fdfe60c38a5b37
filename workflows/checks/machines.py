"""Rules of VMs that a job makes for its run: deleted in every case, as what they are, and marked with an end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workflows.checks.conditions import situations_of
from workflows.checks.possible import ENDS, STATUS, can_hold, job_starts, step_runs
from workflows.checks.programs import TALK
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.shell import Command, commands
from workflows.checks.situations import Situation
from workflows.checks.views import Job, Step
from workflows.expressions.syntax import Node

_GCLOUD = re.compile(
    r"gcloud (alpha |beta )?compute (?P<kind>tpus tpu-vm|tpus queued-resources|instances|tpus)"
    r" (?P<verb>create(-with-container)?|delete)\b"
)
_LAUNCHERS = re.compile(r"(\S*/)?(launch\.py|spin-up-vm\.sh|babysit-tpu-vm\.sh|launch_on_ray\.py)$")
_ENDS = ("tidepool-expires", "--max-run-duration", "--termination-time", "--valid-until-duration")


def _made(command: Command) -> str:
    """The kind of machine that a command makes; `any` for a script that decides itself."""
    found = _GCLOUD.match(command.said)
    if found and found["verb"] != "delete":
        return found["kind"]
    if command.program not in TALK and any(_LAUNCHERS.search(each) for each in command.texts[:8]):
        return "any"
    return ""


def _deleted(step: Step) -> frozenset[str]:
    """The kinds that a step deletes, in a function or a trap of its script too."""
    traps = (each.texts[1:2] for each in step.commands if each.program == "trap")
    trapped = (inner for script in traps for inner in commands("".join(script)))
    found = (_GCLOUD.match(each.said) for each in (*step.commands, *trapped))
    return frozenset(each["kind"] for each in found if each and each["verb"] == "delete")


def makes_in(step: Step) -> bool:
    return any(_made(command) for command in step.commands)


def makes_machines(job: Job) -> bool:
    return any(makes_in(step) for step in job.steps)


def deletes_machines(step: Step) -> bool:
    """Whether it deletes machines that it did not make itself."""
    return bool(_deleted(step)) and not makes_in(step)


def cleans_up(job: Job) -> bool:
    """Whether a job deletes machines."""
    return any(_deleted(step) for step in job.steps)


def _always(step: Step, around: Sequence[Situation]) -> Iterator[Step]:
    """Steps behind it that run however it ended: of its job, and of those that wait for that in any case."""
    here = [each for each in around if job_starts(step.job, each) and step_runs(step, each)]
    for later in step.job.steps[step.index + 1 :]:
        if later.condition is not None and all(holds_in_any_case(later.condition, each) for each in here):
            yield later
    for other in step.job.workflow.jobs:
        waits = step.job.id in other.needs and other.condition is not None
        if waits and all(holds_in_any_case(other.condition, each) for each in here):
            yield from other.steps


def always_deleted(step: Step, around: Sequence[Situation]) -> frozenset[str]:
    """The kinds of machines that go whatever becomes of a step and its job."""
    return frozenset(each for other in _always(step, around) for each in _deleted(other))


def holds_in_any_case(condition: Node, situation: Situation) -> bool:
    return all(can_hold(condition, situation, {STATUS: (status,)}) for status in ENDS)


def _leaks(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        around = situations_of(job.workflow, scene)
        for step in job.steps:
            for command in step.commands:
                kind = _made(command)
                if not kind or _trapped(step, kind):
                    continue
                gone = always_deleted(step, around)
                if not gone:
                    reason = "a run that is cancelled or fails leaves the VM: no step under `always()` deletes it"
                elif kind != "any" and kind not in gone:
                    reason = f"{kind} is made, and {', '.join(sorted(gone))} deleted"
                else:
                    continue
                path = (*step.path, "run")
                yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason, lines=command.line)


def _trapped(step: Step, kind: str) -> bool:
    """Whether the script itself deletes what it made, on TERM and INT too."""
    traps = [each.texts for each in step.commands if each.program == "trap"]
    told = any({"EXIT", "TERM"} <= set(texts) or {"EXIT", "INT"} <= set(texts) for texts in traps)
    return told and kind in _deleted(step)


def _endless(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        for step in job.steps:
            for command in step.commands:
                if _made(command) and not any(each in step.run for each in _ENDS):
                    reason = "the VM carries no end: where the runner itself is lost, nothing knows that it may go"
                    path = (*step.path, "run")
                    yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason, lines=command.line)


RULES = (
    Rule(
        id="machine-deleted",
        what="A job that makes a VM deletes it in every case, and as the kind that it made",
        why="a cancelled run skips every step without `always()`, and the VM is paid for until somebody sees it",
        example="`gcloud compute tpus tpu-vm create` and no later step under `if: always()`",
        fix="a step under if: always() that deletes it by the same name and zone, or a trap on EXIT and TERM",
        judge=_leaks,
    ),
    Rule(
        id="machine-ends",
        what="A VM that is made for a run carries its end",
        why="a runner that vanishes runs no clean-up; a label lets the janitor delete what is overdue",
        example="`gcloud compute tpus tpu-vm create` without `tidepool-expires`",
        fix="--labels=tidepool-run=...,tidepool-expires=SECONDS",
        judge=_endless,
    ),
)
