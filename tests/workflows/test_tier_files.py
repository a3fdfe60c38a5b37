"""The serving engine's three tiers: which jobs each event starts, what a stranger's commit can reach, what it costs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.model.errors import ConfigError
from infra.model.result_request import read_result_request
from infra.model.runs import RunRequest, read_request
from infra.model.stack import parse_stack
from tests.synthetic_lab import steady, the_lab
from tests.workflows.event_tables import table, told
from workflows.events import dispatch, pull_request, schedule, workflow_run
from workflows.expressions import Scope, expand
from workflows.generate import Generated, generate
from workflows.placement import cost, times_a_month
from workflows.runs import Given, Result, run
from workflows.spec import Spec, read_spec
from workflows.world import World, load_world

ROOT = Path(__file__).parents[2]
SOURCE = "workflows/spec/serving.yaml"
REPOSITORY = "sgl-project/sglang-jax"
GOLDEN = Path(__file__).parent / "golden" / "serving"
NAMES = ("test-results.yaml", "tests.yaml", "tpu-label.yaml", "tpu-nightly.yaml", "tpu-pull-request.yaml")
KEEPING = ("test-results.yaml", "tpu-nightly.yaml", "tpu-pull-request.yaml")
ON_VM = ("tpu-nightly.yaml", "tpu-pull-request.yaml")


@cache
def world() -> World:
    return load_world(the_lab())


def spec(*edits: tuple[str, str]) -> Spec:
    text = (the_lab() / SOURCE).read_text(encoding="utf-8")
    for before, after in edits:
        assert before in text, before
        text = text.replace(before, after, 1)
    return read_spec(text, "serving", SOURCE, world())


@cache
def files(*edits: tuple[str, str]) -> dict[str, Generated]:
    return {Path(each.path).name: each for each in generate(spec(*edits), world())}


def data(name: str, *edits: tuple[str, str]) -> dict[str, Any]:
    return files(*edits)[name].workflow.plain()


def target(activity: str, **more: Any) -> Any:
    """A pull request of a fork, as the base branch's workflow hears of it."""
    title = f"a fork's pull request, {activity}, {more.get('label') or ', '.join(more.get('labels', [])) or 'no label'}"
    return pull_request(title=title, fork=True, target=True, activity=activity, repository=REPOSITORY, **more)


EVENTS = (
    *table(repository=REPOSITORY),
    target("labeled", label="run-tpu-tests"),
    target("labeled", label="bug", labels=["run-tpu-tests"]),
    target("synchronize", labels=["run-tpu-tests"]),
    target("synchronize"),
    dispatch({"pull_request": 7, "sha": "a" * 40}, title="dispatch for a pull request", repository=REPOSITORY),
)


SET_UP = Given(variables={"TIDEPOOL_IDENTITY_PROVIDER": "projects/1/locations/global/workloadIdentityPools/github"})


def starting(name: str, event: Any, given: Given | None = None) -> list[str]:
    return [each.id for each in run(data(name), event, given or SET_UP).jobs if each.starts]


@pytest.mark.parametrize("name", NAMES)
def test_each_event_starts_the_jobs_of_the_golden_table_of_tiers(name: str, update_goldens: bool) -> None:
    found = told(tuple(run(data(name), event, SET_UP) for event in EVENTS))
    golden = GOLDEN / f"{Path(name).stem}.txt"
    if update_goldens:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found)
    assert found == golden.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_every_job_of_the_tiers_has_its_line(name: str) -> None:
    assert files()[name].sources.keys() == data(name)["jobs"].keys()
    assert all(source.line > 1 for source in files()[name].sources.values())


def rights(name: str) -> dict[str, dict[str, str]]:
    return {job: each["permissions"] for job, each in data(name)["jobs"].items()}


def uses(job: dict[str, Any]) -> set[str]:
    return {step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step}


def test_what_hears_of_the_label_checks_nothing_out_and_acts_nowhere_else() -> None:
    for job in data("tpu-label.yaml")["jobs"].values():
        assert uses(job) == set()
        assert "id-token" not in job["permissions"]


def test_the_job_that_tests_has_no_right_at_github_and_no_checkout() -> None:
    for name in ON_VM:
        job = data(name)["jobs"]["tests"]
        assert job["permissions"] == {"id-token": "write"}
        assert "actions/checkout" not in uses(job)
        assert "github.token" not in str(job)
        assert "secrets." not in str(job)


