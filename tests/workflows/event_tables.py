"""The events that every workflow is asked about, and what it does at each, as the golden tables have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

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
from workflows.runs import Given, JobRun, run

SHA = "c0ffee" * 6 + "cafe"
INPUTS = {"sha": SHA, "pull_request": "12", "run": "1", "revision": SHA, "image": "all"}


def table(workflow: Mapping[str, Any], repository: str = REPOSITORY) -> tuple[GitHubEvent, ...]:
    """The events that every workflow is asked about, and the start by hand with the inputs that it declares."""
    label = "run-tpu-tests"
    labeled = partial(pull_request, activity="labeled", label=label, repository=repository)
    target = partial(pull_request, fork=True, target=True, repository=repository)
    declared = (workflow["on"].get("workflow_dispatch") or {}).get("inputs") or {}
    inputs = {key: value for key, value in INPUTS.items() if key in declared}
    return (
        push(title="push to main", repository=repository),
        push("change", title="push to a branch", repository=repository),
        pull_request(fork=True, repository=repository),
        pull_request(repository=repository),
        labeled(fork=True, title="label added to a fork's pull request"),
        labeled(title="label added to a branch's pull request"),
        target(title="label added to a fork's, told to the base branch", activity="labeled", label=label),
        target(title="another label added to it", activity="labeled", label="bug", labels=[label]),
        target(title="push to a fork's with the label, told to the base branch", labels=[label]),
        target(title="push to a fork's, told to the base branch"),
        schedule(repository=repository),
        dispatch(repository=repository),
        *([dispatch(inputs, title="dispatch with inputs", repository=repository)] if inputs else []),
        dispatch(branch="change", title="dispatch from a branch", repository=repository),
        *(workflow_run(conclusion, repository=repository) for conclusion in ("success", "failure", "cancelled")),
        workflow_run("success", of="pull_request", repository=repository),
        workflow_run("failure", of="pull_request", repository=repository),
        workflow_run("success", of="pull_request", fork=True, repository=repository),
        issue_comment(repository=repository),
        issue_comment(on_pull_request=False, repository=repository),
        merge_group(repository=repository),
    )


def told(workflow: Mapping[str, Any], events: tuple[GitHubEvent, ...], given: Given) -> str:
    """What a workflow does at each event, a line a job; the events that it has no trigger for; and, at the event that
    starts most jobs, what else starts where one of them ends otherwise."""
    runs = [run(workflow, event, given) for event in events]
    lines: list[str] = []
    for each in runs:
        if each.starts:
            lines += [f"{each.event.title}:", *(line for job in each.jobs for line in _told(job))]
        elif not each.why.startswith("no trigger"):
            lines.append(f"{each.event.title}: not started, {each.why}")
    deaf = [each.event.title for each in runs if each.why.startswith("no trigger")]
    lines.append(f"no trigger: {', '.join(deaf)}")
    most = max(runs, key=lambda each: sum(job.starts for job in each.jobs))
    lines.append(f"of {most.event.title}:")
    started = [job.id for job in most.jobs if job.starts]
    ends = {
        **{f"{job} fails": replace(given, results={job: "failure"}) for job in started},
        **{f"{job} puts nothing out": replace(given, outputs={**given.outputs, job: {}}) for job in started},
        "tests passed before": replace(given, outputs={**given.outputs, "reuse": {"reused": "|tpu|"}}),
        "the run is cancelled": replace(given, cancelled=True),
        "no identity is set up": replace(given, variables={}),
    }
    for end, otherwise in ends.items():
        found = [job.id for job in run(workflow, most.event, otherwise).jobs if job.starts]
        if found != started:
            lines.append(f"  {end}: {', '.join(found) or 'nothing starts'}")
    return "".join(f"{line}\n" for line in lines)


def _told(job: JobRun) -> Iterator[str]:
    if not job.starts:
        yield f"  {job.id}: skipped, {job.why}"
        return
    for leg in job.legs:
        values = ", ".join(f"{key} {value}" for key, value in leg.matrix.items())
        runner = ", ".join((*((f"group {leg.group}",) if leg.group else ()), *leg.labels))
        yield f"  {job.id}{f' ({values})' if values else ''}: starts on {runner}"
