"""Which jobs an event starts: filters, conditions, needs, matrices, and golden tables of this repository's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.model.errors import ConfigError
from tests.synthetic_lab import the_lab
from tests.workflows.event_tables import table, told
from workflows.events import (
    GitHubEvent,
    dispatch,
    issue_comment,
    merge_group,
    pull_request,
    push,
    schedule,
    workflow_run,
)
from workflows.read import read_file
from workflows.runs import Given, JobRun, Result, run
from workflows.triggering import started

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((the_lab() / ".github" / "workflows").glob("*.y*ml"))
GOLDEN = Path(__file__).parent / "golden"
GIVEN = Given(
    variables={"TIDEPOOL_IDENTITY_PROVIDER": "projects/1/locations/global/workloadIdentityPools/github"},
    outputs={
        "plan": {"steps": "3", "environment": "apply"},
        "choose": {"images": '["levanter-base", "levanter-incremental", "levanter-cluster"]'},
        "tested": {"commit": "f00dfeed" * 5},
    },
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_this_repositorys_own_workflows_start_the_jobs_of_their_golden_tables(path: Path, update_goldens: bool) -> None:
    workflow = read_file(path, the_lab()).data
    found = told(tuple(run(workflow, event, GIVEN) for event in table(repository="lab/tidepool")))
    golden = GOLDEN / f"{path.stem}.txt"
    if update_goldens:
        golden.write_text(found)
    assert found == golden.read_text()


@pytest.mark.parametrize(
    ("on", "event", "why"),
    [
        ("push", push("x"), ""),
        (["push"], pull_request(), "no trigger pull_request"),
        ({"push": None}, push(tag="v1"), ""),
        ({"push": {"branches": ["main"]}}, push("x"), "branches has no x"),
        ({"push": {"branches": ["main"]}}, push(tag="v1"), "branches alone start it"),
        ({"push": {"tags": ["v*"]}}, push(tag="v1"), ""),
        ({"push": {"tags": ["v*"]}}, push(), "tags alone start it"),
        ({"push": {"tags": ["v*"], "branches": ["x"]}}, push(tag="w"), "tags has no w"),
        ({"push": {"branches-ignore": ["x"]}}, push("x"), "branches-ignore has x"),
        ({"push": {"paths": ["lib/**"]}}, push(paths=("docs/x",)), "paths has none of what changed"),
        ({"push": {"paths": ["lib/**"]}}, push(paths=("docs/x", "lib/y")), ""),
        ({"push": {"paths": ["lib/**"]}}, push(tag="v1", paths=("docs/x",)), ""),
        ({"push": {"paths-ignore": ["docs/**"]}}, push(paths=("docs/x",)), "paths-ignore has all of what changed"),
        ({"push": {"paths": ["lib/**"]}}, push(), ""),
        ({"pull_request": None}, pull_request(), ""),
        ({"pull_request": None}, pull_request(activity="labeled"), "types has no labeled"),
        ({"pull_request": {"types": ["labeled"]}}, pull_request(activity="labeled"), ""),
        ({"pull_request_target": None}, pull_request(target=True), ""),
        ({"pull_request_target": None}, pull_request(activity="closed", target=True), "types has no closed"),
        ({"pull_request": {"types": "labeled"}}, pull_request(), "types has no synchronize"),
        ({"pull_request": {"branches": ["main"]}}, pull_request(base="stable"), "branches has no stable"),
        ({"schedule": [{"cron": "0 2 * * *"}]}, schedule(), ""),
        ({"schedule": [{"cron": "0 2 * * *"}]}, schedule("0 3 * * *"), "no schedule 0 3 * * *"),
        ({"workflow_run": {"workflows": ["Tests"]}}, workflow_run("success", "Tests"), ""),
        ({"workflow_run": {"workflows": ["Tests"]}}, workflow_run("success", "Old"), "workflows has no Old"),
        ({"workflow_run": {"workflows": ["T"], "branches": ["main"]}}, workflow_run("success", of="pull_request"),
         "branches has no change"),
        ({"workflow_run": {"workflows": ["T"], "types": ["requested"]}}, workflow_run("success"),
         "types has no completed"),
        ({"issue_comment": {"types": ["created"]}}, issue_comment(), ""),
        ({"merge_group": None}, merge_group(), ""),
        ({"workflow_dispatch": None}, dispatch(), ""),
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


FORK_GUARD = "github.event.pull_request.head.repo.full_name == github.repository"


@pytest.mark.parametrize(
    ("condition", "event", "starts"),
    [
        (FORK_GUARD, pull_request(), True),
        (FORK_GUARD, pull_request(fork=True), False),
        (FORK_GUARD, push(), False),
        (f"github.event_name != 'pull_request' || {FORK_GUARD}", push(), True),
        ("${{ github.event.repository.fork == false }}", pull_request(fork=True), True),
        (
            "contains(github.event.pull_request.labels.*.name, 'run-tpu-tests')",
            pull_request(labels=["Run-TPU-Tests"]),
            True,
        ),
        ("github.event.label.name == 'run-tpu-tests'", pull_request(activity="labeled", label="other"), False),
        ("github.event.workflow_run.conclusion == 'success'", workflow_run("failure"), False),
        ("github.event.pull_request.merged == true", workflow_run("success"), False),
        ("github.event.issue.pull_request && startsWith(github.event.comment.body, '/test')", issue_comment(), True),
        ("github.event.issue.pull_request", issue_comment(on_pull_request=False), False),
        ("github.event.schedule == '0 2 * * *'", schedule(), True),
        ("github.ref == 'refs/heads/main'", push("x"), False),
        ("startsWith(github.ref, 'refs/tags/')", push(tag="v1"), True),
        ("${{ false }} ", push(), False),
        # Text beside braces makes the whole a text, which always holds.
        ("${{ false }} && true", push(), True),
        ("failure()", push(), False),
        ("always()", push(), True),
        (None, push(), True),
        ("", push(), True),
        (False, push(), False),
    ],
)
def test_a_condition_holds_for_an_event_or_does_not(condition: Any, event: GitHubEvent, starts: bool) -> None:
    assert jobs(event, test={"if": condition})["test"].starts is starts


CHAIN: dict[str, dict[str, Any]] = {
    "make": {},
    "train": {"needs": "make"},
    "report": {"needs": ["train"], "if": "failure()"},
    "delete": {"needs": ["make", "train"], "if": "always()"},
    "after": {"needs": "delete"},
}


@pytest.mark.parametrize(
    ("given", "started_jobs"),
    [
        (Given(), ["make", "train", "delete", "after"]),
        (Given(results={"train": "failure"}), ["make", "train", "report", "delete"]),
        (Given(results={"make": "failure"}), ["make", "report", "delete"]),
        (Given(cancelled=True), ["make", "delete"]),
    ],
)
def test_needs_carry_results_down_the_whole_chain(given: Given, started_jobs: list[str]) -> None:
    found = jobs(push(), given, **CHAIN)
    assert [name for name, job in found.items() if job.starts] == started_jobs


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Jobs without conditions, each of which needs some of those before it."""
    names = [f"job-{position}" for position in range(draw(st.integers(1, 6)))]
    return {
        name: {"needs": draw(st.lists(st.sampled_from(names[:position]), unique=True)) if position else []}
        for position, name in enumerate(names)
    }


