"""Which jobs an event starts: filters, conditions, needs, matrices, and golden tables of this repository's files."""

from __future__ import annotations

from typing import Any

import pytest

from infra.model.errors import ConfigError
from workflows.events import (
    GitHubEvent,
    pull_request,
    push,
    schedule,
    workflow_run,
)
from workflows.runs import Given, JobRun, run
from workflows.triggering import started


@pytest.mark.parametrize(
    ("on", "event", "why"),
    [
        (["push"], pull_request(), "no trigger pull_request"),
        ({"push": {"branches": ["main"]}}, push("x"), "branches has no x"),
        ({"push": {"tags": ["v*"]}}, push(), "tags alone start it"),
        ({"push": {"tags": ["v*"], "branches": ["x"]}}, push(tag="w"), "tags has no w"),
        ({"push": {"branches-ignore": ["x"]}}, push("x"), "branches-ignore has x"),
        ({"push": {"paths": ["lib/**"]}}, push(paths=("docs/x",)), "paths has none of what changed"),
        ({"push": {"paths": ["lib/**"]}}, push(tag="v1", paths=("docs/x",)), ""),
        ({"push": {"paths-ignore": ["docs/**"]}}, push(paths=("docs/x",)), "paths-ignore has all of what changed"),
        ({"pull_request": None}, pull_request(activity="labeled"), "types has no labeled"),
        ({"pull_request_target": None}, pull_request(activity="closed", target=True), "types has no closed"),
        ({"pull_request": {"types": "labeled"}}, pull_request(), "types has no synchronize"),
        ({"pull_request": {"branches": ["main"]}}, pull_request(base="stable"), "branches has no stable"),
        ({"schedule": [{"cron": "0 2 * * *"}]}, schedule("0 3 * * *"), "no schedule 0 3 * * *"),
        ({"workflow_run": {"workflows": ["Tests"]}}, workflow_run("success", "Old"), "workflows has no Old"),
        ({"workflow_run": {"workflows": ["T"], "branches": ["main"]}}, workflow_run("success", of="pull_request"),
         "branches has no change"),
        ({"workflow_run": {"workflows": ["T"], "types": ["requested"]}}, workflow_run("success"),
         "types has no completed"),
    ],
)  # fmt: skip
def test_filters_start_a_workflow_or_say_why_not(on: Any, event: GitHubEvent, why: str) -> None:
    found = started(on, event)
    assert (found.starts, found.why) == (not why, why)


def jobs(event: GitHubEvent, given: Given | None = None, **specs: dict[str, Any]) -> dict[str, JobRun]:
    """The jobs of a workflow that every event starts."""
    whole = {name: {"runs-on": "ubuntu-24.04", **spec} for name, spec in specs.items()}
    on = {event.name: [{"cron": "0 2 * * *"}] if event.name == "schedule" else {"types": [event.activity]}}
    found = run({"on": on, "jobs": whole}, event, given)
    assert found.starts
    return {job.id: job for job in found.jobs}


def test_legs_say_on_which_runner_each_of_them_waits() -> None:
    matrix = {"jax": ["0.8.0"], "include": [{"jax": "0.8.0", "label": "tpu-ci"}, {"jax": "0.6.2", "label": "tpu-v4"}]}
    found = jobs(
        push(),
        labels={"strategy": {"matrix": matrix}, "runs-on": ["self-hosted", "${{ matrix.label }}"]},
        group={"runs-on": {"group": "tpu", "labels": "tpu-ci"}},
    )
    assert [leg.labels for leg in found["labels"].legs] == [("self-hosted", "tpu-ci"), ("self-hosted", "tpu-v4")]
    assert [(leg.group, leg.labels) for leg in found["group"].legs] == [("tpu", ("tpu-ci",))]


def test_a_condition_that_github_refuses_is_refused_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"jobs\.test: matrix\.jax == 1\n  problem: no context matrix here"):
        jobs(push(), test={"if": "matrix.jax == 1"})


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"strategy": {"matrix": "${{ fromJSON(matrix.x) }}"}}, "no context matrix"),
        ({"runs-on": "${{ secrets.X }}"}, "no context secrets"),
        ({"needs": "build"}, r"jobs\.test\.needs: build"),
        ({"needs": "test"}, "no circle"),
    ],
)
def test_a_file_that_github_refuses_is_refused(spec: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        jobs(push(), test=spec)


def test_a_filter_that_means_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"on\.push\n  problem: \?x"):
        run({"on": {"push": {"branches": ["?x"]}}, "jobs": {}}, push())


def test_a_condition_of_keys_that_are_no_names_is_explained_all_the_same() -> None:
    found = jobs(push(), test={"if": "vars['a b'] == 'x' || github.event.ref == 1 || github.event == 'x'"})
    assert found["test"].why.endswith("(github.event is an object, github.event.ref is 'refs/heads/main')")
