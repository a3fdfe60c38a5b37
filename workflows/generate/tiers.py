"""Files of three tiers of tests: on CPU for every pull request, on a TPU every night and when a label asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    context,
    literal,
    not_cancelled,
    template,
    timed,
)
from workflows.composite import FOLDER, Generated, generated
from workflows.generate import tiers_asked
from workflows.generate.tiers_parts import (
    MINUTES,
    RUN,
    TOKEN,
    Parts,
    downloaded,
    judged,
    on_tpu,
    recording,
    result_of,
    run_suite,
    uploaded,
    whatever_became,
)
from workflows.spec import Spec
from workflows.spec.tiers import Check, CpuSuite
from workflows.steps import PROVIDER
from workflows.world import World

RESULTS = "results"
WRITE_ISSUES = Grant(Scope.ISSUES, Access.WRITE, "one issue while the tests fail, and one while they cost too much")
_SET_UP = context(PROVIDER).differs("")


def files(spec: Spec, world: World) -> Iterator[Generated]:
    """The four files of `tiers`; ConfigError where their TPUs cannot be had, or cost more than the budget."""
    tiers = spec.declared.tiers
    if tiers is None:
        return
    parts = Parts.of(spec, tiers, world)
    yield _every_pull_request(parts)
    yield _nightly(parts)
    yield tiers_asked.hearing(parts)
    yield tiers_asked.running(parts)


def _every_pull_request(parts: Parts) -> Generated:
    first, branch = parts.tiers.every_pull_request, parts.spec.declared.branch
    paths = [*first.paths, f"{FOLDER}/{first.file}"] if first.paths else []
    jobs = [*(_check(parts, check) for check in first.checks), *(_suite(parts, suite) for suite in first.suites)]
    suites = [suite.job for suite in first.suites]
    pushed = not_cancelled() & context("github.event_name").equals("push")
    jobs.append(recording(parts, suites, pushed, Purpose.TEST))
    workflow = Workflow(
        name=first.name,
        triggers=Triggers.of(Push(branches=[branch], paths=paths), PullRequest(paths=paths)),
        jobs=jobs,
        concurrency=Concurrency(template(f"{first.file.partition('.')[0]}-", context("github.ref")), Purpose.TEST),
    )
    where = ("tiers", "every_pull_request")
    lines = {
        **{check.job: parts.spec.line(*where, "checks", place) for place, check in enumerate(first.checks)},
        **{suite.job: parts.spec.line(*where, "suites", place) for place, suite in enumerate(first.suites)},
        "record": parts.spec.line("tiers", "history"),
    }
    return generated(parts.spec, first.file, workflow, lines)


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


def _suite(parts: Parts, suite: CpuSuite) -> Job:
    first = parts.tiers.every_pull_request
    result = f"{RESULTS}/{suite.job}.json"
    anew = context("steps.cache.outputs.cache-hit").differs("true")
    command = f'uv run --no-project python "$RUNNER_TEMP/run_suite.py" {result} \\\n  ' + " \\\n  ".join(suite.modules)
    seconds = first.target_minutes * MINUTE
    runner = f'{run_suite()}run_suite >"$RUNNER_TEMP/run_suite.py"\n'
    return Job(
        id=suite.job,
        name=f"Tests: {suite.job}",
        runs_on=Hosted(),
        timeout_minutes=first.timeout_minutes,
        permissions=Permissions.of(steps.READ_CONTENTS),
        purpose=Purpose.TEST,
        env=dict(first.env),
        steps=[
            steps.checkout(parts.world),
            steps.tree(),
            Step(
                id="cache",
                uses=parts.world.actions.uses("actions/cache"),
                inputs={
                    "path": RESULTS,
                    "key": template(f"{suite.job}-", context("runner.os"), "-", context("steps.tree.outputs.tree")),
                },
                why="The results of trees that passed. A run that fails keeps nothing, so the next one tests again.",
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
                env={"SUITE": suite.job, "COMMIT": context("github.sha"), "RUN": RUN, "COVER": suite.cover},
                run=f"mkdir -p {RESULTS}\n{timed(seconds, command)}\n",
            ),
            *judged(parts, suite.job, result, not_cancelled()),
            uploaded(parts, f"results-{suite.job}", RESULTS, not_cancelled()),
        ],
    )


def _nightly(parts: Parts) -> Generated:
    nightly, suite = parts.tiers.nightly, parts.tiers.on_tpu.suite
    main = context("github.ref").equals(f"refs/heads/{parts.spec.declared.branch}")
    why = "Every night, on the newest commit of the main branch. Google admits no other branch."
    tests = on_tpu(parts, suite, context("github.sha"), why, only=main & _SET_UP)
    made = (
        *tests,
        recording(parts, ["tests"], whatever_became("tests"), Purpose.PUBLISH),
        _told(parts, suite, main),
    )
    workflow = Workflow(
        name=nightly.name,
        triggers=Triggers.of(Schedule(nightly.schedule), WorkflowDispatch()),
        jobs=made,
        # One at a time, and never cut off: its VM would have to be deleted in the middle of it.
        concurrency=Concurrency(nightly.file.partition(".")[0], Purpose.CLEANUP),
    )
    line, shared = parts.spec.line("tiers", "nightly"), parts.spec.line("tiers", "on_tpu")
    history = parts.spec.line("tiers", "history")
    sources = {tests[0].id: shared, tests[1].id: shared, "record": history, "report": line}
    return generated(parts.spec, nightly.file, workflow, sources)


def _told(parts: Parts, suite: str, main: Expression) -> Job:
    nightly, money = parts.tiers.nightly, parts.tiers.money
    return Job(
        id="report",
        name="Report",
        needs=["tests", "record"],
        condition=not_cancelled() & main,
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=Permissions.of(steps.READ_CONTENTS, WRITE_ISSUES),
        purpose=Purpose.WATCH,
        steps=[
            issue(
                parts,
                "Open or close the issue of what is not set up",
                key=f"{suite}-set-up",
                title=f"{nightly.name}: not set up",
                labels=nightly.labels,
                outcome=~_SET_UP & literal("failure") | literal("success"),
                text=f"The nightly tests do not run: the repository has no variable {PROVIDER.partition('.')[2]}.",
            ),
            issue(
                parts,
                "Open, update or close the issue of the tests",
                key=suite,
                title=f"{nightly.name}: failing",
                labels=nightly.labels,
                outcome=context("needs.tests.result"),
                text=_what_failed(),
            ),
            issue(
                parts,
                "Open, update or close the issue of their cost",
                key=f"{suite}-cost",
                title=f"{nightly.name}: over the budget",
                labels=money.labels,
                outcome=context("needs.record.outputs.budget"),
                text=f"The TPU VMs of the tests cost more than ${money.usd_per_month} in 30 days.",
                condition=not_cancelled() & context("needs.record.result").equals("success"),
            ),
            *_compared(parts, suite),
        ],
    )


def _what_failed() -> Expression:
    """What the issue of the tests says: the job is red also where the tests are not, or where there were none."""
    ended = context("needs.tests.outputs.ended")
    late = context("needs.tests.result").equals("cancelled")
    return (
        ended.equals("failure") & literal("The tests fail on the main branch, or take longer than they may.")
        | ended.equals("success") & literal("The tests passed, but their result was not kept or their VM not deleted.")
        | late & literal("The job reached its time limit before the tests had a result.")
        | literal("Nothing was tested: there was no VM, or Google took it away, or the tests could not begin.")
    )


def _compared(parts: Parts, suite: str) -> Iterable[Step]:
    tested = not_cancelled() & context("needs.tests.result").differs("skipped")
    return (replace(downloaded(parts), condition=tested), *judged(parts, suite, result_of(suite), tested))


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
    told = {**TOKEN, "KEY": key, "TITLE": title, "LABELS": ",".join(labels), "OUTCOME": outcome, "TEXT": text}
    return steps.python(parts.world, "issue", name=name, env=told, condition=condition)