@given(graphs(), st.data())
def test_without_conditions_a_job_starts_exactly_when_all_that_it_needs_succeeded(
    graph: dict[str, dict[str, Any]], data: st.DataObject
) -> None:
    ended = st.sampled_from(get_args(Result)[:3])
    ends = data.draw(st.dictionaries(st.sampled_from(sorted(graph)), ended))
    found = jobs(push(), Given(results=ends), **graph)
    for name, spec in graph.items():
        assert found[name].starts == all(found[each].result == "success" for each in spec["needs"])
        assert found[name].result == (ends.get(name, "success") if found[name].starts else "skipped")


@given(graphs(), st.data())
def test_the_order_in_which_jobs_are_written_says_nothing(
    graph: dict[str, dict[str, Any]], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(sorted(graph)))
    results = Given(results={shuffled[0]: "failure"})
    assert jobs(push(), results, **{name: graph[name] for name in shuffled}) == jobs(push(), results, **graph)


def test_a_job_that_is_skipped_takes_with_it_what_needs_it_even_behind_one_that_ran() -> None:
    found = jobs(
        push(), skipped={"if": "false"}, between={"needs": "skipped", "if": "always()"}, last={"needs": "between"}
    )
    assert (found["between"].starts, found["last"].starts) == (True, False)
    assert found["last"].why == "needs: skipped skipped"


