"""What becomes of results: asked for before a suite, kept in their bucket after it, and shown at GitHub.

A job that keeps them has an identity at Google and writes nothing at GitHub; one that shows them writes at GitHub and
has no identity. Neither checks anything out. Runs that a stranger may have started on CPU have no identity at all: what
they leave is taken up by a file of its own, which their end starts on the main branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from infra.model import names
from infra.model.result_request import KeptQuarantine, KeptSuite, ResultRequest, SuiteVm
from infra.model.schema import Results, StackConfig
from workflows import steps, vm
from workflows.builders import (
    Access,
    Concurrency,
    Expression,
    Grant,
    Hosted,
    Input,
    Job,
    Permissions,
    Purpose,
    Scope,
    Step,
    Triggers,
    Workflow,
    WorkflowDispatch,
    WorkflowRun,
    context,
    not_cancelled,
    template,
)
from workflows.builders.expression import Value
from workflows.composite import FOLDER, Generated, generated
from workflows.generate.tiers_parts import MINUTES, RESULTS, REUSE, TOKEN, Parts, TpuSuite, shards, uploaded
from workflows.spec.tiers import TpuTier

KEEPING: Final = "results"
"""The job that keeps results."""
REPORT: Final = template(context("runner.temp"), "/report")
HARDWARE: Final = Hosted().label
SET_UP: Final = context(steps.PROVIDER).differs("")
_ARTIFACT = "report-results"
_READ_RUNS = Grant(Scope.ACTIONS, Access.READ, "which commit a run tested, and the files that it left")
_START = Grant(Scope.ACTIONS, Access.WRITE, "starts this file on the main branch, and does nothing else")
_ISSUES = Grant(Scope.ISSUES, Access.WRITE, "one issue while a suite of the main branch is broken")
_COMMENTS = Grant(Scope.PULL_REQUESTS, Access.WRITE, "one comment with the result")
_STATUSES = Grant(Scope.STATUSES, Access.WRITE, "the result on the tested commit, which can be required")
_KEEPS = Permissions.of(steps.READ_CONTENTS, steps.IDENTITY, _READ_RUNS)
_WHY_FOLLOWING = "starts this file on the main branch with the number of the run that ended, and does nothing else"


def reusing(parts: Parts, tier: TpuTier, told: Mapping[str, Value], **job: Any) -> Job | None:
    """The job that asks which suites of a tier need not run; None where each runs whatever was before."""
    asked = [each for each in parts.of_tier(tier) if parts.reuses(each, tier)]
    if not asked:
        return None
    return Job(
        id=REUSE,
        name="Look for an earlier pass",
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=_KEEPS,
        purpose=Purpose.PUBLISH,
        outputs={"reused": context("steps.reuse.outputs.reused")},
        env={"REQUEST": _request(parts, _on_tpu(parts, asked))},
        steps=[
            *_signed_in(parts),
            steps.script(
                parts.world,
                "results_reuse.sh",
                name="Ask for a pass with the same inputs",
                step_id="reuse",
                env={**TOKEN, **told},
                outputs=("reused",),
            ),
        ],
        why="An unchanged tree needs no VM: a pass whose inputs are the same files stands for this run, which says so.",
        **job,
    )


def keeping(
    parts: Parts, request: str, told: Mapping[str, Value], *, taken: Mapping[str, Value] | None = None, **job: Any
) -> Job:
    """The job that keeps a run's results. taken: from which run its files are, where not from this one."""
    return Job(
        id=KEEPING,
        name="Keep the results",
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=_KEEPS,
        purpose=Purpose.PUBLISH,
        outputs={"budget": context("steps.keep.outputs.budget")},
        env={"REQUEST": request},
        steps=[
            Step(
                uses=parts.world.actions.uses("actions/download-artifact"),
                inputs={"pattern": "results-*", "path": RESULTS, "merge-multiple": True, **(taken or {})},
            ),
            *_signed_in(parts),
            steps.script(
                parts.world,
                "results_keep.sh",
                name="Keep them, and compare with those before",
                step_id="keep",
                env={**TOKEN, **told, "RESULTS": RESULTS, "REPORT": REPORT},
                outputs=("budget",),
            ),
            uploaded(parts, _ARTIFACT, REPORT, None, must=False),
        ],
        why=f"Nothing of the tested code runs here. {parts.cost}",
        **job,
    )


def reported(parts: Parts, condition: Expression) -> Step:
    """What the job that keeps results says of them, as files."""
    return Step(
        uses=parts.world.actions.uses("actions/download-artifact"),
        condition=condition,
        inputs={"pattern": _ARTIFACT, "path": REPORT, "merge-multiple": True},
    )


def telling(parts: Parts, condition: Expression) -> tuple[Step, ...]:
    """Lets GitHub show what was found of each suite."""
    uv = steps.uv(parts.world, vm.PYTHON, cached=False)
    return (
        reported(parts, condition),
        replace(uv, condition=condition),
        steps.script(
            parts.world,
            "results_tell.sh",
            name="Show what was found",
            env={**TOKEN, "REPORT": REPORT},
            condition=condition,
        ),
    )


def on_tpu(parts: Parts, suites: Sequence[TpuSuite]) -> str:
    """What is kept of a tier on TPUs, as one document."""
    return _request(parts, _on_tpu(parts, suites))


