"""Rules of how long work may last, what may cut it off, and how many jobs a matrix makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workflows.builders.step import inner_limits
from workflows.checks.conditions import situations_of
from workflows.checks.machines import cleans_up, makes_machines
from workflows.checks.plain import mapping, only, text
from workflows.checks.possible import can_hold, job_starts
from workflows.checks.programs import TALK, filled, test_words
from workflows.checks.publishing import finishes
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.runners import on_ours
from workflows.checks.situations import Situation
from workflows.checks.views import Job, Step
from workflows.document import Path
from workflows.expressions import references
from workflows.legs import MOST_LEGS

_TELLING = (
    "github.ref", "github.ref_name", "github.head_ref", "github.sha", "github.run_id", "github.run_number",
    "github.event.number", "github.event.pull_request.", "github.event.issue.", "github.event.workflow_run.",
    "github.event.after", "github.event.merge_group.",
)  # fmt: skip
"""What differs from one branch or pull request to the next."""


def _timeouts(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        if not job.reusable and job.data.get("timeout-minutes") is None:
            reason = (
                "the job has no time limit of its own, so that it may hang for six hours, on a runner of ours for days"
            )
            yield Broken(workflow=job.workflow, path=job.path, job=job.id, reason=reason)


def _inner(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        whole = job.timeout_minutes
        for step in job.steps:
            own = step.data.get("timeout-minutes")
            limits = [each for each in (whole, own) if isinstance(each, int | float) and not isinstance(each, bool)]
            if not limits:
                continue
            limit = 60 * min(limits)
            if whole is not None and isinstance(own, int | float) and own >= whole:
                reason = f"the step {step.said} has {own:g} minutes, and its job {whole:g}"
                yield Broken(workflow=job.workflow, path=(*step.path, "timeout-minutes"), job=job.id, reason=reason)
            for number, seconds in sorted(set(_within(step))):
                if seconds >= limit:
                    reason = f"what runs within has {seconds:g} s, and GitHub stops everything after {limit:g} s"
                    path = (*step.path, "run")
                    yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason, lines=number)


def _within(step: Step) -> Iterator[tuple[int, float]]:
    """The line of each `timeout` of a script, and its seconds."""
    values = {name: text(value) for name, value in step.known_env.items()}
    for command in step.commands:
        if not command.arguments:
            values |= dict(word.text.split("=", 1) for word in command.words if "=" in word.text)
        elif command.program not in TALK:
            words = " ".join(filled(each, values) for each in command.texts)
            yield from ((command.line, seconds) for seconds in inner_limits(words))


def _ends_itself(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        if not on_ours(job, scene.known, situations_of(job.workflow, scene)):
            continue
        for step in job.steps:
            tests = [each for each in step.commands if test_words(each.texts) is not None]
            if tests and not any(_within(step)):
                reason = "GitHub kills the job when its time is over, and what runs within stays on the accelerator"
                yield Broken(
                    workflow=job.workflow, path=(*step.path, "run"), job=job.id, reason=reason, lines=tests[0].line
                )


def _concurrency(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        if "concurrency" not in job.data and "concurrency" not in job.workflow.data:
            reason = "it is not said what a second run does: cancel the first, wait, or run beside it"
            yield Broken(workflow=job.workflow, path=job.path, job=job.id, reason=reason)


def _groups(job: Job) -> Iterator[tuple[Path, Any]]:
    """Its own group and its workflow's."""
    for path, data in ((job.path, job.data), ((), job.workflow.data)):
        if "concurrency" in data:
            yield (*path, "concurrency"), data["concurrency"]


def _cancels(group: Any, situation: Situation) -> bool:
    cancel = text(mapping(group).get("cancel-in-progress", False)).strip()
    node = only(cancel)
    if node is None:
        return "${{" in cancel or cancel == "true"
    return can_hold(node, situation)


def _cut_off(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        kind = "applies or publishes" if finishes(job) else "cleans up" if cleans_up(job) or makes_machines(job) else ""
        if not kind:
            continue
        around = [each for each in situations_of(job.workflow, scene) if job_starts(job, each)]
        for path, group in _groups(job):
            if any(_cancels(group, each) for each in around):
                reason = f"the job {kind}, and a newer run cuts it off half way"
                yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason)


