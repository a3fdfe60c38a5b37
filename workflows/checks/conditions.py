"""Rules of what starts: whether a condition can hold for the file's own triggers, and for whom.

Owns the judgement. Leaves what is possible to `workflows.checks.possible`, and other workflows to `upstream`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from workflows.checks.payloads import HEADS
from workflows.checks.possible import job_starts, step_runs
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.situations import Situation, situations
from workflows.checks.views import Job, Workflow
from workflows.expressions import references
from workflows.expressions.syntax import Node

_BASE_FORK = "github.event.repository.fork"
_NAMES = frozenset(("github.repository", "github.repository_owner", "github.repository_id"))
_HEAD_OF = re.compile(r"github\.event\.(pull_request\.head\.repo|workflow_run\.head_repository)\.")
_PULLS = ("pull_request", "pull_request_target")


def situations_of(workflow: Workflow, scene: Scene) -> tuple[Situation, ...]:
    return situations(workflow, scene.known.repository, upstreams(scene))


def upstreams(scene: Scene) -> Mapping[str, Workflow]:
    """Workflows by the name that workflow_run follows them by."""
    return {workflow.name: workflow for workflow in scene.workflows}


def _conditions(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        around = situations_of(workflow, scene)
        if not around:
            continue
        for job in workflow.jobs:
            starting = [each for each in around if job_starts(job, each)]
            if not starting:
                if "if" in job.data and not any(_dead(other, around) for other in job.ancestors):
                    reason = f"the job never starts{_missing(job.condition, around)}"
                    yield Broken(workflow=workflow, path=(*job.path, "if"), job=job.id, reason=reason)
                continue
            for step in job.steps:
                if "if" in step.data and not any(step_runs(step, each) for each in starting):
                    reason = f"the step {step.said} never runs{_missing(step.condition, starting)}"
                    yield Broken(workflow=workflow, path=(*step.path, "if"), job=job.id, reason=reason)


def _dead(job: Job, around: tuple[Situation, ...]) -> bool:
    return not any(job_starts(job, each) for each in around)


def _missing(node: Node | None, around: list[Situation] | tuple[Situation, ...]) -> str:
    """What the condition reads that no event of the file has."""
    paths = sorted(set(references(node))) if node is not None else []
    absent = [path for path in paths if all(_absent(path, each) for each in around)]
    events = ", ".join(dict.fromkeys(each.event for each in around))
    return f": {events} has no {', '.join(absent)}" if absent else f" on {events}"


def _absent(path: str, situation: Situation) -> bool:
    plain = path.partition(".*")[0]
    return plain.startswith(("github.event.", "inputs.")) and situation.value(plain) is None


def _triggers(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        around = situations_of(workflow, scene)
        for event in workflow.triggers:
            here = [each for each in around if each.event == event]
            if not here or not workflow.jobs or any(_any_job(workflow, each) for each in here):
                continue
            if all(_dead(job, around) for job in workflow.jobs):
                continue  # each of these jobs is a finding of its own
            reason = f"{event} starts the workflow, and then no job of it"
            yield Broken(workflow=workflow, path=("on", event), reason=reason)


def _any_job(workflow: Workflow, situation: Situation) -> bool:
    return any(job_starts(job, situation) for job in workflow.jobs)


def _left_out(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        for event in _PULLS:
            here = [each for each in situations_of(workflow, scene) if each.event == event]
            forks = [job for job in workflow.jobs if any(job_starts(job, each) for each in here if each.fork)]
            own = [job for job in workflow.jobs if any(job_starts(job, each) for each in here if not each.fork)]
            if forks and not own:
                reason = f"{event} starts a job for forks, and none for the repository's own branches"
                yield Broken(workflow=workflow, path=(*forks[0].path, "if"), job=forks[0].id, reason=reason)


def _repository_fork(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        if not set(HEADS) & set(workflow.triggers):
            continue
        for asked in workflow.asked:
            reads = set(references(asked.node))
            # Who asks for the repository's name too means forks of the repository, where nothing of it shall run.
            if _BASE_FORK in reads and not reads & _NAMES and not any(_HEAD_OF.match(path) for path in reads):
                reason = "github.event.repository is the base repository, whatever the pull request comes from"
                yield Broken(workflow=workflow, path=asked.path, job=asked.job, reason=reason)


RULES = (
    Rule(
        id="condition-can-hold",
        what="The `if` of every job and step can hold for one of the file's own triggers",
        why="what never runs is believed to guard something",
        example="`if: github.event.pull_request.merged` in a file that `workflow_run` starts",
        fix="a condition on what the event has, or no condition",
        judge=_conditions,
    ),
    Rule(
        id="trigger-starts-a-job",
        what="Every trigger starts a job",
        why="the run shows green, and nothing was tested",
        example="`on: [push, pull_request]` with every job under `if: github.event_name == 'pull_request'`",
        fix="the trigger goes, or a job's condition lets it in",
        judge=_triggers,
    ),
    Rule(
        id="branches-tested-too",
        what="What a pull request of a fork starts, one of the repository's own branches starts too",
        why="an inverted guard tests strangers and lets colleagues merge untested",
        example="`github.event.pull_request.head.repo.full_name != github.repository`",
        fix="`==` for jobs that forks may not start, and no guard for the others",
        judge=_left_out,
    ),
    Rule(
        id="fork-of-the-head",
        what="A guard against forks looks at the pull request's head",
        why="`github.event.repository` is the base repository, which is the same for every pull request",
        example="`if: ${{ !github.event.repository.fork }}`",
        fix="github.event.pull_request.head.repo.full_name == github.repository",
        judge=_repository_fork,
    ),
)
