"""preview.yaml: what a pull request means, said without running anything of it."""

from __future__ import annotations

from typing import Final

from workflows.builders import (
    Concurrency,
    Hosted,
    Job,
    Permissions,
    PullRequest,
    Purpose,
    Step,
    Triggers,
    Workflow,
    context,
    template,
)
from workflows.own.steps import REVIEWED, File, OrderedWorld, kept, made, script
from workflows.steps import READ_CONTENTS, checkout

NAME: Final = "Preview"
ARTIFACT: Final = "preview"
"""What preview-comment.yaml posts: this workflow and plan.yaml leave it behind."""
ARTIFACT_FILE: Final = "preview.json"


def file(around: OrderedWorld) -> File:
    jobs, sources = made(around, meaning)
    workflow = Workflow(
        name=NAME,
        header="""\
Says what a pull request means: VMs, chips, dollars, risks, order.

The pull request may be a stranger's, so this job has no secret and no token that could write, and it runs nothing of
it: the tool is the base branch's, and of the pull request git hands over stacks/*.yaml as data. Its result is
posted by preview-comment.yaml, which does not trust it either.""",
        triggers=Triggers.of(PullRequest(branches=["main"], paths=REVIEWED)),
        concurrency=Concurrency(template("preview-", context("github.event.pull_request.number")), Purpose.CHECK),
        jobs=jobs,
    )
    return File(workflow, sources)


def meaning(around: OrderedWorld) -> Job:
    merged = {"MERGED": context("github.sha")}
    return Job(
        id="meaning",
        purpose=Purpose.CHECK,
        runs_on=Hosted(),
        timeout_minutes=10,
        permissions=Permissions.of(READ_CONTENTS),
        steps=[
            checkout(around.world, ref=context("github.event.pull_request.base.sha")),
            Step(
                name="Fetch both versions as data",
                env=merged,
                run=script('git fetch --quiet --no-tags --no-recurse-submodules --depth=2 origin "$MERGED"'),
                timeout_minutes=2,
                why="MERGED is the base branch with the pull request merged; its first parent is the base as it is.",
            ),
            Step(
                name="Say what the edit means",
                env=merged,
                run=script(
                    "./tidepool comment write \\",
                    f'  --base "$MERGED^1" --head "$MERGED" --out "$RUNNER_TEMP/{ARTIFACT_FILE}" --json',
                ),
                timeout_minutes=5,
            ),
            kept(
                around.world,
                ARTIFACT,
                ARTIFACT_FILE,
                days=7,
                also_after="Also when a finding holds the edit, which fails the step before.",
            ),
        ],
    )
