"""Rules of workflows that follow others: names, conclusions, the commit that was tested, schedules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

from cronsim import CronSim, CronSimError

from workflows.checks.conditions import situations_of, upstreams
from workflows.checks.plain import listed, mapping, text
from workflows.checks.possible import job_starts
from workflows.checks.publishing import finishes
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.views import Job, Workflow
from workflows.expressions import references

MOST_LEVELS = 3
"""Levels of workflow_run that GitHub starts, as its page on events says.

https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows (read 2026-11-21)
"""
_SOMETIME = datetime(2026, 1, 1, tzinfo=UTC)
CONCLUSION = "github.event.workflow_run.conclusion"
BAD_ENDS = ("failure", "cancelled", "timed_out")
_CHECKOUT = "actions/checkout"


def _followed(workflow: Workflow) -> tuple[str, ...]:
    return listed(workflow.filters("workflow_run").get("workflows"))


def _exists(scene: Scene) -> Iterator[Broken]:
    known = {*upstreams(scene), *scene.known.workflows}
    for workflow in scene.workflows:
        for name in _followed(workflow):
            if name not in known:
                near = next((each for each in sorted(known) if name.lower() in each.lower()), "")
                hint = f"; there is {near}" if near else ""
                yield Broken(
                    workflow=workflow,
                    path=("on", "workflow_run", "workflows"),
                    reason=f"no workflow is called {name}{hint}",
                )


def _chains(scene: Scene) -> Iterator[Broken]:
    by_name = upstreams(scene)

    def levels(name: str, seen: tuple[str, ...]) -> int:
        if name in seen or name not in by_name:
            return 0
        return 1 + max((levels(each, (*seen, name)) for each in _followed(by_name[name])), default=-1)

    for workflow in scene.workflows:
        if _followed(workflow) and (deep := levels(workflow.name, ())) > MOST_LEVELS:
            reason = f"it is {deep} runs behind what starts it, and GitHub follows {MOST_LEVELS}"
            yield Broken(workflow=workflow, path=("on", "workflow_run"), reason=reason)


def _names(scene: Scene) -> Iterator[Broken]:
    files: dict[str, list[Workflow]] = defaultdict(list)
    for workflow in scene.workflows:
        files[workflow.name].append(workflow)
    for name, workflows in files.items():
        for workflow in workflows[1:]:
            reason = f"{workflows[0].file.source} is called {name} too"
            yield Broken(workflow=workflow, path=("name",), reason=reason)


def _conclusions(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        types = listed(workflow.filters("workflow_run").get("types"))
        if "workflow_run" not in workflow.triggers or (types and "completed" not in types):
            continue
        around = [each for each in situations_of(workflow, scene) if each.event == "workflow_run"]
        for job in workflow.jobs:
            bad = [end for end in BAD_ENDS if any(job_starts(job, each.knowing(CONCLUSION, end)) for each in around)]
            asks = _asks_conclusion(job) or any(_asks_conclusion(each) for each in job.ancestors)
            # A job that asks may report a failure; one that publishes may not follow it.
            if bad and (not asks or finishes(job)):
                reason = f"the job starts after a {bad[0]} of {' or '.join(_followed(workflow))} too"
                yield Broken(workflow=workflow, path=job.path, job=job.id, reason=reason)


def _asks_conclusion(job: Job) -> bool:
    return any(
        asked.job == job.id and any(path.startswith(CONCLUSION) for path in references(asked.node))
        for asked in job.workflow.asked
    ) or any(CONCLUSION in content for step in job.steps for _, content in step.scripts)


def _commits(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
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
                    yield Broken(workflow=workflow, path=step.path, job=job.id, reason=reason, fix=fix)


def _for_pull_requests(workflow: Workflow) -> bool:
    paths = {path for each in workflow.asked for path in references(each.node)}
    return any(path.startswith("github.event.issue.pull_request") for path in paths)


def _schedules(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        entries = workflow.triggers.get("schedule")
        for index, entry in enumerate(entries if isinstance(entries, list) else []):
            cron = text(mapping(entry).get("cron"))
            if said := _cron(cron):
                yield Broken(workflow=workflow, path=("on", "schedule", index, "cron"), reason=f"{cron}: {said}")


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
    Rule(
        id="upstream-exists",
        what="`workflow_run` names workflows that exist, by the name that they show",
        why="a workflow that waits for a name that nobody has never starts, and nobody is told",
        example="`workflows: [Run Tests]` after the file was renamed to `Levanter - Tests`",
        fix="the name as the other file's `name:` has it",
        judge=_exists,
    ),
    Rule(
        id="upstream-near",
        what="Workflows follow one another over three levels at most",
        why="GitHub does not start the fourth",
        example="build, test, package, publish: each `workflow_run` of the one before, and a fifth behind them",
        fix="jobs of one workflow, joined by needs",
        judge=_chains,
    ),
    Rule(
        id="name-stands-once",
        what="No two files have one name",
        why="`workflow_run` follows both, and their results cannot be told apart",
        example="`name: Tests` in two files",
        fix="a name of its own",
        judge=_names,
    ),
    Rule(
        id="conclusion-tested",
        what="What follows another workflow asks how that one ended",
        why="`completed` is also a failure: images are built and packages published of what did not pass",
        example="`on: workflow_run: {workflows: [Tests], types: [completed]}` and a job without `if`",
        fix="if: github.event.workflow_run.conclusion == 'success'",
        judge=_conclusions,
    ),
    Rule(
        id="commit-is-said",
        what="What runs on `workflow_run`, or for a comment on a pull request, says which commit it checks out",
        why="both run on the default branch: without `ref` something else is tested or published than is believed",
        example="`uses: actions/checkout` without `ref` below `on: workflow_run`",
        fix="with: ref",
        judge=_commits,
    ),
    Rule(
        id="schedule-comes",
        what="A schedule is a time that comes, and no more often than GitHub starts one",
        why="a time that never comes looks like a nightly test",
        example="`cron: 0 2 30 2 *`",
        fix="cron: 0 2 * * *",
        judge=_schedules,
    ),
)
