"""drift.yaml: every night, how the cloud differs from what the stacks recorded."""

from __future__ import annotations

from typing import Final

from infra.model.federation import MAIN
from workflows.builders import (
    Access,
    Concurrency,
    Grant,
    Hosted,
    Job,
    Permissions,
    Purpose,
    Schedule,
    Scope,
    Step,
    Triggers,
    Workflow,
    WorkflowDispatch,
    context,
    not_cancelled,
)
from workflows.own.steps import (
    PREVIEWER,
    STATE,
    TOKEN,
    File,
    OrderedWorld,
    each_stack,
    fetched,
    is_set_up,
    kept,
    made,
    previewed,
    pulumi_cli,
    script,
    set_up_without_token,
)
from workflows.steps import IDENTITY, READ_CONTENTS, checkout, google

NIGHTLY: Final = "23 4 * * *"
"""Not on the hour, when GitHub starts late."""
PLANS: Final = "plans"


def file(around: OrderedWorld) -> File:
    jobs, sources = made(around, look, report)
    workflow = Workflow(
        name="Drift",
        header="""\
Looks every night how the cloud differs from what the stacks recorded, and says so in one issue a stack.

Two jobs: the one that reads the cloud cannot write to GitHub, the one that writes to GitHub cannot read the cloud.""",
        triggers=Triggers.of(Schedule([NIGHTLY]), WorkflowDispatch()),
        concurrency=Concurrency("drift", Purpose.WATCH),
        jobs=jobs,
    )
    return File(workflow, sources)


def look(around: OrderedWorld) -> Job:
    world = around.world
    return Job(
        id="look",
        purpose=Purpose.WATCH,
        runs_on=Hosted(),
        timeout_minutes=30,
        condition=is_set_up() & context("github.ref").equals(MAIN),
        permissions=Permissions.of(READ_CONTENTS, IDENTITY),
        env=STATE,
        steps=[
            checkout(world),
            google(world, PREVIEWER),
            pulumi_cli(world),
            Step(
                name="Preview with a refresh, which writes nothing",
                run=script(
                    f'mkdir -p "$RUNNER_TEMP/{PLANS}"',
                    "code=0",
                    *each_stack(
                        around.stacks,
                        f'{previewed("--refresh")} --json >"$RUNNER_TEMP/{PLANS}/$stack.json" || code=1',
                    ),
                    'exit "$code"',
                ),
                timeout_minutes=25,
                why="A plan that fails is kept too: the report says that nothing is known.",
            ),
            kept(world, PLANS, PLANS, days=1, also_after="Also the plans of a night in which one failed."),
        ],
    )


def report(around: OrderedWorld) -> Job:
    return Job(
        id="report",
        purpose=Purpose.WATCH,
        needs=["look"],
        condition=not_cancelled() & context("needs.look.result").differs("skipped"),
        runs_on=Hosted(),
        timeout_minutes=10,
        permissions=Permissions.of(READ_CONTENTS, Grant(Scope.ISSUES, Access.WRITE, "one issue a stack")),
        steps=[
            checkout(around.world),
            fetched(around.world, PLANS, PLANS),
            set_up_without_token("drift report"),
            Step(
                name="Report",
                env={"GITHUB_TOKEN": TOKEN},
                run=script(
                    "code=0",
                    *each_stack(
                        around.stacks,
                        f'./tidepool drift report "$stack" --plan "$RUNNER_TEMP/{PLANS}/$stack.json" || code=1',
                    ),
                    'exit "$code"',
                ),
                timeout_minutes=4,
            ),
        ],
    )
