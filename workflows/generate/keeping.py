"""What becomes of results, whoever tests: kept in their bucket after a run, and shown at GitHub.

A job that keeps them has an identity at Google and writes nothing at GitHub; one that shows them writes at GitHub and
has no identity. Neither checks anything out. Runs that a stranger may have started have no identity at all: what they
leave is taken up by a file of its own, which their end starts on the main branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from infra.model import names
from infra.model.result_request import KeptQuarantine, KeptSuite, ResultRequest
from infra.model.schema import Results
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
from workflows.composite import Generated, generated
from workflows.spec import Spec, SpecLine
from workflows.spec.tiers import KeptResults
from workflows.world import World

RUN: Final = template(context("github.run_id"), "-", context("github.run_attempt"))
RESULTS: Final = template(context("runner.temp"), "/results")
REPORT: Final = template(context("runner.temp"), "/report")
MINUTES: Final = 10
"""Of a job that only reads and writes at GitHub, or keeps results."""
KEEPING: Final = "results"
"""The job that keeps results."""
HARDWARE: Final = Hosted().label
SET_UP: Final = context(steps.PROVIDER).differs("")
_ARTIFACT = "report-results"
_READ_RUNS = Grant(Scope.ACTIONS, Access.READ, "which commit a run tested, and the files that it left")
_START = Grant(Scope.ACTIONS, Access.WRITE, "starts this file on the main branch, and does nothing else")
_ISSUES = Grant(Scope.ISSUES, Access.WRITE, "one issue while a suite of the main branch is broken")
_COMMENTS = Grant(Scope.PULL_REQUESTS, Access.WRITE, "one comment with the result")
_STATUSES = Grant(Scope.STATUSES, Access.WRITE, "the result on the tested commit, which can be required")
KEEPS: Final = Permissions.of(steps.READ_CONTENTS, steps.IDENTITY, _READ_RUNS)
_WHY_FOLLOWING = "starts this file on the main branch with the number of the run that ended, and does nothing else"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """A specification whose results are kept. usd_per_month: what VMs of its tests may cost, where somebody says."""

    spec: Spec
    world: World
    results: KeptResults
    usd_per_month: Decimal | None = None

    def inputs(self, suite: str) -> tuple[str, ...]:
        """The files that decide how a suite ends, where the stack with the results says which."""
        declared = (stack.results for stack in self.world.stacks.values() if stack.results)
        return next((each.inputs for results in declared for each in results.suites if each.name == suite), ())

    def request(self, suites: Sequence[KeptSuite]) -> str:
        """What is kept of suites, as one document."""
        project, results = self._declared()
        named = {suite.name for suite in suites}
        return ResultRequest(
            project=project,
            bucket=results.bucket.name,
            main=self.spec.declared.branch,
            suites=tuple(suites),
            quarantine=tuple(KeptQuarantine(**dict(each)) for each in results.quarantine if each.suite in named),
            usd_per_month=self.usd_per_month,
        ).model_dump_json(indent=1, exclude_defaults=True)

    def _declared(self) -> tuple[str, Results]:
        """The project and the results of the one stack that declares some, which the specification's rules see to."""
        return next((stack.project, stack.results) for stack in self.world.stacks.values() if stack.results)


def uploaded(keeper: Keeper, name: Value, path: Value, condition: Expression | None, *, must: bool = True) -> Step:
    """Files as an artifact, kept for as long as the specification says. must: whether there are any for certain."""
    return Step(
        uses=keeper.world.actions.uses("actions/upload-artifact"),
        condition=condition,
        inputs={
            "name": name,
            "path": path,
            "if-no-files-found": "error" if must else "ignore",
            "retention-days": keeper.results.archive_days,
        },
    )


