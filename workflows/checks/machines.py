"""Rules of VMs that a job makes for its run: deleted in every case, as what they are, and marked with an end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from infra.model.errors import ConfigError
from infra.model.images.steps import MINUTE
from infra.model.runs import RunRequest, read_request
from workflows.checks.plain import text
from workflows.checks.possible import ENDS, STATUS, can_hold, job_starts, step_runs
from workflows.checks.rule import Broken, Repository, WorkflowRule, broken
from workflows.checks.shell import Command, commands
from workflows.checks.situations import Situation
from workflows.checks.views import JobView, StepView
from workflows.checks.words import TALK
from workflows.expressions.syntax import Node

_GCLOUD = re.compile(
    r"gcloud (alpha |beta )?compute (?P<kind>tpus tpu-vm|tpus queued-resources|instances|tpus)"
    r" (?P<verb>create(-with-container)?|delete)\b"
)
OURS = re.compile(r"infra\.fleet\.runs (?P<verb>run|delete)\b")
"""This project's own way: its VM has an end, and the job says by RUN_ID and ZONES whose VMs it deletes where."""
_LAUNCHERS = re.compile(r"(\S*/)?(launch\.py|spin-up-vm\.sh|babysit-tpu-vm\.sh|launch_on_ray\.py)$")
_ENDS = ("tidepool-expires", "--max-run-duration", "--termination-time", "--valid-until-duration")
_OWN_KIND = "tpus tpu-vm"
_LABEL = re.compile(r"tidepool-run[=:]\$\{?(?P<name>\w+)")
_ZONES = re.compile(r"in \$\{?(?P<name>\w+)\}?;? *do")
_LIFE = re.compile(r"\$\(date \+%s\) *\+ *\$?\{?(?P<said>\w+)|--max-run-duration=(?P<seconds>\d+)s")


def _made(command: Command) -> str:
    """The kind of machine that a command makes; `any` for a script that decides itself."""
    found = _GCLOUD.match(command.said)
    if found and found["verb"] != "delete":
        return found["kind"]
    if (own := OURS.search(command.said)) and own["verb"] == "run":
        return _OWN_KIND
    if command.program not in TALK and any(_LAUNCHERS.search(each) for each in command.texts[:8]):
        return "any"
    return ""


def _deleted(step: StepView) -> frozenset[str]:
    """The kinds that a step deletes, in a function or a trap of its script too."""
    traps = (each.texts[1:2] for each in step.commands if each.program == "trap")
    trapped = (inner for script in traps for inner in commands("".join(script)))
    found = (_GCLOUD.match(each.said) for each in (*step.commands, *trapped))
    own = frozenset(
        _OWN_KIND for each in step.commands if (said := OURS.search(each.said)) and said["verb"] == "delete"
    )
    return own | frozenset(each["kind"] for each in found if each and each["verb"] == "delete")


def makes_in(step: StepView) -> bool:
    return any(_made(command) for command in step.commands)


def makes_machines(job: JobView) -> bool:
    return any(makes_in(step) for step in job.steps)


def deletes_machines(step: StepView) -> bool:
    """Whether it deletes machines that it did not make itself."""
    return bool(_deleted(step)) and not makes_in(step)


def cleans_up(job: JobView) -> bool:
    """Whether a job deletes machines."""
    return any(_deleted(step) for step in job.steps)


def _always(step: StepView, around: Sequence[Situation]) -> Iterator[StepView]:
    """Steps behind it that run however it ended: of its job, and of those that wait for that in any case."""
    here = [each for each in around if job_starts(step.job, each) and step_runs(step, each)]
    for later in step.job.steps[step.index + 1 :]:
        if later.condition is not None and all(holds_in_any_case(later.condition, each) for each in here):
            yield later
    for other in step.job.workflow.jobs:
        waits = step.job.id in other.needs and other.condition is not None
        if waits and all(holds_in_any_case(other.condition, each) for each in here):
            yield from other.steps


def always_deleted(step: StepView, around: Sequence[Situation]) -> frozenset[str]:
    """The kinds of machines that go whatever becomes of a step and its job."""
    return frozenset(each for other in _always(step, around) for each in _deleted(other))


def holds_in_any_case(condition: Node, situation: Situation) -> bool:
    return all(can_hold(condition, situation, {STATUS: (status,)}) for status in ENDS)


