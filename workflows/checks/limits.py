"""Rules of how long work may last, what may cut it off or throw it out of a queue, and how many jobs a matrix makes.

What a concurrency group makes of its runs is `workflows.concurrency`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workflows.builders.step import inner_limits
from workflows.checks.machines import cleans_up, makes_machines
from workflows.checks.plain import mapping, only, text
from workflows.checks.possible import can_hold, job_starts
from workflows.checks.publishing import BAD_ENDS, CONCLUSION, finishes
from workflows.checks.rule import Broken, Repository, WorkflowRule, broken
from workflows.checks.runners import on_ours
from workflows.checks.situations import Situation
from workflows.checks.views import JobView, StepView, WorkflowView
from workflows.checks.words import TALK, filled, test_words
from workflows.concurrency import Arrival, Group, named, outcomes
from workflows.expressions import references
from workflows.legs import MOST_LEGS

_TELLING = (
    "github.ref", "github.ref_name", "github.head_ref", "github.sha", "github.run_id", "github.run_number",
    "github.event.number", "github.event.pull_request.", "github.event.issue.", "github.event.workflow_run.",
    "github.event.after", "github.event.merge_group.",
)  # fmt: skip
"""What differs from one branch or pull request to the next."""
_OF_ONE_RUN = ("github.run_id", "github.run_number", "github.sha", "github.event.workflow_run.id",
               "github.event.workflow_run.head_sha", "github.event.after")  # fmt: skip


def _timeouts(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        if not job.reusable and job.data.get("timeout-minutes") is None:
            reason = (
                "the job has no time limit of its own, so that it may hang for six hours, on a runner of ours for days"
            )
            yield broken(job, reason)


def _inner(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        whole = job.timeout_minutes
        for step in job.steps:
            own = step.data.get("timeout-minutes")
            limits = [each for each in (whole, own) if isinstance(each, int | float) and not isinstance(each, bool)]
            if not limits:
                continue
            limit = 60 * min(limits)
            if whole is not None and isinstance(own, int | float) and own >= whole:
                reason = f"the step {step.said} has {own:g} minutes, and its job {whole:g}"
                yield broken(step, reason, "timeout-minutes")
            for number, seconds in sorted(set(_within(step))):
                if seconds >= limit:
                    reason = f"what runs within has {seconds:g} s, and GitHub stops everything after {limit:g} s"
                    yield broken(step, reason, line=number)


def _within(step: StepView) -> Iterator[tuple[int, float]]:
    """The line of each `timeout` of a script, and its seconds."""
    values = {name: text(value) for name, value in step.known_env.items()}
    for command in step.commands:
        if not command.arguments:
            values |= dict(word.text.split("=", 1) for word in command.words if "=" in word.text)
        elif command.program not in TALK:
            words = " ".join(filled(each, values) for each in command.texts)
            yield from ((command.line, seconds) for seconds in inner_limits(words))


def _ends_itself(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        if not on_ours(job, judged.known, judged.situations(job.workflow)):
            continue
        for step in job.steps:
            tests = [each for each in step.commands if test_words(each.texts) is not None]
            if tests and not any(_within(step)):
                reason = "GitHub kills the job when its time is over, and what runs within stays on the accelerator"
                yield broken(step, reason, line=tests[0].line)


def _concurrency(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        if "concurrency" not in job.data and "concurrency" not in job.workflow.data:
            reason = "it is not said what a second run does: cancel the first, wait, or run beside it"
            yield broken(job, reason)


def _groups(job: JobView) -> dict[JobView | WorkflowView, Any]:
    """Its own group and its workflow's, by whose it is."""
    return {each: each.data["concurrency"] for each in (job, job.workflow) if "concurrency" in each.data}


def _cancels(group: Any, situation: Situation) -> bool:
    cancel = text(mapping(group).get("cancel-in-progress", False)).strip()
    node = only(cancel)
    if node is None:
        return "${{" in cancel or cancel == "true"
    return can_hold(node, situation)


