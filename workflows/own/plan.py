"""plan.yaml: what a pull request of this repository's own branch would do, asked by an identity that can only read."""

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
from workflows.own import preview
from workflows.own.steps import (
    PREVIEWER,
    REVIEWED,
    STATE,
    File,
    OrderedWorld,
    each_stack,
    is_set_up,
    kept,
    made,
    previewed,
    pulumi_cli,
    script,
    with_parents,
)
from workflows.steps import IDENTITY, READ_CONTENTS, google, tree

NAME: Final = "Plan"
DIGEST: Final = "reviewed-plan-"
"""Before the tree that was planned, the name of the artifact with the digest of its steps."""
DIGEST_FILE: Final = "digest.json"


def file(around: OrderedWorld) -> File:
    jobs, sources = made(around, plan)
    workflow = Workflow(
        name=NAME,
        header="""\
Plans what a pull request from this repository would do, with an identity that can only read.

Runs the branch's own code, so it is for people who can push here; a pull request from a fork gets no identity at all.
Leaves the pull request's comment with the plan in it for preview-comment.yaml, and keeps a digest of the steps under
the tree that it planned (head and base merged), for apply.yaml to compare with. The digest holds no value.""",
        triggers=Triggers.of(PullRequest(branches=["main"], paths=REVIEWED)),
        concurrency=Concurrency(template("plan-", context("github.event.pull_request.number")), Purpose.CHECK),
        jobs=jobs,
    )
    return File(workflow, sources)


def plan(around: OrderedWorld) -> Job:
    world = around.world
    return Job(
        id="plan",
        purpose=Purpose.CHECK,
        runs_on=Hosted(),
        timeout_minutes=20,
        guarded=True,
        condition=is_set_up(),
        permissions=Permissions.of(READ_CONTENTS, IDENTITY),
        env=STATE,
        steps=[
            with_parents(world),
            google(world, PREVIEWER),
            pulumi_cli(world),
            Step(name="Plan", run=_planned(around), timeout_minutes=15),
            kept(
                world,
                preview.ARTIFACT,
                preview.ARTIFACT_FILE,
                days=7,
                also_after="Also when a plan failed or a finding holds the edit; preview-comment.yaml posts it.",
            ),
            tree(),
            kept(world, template(DIGEST, context("steps.tree.outputs.tree")), f"reviewed/{DIGEST_FILE}", days=30),
        ],
    )


def _planned(around: OrderedWorld) -> str:
    """Every stack is planned, also after one that cannot be; the comment says which could not."""
    return script(
        'mkdir -p "$RUNNER_TEMP/plans" "$RUNNER_TEMP/shown" "$RUNNER_TEMP/reviewed"',
        "failed=0",
        "set --",
        *each_stack(
            around.stacks,
            f'{previewed()} --json >"$RUNNER_TEMP/plans/$stack.json" || failed=1',
            'pulumi preview --stack "$stack" --json --show-sames --non-interactive \\',
            '  >"$RUNNER_TEMP/shown/$stack.json" || failed=1',
            'set -- "$@" --plan "$stack=$RUNNER_TEMP/shown/$stack.json"',
        ),
        f'./tidepool comment write --base HEAD^1 "$@" --out "$RUNNER_TEMP/{preview.ARTIFACT_FILE}" \\',
        '  >>"$GITHUB_STEP_SUMMARY" || failed=1',
        'if [ "$failed" = 1 ]; then exit 1; fi',
        f'./tidepool plan digest "$RUNNER_TEMP"/plans/*.json --json >"$RUNNER_TEMP/reviewed/{DIGEST_FILE}"',
    )