def test_jobs_that_write_at_github_cannot_act_at_google_and_run_no_tested_code() -> None:
    for name in NAMES:
        for job, each in rights(name).items():
            if "write" in (value for scope, value in each.items() if scope != "id-token"):
                assert "id-token" not in each
                assert uses(data(name)["jobs"][job]) <= {"actions/download-artifact", "astral-sh/setup-uv"}


def requested(name: str) -> RunRequest:
    """What the job that tests asks for."""
    return read_request(data(name)["jobs"]["tests"]["env"]["REQUEST"])


def test_what_a_strangers_commit_runs_in_reaches_no_credential() -> None:
    """The VM keeps it apart by this word alone (tests/fleet/runs/test_guest_program.py)."""
    request = requested("tpu-pull-request.yaml")
    assert (request.contained, request.secrets, request.repository) == (True, {}, "sgl-project/sglang-jax")


def test_the_commit_is_the_one_that_the_label_was_set_on() -> None:
    (ask,) = data("tpu-label.yaml")["jobs"]["ask"]["steps"]
    assert ask["env"]["SHA"] == "${{ github.event.pull_request.head.sha }}"
    (step,) = (each for each in data("tpu-pull-request.yaml")["jobs"]["tests"]["steps"] if each.get("id") == "run")
    assert step["env"]["COMMIT"] == "${{ inputs.sha }}"
    assert requested("tpu-pull-request.yaml").env["COMMIT"] == "{commit}"


@pytest.mark.parametrize("name", ON_VM)
def test_a_vm_for_tests_is_made_as_the_pool_says_within_the_limit_and_goes_in_any_case(name: str) -> None:
    jobs = data(name)["jobs"]
    request, steps = requested(name), jobs["tests"]["steps"]
    (place,) = request.places
    assert (request.accelerator, request.zones, place.zone) == ("v6e-1", ("us-central1-b",), "us-central1-b")
    assert (place.node["runtimeVersion"], place.capacity.value) == ("v2-alpha-tpuv6e", "preemptible")
    assert request.times.limit == 300
    assert jobs["tests"]["timeout-minutes"] == 20
    (delete,) = (each for each in steps if each.get("name") == "Delete it")
    assert delete["if"] == "always()"
    assert jobs["clean-up"]["if"].startswith("always()")
    assert sum(each.get("timeout-minutes", 0) for each in steps) <= 20


@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_a_night_ends_with_its_results_kept_and_people_told(outcome: Result) -> None:
    given = replace(SET_UP, results={"tests": outcome})
    event = next(each for each in EVENTS if each.name == "schedule")
    assert starting("tpu-nightly.yaml", event, given) == ["tests", "clean-up", "results", "report"]


def test_a_night_that_is_cancelled_still_cleans_up_and_tells_nobody() -> None:
    event = next(each for each in EVENTS if each.name == "schedule")
    found = starting("tpu-nightly.yaml", event, replace(SET_UP, results={"tests": "cancelled"}, cancelled=True))
    assert "clean-up" in found
    assert not {"results", "report"} & set(found)


def test_a_pull_request_that_moved_on_gets_no_vm() -> None:
    found = starting("tpu-pull-request.yaml", EVENTS[-1], replace(SET_UP, results={"head": "failure"}))
    assert not {"tests", "report", "results"} & set(found)


def test_tests_that_were_asked_for_and_cancelled_are_no_longer_said_to_run() -> None:
    given = replace(SET_UP, results={"head": "success", "tests": "cancelled"}, cancelled=True)
    found = starting("tpu-pull-request.yaml", EVENTS[-1], given)
    assert {"report", "clean-up"} <= set(found)
    assert "results" not in found
    last = data("tpu-pull-request.yaml")["jobs"]["report"]["steps"][-1]
    assert (last["name"], last["if"]) == ("Comment how the tests ended", "always()")


def test_tests_of_one_pull_request_wait_for_each_other_and_for_no_other_ones() -> None:
    groups = {data(name)["concurrency"]["group"] for name in ON_VM}
    assert groups == {"tpu-nightly", "tpu-pull-request-${{ inputs.pull_request }}"}
    assert not any(data(name)["concurrency"]["cancel-in-progress"] for name in ON_VM)
    assert data("tpu-label.yaml")["concurrency"]["group"] == "tpu-label-${{ github.run_id }}"