def keeping(
    keeper: Keeper,
    request: str,
    told: Mapping[str, Value],
    *,
    taken: Mapping[str, Value] | None = None,
    why: str = "",
    **job: Any,
) -> Job:
    """The job that keeps a run's results. taken: from which run its files are, where not from this one."""
    return Job(
        id=KEEPING,
        name="Keep the results",
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=KEEPS,
        purpose=Purpose.PUBLISH,
        outputs={"budget": context("steps.keep.outputs.budget")},
        env={"REQUEST": request},
        steps=[
            Step(
                uses=keeper.world.actions.uses("actions/download-artifact"),
                inputs={"pattern": "results-*", "path": RESULTS, "merge-multiple": True, **(taken or {})},
            ),
            *signed_in(keeper),
            steps.script(
                keeper.world,
                "results_keep.sh",
                name="Keep them, and compare with those before",
                step_id="keep",
                env={**steps.TOKEN, **told, "RESULTS": RESULTS, "REPORT": REPORT},
                outputs=("budget",),
            ),
            uploaded(keeper, _ARTIFACT, REPORT, None, must=False),
        ],
        why=f"Nothing of the tested code runs here. {why}".strip(),
        **job,
    )


def reported(keeper: Keeper, condition: Expression) -> Step:
    """What the job that keeps results says of them, as files."""
    return Step(
        uses=keeper.world.actions.uses("actions/download-artifact"),
        condition=condition,
        inputs={"pattern": _ARTIFACT, "path": REPORT, "merge-multiple": True},
    )


def telling(keeper: Keeper, condition: Expression) -> tuple[Step, ...]:
    """Lets GitHub show what was found of each suite."""
    uv = steps.uv(keeper.world, vm.PYTHON, cached=False)
    return (
        reported(keeper, condition),
        replace(uv, condition=condition),
        steps.script(
            keeper.world,
            "results_tell.sh",
            name="Show what was found",
            env={**steps.TOKEN, "REPORT": REPORT},
            condition=condition,
        ),
    )


def gathering(keeper: Keeper, follows: Sequence[str], request: str, line: SpecLine, why: str = "") -> Generated:
    """The file that keeps results of others' runs: their end starts it, and it starts itself on the main branch.

    follows: the names of the workflows whose results these are.
    """
    kept = keeper.results
    number = context("inputs.run")
    told = {"TESTED_RUN": number, "COMMIT": "", "PULL": ""}
    taken: dict[str, Value] = {"run-id": number, "github-token": context("github.token")}
    asked = context("github.event_name").equals("workflow_dispatch")
    workflow = Workflow(
        name=kept.name,
        run_name=template(f"{kept.name} ", number),
        triggers=Triggers.of(
            WorkflowRun(workflows=list(follows), why=_WHY_FOLLOWING),
            WorkflowDispatch(inputs={"run": Input(description="The number of the run that was tested", required=True)}),
        ),
        jobs=(
            _starting(keeper),
            keeping(keeper, request, told, taken=taken, why=why, condition=asked & SET_UP),
            _showing(keeper),
        ),
        # A group of its own for each run: of those that wait in one GitHub keeps the newest alone.
        concurrency=Concurrency(template(f"{kept.file.partition('.')[0]}-", context("github.run_id")), Purpose.PUBLISH),
    )
    return generated(keeper.spec, kept.file, workflow, dict.fromkeys(("start", KEEPING, "report"), line))


def _starting(keeper: Keeper) -> Job:
    ended = "github.event.workflow_run"
    file = keeper.results.file
    return Job(
        id="start",
        name="Start on the main branch",
        condition=context("github.event_name").equals("workflow_run")
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
                    "BRANCH": keeper.spec.declared.branch,
                    "TESTED_RUN": context(f"{ended}.id"),
                },
                run=f'gh workflow run {file} --repo "$REPOSITORY" --ref "$BRANCH" -f run="$TESTED_RUN"\n',
            )
        ],
        why="Google admits no run that follows another, since such a run has the rights of whoever started the first.",
    )


def _showing(keeper: Keeper) -> Job:
    return Job(
        id="report",
        name="Show the results",
        needs=[KEEPING],
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=Permissions.of(_ISSUES, _COMMENTS, _STATUSES),
        purpose=Purpose.WATCH,
        steps=telling(keeper, not_cancelled()),
    )


def signed_in(keeper: Keeper) -> tuple[Step, Step]:
    """The account that writes results of the repository, and the Python of what does."""
    stack = keeper.world.stacks[keeper.spec.declared.stack]
    writer = names.result_writer_account_id(stack.stack, keeper.spec.declared.repository)
    account = names.account_email(writer, stack.project)
    return steps.google(keeper.world, account), steps.uv(keeper.world, vm.PYTHON, cached=False)
