"""Rules of workflows that follow others: names, conclusions, the commit that was tested, schedules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

from cronsim import CronSim, CronSimError

from workflows.checks.plain import listed, mapping, text
from workflows.checks.possible import job_starts
from workflows.checks.publishing import finishes
from workflows.checks.rule import Broken, Repository, Rule, broken
from workflows.checks.views import JobView, WorkflowView
from workflows.expressions import references

MOST_LEVELS = 3
"""Levels of workflow_run that GitHub starts, as its page on events says.

https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows (read 2026-11-21)
"""
_SOMETIME = datetime(2026, 1, 1, tzinfo=UTC)
CONCLUSION = "github.event.workflow_run.conclusion"
BAD_ENDS = ("failure", "cancelled", "timed_out")
_CHECKOUT = "actions/checkout"


def _followed(workflow: WorkflowView) -> tuple[str, ...]:
    return listed(workflow.filters("workflow_run").get("workflows"))


def _exists(judged: Repository) -> Iterator[Broken]:
    known = {*judged.upstreams, *judged.known.workflows}
    for workflow in judged.workflows:
        for name in _followed(workflow):
            if name not in known:
                near = next((each for each in sorted(known) if name.lower() in each.lower()), "")
                hint = f"; there is {near}" if near else ""
                yield broken(workflow, f"no workflow is called {name}{hint}", "on", "workflow_run", "workflows")


def _chains(judged: Repository) -> Iterator[Broken]:
    by_name = judged.upstreams

    def levels(name: str, seen: tuple[str, ...]) -> int:
        if name in seen or name not in by_name:
            return 0
        return 1 + max((levels(each, (*seen, name)) for each in _followed(by_name[name])), default=-1)

    for workflow in judged.workflows:
        if _followed(workflow) and (deep := levels(workflow.name, ())) > MOST_LEVELS:
            reason = f"it is {deep} runs behind what starts it, and GitHub follows {MOST_LEVELS}"
            yield broken(workflow, reason, "on", "workflow_run")


def _names(judged: Repository) -> Iterator[Broken]:
    files: dict[str, list[WorkflowView]] = defaultdict(list)
    for workflow in judged.workflows:
        files[workflow.name].append(workflow)
    for name, workflows in files.items():
        for workflow in workflows[1:]:
            reason = f"{workflows[0].file.source} is called {name} too"
            yield broken(workflow, reason, "name")


def _conclusions(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        types = listed(workflow.filters("workflow_run").get("types"))
        if "workflow_run" not in workflow.triggers or (types and "completed" not in types):
            continue
        around = [each for each in judged.situations(workflow) if each.event == "workflow_run"]
        for job in workflow.jobs:
            bad = [end for end in BAD_ENDS if any(job_starts(job, each.knowing(CONCLUSION, end)) for each in around)]
            asks = _asks_conclusion(job) or any(_asks_conclusion(each) for each in job.ancestors)
            # A job that asks may report a failure; one that publishes may not follow it.
            if bad and (not asks or finishes(job)):
                reason = f"the job starts after a {bad[0]} of {' or '.join(_followed(workflow))} too"
                yield broken(job, reason)


def _asks_conclusion(job: JobView) -> bool:
    return any(
        asked.job == job.id and any(path.startswith(CONCLUSION) for path in references(asked.node))
        for asked in job.workflow.asked
    ) or any(CONCLUSION in content for step in job.steps for _, content in step.scripts)


def _commits(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        if "workflow_run" in workflow.triggers:
            reason = "workflow_run checks out the newest commit of the default branch, not the one that ran before"
            fix = "ref: ${{ github.event.workflow_run.head_sha || github.sha }}, or the default branch by name"
        elif "issue_comment" in workflow.triggers and _for_pull_requests(workflow):
            reason = "issue_comment checks out the default branch, not the pull request that was commented on"
            fix = "ref: refs/pull/${{ github.event.issue.number }}/head, or the default branch by name"
        else:
            continue
        for job in workflow.jobs:
            for step in job.steps:
                if step.action == _CHECKOUT and not {"ref", "repository"} & step.inputs.keys():
                    yield broken(step, reason, fix=fix)


def _for_pull_requests(workflow: WorkflowView) -> bool:
    paths = {path for each in workflow.asked for path in references(each.node)}
    return any(path.startswith("github.event.issue.pull_request") for path in paths)


def _schedules(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        entries = workflow.triggers.get("schedule")
        for index, entry in enumerate(entries if isinstance(entries, list) else []):
            cron = text(mapping(entry).get("cron"))
            if said := _cron(cron):
                yield broken(workflow, f"{cron}: {said}", "on", "schedule", index, "cron")


def _cron(cron: str) -> str:
    if len(cron.split()) != 5 or set(cron) & set("LW#?@"):
        return "GitHub reads five fields of POSIX: minute, hour, day, month, weekday"
    try:
        times = list(islice(CronSim(cron, _SOMETIME), 30))
    except CronSimError:
        return "this is no time"
    if not times:
        return "this time never comes"
    if any(later - earlier < timedelta(minutes=5) for earlier, later in pairwise(times)):
        return "GitHub starts a schedule every five minutes at most"
    return ""


RULES = (
    Rule("upstream-exists", _exists, "the name as the other file's `name:` has it"),
    Rule("upstream-near", _chains, "jobs of one workflow, joined by needs"),
    Rule("name-stands-once", _names, "a name of its own"),
    Rule("conclusion-tested", _conclusions, "if: github.event.workflow_run.conclusion == 'success'"),
    Rule("commit-is-said", _commits, "with: ref"),
    Rule("schedule-comes", _schedules, "cron: 0 2 * * *"),
)
