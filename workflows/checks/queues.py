"""Rules of runs that wait for one another: none that does something is thrown out by one that does nothing.

Owns the judgement. What a group makes of its runs is `workflows.concurrency`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workflows.checks.conditions import situations_of
from workflows.checks.limits import tells
from workflows.checks.possible import job_starts
from workflows.checks.publishing import finishes
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.situations import Situation
from workflows.checks.upstream import BAD_ENDS, CONCLUSION
from workflows.checks.views import Workflow
from workflows.concurrency import Arrival, Group, named, outcomes
from workflows.expressions import references

_OF_ONE_RUN = ("github.run_id", "github.run_number", "github.sha", "github.event.workflow_run.id",
               "github.event.workflow_run.head_sha", "github.event.after")  # fmt: skip


def _thrown_out(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        asked = workflow.data.get("concurrency")
        if asked is None or not _ends_others(named(asked if isinstance(asked, Mapping) else {"group": asked})):
            continue
        around = situations_of(workflow, scene)
        works = [job for job in workflow.jobs if finishes(job)]
        busy = [each for each in around if any(job_starts(job, each) for job in works)]
        idle = [each for each in _ended(around) if not any(job_starts(job, each) for job in workflow.jobs)]
        shared = [each for each in busy if not _of_one_run(workflow, each)]
        if shared and idle and any(each.event == other.event for each in shared for other in idle):
            event = idle[0].event
            reason = f"a run for {event} that starts no job takes the place of one that waits to publish"
            yield Broken(workflow=workflow, path=("concurrency",), reason=reason)


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


def _of_one_run(workflow: Workflow, situation: Situation) -> bool:
    """Whether the group's name differs from one commit or run to the next."""
    concurrency = ("concurrency",)
    paths = {path for asked in workflow.asked if asked.path[:1] == concurrency for path in references(asked.node)}
    return any(path in _OF_ONE_RUN or (situation.event == "pull_request" and tells(path, situation)) for path in paths)


RULES = (
    Rule(
        id="queue-keeps-work",
        what="A run that starts no job shares no queue with one that publishes",
        why="of those that wait GitHub keeps the newest: a red build cancels the green one's publishing",
        example="`concurrency: publish` for a file that `workflow_run` starts and whose job asks for `success`",
        fix="group: NAME-${{ github.event.workflow_run.id }}, or the group on the job that publishes",
        judge=_thrown_out,
    ),
)
