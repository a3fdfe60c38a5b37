"""Examples of rules over what starts, and behind what."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tests.workflows.rule_examples.files import (
    CHECKS,
    ENDED,
    GUARD,
    WAITS,
    Data,
    Example,
    alone,
    following,
    run,
    uses,
    when,
    workflow,
)

MAIN = {"push": {"branches": ["main"]}}
VERSIONS = {"push": {"branches": ["v*"]}}
JAX = {"strategy": {"fail-fast": False, "matrix": {"jax": ["0.7", "0.8"]}}}
LABELED = "github.event.label.name == 'run-tpu-tests'"


def dispatched(declared: Data, condition: str) -> Data:
    return workflow(when(condition), on={"workflow_dispatch": {"inputs": {"force": declared}}})


def reporting(condition: str) -> Data:
    """A job behind another."""
    report = {"needs": "build", "if": condition, "steps": [run("echo reported")]}
    return workflow(jobs={"build": {"steps": [run("make")]}, "report": report})


def called(condition: str) -> Data:
    """A workflow that others call, on whatever event is theirs."""
    return workflow(when(condition), on={"workflow_call": {"inputs": {"all": {"type": "boolean"}}}})


def commented(*steps: Data, job: Data | None = None) -> Data:
    return workflow(*steps, on={"issue_comment": {"types": ["created"]}}, job=job, **WAITS)


def chain(length: int) -> tuple[Data, ...]:
    """A workflow and so many behind one another."""
    names = ["Checks", *(f"Level {level}" for level in range(1, length + 1))]
    return CHECKS, *(
        following(name=name, on={"workflow_run": {"workflows": [before], "types": ["completed"]}})
        for before, name in pairwise(names)
    )


def at(*crons: str) -> tuple[tuple[Data, ...], ...]:
    return alone(*(workflow(on={"schedule": [{"cron": cron}]}) for cron in crons))


CHOICE: Any = {"type": "choice", "options": ["a", "b"]}

STARTS: Mapping[str, Example] = {
    "condition-can-hold": Example(
        bad=(
            *alone(
                workflow(job={"if": "false"}),
                workflow(job={"if": "failure()"}),
                workflow(when("github.event_name == 'schedule'")),
                workflow(when("startsWith(github.ref, 'refs/tags/')"), on=VERSIONS),
                workflow(when("github.ref == 'refs/heads/release'"), on=MAIN),
                workflow(when("github.event.pull_request.merged"), on={"pull_request": {"types": ["opened"]}}),
                workflow(when("github.ref == 'refs/heads/release'"), on=VERSIONS),
                workflow(when("github.ref == 'refs/heads/main' && github.ref == 'refs/heads/v1'"), on={"push": {}}),
                workflow(when("github.ref == 'refs/heads/main'"), on={"pull_request": {}}),
                workflow(when(LABELED)),
                workflow(when("github.event.action == 'closed'")),
                workflow(when("github.head_ref == 'main'"), on={"push": {}}),
                workflow(when("contains(github.event.issue.labels.*.name, 'x')")),
                workflow(when('contains(fromJSON(\'["schedule", "release"]\'), github.event_name)')),
                workflow(when("github.event.issue.number > 3")),
                workflow(when("github.event.issue.number > 3 || github.event.label.name == 'x'")),
                workflow(when("matrix.jax == '0.9'"), job=JAX),
                workflow(when("github.repository == 'old/mono'")),
                workflow(when("inputs.force")),
                workflow(when("failure()")),
                dispatched(CHOICE, "inputs.force == 'c'"),
                reporting("needs.build.result == 'failure'"),
                reporting("success() && failure()"),
                reporting("needs.build.result == 'broken' && always()"),
            ),
            (CHECKS, following(condition=f"github.event.pull_request.draft && {ENDED}")),
            (CHECKS, following(condition=f"{ENDED} && github.event.workflow_run.event == 'schedule'")),
            (CHECKS, following(condition=f"{ENDED} && github.event.workflow_run.conclusion == 'failure'")),
            (CHECKS, following(condition="github.event.workflow_run.conclusion == 'succeeded'")),
        ),
        good=(
            *alone(
                workflow(job={"if": "github.event_name == 'push' || !github.event.pull_request.draft"}),
                workflow(run("make"), when("failure() || cancelled()")),
                workflow(when("startsWith(github.ref, 'refs/tags/')"), on={"push": {}}),
                workflow(when("startsWith(github.ref, 'refs/heads/v')"), on=VERSIONS),
                workflow(when("github.ref == 'refs/heads/v2'"), on=VERSIONS),
                workflow(when("github.ref != 'refs/heads/v1' && github.ref != 'refs/heads/v2'"), on=VERSIONS),
                workflow(when("github.ref == 'refs/heads/MAIN'"), on=MAIN),
                workflow(when(LABELED), on={"pull_request": {"types": ["labeled"]}}),
                workflow(when("contains(github.event.pull_request.labels.*.name, 'x')")),
                workflow(when("github.event.pull_request.head.repo.fork")),
                workflow(when("github.event.pull_request.changed_files > 3")),
                workflow(when("matrix.jax == '0.8'"), job=JAX),
                workflow(
                    when("matrix.jax == '0.9'"),
                    job={"strategy": {**JAX["strategy"], "matrix": "${{ fromJSON(vars.M) }}"}},
                ),
                workflow(when("vars.WHERE == 'here' && env.OTHER != ''")),
                workflow(when("fromJSON(vars.LIMITS).most > 3 && format('{0}', vars.A) == 'a'")),
                workflow(when("github.repository == 'lab/mono'")),
                workflow(when("github.event.release.draft"), on={"release": {}}),
                workflow(when("!cancelled() && hashFiles('uv.lock') != ''")),
                dispatched(CHOICE, "inputs.force == 'b'"),
                dispatched({"type": "boolean"}, "inputs.force"),
                dispatched({"type": "boolean"}, "github.event.inputs.force == 'false'"),
                dispatched({"type": "string"}, "inputs.force == 'anything'"),
                reporting("always() && needs.build.result == 'failure'"),
                reporting("!cancelled() && needs.build.result != 'skipped'"),
                reporting("failure()"),
                called("github.event_name == 'push' && inputs.all"),
                reporting("needs.build.result == 'success'"),
            ),
            (CHECKS, following(condition=f"{ENDED} && github.event.workflow_run.event == 'push'")),
            (CHECKS, following(condition=f"{ENDED} && github.event.workflow_run.head_branch == 'main'")),
            (CHECKS, following(condition="github.event.workflow_run.conclusion == 'failure'")),
        ),
    ),
    "trigger-starts-a-job": Example(
        bad=alone(
            workflow(job={"if": "github.event_name == 'pull_request'"}),
            workflow(job={"if": GUARD}),
            workflow(on={**MAIN, "schedule": [{"cron": "0 2 * * *"}]}, job={"if": "github.event_name != 'schedule'"}),
        ),
        good=alone(
            workflow(job={"if": f"github.event_name != 'pull_request' || {GUARD}"}),
            workflow(
                jobs={
                    "a": {"if": "github.event_name == 'push'", "steps": [run("echo a")]},
                    "b": {"if": "github.event_name == 'pull_request'", "steps": [run("echo b")]},
                }
            ),
        ),
    ),
    "branches-tested-too": Example(
        bad=alone(workflow(job={"if": f"github.event_name == 'push' || {GUARD.replace('==', '!=')}"})),
        good=alone(workflow(job={"if": f"github.event_name == 'push' || {GUARD}"})),
    ),
    "fork-of-the-head": Example(
        bad=alone(
            workflow(job={"if": "${{ !github.event.repository.fork }}"}),
            workflow(job={"if": "github.event.action != 'closed' && !github.event.repository.fork"}),
        ),
        good=alone(
            workflow(job={"if": "${{ !github.event.pull_request.head.repo.fork }}"}),
            workflow(on={"push": {}}, job={"if": "${{ !github.event.repository.fork }}"}),
            workflow(job={"if": "github.repository_owner == 'lab' && !github.event.repository.fork"}),
            workflow(job={"if": "!(github.event.pull_request.head.repo.fork || github.event.repository.fork)"}),
        ),
    ),
    "upstream-exists": Example(
        bad=(
            (following(),),
            (CHECKS, following(on={"workflow_run": {"workflows": ["checks"], "types": ["completed"]}})),
        ),
        good=((CHECKS, following()),),
    ),
    "upstream-near": Example(bad=(chain(4),), good=(chain(3),)),
    "name-stands-once": Example(bad=((CHECKS, workflow()),), good=((CHECKS, workflow(name="Others")),)),
    "conclusion-tested": Example(
        bad=(
            (CHECKS, following(condition="")),
            (CHECKS, following(condition="github.event.workflow_run.head_branch == 'main'")),
        ),
        good=(
            (CHECKS, following()),
            (CHECKS, following(condition="github.event.workflow_run.conclusion != 'cancelled'")),
            (CHECKS, following(run("echo $END", env={"END": f"${{{{ {ENDED} }}}}"}), condition="")),
            (CHECKS, following(on={"workflow_run": {"workflows": ["Checks"], "types": ["requested"]}}, condition="")),
        ),
    ),
    "commit-is-said": Example(
        bad=(
            (CHECKS, following(uses("actions/checkout"))),
            *alone(commented(uses("actions/checkout"), job={"if": "github.event.issue.pull_request"})),
        ),
        good=(
            (CHECKS, following(uses("actions/checkout", ref="main"))),
            *alone(commented(uses("actions/checkout"))),
        ),
    ),
    "schedule-comes": Example(
        bad=at("0 2 30 2 *", "* * * * *", "*/4 * * * *", "0 25 * * *", "@daily", "0 2 * * 1#1"),
        good=at("0 2 * * *", "*/5 * * * *", "0 2 29 2 *", "23 4 * * MON-FRI"),
    ),
}