def _leaks(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        around = judged.situations(job.workflow)
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
                yield broken(step, reason, line=command.line)


def _trapped(step: StepView, kind: str) -> bool:
    """Whether the script itself deletes what it made, on TERM and INT too."""
    traps = [each.texts for each in step.commands if each.program == "trap"]
    told = any({"EXIT", "TERM"} <= set(texts) or {"EXIT", "INT"} <= set(texts) for texts in traps)
    return told and kind in _deleted(step)


def _endless(judged: Repository) -> Iterator[Broken]:
    for step, command in judged.commands():
        if _made(command) and not any(each in step.run for each in _ENDS) and not request_of(step):
            reason = "the VM carries no end: where the runner itself is lost, nothing knows that it may go"
            yield broken(step, reason, line=command.line)


def _pairs(judged: Repository) -> Iterator[tuple[StepView, StepView]]:
    """Each step that makes a machine, with each that deletes what it left: behind it, or in a job that waits for it."""
    for job in judged.jobs():
        for maker in (step for step in job.steps if makes_in(step)):
            yield from ((maker, step) for step in job.steps[maker.index + 1 :] if deletes_machines(step))
            others = (other for other in job.workflow.jobs if job in other.ancestors)
            yield from ((maker, step) for other in others for step in other.steps if deletes_machines(step))


def _skipped(judged: Repository) -> Iterator[Broken]:
    for maker, step in _pairs(judged):
        around = [each for each in judged.situations(maker.job.workflow) if job_starts(maker.job, each)]
        here: JobView | StepView = step if step.job == maker.job else step.job
        # Where nothing deletes it in any case, that is the finding.
        if always_deleted(maker, around) and not all(_runs(here, each) for each in around):
            reason = "what deletes the VM is skipped where the run fails or is cancelled"
            yield broken(here, reason, *(["if"] if "if" in here.data else []))


def _runs(here: JobView | StepView, situation: Situation) -> bool:
    return here.condition is not None and holds_in_any_case(here.condition, situation)


def _others(judged: Repository) -> Iterator[Broken]:
    for maker, step in _pairs(judged):
        for said, key in (("the run", "RUN_ID"), ("the zones", "ZONES")) if request_of(maker) else ():
            made, gone = (text(each.known_env.get(key)) for each in (maker, step))
            if not set(made.split()) <= set(gone.split()):
                yield broken(step, f"a VM is made for {said} {made}, and looked for by {gone or 'nothing'}")
        for said, pattern in (("the run", _LABEL), ("the zones", _ZONES)):
            made, gone = _told(maker, pattern), _told(step, pattern)
            if made and gone and not set(made.split()) <= set(gone.split()):
                reason = f"a VM is made for {said} {made}, and looked for by {gone}"
                yield broken(step, reason)


def _told(step: StepView, pattern: re.Pattern[str]) -> str:
    """What the environment of a step has for the variable that its script uses."""
    found = pattern.search(step.run)
    return re.sub(r"\s*(\$\{\{|\}\})\s*", r"\1", text(step.known_env.get(found["name"]))) if found else ""


def request_of(step: StepView) -> RunRequest | None:
    """What a step of this project's own is told; None of any other."""
    if not any(OURS.search(each.said) for each in step.commands):
        return None
    try:
        return read_request(text(step.known_env.get("REQUEST")))
    except ConfigError:
        return None


def _short(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        limit = job.timeout_minutes
        for step in job.steps:
            seconds = _lives(step) if makes_in(step) else None
            if limit is not None and seconds is not None and seconds < limit * MINUTE:
                reason = f"the VM may be deleted {seconds:g} s after it was made, and its job takes {limit:g} minutes"
                yield broken(step, reason)


def _lives(step: StepView) -> float | None:
    """For how many seconds the machine is safe, None where its end is not said in numbers."""
    if request := request_of(step):
        return float(request.times.lifetime)
    found = _LIFE.search(step.run)
    if not found:
        return None
    said = found["seconds"] or text(step.known_env.get(found["said"], found["said"]))
    return float(said) if said.isdecimal() else None


RULES = (
    WorkflowRule(
        "machine-deleted",
        _leaks,
        "a step under if: always() that deletes it by the same name and zone, or a trap on EXIT and TERM",
    ),
    WorkflowRule("machine-ends", _endless, "--labels=tidepool-run=...,tidepool-expires=SECONDS"),
    WorkflowRule("clean-up-always", _skipped, "if: always()"),
    WorkflowRule("clean-up-same-run", _others, "the same env in both jobs"),
    WorkflowRule("machine-outlives-job", _short, "LIFETIME: the job's minutes and those of its clean-up, in seconds"),
)