def gathering(parts: Parts) -> Generated:
    """The file that keeps results of the first tier: its end starts it, and it starts itself on the main branch."""
    kept, first = parts.tiers.results, parts.tiers.every_pull_request
    followed = context("github.event_name").equals("workflow_run")
    number = context("inputs.run")
    request = _request(parts, _on_cpu(parts), workflow=f"{FOLDER}/{first.file}")
    told = {"TESTED_RUN": number, "COMMIT": "", "PULL": ""}
    taken: dict[str, Value] = {"run-id": number, "github-token": context("github.token")}
    asked = context("github.event_name").equals("workflow_dispatch")
    workflow = Workflow(
        name=kept.name,
        run_name=template(f"{kept.name} ", number),
        triggers=Triggers.of(
            WorkflowRun(workflows=[first.name], why=_WHY_FOLLOWING),
            WorkflowDispatch(inputs={"run": Input(description="The number of the run that was tested", required=True)}),
        ),
        jobs=(
            _starting(parts, followed),
            keeping(parts, request, told, taken=taken, condition=asked & SET_UP),
            _showing(parts),
        ),
        # A group of its own for each run: of those that wait in one GitHub keeps the newest alone.
        concurrency=Concurrency(template(f"{kept.file.partition('.')[0]}-", context("github.run_id")), Purpose.PUBLISH),
    )
    line = parts.spec.line("tiers", "results")
    return generated(parts.spec, kept.file, workflow, dict.fromkeys(("start", KEEPING, "report"), line))


def _starting(parts: Parts, followed: Expression) -> Job:
    ended = "github.event.workflow_run"
    file = parts.tiers.results.file
    return Job(
        id="start",
        name="Start on the main branch",
        condition=followed
        & context(f"{ended}.event").one_of(("push", "pull_request"))
        & context(f"{ended}.conclusion").one_of(("success", "failure")),
        runs_on=Hosted(),
        timeout_minutes=5,
        permissions=Permissions.of(_START),
        purpose=Purpose.WATCH,
        steps=[
            Step(
                name=f"Start {file}",
                env={
                    "GH_TOKEN": context("github.token"),
                    "REPOSITORY": context("github.repository"),
                    "BRANCH": parts.spec.declared.branch,
                    "TESTED_RUN": context(f"{ended}.id"),
                },
                run=f'gh workflow run {file} --repo "$REPOSITORY" --ref "$BRANCH" -f run="$TESTED_RUN"\n',
            )
        ],
        why="Google admits no run that follows another, since such a run has the rights of whoever started the first.",
    )


def _showing(parts: Parts) -> Job:
    return Job(
        id="report",
        name="Show the results",
        needs=[KEEPING],
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=Permissions.of(_ISSUES, _COMMENTS, _STATUSES),
        purpose=Purpose.WATCH,
        steps=telling(parts, not_cancelled()),
    )


def _signed_in(parts: Parts) -> tuple[Step, Step]:
    stack = parts.world.stacks[parts.spec.declared.stack]
    writer = names.result_writer_account_id(stack.stack, parts.spec.declared.repository)
    account = names.account_email(writer, stack.project)
    return steps.google(parts.world, account), steps.uv(parts.world, vm.PYTHON, cached=False)


def _request(parts: Parts, suites: Sequence[KeptSuite], workflow: str = "") -> str:
    project, results = _declared(parts)
    names_ = {suite.name for suite in suites}
    return ResultRequest(
        project=project,
        bucket=results.bucket.name,
        main=parts.spec.declared.branch,
        workflow=workflow,
        suites=tuple(suites),
        quarantine=tuple(KeptQuarantine(**dict(each)) for each in results.quarantine if each.suite in names_),
        usd_per_month=parts.tiers.money.usd_per_month,
    ).model_dump_json(indent=1, exclude_defaults=True)


def _declared(parts: Parts) -> tuple[str, Results]:
    """The project and the results of the one stack that declares some, which the specification's rules see to."""
    return next((stack.project, stack.results) for stack in parts.world.stacks.values() if stack.results)


def _on_tpu(parts: Parts, suites: Sequence[TpuSuite]) -> list[KeptSuite]:
    return [
        KeptSuite(
            name=each.tests.suite,
            hardware=each.accelerator.name,
            files=each.files,
            inputs=parts.inputs(each.tests.suite),
            labels=parts.tiers.nightly.labels,
            vm=SuiteVm(
                accelerator=each.accelerator.name,
                zone=next(zone for zone in _zones(each.shape.stack) if zone in each.accelerator.generation.zones),
                capacity=each.shape.pool.capacity.kind.value,
                pool=each.shape.pool.name,
            ),
        )
        for each in suites
    ]


def _zones(stack: StackConfig) -> Sequence[str]:
    return stack.runs.zones if stack.runs else ()


def _on_cpu(parts: Parts) -> list[KeptSuite]:
    return [
        KeptSuite(
            name=suite.job,
            hardware=HARDWARE,
            files=tuple(f"{name}.json" for name, _ in shards(suite.job, suite.modules, suite.shards)),
            inputs=parts.inputs(suite.job),
        )
        for suite in parts.tiers.every_pull_request.suites
    ]
