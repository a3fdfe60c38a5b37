"""Rules of what starts, and for whom: whether a condition can hold for the file's own triggers, and asks what it means.

Owns the judgement. Leaves what is possible to `workflows.checks.possible`, and other workflows to `publishing`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from workflows.checks.plain import mapping, text
from workflows.checks.possible import job_starts, path_of, step_runs
from workflows.checks.rule import Broken, Repository, WorkflowRule, asks_wrongly, broken
from workflows.checks.situations import HEADS, Situation
from workflows.checks.views import JobView, WorkflowView
from workflows.expressions import references
from workflows.expressions.syntax import Comparison, Literal, Node, children
from workflows.expressions.values import parse_number

_BASE_FORK = "github.event.repository.fork"
_NAMES = frozenset(("github.repository", "github.repository_owner", "github.repository_id"))
_HEAD_OF = re.compile(r"github\.event\.(pull_request\.head\.repo|workflow_run\.head_repository)\.")
_PULLS = ("pull_request", "pull_request_target")
_TEXTS = re.compile(r"(steps|needs)\.[^.]+\.outputs\.[^.]+|(env|vars|secrets)\.[^.]+|github\.event\.inputs\.[^.]+")
"""What is text whatever was written to it."""


def _conditions(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        around = judged.situations(workflow)
        if not around:
            continue
        for job in workflow.jobs:
            starting = [each for each in around if job_starts(job, each)]
            if not starting:
                if "if" in job.data and not any(_dead(other, around) for other in job.ancestors):
                    reason = f"the job never starts{_missing(job.condition, around)}"
                    yield broken(job, reason, "if")
                continue
            for step in job.steps:
                if "if" in step.data and not any(step_runs(step, each) for each in starting):
                    reason = f"the step {step.said} never runs{_missing(step.condition, starting)}"
                    yield broken(step, reason, "if")


def _dead(job: JobView, around: tuple[Situation, ...]) -> bool:
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


def _triggers(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        around = judged.situations(workflow)
        for event in workflow.triggers:
            here = [each for each in around if each.event == event]
            if not here or not workflow.jobs or any(_any_job(workflow, each) for each in here):
                continue
            if all(_dead(job, around) for job in workflow.jobs):
                continue  # each of these jobs is a finding of its own
            reason = f"{event} starts the workflow, and then no job of it"
            yield broken(workflow, reason, "on", event)


def _any_job(workflow: WorkflowView, situation: Situation) -> bool:
    return any(job_starts(job, situation) for job in workflow.jobs)


def _left_out(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        for event in _PULLS:
            here = [each for each in judged.situations(workflow) if each.event == event]
            forks = [job for job in workflow.jobs if any(job_starts(job, each) for each in here if each.fork)]
            own = [job for job in workflow.jobs if any(job_starts(job, each) for each in here if not each.fork)]
            if forks and not own:
                reason = f"{event} starts a job for forks, and none for the repository's own branches"
                yield broken(forks[0], reason, "if")


def _repository_fork(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        if not set(HEADS) & set(workflow.triggers):
            continue
        for asked in workflow.asked:
            reads = set(references(asked.node))
            # Who asks for the repository's name too means forks of the repository, where nothing of it shall run.
            if _BASE_FORK in reads and not reads & _NAMES and not any(_HEAD_OF.match(path) for path in reads):
                reason = "github.event.repository is the base repository, whatever the pull request comes from"
                yield asks_wrongly(workflow, asked, reason)


def _types(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        for asked in workflow.asked:
            for node in _nodes(asked.node):
                if isinstance(node, Comparison) and node.operator in {"==", "!="} and (said := _never(workflow, node)):
                    yield asks_wrongly(workflow, asked, said)


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from _nodes(child)


def _never(workflow: WorkflowView, node: Comparison) -> str:
    for one, other in ((node.left, node.right), (node.right, node.left)):
        path = path_of(one)
        if not path or not isinstance(other, Literal):
            continue
        kind = _kind(workflow, path)
        if kind == "text" and isinstance(other.value, bool):
            said = str(other.value).lower()
            return f"{path} is text, and no text is the boolean {said}: compare with '{said}'"
        if kind == "boolean" and isinstance(other.value, str) and math.isnan(parse_number(other.value)):
            return f"{path} is a boolean, and no boolean is the text '{other.value}': compare with true or false"
    return ""


def _kind(workflow: WorkflowView, path: str) -> str:
    if _TEXTS.fullmatch(path):
        return "text"
    first, _, name = path.partition(".")
    if first == "inputs":
        kinds = {
            text(mapping(each).get("type"))
            for event in ("workflow_dispatch", "workflow_call")
            for key, each in mapping(workflow.filters(event).get("inputs")).items()
            if key.lower() == name
        }
        return "boolean" if kinds == {"boolean"} else ""
    return ""


def _truths(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        for asked in workflow.asked:
            if asked.path[-1] != "if":
                continue
            for path in _bare(asked.node):
                if _says_false(workflow, asked.job, path):
                    reason = f"{path} is the text 'false' when it is false, and that is true in a condition"
                    yield asks_wrongly(workflow, asked, reason)


def _bare(node: Node) -> Iterator[str]:
    """Paths whose own truth is asked for."""
    if path := path_of(node):
        yield path
    elif not isinstance(node, Comparison) and type(node).__name__ in {"Logic", "Not"}:
        for child in children(node):
            yield from _bare(child)


def _says_false(workflow: WorkflowView, job: str, path: str) -> bool:
    parts_of: Any = path.split(".")
    if len(parts_of) != 4 or parts_of[2] != "outputs":
        return False
    here = workflow.job(job)
    if parts_of[0] == "needs":
        here = next((each for each in workflow.jobs if each.id.lower() == parts_of[1]), None)
        outputs = mapping(here.data.get("outputs")) if here else {}
        source = text(next((value for key, value in outputs.items() if key.lower() == parts_of[3]), ""))
        found = re.search(r"steps\.([\w-]+)\.outputs\.([\w-]+)", source)
        if not found:
            return False
        parts_of = ["steps", found[1].lower(), "outputs", found[2].lower()]
    steps = [step for step in here.steps if step.id.lower() == parts_of[1]] if here else []
    return any(re.search(rf"\b{re.escape(parts_of[3])}=false\b", step.run, re.IGNORECASE) for step in steps)


RULES = (
    WorkflowRule("condition-can-hold", _conditions, "a condition on what the event has, or no condition"),
    WorkflowRule("trigger-starts-a-job", _triggers, "the trigger goes, or a job's condition lets it in"),
    WorkflowRule(
        "branches-tested-too", _left_out, "`==` for jobs that forks may not start, and no guard for the others"
    ),
    WorkflowRule(
        "fork-of-the-head", _repository_fork, "github.event.pull_request.head.repo.full_name == github.repository"
    ),
    WorkflowRule(
        "types-meet", _types, "== 'true' for outputs, variables and environment; no comparison for a boolean input"
    ),
    WorkflowRule("false-is-no-text", _truths, "if: steps.ID.outputs.NAME == 'true'"),
)