def test_a_required_check_of_the_first_tier_never_waits_for_a_change_elsewhere() -> None:
    assert not any("paths" in (each or {}) for each in data("tests.yaml")["on"].values())


def test_nobody_finds_a_weakness_in_the_tiers(tmp_path: Path) -> None:
    for name, file in files().items():
        (tmp_path / name).write_text(file.text)
    program = Path(sys.executable).parent / "zizmor"
    options = ("--offline", "--no-progress", "--quiet", "--color", "never", "--persona", "auditor")
    found = sorted(tmp_path.iterdir())
    done = subprocess.run([program, *options, *found], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "(2 ignored)" in done.stdout + done.stderr, "the label's event and the end of tests, which files explain"


def test_a_night_by_hand_from_a_branch_tests_nothing_and_says_nothing_of_the_main_branch() -> None:
    assert starting("tpu-nightly.yaml", dispatch(branch="change", repository=REPOSITORY)) == []


def test_a_repository_that_is_not_set_up_is_told_of_that_and_not_that_its_tests_fail() -> None:
    night = schedule(repository=REPOSITORY)
    assert starting("tpu-nightly.yaml", night, Given()) == ["report"]
    told_of = [each for each in data("tpu-nightly.yaml")["jobs"]["report"]["steps"] if "OUTCOME" in each.get("env", {})]
    set_up, tests, _ = (each["env"]["OUTCOME"] for each in told_of)
    jobs = {"tests": {"result": "skipped", "outputs": {}}, "results": {"result": "skipped"}}
    missing = Scope({"vars": {}, "needs": jobs})
    assert (expand(set_up, missing), expand(tests, missing)) == ("failure", "skipped")


def test_a_night_that_its_time_limit_ended_is_told() -> None:
    assert "report" in starting(
        "tpu-nightly.yaml", schedule(repository=REPOSITORY), replace(SET_UP, results={"tests": "cancelled"})
    )


@pytest.mark.parametrize(
    ("ended", "result", "kept", "outcome", "said"),
    [
        ("failure", "failure", "success", "success", ""),
        ("failure", "failure", "failure", "failure", "The tests ended, but"),
        ("success", "success", "success", "success", ""),
        ("success", "success", "failure", "failure", "The tests ended, but"),
        ("success", "failure", "success", "failure", "The tests ended, but"),
        ("success", "cancelled", "success", "cancelled", "The tests ended, but"),
        ("", "cancelled", "success", "cancelled", "The job reached its time limit"),
        ("", "failure", "success", "failure", "Nothing was tested"),
    ],
)
def test_a_night_without_a_result_has_an_issue_and_one_whose_tests_fail_is_told_by_its_suite(
    ended: str, result: str, kept: str, outcome: str, said: str
) -> None:
    steps = data("tpu-nightly.yaml")["jobs"]["report"]["steps"]
    (tests,) = (each["env"] for each in steps if each.get("env", {}).get("TITLE", "").endswith(": no result of tpu"))
    jobs = {"tests": {"result": result, "outputs": {"ended": ended}}, "results": {"result": kept}}
    night = Scope({"needs": jobs})
    assert said in str(expand(tests["TEXT"], night))
    assert expand(tests["OUTCOME"], night) == outcome


def test_a_tree_that_passed_is_not_tested_again_and_a_failed_one_is_not_kept() -> None:
    steps = undeclared()["tests.yaml"]["jobs"]["unit"]["steps"]
    (cache_step,) = (each for each in steps if each.get("id") == "cache")
    assert cache_step["with"]["key"] == "unit-${{ runner.os }}-${{ steps.tree.outputs.tree }}"
    skipped = [
        each["name"] for each in steps if each.get("if") == "steps.cache.outputs.cache-hit != 'true'" and "name" in each
    ]
    assert skipped == ["Install", "Write the test runner", "Test", "Say whether it may be used again"]


@pytest.mark.parametrize(("outcome", "steady"), [("passed", "steady=true\n"), ("flaky", "")])
def test_a_pass_with_a_flaky_test_is_not_used_again(outcome: str, steady: str, tmp_path: Path) -> None:
    steps = data("tests.yaml")["jobs"]["unit"]["steps"]
    (step,) = (each for each in steps if each.get("id") == "steady")
    (save,) = (each for each in steps if each.get("uses", "").startswith("actions/cache/save@"))
    assert save["if"] == "steps.steady.outputs.steady == 'true'"
    (tmp_path / "results").mkdir()
    tests = {"a": {"seconds": 1, "outcome": outcome}}
    # As workflows/scripts/run_suite.py writes it.
    (tmp_path / "results" / "unit.json").write_text(json.dumps({"tests": tests}, separators=(",", ":")))
    around = {"PATH": os.environ["PATH"], "GITHUB_OUTPUT": str(tmp_path / "output")}
    subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=around, check=True)
    assert (tmp_path / "output").read_text() if steady else not (tmp_path / "output").exists()


