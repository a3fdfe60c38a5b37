"""checks.yaml: the same checks as on a laptop, of each pull request and of each commit of main."""

from __future__ import annotations

from workflows.builders import (
    Concurrency,
    Hosted,
    Job,
    Permissions,
    PullRequest,
    Purpose,
    Push,
    Step,
    Triggers,
    Workflow,
    context,
    template,
)
from workflows.own.steps import File, OrderedWorld, made
from workflows.steps import READ_CONTENTS, checkout


def file(around: OrderedWorld) -> File:
    jobs, sources = made(around, test)
    workflow = Workflow(
        name="Checks",
        header="The same checks as on a laptop: ./tidepool test.",
        triggers=Triggers.of(Push(branches=["main"]), PullRequest()),
        concurrency=Concurrency(template("checks-", context("github.ref")), Purpose.TEST),
        jobs=jobs,
    )
    return File(workflow, sources)


def test(around: OrderedWorld) -> Job:
    return Job(
        id="test",
        purpose=Purpose.TEST,
        runs_on=Hosted(),
        timeout_minutes=30,
        permissions=Permissions.of(READ_CONTENTS),
        steps=[
            # With its history, which says whether the pinned commit of our actions is in it.
            checkout(around.world, history=True),
            Step(run=".ci/run", timeout_minutes=27),
        ],
    )
