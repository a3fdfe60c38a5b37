"""apply.yaml: makes the main branch true: plans, compares with what was reviewed, asks where it must, applies."""

from __future__ import annotations

from typing import Final

from infra.model.errors import ConfigError, Problem
from infra.model.schema import StackConfig
from workflows.builders import (
    Access,
    Concurrency,
    Grant,
    Hosted,
    Job,
    Permissions,
    Purpose,
    Push,
    Scope,
    Step,
    Triggers,
    Workflow,
    context,
    template,
)
from workflows.builders.expression import Value
from workflows.own import plan as reviewed
from workflows.own.steps import (
    DEPLOYER,
    ENGINE,
    PREVIEWER,
    PROGRAM,
    STATE,
    TOKEN,
    File,
    OrderedWorld,
    each_stack,
    fetched,
    is_set_up,
    made,
    previewed,
    pulumi_cli,
    script,
    with_parents,
)
from workflows.steps import IDENTITY, READ_CONTENTS, checkout, google
from workflows.steps import script as shell

AT_ONCE: Final = "apply"
AFTER_APPROVAL: Final = "apply-after-approval"
"""The two environments of docs/github.md: the second waits for a person."""

MINUTES_A_STACK: Final = 35
"""For an apply alone; before it, VMs that go are let end their jobs."""
MINUTES_TO_STOP: Final = 5
"""How long an apply that was asked to stop may take to finish what is in flight and to write its state."""
MINUTES_BEFORE: Final = 25
"""For setting up, and for the plan before it."""
MOST_MINUTES: Final = 360
"""Of a job on GitHub's own machines (https://docs.github.com/en/actions/reference/limits, read 2026-11)."""


def file(around: OrderedWorld) -> File:
    jobs, sources = made(around, plan, apply)
    workflow = Workflow(
        name="Apply",
        header="""\
Applies the main branch: plans, compares with what was reviewed, asks where it must, applies.

One run at a time, and none is cancelled while it runs: GitHub may replace a run that waits by a newer one, which
applies the same and more. Environments, variables and identities: docs/github.md.""",
        triggers=Triggers.of(Push(branches=["main"], paths=PROGRAM)),
        concurrency=Concurrency("apply", Purpose.APPLY),
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
        condition=is_set_up(),
        permissions=Permissions.of(
            Grant(Scope.ACTIONS, Access.READ, "environments, and the reviewed digest, an artifact of another run"),
            Grant(Scope.PULL_REQUESTS, Access.READ, "which pull request was merged as this commit"),
            READ_CONTENTS,
            IDENTITY,
        ),
        outputs={name: context(f"steps.compare.outputs.{name}") for name in ("digest", "environment", "steps")},
        env=STATE,
        steps=[
            shell(
                world,
                "environments_protected.sh",
                name="Check that GitHub protects the environments",
                env={"GH_TOKEN": TOKEN, "ENVIRONMENTS": f"{AT_ONCE} {AFTER_APPROVAL}", "ASKING": AFTER_APPROVAL},
                timeout_minutes=2,
            ),
            with_parents(world),
            shell(
                world,
                "reviewed_plan.sh",
                name="Find the reviewed plan of this tree",
                step_id="reviewed",
                outputs=("tree", "run"),
                env={
                    "GH_TOKEN": TOKEN,
                    "ARTIFACT": reviewed.DIGEST,
                    "REPOSITORY_ID": context("github.repository_id"),
                    "PINNED": _pinned(around),
                },
                timeout_minutes=2,
            ),
            fetched(
                world,
                template(reviewed.DIGEST, context("steps.reviewed.outputs.tree")),
                "reviewed",
                run=context("steps.reviewed.outputs.run"),
                condition=context("steps.reviewed.outputs.run").differs(""),
            ),
            google(world, PREVIEWER),
            pulumi_cli(world),
            Step(
                name="Plan",
                run=_planned(
                    around,
                    f'{previewed()} --base HEAD^1 --format markdown >>"$GITHUB_STEP_SUMMARY"',
                ),
                timeout_minutes=15,
            ),
            Step(name="Compare with what was reviewed", id="compare", run=_COMPARE),
        ],
    )