def _narrow(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        around = situations_of(workflow, scene)
        places = {path: group for job in workflow.jobs for path, group in _groups(job)}
        for path, group in places.items():
            said = text(mapping(group).get("group"))
            reads = {
                each for asked in workflow.asked if asked.path == (*path, "group") for each in references(asked.node)
            }
            for situation in around:
                if situation.event in {"pull_request", "pull_request_target"} and _cancels(group, situation):
                    told = [each for each in reads if tells(each, situation)]
                    if not told and "toJSON" not in said:
                        reason = f"all pull requests share the group {said}, so that each cancels the others"
                        job = str(path[1]) if path[0] == "jobs" else ""
                        yield Broken(workflow=workflow, path=path, job=job, reason=reason)
                        break


def tells(path: str, situation: Situation) -> bool:
    """Whether a path differs from one branch or pull request to the next."""
    if situation.event == "pull_request_target" and path in {"github.ref", "github.ref_name", "github.sha"}:
        return False
    return any(path == each or (each.endswith(".") and path.startswith(each)) for each in _TELLING) and (
        situation.value(path) is not None
    )


def _legs(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        legs = job.legs
        if legs is not None and not 0 < len(legs) <= MOST_LEGS:
            reason = f"the matrix makes {len(legs)} jobs, and GitHub takes 1 to {MOST_LEGS}"
            yield Broken(workflow=job.workflow, path=(*job.path, "strategy", "matrix"), job=job.id, reason=reason)


def _fail_fast(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        strategy = mapping(job.data.get("strategy"))
        if "matrix" not in strategy or (job.legs is not None and len(job.legs) < 2):
            continue
        if "fail-fast" not in strategy:
            reason = "the first leg that fails cancels the others, so that nobody learns how they would have ended"
            yield Broken(workflow=job.workflow, path=(*job.path, "strategy"), job=job.id, reason=reason)
        elif strategy["fail-fast"] is True and (finishes(job) or makes_machines(job)):
            reason = "a leg that fails cuts off the others, which publish or have machines to delete"
            yield Broken(workflow=job.workflow, path=(*job.path, "strategy", "fail-fast"), job=job.id, reason=reason)


RULES = (
    Rule(
        id="job-ends",
        what="Every job has `timeout-minutes`",
        why="the limit is six hours otherwise, and days on a runner of one's own: one hang holds an accelerator",
        example="a job without `timeout-minutes`",
        fix="timeout-minutes: 15",
        judge=_timeouts,
    ),
    Rule(
        id="inner-limit-first",
        what="A limit within a job is shorter than the job's own",
        why="GitHub kills the job first, and what ran within stays on the TPU",
        example="`timeout 900 pytest` in a job of 15 minutes",
        fix="timeout --kill-after=5 --signal=TERM 890, for a job of 15 minutes",
        judge=_inner,
    ),
    Rule(
        id="tests-end-themselves",
        what="Tests on a runner of ours run under a `timeout` of their own",
        why="a killed job leaves its process on the accelerator, and the next job finds it busy",
        example="`pytest tests/tpu` on `[self-hosted, tpu-ci]`",
        fix="timeout --kill-after=5 --signal=TERM SECONDS pytest",
        judge=_ends_itself,
    ),
    Rule(
        id="second-run-decided",
        what="Every job has a concurrency group, its own or its workflow's",
        why="runs of commits that nobody waits for any more take the runners",
        example="a workflow without `concurrency`",
        fix="concurrency: group, cancel-in-progress",
        judge=_concurrency,
    ),
    Rule(
        id="finishes-what-it-began",
        what="Nothing cancels a clean-up, an apply or a publish",
        why="half of it stays: a VM that is paid for, images of two versions, a lock",
        example="`cancel-in-progress: true` where a step deletes the VM",
        fix="cancel-in-progress: false",
        judge=_cut_off,
    ),
    Rule(
        id="group-of-one",
        what="A group that cancels holds one pull request",
        why="each pull request would cancel the others' tests",
        example="`group: tests` with `cancel-in-progress: true` on `pull_request`",
        fix="group: NAME-${{ github.event.pull_request.number || github.ref }}",
        judge=_narrow,
    ),
    Rule(
        id="matrix-fits",
        what="A matrix makes 1 to 256 jobs",
        why="GitHub refuses the run",
        example="three axes of seven values",
        fix="fewer values, or two jobs",
        judge=_legs,
    ),
    Rule(
        id="legs-end-alone",
        what="A matrix says `fail-fast`, and says false where its legs publish or make machines",
        why="by default one failing leg cancels the others",
        example="`strategy: {matrix: {jax: [0.7.2, 0.8.0]}}`",
        fix="fail-fast: false",
        judge=_fail_fast,
    ),
)
