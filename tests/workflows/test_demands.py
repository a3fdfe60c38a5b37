"""What any workflow file asks of the fleet: events, whose code, labels, legs, limits, images, caches, VMs."""

from __future__ import annotations

from functools import cache
from textwrap import dedent

import pytest

from infra.model.demand import Code, Demand, read_demands
from infra.model.errors import ConfigError
from tests.model.given import ROOT
from tests.synthetic_lab import the_lab
from workflows.demands import START_UP, Asking, asked, cache_folder, demands, written
from workflows.read import read
from workflows.world import World, load_world

LAB = "lab/monorepo"
OURS = "us-central1-docker.pkg.dev/hai-gcp-models/marin-ci/tpu-ci"
JOB = """\
on: {on}
jobs:
  tpu:
    runs-on: [self-hosted, tpu-ci]
    timeout-minutes: 15
    steps:
      - run: timeout --kill-after=5 --signal=TERM 890 pytest
"""


@cache
def world() -> World:
    return load_world(the_lab())


def of(text: str) -> tuple[Demand, ...]:
    data = read(dedent(text), "tests.yaml").data
    return tuple(asked(Asking(repository=LAB, file=".github/workflows/tests.yaml", data=data), world()))


def starts(on: str, job: str = JOB) -> list[tuple[str, str, int]]:
    (found,) = of(job.replace("{on}", on))
    return [(each.event, each.code.value, each.legs) for each in found.starts]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("[self-hosted, tpu-ci]", "ubuntu-24.04", []),
        ("", "", [("timeout_minutes", 15), ("inner_minutes", round(895 / 60, 2)), ("image", None)]),
        ("[self-hosted, tpu-ci]", "{group: tpus, labels: [tpu-ci]}", [("group", "tpus"), ("labels", ("tpu-ci",))]),
        ("    steps:", f"    container: {{image: {OURS}:latest}}\n    steps:", [("image", OURS)]),
        ("    steps:", f"    container: {OURS}:latest\n    steps:", [("image", OURS)]),
        ("    steps:", f"    env: {{IMAGE: {OURS}:latest}}\n    steps:", [("image", OURS)]),
        ("    steps:", "    container: ghcr.io/somebody/python:3\n    steps:", [("image", None)]),
        ("jobs:", "env: {UV_CACHE_DIR: /outer}\njobs:", [("cache_folder", "/outer")]),
        ("      - run:", "      - env: {UV_CACHE_DIR: /inner}\n        run:", [("cache_folder", "/inner")]),
        ("[self-hosted, tpu-ci]", "${{ vars.LABEL }}", [("labels", ("${{ vars.LABEL }}",))]),
    ],
)
def test_a_job_says_what_it_asks_for(before: str, after: str, said: list[tuple[str, object]]) -> None:
    found = of(JOB.replace("{on}", "push").replace(before, after, 1))
    assert len(found) == bool(said)
    assert [(key, getattr(found[0], key)) for key, _ in said] == said


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("push", [("push", "main", 1), ("push", "branch", 1)]),
        ("{push: {branches: [main]}}", [("push", "main", 1)]),
        ("{push: {tags: ['v*']}}", [("push", "main", 1)]),
        ("pull_request", [("pull_request", "branch", 1), ("pull_request", "fork", 1)]),
        (
            "{pull_request: {types: [labeled], branches: [release]}}",
            [("pull_request", "branch", 1), ("pull_request", "fork", 1)],
        ),
        ("{schedule: [{cron: 0 2 * * *}]}", [("schedule", "main", 1)]),
        ("workflow_dispatch", [("workflow_dispatch", "main", 1), ("workflow_dispatch", "branch", 1)]),
        ("{workflow_run: {workflows: [Tests], types: [completed]}}", [("workflow_run", "main", 1)]),
        ("merge_group", [("merge_group", "branch", 1)]),
        ("release", [("release", "main", 1)]),
    ],
)
def test_each_event_brings_the_code_of_somebody(on: str, expected: list[tuple[str, str, int]]) -> None:
    assert starts(on) == expected


