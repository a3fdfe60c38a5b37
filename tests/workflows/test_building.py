"""What must not be written cannot be built, and what is built says what it must."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.model.errors import ConfigError
from workflows.builders import (
    Access,
    Concurrency,
    Expression,
    Grant,
    Hosted,
    Input,
    IssueComment,
    Job,
    Matrix,
    Ours,
    Permissions,
    Pinned,
    PullRequest,
    Purpose,
    Push,
    Schedule,
    Scope,
    Step,
    Triggers,
    Workflow,
    WorkflowDispatch,
    WorkflowRun,
    always,
    call,
    context,
    literal,
    not_cancelled,
    parsed,
    template,
    timed,
)
from workflows.builders.step import inner_limits
from workflows.events import pull_request, push, workflow_run
from workflows.expressions import Scope as Contexts
from workflows.expressions import evaluate
from workflows.runs import run
from workflows.steps import READ_CONTENTS

CHECKOUT = Pinned("actions/checkout", "08c6903cd8c0fde910a37f88322edcfb5dd907a8", "v5.0.0")
GITHUB = {"event": {"number": 3}, "ref": "refs/heads/main"}


def job(**values: Any) -> Job:
    """A job that stands, with what a test changes of it."""
    whole: dict[str, Any] = {
        "id": "test",
        "runs_on": Hosted(),
        "timeout_minutes": 15,
        "permissions": Permissions.of(READ_CONTENTS),
        "purpose": Purpose.TEST,
        "steps": [Step(run="pytest\n")],
        **values,
    }
    return Job(**whole)


def workflow(*jobs: Job, **values: Any) -> Workflow:
    whole: dict[str, Any] = {
        "name": "Tests",
        "triggers": Triggers.of(Push(branches=["main"]), PullRequest()),
        "concurrency": Concurrency(template("tests-", context("github.ref")), Purpose.TEST),
        "jobs": jobs or [job()],
        **values,
    }
    return Workflow(**whole)


def triggered(triggers: Sequence[Any]) -> Workflow:
    return workflow(triggers=Triggers.of(*triggers))


def test_a_job_without_limit_permissions_purpose_or_place_is_no_job() -> None:
    for missing in ("timeout_minutes", "permissions", "purpose", "runs_on", "steps"):
        whole = {name: getattr(job(), name) for name in Job.__dataclass_fields__ if name != missing}
        with pytest.raises(TypeError, match=missing):
            Job(**whole)


def secret(name: str = "PYPI") -> Expression:
    return context(f"secrets.{name}")


GOLDEN = Path(__file__).parent / "golden" / "refused-builds.txt"
STEPS: dict[str, Step] = {
    "a step that does nothing": Step(name="x"),
    "a step that does both": Step(run="x", uses=CHECKOUT),
    "inputs of a script": Step(run="x", inputs={"a": 1}),
    "an expression in a script": Step(run="echo ${{ github.head_ref }}"),
    "a secret in a script": Step(run=f"login {secret()}"),
    "an expression in a script of an action": Step(uses=CHECKOUT, inputs={"script": context("github.head_ref")}),
    "an expression as text": Step(run="x", env={"A": "${{ github.ref }}"}),
    "a stranger's ref": Step(uses=CHECKOUT, inputs={"ref": context("github.head_ref")}),
    "an inner limit that is none": Step(run=timed(900, "docker run x")),
    "an inner limit longer than its step": Step(run=timed(290, "x") + "\n", timeout_minutes=4),
    "a step longer than its job": Step(run="x", timeout_minutes=15),
    "a step of a bad id": Step(run="x", id="a b"),
    "a secret in a step's condition": Step(run="x", condition=secret().differs("")),
}
JOBS: dict[str, dict[str, Any]] = {
    "several mistakes at once": {"timeout_minutes": 0, "steps": [], "runs_on": Hosted("ubuntu-latest")},
    "no time": {"timeout_minutes": 0},
    "more time than GitHub gives": {"timeout_minutes": 361},
    "no steps": {"steps": []},
    "a bad id": {"id": "tpu tests"},
    "a label that moves": {"runs_on": Hosted("ubuntu-latest")},
    "a runner without labels": {"runs_on": Ours([])},
    "a runner that a stranger chooses": {"runs_on": Ours([context("github.event.pull_request.head.ref")])},
    "a leg that finds no runner": {
        "matrix": Matrix(axes={"jax": ["1", "2"]}, include=[{"jax": "1", "label": "tpu-ci"}]),
        "runs_on": Ours(["self-hosted", context("matrix.label")]),
    },
    "a secret for every step": {"env": {"TOKEN": secret()}},
    "a secret that is put out": {"outputs": {"x": secret()}},
    "a secret in a condition": {"condition": secret().differs("")},
    "257 legs": {"matrix": Matrix(axes={"n": range(257)})},
    "an exclude that leaves nothing out": {"matrix": Matrix(axes={"n": [1]}, exclude=[{"m": 1}])},
    "a computed matrix and axes": {
        "matrix": Matrix(axes={"n": [1]}, computed=call("fromJSON", context("needs.a.outputs.x")))
    },
    "an axis that has a value twice": {"matrix": Matrix(axes={"jax": ["1", "1"]})},
    "no leg at a time": {"matrix": Matrix(axes={"n": [1]}, max_parallel=0)},
    "a right to write without a reason": {"permissions": Permissions.of(Grant(Scope.ISSUES, Access.WRITE))},
    "a scope twice": {"permissions": Permissions.of(*[Grant(Scope.CONTENTS, Access.READ)] * 2)},
    "a clean-up that is cut off": {"purpose": Purpose.CLEANUP, "concurrency": Concurrency("x", Purpose.CHECK)},
    "a clean-up that waits": {"purpose": Purpose.CLEANUP, "concurrency": Concurrency("x", Purpose.CLEANUP)},
    "a clean-up after success alone": {"purpose": Purpose.CLEANUP, "needs": ["make"]},
    "an axis called include": {"matrix": Matrix(axes={"include": ["a"]})},
    "a stranger's environment": {"environment": context("github.head_ref")},
    "a token that reads itself": {"permissions": Permissions.of(Grant(Scope.ID_TOKEN, Access.READ))},
    "a step that has not run": {
        "steps": [Step(run="x", env={"A": context("steps.b.outputs.c")}), Step(id="b", run="y")]
    },
    "a value that no leg has": {"matrix": Matrix(axes={"jax": ["1"]}), "runs_on": Ours([context("matrix.label")])},
    "a leg in a condition": {"matrix": Matrix(axes={"jax": ["1"]}), "condition": context("matrix.jax").equals("1")},
}
TRIGGERS: dict[str, list[Any]] = {
    "no event": [],
    "an event twice": [Push(), Push()],
    "a time that is none": [Schedule(["0 25 * * *"])],
    "a time that GitHub does not know": [Schedule(["0 2 L * *"])],
    "a filter that lets nothing through": [Push(branches=["!x"])],
    "a run of nothing": [WorkflowRun(workflows=[], why="x")],
    "a run of a stranger's without a reason": [WorkflowRun(workflows=["A"], why=" ")],
    "a comment of anybody's without a reason": [IssueComment(why="")],
    "a comment of no kind": [IssueComment(types=[], why="x")],
    "a default that is no option": [
        WorkflowDispatch(inputs={"a": Input(description="x", kind="choice", options=["a"], default="b")})
    ],
    "a choice of nothing": [WorkflowDispatch(inputs={"a": Input(description="x", kind="choice")})],
}
WORKFLOWS: dict[str, Callable[[], Any]] = {
    "no concurrency": lambda: workflow(concurrency=None),
    "no jobs": lambda: workflow(jobs=[]),
    "a secret for every job": lambda: workflow(env={"A": secret()}),
    "a workflow that cuts off an apply": lambda: workflow(
        job(purpose=Purpose.APPLY), concurrency=Concurrency("x", Purpose.CHECK)
    ),
    "needs that name no job": lambda: workflow(job(needs=["build"])),
    "needs in a circle": lambda: workflow(job(id="a", needs=["b"]), job(id="b", needs=["a"])),
    "two jobs of one id": lambda: workflow(job(), job()),
    "a job that is not needed": lambda: workflow(job(condition=context("needs.plan.result").equals("success"))),
    "an output that nobody puts out": lambda: workflow(
        job(id="a"), job(needs=["a"], condition=context("needs.a.outputs.x").equals("1"))
    ),
    "a field that no job has": lambda: workflow(
        job(id="a"), job(needs=["a"], condition=context("needs.a.conclusion").equals("1"))
    ),
    "an input that nobody can give": lambda: workflow(job(steps=[Step(run="x", env={"A": context("inputs.pool")})])),
}


REFUSED: dict[str, Callable[[], Any]] = {
    **{what: partial(job, steps=[step]) for what, step in STEPS.items()},
    **{what: partial(job, **values) for what, values in JOBS.items()},
    **{what: partial(triggered, triggers) for what, triggers in TRIGGERS.items()},
    **WORKFLOWS,
}


def test_what_must_not_be_written_is_refused_in_the_words_of_the_golden(update_goldens: bool) -> None:
    said = ""
    for what, make in REFUSED.items():
        with pytest.raises(ConfigError) as error:
            make()
        said += f"## {what}\n{error.value}\n\n"
    if update_goldens:
        GOLDEN.write_text(said)
    assert said == GOLDEN.read_text()


def test_what_is_there_can_be_read() -> None:
    plan = job(id="plan", steps=[Step(id="a", run="x")], outputs={"Legs": context("steps.A.outputs.legs")})
    computed = Matrix(computed=call("fromJSON", context("needs.plan.outputs.legs")))
    later = [Step(id="b", run="x"), Step(run="y", env={"A": context("steps.b.outcome"), "B": context("matrix.any")})]
    test = job(needs=["plan"], matrix=computed, steps=later, condition=context("needs.*.result").one_of(["success"]))
    assert workflow(plan, test).plain()["jobs"]["test"]["strategy"]["matrix"] == str(computed.computed)


@pytest.mark.parametrize(
    ("script", "seconds"),
    [
        (timed(890, "docker run x"), [895]),
        ("timeout -k 5 -s TERM 15m a", [905]),
        ("timeout \\\n  --foreground 10 y\ntimeout 1h z", [10, 3600]),
        ("timeout --kill-after 1m --signal TERM 2h x", [7260]),
        ("echo no-timeout 5; curl --connect-timeout 5", []),
    ],
)
def test_the_inner_limits_of_a_script_are_found(script: str, seconds: list[float]) -> None:
    assert list(inner_limits(script)) == seconds


@pytest.mark.parametrize(
    ("expression", "source"),
    [
        (context("github.ref").equals("it's"), "github.ref == 'it''s'"),
        ((literal(True) | literal(False)) & literal(True), "(true || false) && true"),
        (literal(True) | literal(False) & literal(True), "true || false && true"),
        (~(context("github.ref").equals("x")), "!(github.ref == 'x')"),
        (~call("cancelled") & always(), "!cancelled() && always()"),
        (context("github.ref").equals("a").equals(True), "(github.ref == 'a') == true"),
        (
            context("github.event_name").one_of(["push", "a"]),
            'contains(fromJSON(\'["a", "push"]\'), github.event_name)',
        ),
    ],
)
def test_expressions_are_composed_with_their_quotes_and_parentheses(expression: Expression, source: str) -> None:
    assert expression.source == source


@pytest.mark.parametrize("path", ["githb.ref", "github..ref", "github.ref == 'x'", "", "steps['a']"])
def test_a_context_is_a_path_and_no_code(path: str) -> None:
    with pytest.raises(ConfigError, match="names joined by dots"):
        context(path)


@pytest.mark.parametrize("source", ["github.ref =", "nothing.x", "${{ a }} && b", "contains(1)"])
def test_what_github_would_refuse_is_refused_where_it_is_taken_in(source: str) -> None:
    with pytest.raises(ConfigError, match="an expression that GitHub reads"):
        parsed(source)


@given(st.text(max_size=20))
def test_any_text_can_be_a_constant(text: str) -> None:
    assert evaluate(literal(text).source, Contexts()) == text


def test_text_that_looks_like_an_expression_stays_text_in_a_template() -> None:
    assert str(template("a ${{ b", context("github.ref"))) == "a ${{ '${{' }} b${{ github.ref }}"


def test_a_job_on_our_runner_never_starts_for_a_fork() -> None:
    triggers = Triggers.of(Push(), PullRequest(), WorkflowRun(workflows=["Tests"], why="x"))
    guarded = [
        job(id="ours", runs_on=Ours(["self-hosted", "tpu-ci"])),
        job(id="also", guarded=True, condition=context("github.ref").differs("x") | not_cancelled()),
        job(id="open"),
    ]
    data = workflow(*guarded, triggers=triggers).plain()

    def started(event: Any) -> list[str]:
        return [each.id for each in run(data, event).jobs if each.starts]

    assert started(push()) == started(pull_request()) == ["ours", "also", "open"]
    assert started(pull_request(fork=True)) == ["open"]
    assert started(workflow_run("success", of="pull_request", fork=True)) == ["open"]
    assert started(workflow_run("success", of="pull_request")) == ["ours", "also", "open"]


@pytest.mark.parametrize(
    ("purpose", "cancel"),
    [
        (Purpose.CHECK, True),
        (Purpose.WATCH, False),
        (Purpose.APPLY, False),
        (Purpose.PUBLISH, False),
        (Purpose.CLEANUP, False),
    ],
)
def test_the_purpose_says_whether_a_newer_run_cancels(purpose: Purpose, cancel: bool) -> None:
    assert Concurrency("group", purpose).plain() == {"group": "group", "cancel-in-progress": cancel}