def apply(around: OrderedWorld) -> Job:
    world = around.world
    needed = context("needs.plan.outputs.environment")
    return Job(
        id="apply",
        purpose=Purpose.APPLY,
        needs=["plan"],
        condition=context("needs.plan.outputs.steps").differs("0") & needed.one_of((AT_ONCE, AFTER_APPROVAL)),
        why="Without an environment GitHub asks for no approval.",
        runs_on=Hosted(),
        timeout_minutes=_minutes(around),
        environment=needed,
        permissions=Permissions.of(READ_CONTENTS, IDENTITY),
        env=STATE,
        steps=[
            checkout(world),
            google(world, DEPLOYER),
            pulumi_cli(world),
            Step(
                name="Check that the plan is still the approved one",
                env={"AGREED": context("needs.plan.outputs.digest")},
                run=_planned(around) + script('./tidepool plan digest "$RUNNER_TEMP"/plans/*.json --expect "$AGREED"'),
                timeout_minutes=15,
            ),
            Step(
                name="Apply",
                run=_applied(around),
                why="Stacks whose outputs others read come first. A stack that fails does not stop the next one.\n"
                "One that takes too long gets a Ctrl-C, so that it ends with its state written.",
            ),
        ],
    )


def _planned(around: OrderedWorld, *further: str) -> str:
    return script(
        'mkdir -p "$RUNNER_TEMP/plans"',
        *each_stack(around.stacks, f'{previewed()} --json >"$RUNNER_TEMP/plans/$stack.json"', *further),
    )


def _applied(around: OrderedWorld) -> str:
    # In the foreground: Tidepool hands the signal on to the engine, which takes a second one for "at once".
    limit = f"timeout --foreground --signal=INT --kill-after={MINUTES_TO_STOP}m"
    return script(
        "code=0",
        *(
            f"{limit} {minutes_of(around.world.stacks[stack])}m ./tidepool up {stack} {ENGINE} || code=1"
            for stack in around.stacks
        ),
        'exit "$code"',
    )


def _pinned(around: OrderedWorld) -> Value:
    """The number that the stack file writes for this repository; empty where it writes none."""
    numbers = (stack.github.repository_id for stack in around.world.stacks.values() if stack.github)
    return next(filter(None, numbers), "")


def minutes_of(stack: StackConfig) -> int:
    """How long one stack's `up` may take: where VMs take jobs, it waits for those of VMs that go."""
    drain = stack.runners.job_minutes if any(pool.serves for pool in stack.pools) else 0
    return MINUTES_A_STACK + drain


def _minutes(around: OrderedWorld) -> int:
    """How long the whole job may take. Raises ConfigError where GitHub would end it before."""
    waits = [minutes_of(around.world.stacks[stack]) + MINUTES_TO_STOP for stack in around.stacks]
    minutes = MINUTES_BEFORE + sum(waits)
    if minutes > MOST_MINUTES:
        raise ConfigError(
            [
                Problem(
                    "tidepool:runners.job_minutes",
                    f"with it an apply of {', '.join(around.stacks)} may take {minutes} minutes",
                    f"GitHub would end the job after {MOST_MINUTES} minutes, in the middle of the apply",
                    "a smaller job_minutes",
                )
            ]
        )
    return minutes


_COMPARE = script(
    './tidepool plan approval "$RUNNER_TEMP"/plans/*.json \\',
    f'  --reviewed "$RUNNER_TEMP/reviewed/{reviewed.DIGEST_FILE}" --json >"$RUNNER_TEMP/decision.json"',
    'jq -r \'"digest=\\(.digest)", "steps=\\(.steps)",',
    f'  "environment=\\(if .approval then "{AFTER_APPROVAL}" else "{AT_ONCE}" end)"\' \\',
    '  "$RUNNER_TEMP/decision.json" >>"$GITHUB_OUTPUT"',
    """jq -r '"\\n" + (.why | map("- approval needed: " + .) | join("\\n"))' \\""",
    '  "$RUNNER_TEMP/decision.json" >>"$GITHUB_STEP_SUMMARY"',
)