def test_a_guard_against_forks_is_heeded() -> None:
    guard = "if: github.event.pull_request.head.repo.full_name == github.repository"
    assert starts("pull_request", JOB.replace("  tpu:\n", f"  tpu:\n    {guard}\n")) == [("pull_request", "branch", 1)]


def test_a_label_that_a_condition_asks_for_is_added() -> None:
    guard = "if: github.event.label.name == 'run-tpu-tests'"
    on = "{pull_request: {types: [labeled]}}"
    assert starts(on, JOB.replace("  tpu:\n", f"  tpu:\n    {guard}\n")) == [
        ("pull_request", "branch", 1),
        ("pull_request", "fork", 1),
    ]


def test_a_job_that_hangs_on_what_another_puts_out_may_start_and_its_guard_still_holds() -> None:
    text = """\
    on: [pull_request]
    jobs:
      plan:
        runs-on: ubuntu-24.04
        outputs: {go: "${{ steps.plan.outputs.go }}"}
        steps: [{id: plan, run: echo go=yes >> $GITHUB_OUTPUT}]
      tpu:
        needs: plan
        if: needs.plan.outputs.go == 'yes' && github.event.pull_request.head.repo.full_name == github.repository
        runs-on: [self-hosted, tpu-ci]
        strategy: {matrix: {jax: [a, b]}}
        steps: [{run: pytest}]
    """
    (found,) = of(text)
    assert [(each.event, each.code, each.legs) for each in found.starts] == [("pull_request", Code.BRANCH, 2)]


def test_legs_on_unlike_runners_are_a_demand_each() -> None:
    text = """\
    on: {push: {branches: [main]}}
    jobs:
      tpu:
        runs-on: [self-hosted, "${{ matrix.pool }}"]
        strategy: {max-parallel: 2, matrix: {jax: [a, b, c], pool: [tpu-ci, tpu-v4]}}
        steps: [{run: pytest}]
    """
    found = of(text)
    assert [each.labels for each in found] == [("self-hosted", "tpu-ci"), ("self-hosted", "tpu-v4")]
    assert {start.legs for each in found for start in each.starts} == {3}
    assert {each.max_parallel for each in found} == {2}


def test_a_vm_for_a_run_is_known_by_the_account_that_it_runs_as() -> None:
    train = next(each for each in world().pools() if each.pool.name == "train-v4")
    job = JOB.replace("{on}", "push").replace("[self-hosted, tpu-ci]", "ubuntu-24.04")
    (found,) = of(job.replace("    steps:", f"    env: {{ACCOUNT: {train.account}}}\n    steps:"))
    assert (found.vm, found.hosted, found.vm_code) == ("train-v4", True, Code.MAIN)


@pytest.mark.parametrize(
    "told",
    [
        "${{ inputs.sha }}",
        "COMMIT=${{ github.event.inputs.sha }}",
        "${{ github.event.pull_request.head.sha }}",
        "${{ format('{0}', inputs.sha) }}",
        "${{ github.event.client_payload.sha }}",
    ],
)
def test_a_vm_that_is_told_a_commit_runs_anybodys_code(told: str) -> None:
    """It is started on the main branch, which Google asks for, by whoever labels a stranger's pull request."""
    train = next(each for each in world().pools() if each.pool.name == "train-v4")
    job = JOB.replace("{on}", "workflow_dispatch").replace("[self-hosted, tpu-ci]", "ubuntu-24.04")
    (found, *_) = of(job.replace("    steps:", f'    env: {{ACCOUNT: {train.account}, TOLD: "{told}"}}\n    steps:'))
    assert found.vm_code is Code.FORK


def test_the_folder_that_start_up_fills_is_read_from_its_shell_file() -> None:
    assert cache_folder((ROOT / START_UP).read_text()) == world().images.paths.uv_cache
    with pytest.raises(ConfigError, match="says where uv's cache is"):
        cache_folder("uv_cach=/opt\n")


def test_the_list_is_read_as_it_was_written() -> None:
    data = read(JOB.replace("{on}", "push"), "tests.yaml").data
    found = demands([Asking(repository=LAB, file="a.yaml", data=data)], [], world(), (ROOT / START_UP).read_text())
    assert read_demands(written(found).encode()) == found
    assert written(found).startswith("# Generated by ./tidepool workflows --write")