def test_a_job_may_fail_without_harm_and_says_so_to_those_that_need_it() -> None:
    found = jobs(push(), Given(results={"a": "failure"}), a={"continue-on-error": True}, b={"needs": "a"})
    assert found["b"].starts


def test_outputs_of_needs_make_conditions_and_matrices() -> None:
    given = Given(outputs={"plan": {"legs": '{"jax": ["0.6.2", "0.8.0"]}', "go": "yes"}})
    strategy = {"matrix": "${{ fromJSON(needs.plan.outputs.legs) }}"}
    found = jobs(
        push(), given, plan={}, test={"needs": "plan", "if": "needs.plan.outputs.go == 'yes'", "strategy": strategy}
    )
    assert [leg.matrix for leg in found["test"].legs] == [{"jax": "0.6.2"}, {"jax": "0.8.0"}]


def test_legs_say_on_which_runner_each_of_them_waits() -> None:
    matrix = {"jax": ["0.8.0"], "include": [{"jax": "0.8.0", "label": "tpu-ci"}, {"jax": "0.6.2", "label": "tpu-v4"}]}
    found = jobs(
        push(),
        labels={"strategy": {"matrix": matrix}, "runs-on": ["self-hosted", "${{ matrix.label }}"]},
        group={"runs-on": {"group": "tpu", "labels": "tpu-ci"}},
    )
    assert [leg.labels for leg in found["labels"].legs] == [("self-hosted", "tpu-ci"), ("self-hosted", "tpu-v4")]
    assert [(leg.group, leg.labels) for leg in found["group"].legs] == [("tpu", ("tpu-ci",))]


def test_inputs_that_nobody_gives_have_their_defaults() -> None:
    on = {"workflow_dispatch": {"inputs": {"pool": {"default": "ci"}, "count": {}}}}
    workflow = {"on": on, "jobs": {"a": {"runs-on": "x", "if": "inputs.pool == 'ci' && inputs.count == ''"}}}
    assert run(workflow, dispatch()).jobs[0].starts
    assert not run(workflow, dispatch({"pool": "nightly"})).jobs[0].starts


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


def test_a_matrix_that_cannot_be_made_fails_its_job_and_no_other() -> None:
    computed = {"needs": "plan", "strategy": {"matrix": "${{ fromJSON(needs.plan.outputs.legs) }}"}}
    found = jobs(push(), plan={}, test=computed, report={"needs": "test", "if": "failure()"})
    assert (found["test"].starts, found["test"].result, found["report"].starts) == (False, "failure", True)
    assert "not JSON" in found["test"].why


def test_what_a_run_cancelled_in_time_skips_says_so() -> None:
    found = jobs(push(), Given(cancelled=True, results={"a": "success"}), a={}, b={"needs": "a"})
    assert found["b"].why == "the run was cancelled"


def test_a_condition_of_keys_that_are_no_names_is_explained_all_the_same() -> None:
    found = jobs(push(), test={"if": "vars['a b'] == 'x' || github.event.ref == 1 || github.event == 'x'"})
    assert found["test"].why.endswith("(github.event is an object, github.event.ref is 'refs/heads/main')")


def test_why_a_job_is_skipped_names_what_did_not_hold_and_what_it_read() -> None:
    found = jobs(pull_request(fork=True), test={"if": f"github.event_name == 'pull_request' && {FORK_GUARD}"})
    assert found["test"].why.startswith(f"if: {FORK_GUARD} (github.event.pull_request.head.repo.full_name is 'someone/")