def test_commits_of_one_tree_share_a_result_and_those_of_another_do_not(tmp_path: Path) -> None:
    (step,) = (each for each in undeclared()["tests.yaml"]["jobs"]["unit"]["steps"] if each.get("id") == "tree")
    around = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GITHUB_OUTPUT": "../output"}
    (tmp_path / "work").mkdir()

    def run_shell(text: str) -> None:
        subprocess.run(["bash", "-eo", "pipefail", "-c", text], cwd=tmp_path / "work", env=around, check=True)

    commit = "git -c user.name=a -c user.email=a commit --quiet --allow-empty -m x"
    run_shell("git init --quiet && echo 1 >file && git add file")
    for change in ("", "", "echo 2 >file && git add file", "echo 1 >file && git add file"):
        run_shell(f"{change or ':'} && {commit}\n{step['run']}")
    first, same, other, again = (tmp_path / "output").read_text().splitlines()
    assert re.fullmatch("tree=[0-9a-f]{40}", first)
    assert first == same == again != other


def test_the_cost_is_computed_from_the_price_and_the_schedule() -> None:
    found = spec()
    assert found.declared.tiers
    shape = world().pool("nightly-v6e")
    assert shape
    (tests,) = found.declared.tiers.on_tpu
    month = cost(found, found.declared.tiers, [(tests, shape, shape.pool.accelerator)])
    nights = Decimal(365) / 12
    assert times_a_month(["0 2 * * *"]) == nights
    assert month.usual == (nights + 5) * month.hour * 5 / 60
    assert round(month.most, 6) == round(month.usual * 4, 6)
    assert month.standing == month.hour * 730


def test_over_budget_the_stack_and_the_sum_are_named() -> None:
    with pytest.raises(ConfigError) as refused:
        generate(spec(("usd_per_month: 10", "usd_per_month: 1")), world())
    (problem,) = refused.value.problems
    assert problem.subject.endswith("tiers.money.usd_per_month")
    assert re.match(
        r"up to \$[\d.]+ a month: 35.4 runs of 1 x v6e-1 as pool nightly-v6e in stack nightly, ", problem.value
    )
    assert problem.rule.endswith("their budget of $1")
    assert "a cheaper capacity in stacks/Pulumi.nightly.yaml" in problem.fix


