"""Files of three tiers of tests: on CPU for every pull request, on a TPU every night and when a label asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from infra.model.images.steps import MINUTE
from workflows import steps
from workflows.builders import (
    Access,
    Concurrency,
    Expression,
    Grant,
    Hosted,
    Job,
    Permissions,
    PullRequest,
    Purpose,
    Push,
    Schedule,
    Scope,
    Step,
    Triggers,
    Workflow,
    WorkflowDispatch,
    call,
    context,
    literal,
    not_cancelled,
    template,
    timed,
)
from workflows.composite import FOLDER, Generated, generated
from workflows.generate import keeping, tiers_asked, tiers_results
from workflows.generate.keeping import KEEPING, MINUTES, RUN, SET_UP, uploaded
from workflows.generate.tiers_parts import Leg, Parts, legs, lines, run_suite, shards, whichever_ran
from workflows.spec import Spec
from workflows.spec.tiers import Check, CpuSuite, TpuTier
from workflows.steps import PROVIDER
from workflows.world import World

RESULTS = "results"
WRITE_ISSUES = Grant(Scope.ISSUES, Access.WRITE, "one issue while the tests fail, and one while they cost too much")


def files(spec: Spec, world: World) -> Iterator[Generated]:
    """The five files of `tiers`; ConfigError where their TPUs cannot be had, or cost more than the budget."""
    tiers = spec.declared.tiers
    if tiers is None:
        return
    parts = Parts.of(spec, tiers, world)
    yield _every_pull_request(parts)
    yield _nightly(parts)
    yield tiers_asked.hearing(parts)
    yield tiers_asked.running(parts)
    yield tiers_results.gathering(parts)


def _every_pull_request(parts: Parts) -> Generated:
    first, branch = parts.tiers.every_pull_request, parts.spec.declared.branch
    paths = [*first.paths, f"{FOLDER}/{first.file}"] if first.paths else []
    suites = {
        name: (place, suite, modules)
        for place, suite in enumerate(first.suites)
        for name, modules in shards(suite.job, suite.modules, suite.shards)
    }
    jobs = [
        *(_check(parts, check) for check in first.checks),
        *(_suite(parts, suite, name, modules) for name, (_, suite, modules) in suites.items()),
    ]
    workflow = Workflow(
        name=first.name,
        triggers=Triggers.of(Push(branches=[branch], paths=paths), PullRequest(paths=paths)),
        jobs=jobs,
        concurrency=Concurrency(template(f"{first.file.partition('.')[0]}-", context("github.ref")), Purpose.TEST),
    )
    where = ("tiers", "every_pull_request")
    sources = {
        **{check.job: parts.spec.line(*where, "checks", place) for place, check in enumerate(first.checks)},
        **{name: parts.spec.line(*where, "suites", place) for name, (place, _, _) in suites.items()},
    }
    return generated(parts.spec, first.file, workflow, sources)


def _check(parts: Parts, check: Check) -> Job:
    first = parts.tiers.every_pull_request
    return Job(
        id=check.job,
        name=check.job.capitalize(),
        runs_on=Hosted(),
        timeout_minutes=first.timeout_minutes,
        permissions=Permissions.of(steps.READ_CONTENTS),
        purpose=Purpose.TEST,
        steps=[
            steps.checkout(parts.world),
            steps.uv(parts.world, first.python),
            Step(name=check.job.capitalize(), run="".join(f"{line}\n" for line in check.run)),
        ],
    )


def _suite(parts: Parts, suite: CpuSuite, name: str, modules: Sequence[str]) -> Job:
    """One shard of a suite."""
    first = parts.tiers.every_pull_request
    result = f"{RESULTS}/{name}.json"
    anew = context("steps.cache.outputs.cache-hit").differs("true")
    command = f'uv run --no-project python "$RUNNER_TEMP/run_suite.py" {result} \\\n  ' + " \\\n  ".join(modules)
    seconds = first.target_minutes * MINUTE
    runner = f'{run_suite()}run_suite >"$RUNNER_TEMP/run_suite.py"\n'
    inputs = parts.keeper.inputs(suite.job)
    digest = call("hashFiles", *inputs) if inputs else context("steps.tree.outputs.tree")
    cached = {"path": RESULTS, "key": template(f"{name}-", context("runner.os"), "-", digest)}
    return Job(
        id=name,
        name=f"Tests: {name}",
        runs_on=Hosted(),
        timeout_minutes=first.timeout_minutes,
        permissions=Permissions.of(steps.READ_CONTENTS),
        purpose=Purpose.TEST,
        env=dict(first.env),
        steps=[
            steps.checkout(parts.world),
            *(() if inputs else (steps.tree(),)),
            Step(
                id="cache",
                uses=parts.world.actions.uses("actions/cache/restore"),
                inputs=cached,
                why=_why_cached(inputs),
            ),
            replace(steps.uv(parts.world, first.python), condition=anew),
            Step(name="Install", condition=anew, run="".join(f"{line}\n" for line in first.install)),
            Step(  # noqa: S604 - the shell of a workflow's step; nothing is run here
                name="Write the test runner",
                condition=anew,
                shell="bash",
                run=runner,
                shared=steps.shared(parts.world, "run_suite", "workflows/scripts/run_suite.py"),
            ),
            Step(
                name="Test",
                condition=anew,
                env={"SUITE": name, "COMMIT": context("github.sha"), "RUN": RUN, "COVER": suite.cover},
                run=f"mkdir -p {RESULTS}\n{timed(seconds, command)}\n",
            ),
            Step(
                name="Say whether it may be used again",
                id="steady",
                condition=anew,
                run=f'if ! grep -q \'"outcome":"flaky"\' {result}; then\n  echo steady=true >>"$GITHUB_OUTPUT"\nfi\n',
            ),
            Step(
                uses=parts.world.actions.uses("actions/cache/save"),
                condition=context("steps.steady.outputs.steady").equals("true"),
                # What was looked for: tests may have left files beside their inputs.
                inputs={"path": RESULTS, "key": template(context("steps.cache.outputs.cache-primary-key"))},
            ),
            uploaded(parts.keeper, f"results-{name}", RESULTS, not_cancelled()),
        ],
    )


def _why_cached(inputs: Sequence[str]) -> str:
    of = "inputs that the stack declares" if inputs else "trees"
    return (
        f"The results of {of} that passed. A run that fails, or has a flaky test, keeps nothing: the next tests again."
    )


def _nightly(parts: Parts) -> Generated:
    nightly, suites = parts.tiers.nightly, parts.of_tier(TpuTier.NIGHTLY)
    main = context("github.ref").equals(f"refs/heads/{parts.spec.declared.branch}")
    why = "Every night, on the newest commit of the main branch. Google admits no other branch."
    told = {"TESTED_RUN": context("github.run_id"), "COMMIT": "", "PULL": ""}
    reusing = tiers_results.reusing(parts, TpuTier.NIGHTLY, told, condition=main & SET_UP)
    made = legs(parts, TpuTier.NIGHTLY, context("github.sha"), why, only=main & SET_UP)
    before = [each.id for each in (reusing,) if each]
    jobs = (
        *((reusing,) if reusing else ()),
        *(job for leg in made for job in leg.jobs),
        keeping.keeping(
            parts.keeper,
            tiers_results.on_tpu(parts, suites),
            told,
            why=str(parts.cost),
            needs=[*before, *(leg.working.id for leg in made)],
            condition=not_cancelled() & whichever_ran(made),
        ),
        _told(parts, made, before, main),
    )
    workflow = Workflow(
        name=nightly.name,
        triggers=Triggers.of(Schedule(nightly.schedule), WorkflowDispatch()),
        jobs=jobs,
        # One at a time, and never cut off: its VM would have to be deleted in the middle of it.
        concurrency=Concurrency(nightly.file.partition(".")[0], Purpose.CLEANUP),
    )
    line, kept = parts.spec.line("tiers", "nightly"), parts.spec.line("tiers", "results")
    sources = {**dict.fromkeys(before, kept), **dict(lines(parts, made)), KEEPING: kept, "report": line}
    return generated(parts.spec, nightly.file, workflow, sources)


def _told(parts: Parts, made: Sequence[Leg], before: Sequence[str], main: Expression) -> Job:
    nightly, money = parts.tiers.nightly, parts.tiers.money
    name, kept = nightly.file.partition(".")[0], context(f"needs.{KEEPING}.result").equals("success")
    return Job(
        id="report",
        name="Report",
        needs=[*before, *(leg.working.id for leg in made), KEEPING],
        condition=not_cancelled() & main,
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=Permissions.of(WRITE_ISSUES),
        purpose=Purpose.WATCH,
        steps=[
            issue(
                parts,
                "Open or close the issue of what is not set up",
                key=f"{name}-set-up",
                title=f"{nightly.name}: not set up",
                labels=nightly.labels,
                outcome=~SET_UP & literal("failure") | literal("success"),
                text=f"The nightly tests do not run: the repository has no variable {PROVIDER.partition('.')[2]}.",
            ),
            *(_without_result(parts, leg, kept) for leg in made),
            issue(
                parts,
                "Open, update or close the issue of their cost",
                key=f"{name}-cost",
                title=f"{nightly.name}: over the budget",
                labels=money.labels,
                outcome=context(f"needs.{KEEPING}.outputs.budget"),
                text=f"The TPU VMs of the tests cost more than ${money.usd_per_month} in 30 days.",
                condition=not_cancelled() & kept,
            ),
            *keeping.telling(parts.keeper, not_cancelled() & kept),
        ],
    )


def _without_result(parts: Parts, leg: Leg, kept: Expression) -> Step:
    """The issue of a job that is red for another reason than its tests, which the suite's own issue tells of."""
    nightly = parts.tiers.nightly
    told = leg.ended.equals("failure") & kept
    late = leg.result.equals("cancelled")
    lost = leg.result.equals("success") & ~kept
    return issue(
        parts,
        f"Open, update or close the issue of {leg.name} without a result",
        key=f"{leg.name}-no-result",
        title=f"{nightly.name}: no result of {leg.name}",
        labels=nightly.labels,
        outcome=told & literal("success") | lost & literal("failure") | leg.result,
        text=leg.ended.differs("") & literal("The tests ended, but their result was not kept or their VM not deleted.")
        | late & literal("The job reached its time limit before the tests had a result.")
        | literal("Nothing was tested: there was no VM, or Google took it away, or the tests could not begin."),
    )


def issue(
    parts: Parts,
    name: str,
    *,
    key: str,
    title: str,
    labels: Iterable[str],
    outcome: Expression,
    text: str | Expression,
    condition: Expression | None = None,
) -> Step:
    """One open issue for what fails, closed when it is green."""
    told = {**steps.TOKEN, "KEY": key, "TITLE": title, "LABELS": ",".join(labels), "OUTCOME": outcome, "TEXT": text}
    return steps.python(parts.world, "issue", name=name, env=told, condition=condition)