def _cut_off(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        kind = "applies or publishes" if finishes(job) else "cleans up" if cleans_up(job) or makes_machines(job) else ""
        if not kind:
            continue
        around = [each for each in judged.situations(job.workflow) if job_starts(job, each)]
        for place, group in _groups(job).items():
            if any(_cancels(group, each) for each in around):
                reason = f"the job {kind}, and a newer run cuts it off half way"
                yield replace(broken(place, reason, "concurrency"), job=job.id)


def _narrow(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        around = judged.situations(workflow)
        places = {place: group for job in workflow.jobs for place, group in _groups(job).items()}
        for place, group in places.items():
            here = (*place.path, "concurrency", "group")
            said = text(mapping(group).get("group"))
            reads = {each for asked in workflow.asked if asked.path == here for each in references(asked.node)}
            for situation in around:
                if situation.event in {"pull_request", "pull_request_target"} and _cancels(group, situation):
                    told = [each for each in reads if tells(each, situation)]
                    if not told and "toJSON" not in said:
                        reason = f"all pull requests share the group {said}, so that each cancels the others"
                        yield broken(place, reason, "concurrency")
                        break


def tells(path: str, situation: Situation) -> bool:
    """Whether a path differs from one branch or pull request to the next."""
    if situation.event == "pull_request_target" and path in {"github.ref", "github.ref_name", "github.sha"}:
        return False
    return any(path == each or (each.endswith(".") and path.startswith(each)) for each in _TELLING) and (
        situation.value(path) is not None
    )


def _legs(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        legs = job.legs
        if legs is not None and not 0 < len(legs) <= MOST_LEGS:
            reason = f"the matrix makes {len(legs)} jobs, and GitHub takes 1 to {MOST_LEGS}"
            yield broken(job, reason, "strategy", "matrix")


def _fail_fast(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        strategy = mapping(job.data.get("strategy"))
        if "matrix" not in strategy or (job.legs is not None and len(job.legs) < 2):
            continue
        if "fail-fast" not in strategy:
            reason = "the first leg that fails cancels the others, so that nobody learns how they would have ended"
            yield broken(job, reason, "strategy")
        elif strategy["fail-fast"] is True and (finishes(job) or makes_machines(job)):
            reason = "a leg that fails cuts off the others, which publish or have machines to delete"
            yield broken(job, reason, "strategy", "fail-fast")


def _thrown_out(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        asked = workflow.data.get("concurrency")
        if asked is None or not _ends_others(named(asked if isinstance(asked, Mapping) else {"group": asked})):
            continue
        around = judged.situations(workflow)
        works = [job for job in workflow.jobs if finishes(job)]
        busy = [each for each in around if any(job_starts(job, each) for job in works)]
        idle = [each for each in _ended(around) if not any(job_starts(job, each) for job in workflow.jobs)]
        shared = [each for each in busy if not _of_one_run(workflow, each)]
        if shared and idle and any(each.event == other.event for each in shared for other in idle):
            event = idle[0].event
            reason = f"a run for {event} that starts no job takes the place of one that waits to publish"
            yield broken(workflow, reason, "concurrency")


def _ends_others(group: Group) -> bool:
    """Whether the newest of three runs that meet in it ends one of the others."""
    came = [Arrival(name, at, 10, group) for at, name in enumerate(("runs", "waits", "newest"))]
    return any(each.by == "newest" for each in outcomes(came))


def _ended(around: tuple[Situation, ...]) -> Iterator[Situation]:
    """Every situation, and each way in which a followed workflow may have ended badly."""
    for each in around:
        yield each
        if each.event == "workflow_run":
            yield from (each.knowing(CONCLUSION, end) for end in BAD_ENDS)


def _of_one_run(workflow: WorkflowView, situation: Situation) -> bool:
    """Whether the group's name differs from one commit or run to the next."""
    concurrency = ("concurrency",)
    paths = {path for asked in workflow.asked if asked.path[:1] == concurrency for path in references(asked.node)}
    return any(path in _OF_ONE_RUN or (situation.event == "pull_request" and tells(path, situation)) for path in paths)


RULES = (
    WorkflowRule("job-ends", _timeouts, "timeout-minutes: 15"),
    WorkflowRule("inner-limit-first", _inner, "timeout --kill-after=5 --signal=TERM 890, for a job of 15 minutes"),
    WorkflowRule("tests-end-themselves", _ends_itself, "timeout --kill-after=5 --signal=TERM SECONDS pytest"),
    WorkflowRule("second-run-decided", _concurrency, "concurrency: group, cancel-in-progress"),
    WorkflowRule("finishes-what-it-began", _cut_off, "cancel-in-progress: false"),
    WorkflowRule("group-of-one", _narrow, "group: NAME-${{ github.event.pull_request.number || github.ref }}"),
    WorkflowRule("matrix-fits", _legs, "fewer values, or two jobs"),
    WorkflowRule("legs-end-alone", _fail_fast, "fail-fast: false"),
    WorkflowRule(
        "queue-keeps-work",
        _thrown_out,
        "group: NAME-${{ github.event.workflow_run.id }}, or the group on the job that publishes",
    ),
)
