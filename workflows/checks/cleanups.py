"""Rules of clean-ups: they run in any case, find the machines of their own run, and a machine lives as long as its job.

Owns the agreement between who makes a machine and who deletes it. Leaves whether anybody deletes it to `machines`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from infra.model.images.steps import MINUTE
from workflows.checks.conditions import situations_of
from workflows.checks.machines import always_deleted, deletes_machines, holds_in_any_case, makes_in
from workflows.checks.plain import text
from workflows.checks.possible import job_starts
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.situations import Situation
from workflows.checks.views import Job, Step

_LABEL = re.compile(r"tidepool-run[=:]\$\{?(?P<name>\w+)")
_ZONES = re.compile(r"in \$\{?(?P<name>\w+)\}?;? *do")
_LIFE = re.compile(r"\$\(date \+%s\) *\+ *\$?\{?(?P<said>\w+)|--max-run-duration=(?P<seconds>\d+)s")


def _pairs(scene: Scene) -> Iterator[tuple[Step, Step]]:
    """Each step that makes a machine, with each that deletes what it left: behind it, or in a job that waits for it."""
    for job in scene.jobs():
        for maker in (step for step in job.steps if makes_in(step)):
            yield from ((maker, step) for step in job.steps[maker.index + 1 :] if deletes_machines(step))
            others = (other for other in job.workflow.jobs if job in other.ancestors)
            yield from ((maker, step) for other in others for step in other.steps if deletes_machines(step))


def _skipped(scene: Scene) -> Iterator[Broken]:
    for maker, step in _pairs(scene):
        around = [each for each in situations_of(maker.job.workflow, scene) if job_starts(maker.job, each)]
        here: Job | Step = step if step.job == maker.job else step.job
        # Where nothing deletes it in any case, that is the finding.
        if always_deleted(maker, around) and not all(_runs(here, each) for each in around):
            reason = "what deletes the VM is skipped where the run fails or is cancelled"
            path = (*here.path, "if") if "if" in here.data else here.path
            yield Broken(workflow=step.job.workflow, path=path, job=step.job.id, reason=reason)


def _runs(here: Job | Step, situation: Situation) -> bool:
    return here.condition is not None and holds_in_any_case(here.condition, situation)


def _others(scene: Scene) -> Iterator[Broken]:
    for maker, step in _pairs(scene):
        for said, pattern in (("the run", _LABEL), ("the zones", _ZONES)):
            made, gone = _told(maker, pattern), _told(step, pattern)
            if made and gone and not set(made.split()) <= set(gone.split()):
                reason = f"a VM is made for {said} {made}, and looked for by {gone}"
                yield Broken(workflow=step.job.workflow, path=step.path, job=step.job.id, reason=reason)


def _told(step: Step, pattern: re.Pattern[str]) -> str:
    """What the environment of a step has for the variable that its script uses."""
    found = pattern.search(step.run)
    return re.sub(r"\s*(\$\{\{|\}\})\s*", r"\1", text(step.known_env.get(found["name"]))) if found else ""


def _short(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        limit = job.timeout_minutes
        for step in job.steps if limit is not None else ():
            seconds = _lives(step) if makes_in(step) else None
            if limit is not None and seconds is not None and seconds < limit * MINUTE:
                reason = f"the VM may be deleted {seconds:g} s after it was made, and its job takes {limit:g} minutes"
                yield Broken(workflow=job.workflow, path=step.path, job=job.id, reason=reason)


def _lives(step: Step) -> float | None:
    """For how many seconds the machine is safe, None where its end is not said in numbers."""
    found = _LIFE.search(step.run)
    if not found:
        return None
    said = found["seconds"] or text(step.known_env.get(found["said"], found["said"]))
    return float(said) if said.isdecimal() else None


RULES = (
    Rule(
        id="clean-up-always",
        what="Each step or job that deletes what another made runs in any case, the second net as well as the first",
        why="the second net is there for the run that is cancelled, and that is when it is skipped",
        example="`needs: train` and no `if: always()` on the job that deletes what is left",
        fix="if: always()",
        judge=_skipped,
    ),
    Rule(
        id="clean-up-same-run",
        what="A clean-up looks for the label and in the zones that the VM was made with",
        why="it ends green and leaves the VM, or deletes that of another run",
        example="`--filter=labels.tidepool-run=$RUN` where RUN is of another run than where the VM is made",
        fix="the same env in both jobs",
        judge=_others,
    ),
    Rule(
        id="machine-outlives-job",
        what="A VM's end is later than that of the job that made it",
        why="the sweep of overdue VMs deletes one that still works",
        example="`timeout-minutes: 90` and `tidepool-expires=$(($(date +%s) + 3600))`",
        fix="LIFETIME: the job's minutes and those of its clean-up, in seconds",
        judge=_short,
    ),
)
