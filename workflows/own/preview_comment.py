"""preview-comment.yaml: posts what preview.yaml and plan.yaml left behind, with a right that neither has."""

from __future__ import annotations

from workflows.builders import (
    Access,
    Concurrency,
    Grant,
    Hosted,
    Job,
    Permissions,
    Purpose,
    Scope,
    Step,
    Triggers,
    Workflow,
    WorkflowRun,
    context,
    template,
)
from workflows.own import plan, preview
from workflows.own.steps import TOKEN, File, OrderedWorld, fetched, made, script, set_up_without_token
from workflows.steps import checkout


def file(around: OrderedWorld) -> File:
    jobs, sources = made(around, post)
    workflow = Workflow(
        name="Preview comment",
        header="""\
Posts what preview.yaml found as one comment, edited in place, and as labels; then, for a branch of this repository, the
same with the engine's plan, which plan.yaml found. Whichever ends last, the comment with the plan stays.

This job may write to pull requests, so it checks out the default branch and nothing of the pull request, and treats
the artifact as a file by anybody. The pull request is looked up by the head commit that GitHub's event names.

Each commit has a group of runs of its own: of the runs that wait in a group GitHub keeps only the newest, and a
cancelled run, which posts nothing, must not take the place of one that posts.""",
        triggers=Triggers.of(
            WorkflowRun(
                workflows=[preview.NAME, plan.NAME],
                why="runs the default branch's code alone, on an artifact that it checks",
            )
        ),
        concurrency=Concurrency(
            template(
                "preview-comment-",
                context("github.event.workflow_run.head_repository.full_name"),
                "-",
                context("github.event.workflow_run.head_sha"),
            ),
            Purpose.PUBLISH,
        ),
        jobs=jobs,
    )
    return File(workflow, sources)


def post(around: OrderedWorld) -> Job:
    ended = context("github.event.workflow_run.conclusion")
    ours = context("github.event.workflow_run.head_repository.full_name").equals(context("github.repository"))
    return Job(
        id="post",
        purpose=Purpose.PUBLISH,
        runs_on=Hosted(),
        timeout_minutes=10,
        why="A finding that holds the edit makes the preview fail; its comment is posted all the same.",
        condition=context("github.event.workflow_run.event").equals("pull_request")
        & (ended.equals("success") | ended.equals("failure")),
        permissions=Permissions.of(
            Grant(Scope.ACTIONS, Access.READ, "the artifact of another run"),
            Grant(Scope.CONTENTS, Access.READ, "the default branch"),
            Grant(Scope.PULL_REQUESTS, Access.WRITE, "the comment and the labels"),
        ),
        steps=[
            checkout(around.world, ref=context("github.event.repository.default_branch")),
            fetched(around.world, preview.ARTIFACT, "preview", run=context("github.event.workflow_run.id")),
            set_up_without_token("comment post"),
            Step(
                name="Post",
                env={
                    "GITHUB_TOKEN": TOKEN,
                    "HEAD": context("github.event.workflow_run.head_sha"),
                    "PLANNED": context("github.event.workflow_run.name").equals(plan.NAME) & ours,
                },
                run=script(
                    f'set -- --artifact "$RUNNER_TEMP/preview/{preview.ARTIFACT_FILE}" --head "$HEAD"',
                    'if [ "$PLANNED" = true ]; then set -- "$@" --planned; fi',
                    './tidepool comment post "$@"',
                ),
                timeout_minutes=4,
                why="A fork may call its workflow Plan; only a run of this repository's own branch had an engine.",
            ),
        ],
    )