REFUSED = {
    "a budget below what the runs cost": (
        ("usd_per_month: 10", "usd_per_month: 1"),
        "the TPU VMs of the tests cost more than their budget of $",
    ),
    "a pool that is not there": (("vm: nightly-v6e", "vm: nightly-v7"), "nightly-v6e"),
    "no time to make the VM": (("job_minutes: 20", "job_minutes: 15"), "job_minutes: 18"),
    "a file that the stack does not let in": (("file: tpu-nightly.yaml", "file: other.yaml"), "run_makers"),
    "a file that may keep no results": (("file: test-results.yaml", "file: other.yaml"), "result_writers"),
    "two suites of one name": (("suite: tpu", "suite: unit"), "another suite of the tiers has this name"),
    "more shards than modules": (("    - suite: tpu", "    - suite: tpu\n      shards: 2"), "shards: 1"),
    "no suite for the label": (
        ("    - suite: tpu", "    - suite: tpu\n      tiers: [nightly]"),
        "no suite runs in the tier",
    ),
    "two files of one name": (("file: tpu-label.yaml", "file: tests.yaml"), "another entry makes this file"),
    "an image without its digest": (("@sha256:0f5b", "@sha256:0f5"), "by its digest"),
    "a suite without tests": (("modules: [test.srt.test_score_api]", "modules: []"), "the list is empty"),
    "a key that is not there": (("    times_a_month: 5", "    times: 5"), "times"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_specification_of_tiers_that_cannot_hold_is_refused(name: str) -> None:
    edit, said = REFUSED[name]
    with pytest.raises(ConfigError) as refused:
        generate(spec(edit), world())
    assert said in str(refused.value)


SEVERAL = (
    ("modules: [test.srt.test_score_api]", "modules: [test.a, test.b, test.c]\n      shards: 2"),
    (
        "  nightly:\n",
        f"""    - suite: tpu-long
      vm: nightly-v6e
      accelerator: v6e-1
      tiers: [nightly]
      image: docker.io/library/python@sha256:{"0" * 64}
      install: [python -m venv /work/venv]
      modules: [test.long]
      cover: sgl_jax
      timeout_minutes: 10
      job_minutes: 30

  nightly:
""",
    ),
    ("usd_per_month: 10", "usd_per_month: 40"),
)
"""A suite of two shards, and one that runs at night alone."""


def of_legs(name: str) -> dict[str, RunRequest]:
    jobs = data(name, *SEVERAL)["jobs"]
    return {job: read_request(each["env"]["REQUEST"]) for job, each in jobs.items() if job.startswith("tests-")}


def test_each_shard_and_suite_has_a_vm_that_no_other_ones_clean_up_deletes() -> None:
    jobs = data("tpu-nightly.yaml", *SEVERAL)["jobs"]
    found = of_legs("tpu-nightly.yaml")
    assert list(found) == ["tests-tpu-1", "tests-tpu-2", "tests-tpu-long"]
    assert list(of_legs("tpu-pull-request.yaml")) == ["tests-tpu-1", "tests-tpu-2"], "the other runs at night alone"
    numbers = [jobs[job]["env"]["RUN_ID"] for job in found]
    assert len(set(numbers)) == 3
    assert [jobs[job.replace("tests", "clean-up")]["env"]["RUN_ID"] for job in found] == numbers
    modules = [request.command[3:] for request in found.values()]
    assert sorted(modules[0] + modules[1]) == ["test.a", "test.b", "test.c"]
    assert modules[2] == ("test.long",)


def test_shards_are_kept_as_one_suite_and_their_cost_is_of_all_vms() -> None:
    job = data("tpu-nightly.yaml", *SEVERAL)["jobs"]["results"]
    request = read_result_request(job["env"]["REQUEST"])
    assert [(each.name, each.files) for each in request.suites] == [
        ("tpu", ("tpu-1.json", "tpu-2.json")),
        ("tpu-long", ("tpu-long.json",)),
    ]
    assert {f"{each.suite}.json" for each in of_legs("tpu-nightly.yaml").values()} == {
        file for each in request.suites for file in each.files
    }
    hour = read_hour("tpu-nightly.yaml", *SEVERAL)
    assert hour == 3 * read_hour("tpu-nightly.yaml")


def read_hour(name: str, *edits: tuple[str, str]) -> Decimal:
    (said,) = re.findall(r"list price: \$([\d.]+) an hour", " ".join(files(*edits)[name].text.split()))
    return Decimal(said)


@pytest.mark.parametrize(
    ("ended", "said"),
    [(("success", "success"), "success"), (("success", "failure"), "failure"), (("success", ""), "")],
)
def test_a_pull_request_is_told_of_all_its_shards_together(ended: tuple[str, str], said: str) -> None:
    steps = data("tpu-pull-request.yaml", *SEVERAL)["jobs"]["report"]["steps"]
    (status,) = (each["env"] for each in steps if each.get("name") == "Set the commit's status")
    jobs = {f"tests-tpu-{number}": {"outputs": {"ended": how}} for number, how in enumerate(ended, 1)}
    assert expand(status["OUTCOME"], Scope({"needs": jobs})) == said


@cache
def undeclared() -> dict[str, dict[str, Any]]:
    """Files of the lab whose stack says of no suite which files decide how it ends."""
    text = steady("nightly").split("    suites:\n")[0]
    stacks = {**world().stacks, "nightly": parse_stack(text, stack="nightly", source="nightly")}
    made = generate(spec(), replace(world(), stacks=stacks))
    return {Path(each.path).name: each.workflow.plain() for each in made}


def reusing(name: str) -> dict[str, Any]:
    at_night = ("    - suite: tpu", "    - suite: tpu\n      reuse: [nightly, asked]")
    return data(name, at_night)


@pytest.mark.parametrize("name", ON_VM)
def test_a_suite_with_declared_inputs_asks_before_a_vm_is_made(name: str) -> None:
    jobs = reusing(name)["jobs"]
    assert "reuse" in jobs["tests"]["needs"]
    asked = read_result_request(jobs["reuse"]["env"]["REQUEST"])
    assert asked.suites[0].inputs == ("python/**", "test/**")
    assert "reuse" not in undeclared()[name]["jobs"], "nothing says which files decide how it ends"
    event = schedule(repository=REPOSITORY) if name == ON_VM[0] else EVENTS[-1]
    for said, tested in (("|tpu|", False), ("", True)):
        given = replace(SET_UP, outputs={"reuse": {"reused": said}, "head": {"same": "true"}})
        found = [each.id for each in run(reusing(name), event, given).jobs if each.starts]
        assert ("tests" in found, "results" in found) == (tested, True)


def test_a_night_tests_every_time_unless_it_is_told_otherwise() -> None:
    """It finds what changed around a tree."""
    assert ["reuse" in data(name)["jobs"] for name in ON_VM] == [False, True]


def test_a_store_that_does_not_answer_stops_no_test() -> None:
    given = replace(SET_UP, results={"reuse": "failure"}, outputs={"reuse": {"reused": ""}})
    found = [each.id for each in run(reusing(ON_VM[0]), schedule(repository=REPOSITORY), given).jobs if each.starts]
    assert "tests" in found


def test_on_cpu_a_result_is_used_again_by_the_inputs_where_they_are_declared() -> None:
    keys = [
        each["with"]["key"] for each in reusing("tests.yaml")["jobs"]["unit"]["steps"] if "key" in each.get("with", {})
    ]
    # Tests leave files beside their inputs, so that the key is not computed a second time.
    assert keys == [
        "unit-${{ runner.os }}-${{ hashFiles('python/**', 'test/**') }}",
        "${{ steps.cache.outputs.cache-primary-key }}",
    ]


def test_what_a_stranger_tests_is_taken_up_by_a_run_of_the_main_branch_that_has_read_its_number_alone() -> None:
    jobs = data("test-results.yaml")["jobs"]
    assert jobs["start"]["permissions"] == {"actions": "write"}
    assert uses(jobs["start"]) == set()
    (step,) = jobs["start"]["steps"]
    assert set(re.findall(r"github\.event\.[\w.]+", str(step))) == {"github.event.workflow_run.id"}
    for event in (
        workflow_run("success", "Tests", of="pull_request", fork=True, repository=REPOSITORY),
        workflow_run("failure", "Tests", repository=REPOSITORY),
    ):
        assert starting("test-results.yaml", event) == ["start"]
    assert starting("test-results.yaml", workflow_run("cancelled", "Tests", repository=REPOSITORY)) == []
    by_hand = dispatch({"run": "1"}, title="dispatch for a run", repository=REPOSITORY)
    assert starting("test-results.yaml", by_hand) == ["results", "report"]


@pytest.mark.parametrize("name", KEEPING)
def test_what_keeps_results_writes_nothing_at_github_and_checks_nothing_out(name: str) -> None:
    job = data(name)["jobs"]["results"]
    assert job["permissions"] == {"actions": "read", "contents": "read", "id-token": "write"}
    assert "actions/checkout" not in uses(job)
    assert [step for step in data(name)["jobs"]["report"]["steps"] if "auth" in step.get("uses", "")] == []


def test_shards_on_cpu_are_jobs_that_share_the_modules_and_are_kept_as_one_suite() -> None:
    edit = ("      - job: unit\n", "      - job: unit\n        shards: 3\n")
    jobs = data("tests.yaml", edit)["jobs"]
    tiers = spec().declared.tiers
    assert tiers
    (whole,) = tiers.every_pull_request.suites
    shards = [name for name in jobs if name.startswith("unit")]
    assert shards == ["unit-1", "unit-2", "unit-3"]
    scripts = {name: next(step["run"] for step in jobs[name]["steps"] if step.get("name") == "Test") for name in shards}
    assert all(sum(module in script for script in scripts.values()) == 1 for module in whole.modules)
    assert all(any(module in script for module in whole.modules) for script in scripts.values())
    keys = {step["with"]["key"] for name in shards for step in jobs[name]["steps"] if step.get("id") == "cache"}
    assert len(keys) == 3, "each has its own cache"
    request = read_result_request(data("test-results.yaml", edit)["jobs"]["results"]["env"]["REQUEST"])
    assert [(each.name, each.files) for each in request.suites] == [("unit", tuple(f"{name}.json" for name in shards))]
