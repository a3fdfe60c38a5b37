"""The second tier: the tests of the main branch on a TPU, every night and by hand, with one issue while they fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from workflows import steps
from workflows.builders import (
    Access,
    Concurrency,
    Expression,
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
    literal,
    not_cancelled,
)
from workflows.generate.result import Generated, generated
from workflows.generate.tiers_parts import (
    MINUTES,
    TOKEN,
    Parts,
    downloaded,
    judged,
    on_tpu,
    recording,
    result_of,
    whatever_became,
)
from workflows.steps import PROVIDER

WRITE_ISSUES = Grant(Scope.ISSUES, Access.WRITE, "one issue while the tests fail, and one while they cost too much")
_SET_UP = context(PROVIDER).differs("")
READ_CONTENTS = Grant(Scope.CONTENTS, Access.READ)


def file(parts: Parts) -> Generated:
    nightly, suite = parts.tiers.nightly, parts.tiers.on_tpu.suite
    main = context("github.ref").equals(f"refs/heads/{parts.spec.declared.branch}")
    why = (
        "Every night, on the newest commit of the main branch. Google lets no other branch in, whose run says nothing."
    )
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
        name="Tell people",
        needs=["tests", "record"],
        condition=not_cancelled() & main,
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=Permissions.of(READ_CONTENTS, WRITE_ISSUES),
        purpose=Purpose.WATCH,
        steps=[
            issue(
                parts,
                "Open or close the issue of what is not set up",
                key=f"{suite}-set-up",
                title=f"{nightly.name}: not set up",
                labels=nightly.labels,
                outcome=~_SET_UP & literal("failure") | literal("success"),
                text=f"No night is tested: the repository has no variable {PROVIDER.partition('.')[2]}.",
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
        | late & literal("The time limit of the job ended it, before anything was known of the tests.")
        | literal("Nothing was tested: there was no VM, or it was taken back, or it could not begin.")
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
