"""The events that every workflow is asked about, and what it does at each, as the golden tables have it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workflows.events import (
    REPOSITORY,
    GitHubEvent,
    dispatch,
    issue_comment,
    merge_group,
    pull_request,
    push,
    schedule,
    workflow_run,
)
from workflows.runs import JobRun, Run


def table(label: str = "run-tpu-tests", *, repository: str = REPOSITORY) -> tuple[GitHubEvent, ...]:
    """The events that every workflow is asked about; `label` is the one that the labeled ones add."""
    labeled = partial(pull_request, activity="labeled", label=label, repository=repository)
    return (
        push(title="push to main", repository=repository),
        push("change", title="push to a branch", repository=repository),
        pull_request(fork=True, repository=repository),
        pull_request(repository=repository),
        labeled(fork=True, title="label added to a fork's pull request"),
        labeled(title="label added to a branch's pull request"),
        schedule(repository=repository),
        dispatch(repository=repository),
        *(workflow_run(conclusion, repository=repository) for conclusion in ("success", "failure", "cancelled")),
        workflow_run("success", of="pull_request", repository=repository),
        workflow_run("failure", of="pull_request", repository=repository),
        workflow_run("success", of="pull_request", fork=True, repository=repository),
        issue_comment(repository=repository),
        issue_comment(on_pull_request=False, repository=repository),
        merge_group(repository=repository),
    )


def told(runs: tuple[Run, ...]) -> str:
    """What a workflow does at each event, a line a job, and in the last line the events that it has no trigger for."""
    lines: list[str] = []
    deaf = [each for each in runs if not each.starts and each.why.startswith("no trigger")]
    for each in runs:
        if each in deaf:
            continue
        if not each.starts:
            lines.append(f"{each.event.title}: not started, {each.why}")
            continue
        lines.append(f"{each.event.title}:")
        for job in each.jobs:
            lines.extend(_told(job))
    if deaf:
        lines.append(f"no trigger: {', '.join(each.event.title for each in deaf)}")
    return "".join(f"{line}\n" for line in lines)


def _told(job: JobRun) -> Iterator[str]:
    if not job.starts:
        yield f"  {job.id}: skipped, {job.why}"
        return
    for leg in job.legs:
        values = ", ".join(f"{key} {value}" for key, value in leg.matrix.items())
        runner = ", ".join((*((f"group {leg.group}",) if leg.group else ()), *leg.labels))
        yield f"  {job.id}{f' ({values})' if values else ''}: starts on {runner}"
