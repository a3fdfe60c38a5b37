"""The third tier: a label on a pull request starts its tests on a TPU, and one comment says how they ended.

Two files. What hears of the label has the repository's rights and touches nothing of the pull request; it starts the
other one on the main branch, which alone may act at Google, with the commit that was the head when the label was set.
That commit reaches only the container on the VM, which has no credential.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workflows import steps
from workflows.builders import (
    Access,
    Concurrency,
    Expression,
    Grant,
    Hosted,
    Input,
    Job,
    Permissions,
    PullRequestTarget,
    Purpose,
    Scope,
    Step,
    Template,
    Triggers,
    Workflow,
    WorkflowDispatch,
    always,
    call,
    context,
    literal,
    not_cancelled,
    template,
)
from workflows.builders.expression import Value
from workflows.composite import Generated, generated
from workflows.generate import keeping, tiers_results
from workflows.generate.keeping import KEEPING, MINUTES, REPORT
from workflows.generate.tiers_parts import Leg, Parts, all_of, legs, lines, reused, together, whichever_ran
from workflows.spec.tiers import TpuTier

HARMLESS = "it reads a number and a commit's name, checks nothing out, and asks who set the label"
NUMBER = context("github.event.pull_request.number")
START = Grant(Scope.ACTIONS, Access.WRITE, "starts the tests on the main branch")
UNLABEL = Grant(Scope.PULL_REQUESTS, Access.WRITE, "removes the label")
NO_RESULT = literal("gave no result: no VM, a VM that Google took away, or a cancelled run. Set the label again")
STATUS = Grant(Scope.STATUSES, Access.WRITE, "the result on the tested commit, which can be required")
COMMENT = Grant(Scope.PULL_REQUESTS, Access.WRITE, "one comment with the result")


def hearing(parts: Parts) -> Generated:
    """The file that hears of the label, and of new commits, which take it off."""
    asked = parts.tiers.asked
    workflow = Workflow(
        name=asked.name,
        triggers=Triggers.of(PullRequestTarget(types=["labeled", "synchronize", "reopened"], why=HARMLESS)),
        jobs=(_ask(parts), _forget(parts)),
        # A group of its own for each run: of those that wait GitHub keeps one, and another label would cancel this one.
        concurrency=Concurrency(template(f"{asked.file.partition('.')[0]}-", context("github.run_id")), Purpose.APPLY),
    )
    line = parts.spec.line("tiers", "asked")
    return generated(parts.spec, asked.file, workflow, {"ask": line, "forget": line})


def _ask(parts: Parts) -> Job:
    asked = parts.tiers.asked
    labelled = context("github.event.action").equals("labeled")
    return Job(
        id="ask",
        name="Start the tests",
        condition=labelled & context("github.event.label.name").equals(asked.label),
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=Permissions.of(START, UNLABEL),
        purpose=Purpose.WATCH,
        steps=[
            steps.python(
                parts.world,
                "ask_tests",
                name="Start the tests, if whoever set the label may write",
                env={
                    **steps.TOKEN,
                    "NUMBER": NUMBER,
                    "SHA": context("github.event.pull_request.head.sha"),
                    "LABEL": asked.label,
                    "SENDER": context("github.event.sender.login"),
                    "FILE": asked.run_file,
                    "BRANCH": parts.spec.declared.branch,
                },
            )
        ],
    )


def _forget(parts: Parts) -> Job:
    label = parts.tiers.asked.label
    labels = call("contains", context("github.event.pull_request.labels.*.name"), label)
    return Job(
        id="forget",
        name="Remove the label",
        condition=context("github.event.action").differs("labeled") & labels,
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=Permissions.of(UNLABEL),
        purpose=Purpose.WATCH,
        steps=[
            steps.python(
                parts.world,
                "unlabel",
                name="Remove the label",
                env={**steps.TOKEN, "NUMBER": NUMBER, "LABEL": label},
            )
        ],
        why="The label asked for tests of an older commit.",
    )


def running(parts: Parts) -> Generated:
    """The file that tests one commit of a pull request, started by the other one alone or by hand."""
    asked, suites = parts.tiers.asked, parts.of_tier(TpuTier.ASKED)
    commit, number = context("inputs.sha"), context("inputs.pull_request")
    told = {"TESTED_RUN": context("github.run_id"), "COMMIT": commit, "PULL": number}
    reusing = tiers_results.reusing(parts, TpuTier.ASKED, told, needs=["head"])
    made = legs(parts, TpuTier.ASKED, commit, "Tests the commit on which the label was set.", needs=("head",))
    before = [each.id for each in (reusing,) if each]
    tests = [*before, *(leg.working.id for leg in made)]
    workflow = Workflow(
        name=asked.run_name,
        run_name=template("Pull request ", number),
        triggers=Triggers.of(
            WorkflowDispatch(
                inputs={
                    "pull_request": Input(description="Number of the pull request", kind="number", required=True),
                    "sha": Input(description="Its head commit, all 40 digits", required=True),
                }
            )
        ),
        jobs=(
            _head(parts, number, commit),
            *((reusing,) if reusing else ()),
            *(job for leg in made for job in leg.jobs),
            keeping.keeping(
                parts.keeper,
                tiers_results.on_tpu(parts, suites),
                told,
                why=str(parts.cost),
                needs=tests,
                condition=not_cancelled() & whichever_ran(made),
            ),
            _comment_result(parts, made, tests, number, commit),
        ),
        concurrency=Concurrency(template(f"{asked.run_file.partition('.')[0]}-", number), Purpose.CLEANUP),
    )
    line, kept = parts.spec.line("tiers", "asked"), parts.spec.line("tiers", "results")
    sources = {"head": line, "report": line, KEEPING: kept, **dict.fromkeys(before, kept), **dict(lines(parts, made))}
    return generated(parts.spec, asked.run_file, workflow, sources)


def _head(parts: Parts, number: Expression, commit: Expression) -> Job:
    lost = call("failure") | call("cancelled")
    return Job(
        id="head",
        name="The commit is still the head",
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=Permissions.of(COMMENT, STATUS),
        purpose=Purpose.WATCH,
        steps=[
            steps.python(
                parts.world,
                "same_head",
                name="Compare with the pull request",
                env={**steps.TOKEN, "NUMBER": number, "SHA": commit},
            ),
            _status("Set the commit's status", parts, commit, "pending", "the tests are running"),
            # A comment that is not taken, as in a locked conversation, keeps no test from running.
            replace(
                _comment("Comment that the tests run", parts, number, _said(commit, "run")), continue_on_error=True
            ),
            # First, since what is required must not hang on a comment.
            _status("Set it to an error", parts, commit, "error", "the tests did not start", lost),
            _comment(
                "Comment that the tests did not start",
                parts,
                number,
                _said(commit, "did not start, set the label again"),
                lost,
            ),
        ],
    )


def _comment_result(
    parts: Parts, made: Sequence[Leg], tests: Sequence[str], number: Expression, commit: Expression
) -> Job:
    ended = together(made)
    told = ended.differs("")
    text = told & literal("the tests have ended") | NO_RESULT
    outcome = told & call("format", "ended with {0}", ended) | NO_RESULT
    if all(leg.reusable for leg in made):
        spared = all_of([reused(leg.suite.tests.suite) for leg in made])
        text = spared & literal("an earlier pass has the same files") | text
        outcome = spared & literal("need not run: an earlier pass has the same files") | outcome
    report = template(*REPORT.parts, "/report.md")
    return Job(
        id="report",
        name="Report how the tests ended",
        needs=["head", *tests, KEEPING],
        condition=always() & context("needs.head.result").equals("success"),
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=Permissions.of(COMMENT, STATUS),
        purpose=Purpose.WATCH,
        steps=[
            # First, since what is required must not hang on a comment or on results that cannot be read.
            _status("Set the commit's status", parts, commit, ended, text),
            keeping.reported(parts.keeper, not_cancelled() & context(f"needs.{KEEPING}.result").equals("success")),
            _comment("Comment how the tests ended", parts, number, _said(commit, outcome), always(), report=report),
        ],
        why="Also after a cancelled run, or the comment would say for ever that it runs.",
    )


def _status(
    name: str, parts: Parts, commit: Expression, outcome: Value, text: Value, condition: Expression | None = None
) -> Step:
    """Of the commit that is tested: the run itself stands at the main branch, where no pull request sees it."""
    told: dict[str, Value] = {**steps.TOKEN, "SHA": commit, "CONTEXT": parts.tiers.asked.name}
    told |= {"OUTCOME": outcome, "TEXT": text}
    return steps.python(parts.world, "status", name=name, env=told, condition=condition, finishes=True)


def _comment(
    name: str, parts: Parts, number: Expression, text: Value, condition: Expression | None = None, report: Value = ""
) -> Step:
    told: dict[str, Value] = {**steps.TOKEN, "KEY": "tpu-tests", "NUMBER": number, "TEXT": text, "REPORT": report}
    return steps.python(parts.world, "comment", name=name, env=told, condition=condition, finishes=True)


def _said(commit: Expression, *what: str | Expression) -> Template:
    run = (context("github.server_url"), "/", context("github.repository"), "/actions/runs/", context("github.run_id"))
    return template("TPU tests of ", commit, " ", *what, ": [run](", *run, ")")
