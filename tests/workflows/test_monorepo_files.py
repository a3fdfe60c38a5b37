"""The monorepo's generated files: their text, which jobs each event starts on what, and why they run where they do."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.model.errors import ConfigError
from infra.model.result_request import ResultRequest, read_result_request
from infra.model.runs import read_request
from infra.model.schema import Trust
from tests.workflows import monorepo
from tests.workflows.event_tables import table, told
from tests.workflows.monorepo import JAX, REPOSITORY, files, job, unedited, world
from workflows.builders.step import inner_limits
from workflows.events import dispatch, pull_request, push, schedule, workflow_run
from workflows.expressions import Scope, expand
from workflows.generate import Generated, generate
from workflows.runs import Given, run

GOLDEN = Path(__file__).parent / "golden" / "marin"
NAMES = sorted(files())
TPU = ("levanter-tests.yaml", "marin-unit-tests.yaml")
PULL = pull_request(repository=REPOSITORY)
MAIN = push(repository=REPOSITORY)


@cache
def today() -> dict[str, Generated]:
    """Of the files as they are, with the counts and versions of today."""
    return {Path(each.path).name: each for each in generate(unedited(), world())}


def data(name: str) -> dict[str, Any]:
    return files()[name].workflow.plain()


def scripts(name: str) -> str:
    return "\n".join(step.get("run", "") for job in data(name)["jobs"].values() for step in job["steps"])


SET_UP = Given(variables={"TIDEPOOL_IDENTITY_PROVIDER": "projects/1"})
TESTED = Given(outputs={"tested": {"commit": "f00dfeed" * 5}})


def started(
    name: str, event: Any, given: Given | None = None
) -> dict[str, list[tuple[dict[str, Any], tuple[str, ...]]]]:
    """By job that starts: the matrix and the labels of each leg."""
    found = run(data(name), event, given or TESTED)
    return {each.id: [(dict(leg.matrix), leg.labels) for leg in each.legs] for each in found.jobs if each.starts}


@pytest.mark.parametrize("name", NAMES)
def test_each_event_starts_the_jobs_of_the_golden_table(name: str, update_goldens: bool) -> None:
    found = told(tuple(run(data(name), event, TESTED) for event in table(repository=REPOSITORY)))
    golden = GOLDEN / f"{Path(name).stem}.txt"
    if update_goldens:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found)
    assert found == golden.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_every_job_says_which_line_of_the_specification_it_comes_from(name: str) -> None:
    made = files()[name]
    assert made.sources.keys() == made.workflow.plain()["jobs"].keys()
    lines = monorepo.text().splitlines()
    assert all(re.match(r" *- |results:", lines[source.line - 1]) for source in made.sources.values())


def test_equal_inputs_give_equal_bytes() -> None:
    again = generate(unedited(), world())
    assert [each.text for each in again] == [each.text for each in generate(unedited(), world())]


# Tests of Levanter.


def test_levanters_tests_are_four_jobs_that_take_the_place_of_four_files() -> None:
    assert list(data("levanter-tests.yaml")["jobs"]) == [
        "cpu-unit-tests", "cpu-ray-tests", "cpu-entry-tests", "tpu-tests",
    ]  # fmt: skip
    assert data("levanter-tests.yaml")["name"] == "Levanter - Tests"


def test_a_pull_request_tests_three_releases_of_jax_on_the_first_pool_alone() -> None:
    legs = started("levanter-tests.yaml", replace(PULL, paths=("lib/levanter/x.py",)))["tpu-tests"]
    assert [matrix for matrix, _ in legs] == [{"jax": jax, "pool": "tpu-ci"} for jax in JAX]
    assert {labels for _, labels in legs} == {("self-hosted", "tpu-ci")}


def test_main_tests_three_releases_of_jax_on_each_of_the_four_accelerators() -> None:
    legs = started("levanter-tests.yaml", MAIN)["tpu-tests"]
    pools = ("tpu-ci", "tpu-v4", "tpu-v5p", "tpu-v6e")
    assert sorted((matrix["jax"], labels[1]) for matrix, labels in legs) == sorted(
        (jax, pool) for jax in JAX for pool in pools
    )


@pytest.mark.parametrize("name", TPU)
def test_a_fork_reaches_no_runner_of_ours(name: str) -> None:
    fork = pull_request(fork=True, repository=REPOSITORY)
    found = started(name, fork)
    assert "tpu-tests" not in found
    assert found, "its tests without an accelerator run"
    assert all(labels == ("ubuntu-24.04",) for legs in found.values() for _, labels in legs)


@pytest.mark.parametrize("name", TPU)
def test_tests_on_a_tpu_are_told_what_the_runners_container_is_made_for(name: str) -> None:
    env = job(files()[name], "tpu-tests")["env"]
    assert env == {
        "JAX_PLATFORMS": "tpu,cpu", "PJRT_DEVICE": "TPU", "TPU_CI": "true", "JAX_COORDINATOR_ADDRESS": "127.0.0.1",
        "TPU_STDERR_LOG_LEVEL": "3", "TPU_MIN_LOG_LEVEL": "3", "WANDB_MODE": "offline",
        **world().images.paths.build_args,
    }  # fmt: skip
    assert "docker" not in "".join(step.get("run", "") for step in job(files()[name], "tpu-tests")["steps"])


def test_tests_on_a_tpu_run_with_the_library_that_drives_it() -> None:
    made = files()
    ours = (job(made["levanter-tests.yaml"], "tpu-tests"), job(made["marin-unit-tests.yaml"], "tpu-tests"))
    tests = [next(step["run"] for step in each["steps"] if step.get("name") == "Test") for each in ours]
    assert [re.findall(r"jax\[tpu\]|--extra tpu\b", each) for each in tests] == [
        ["jax[tpu]"],
        ["--extra tpu"],
    ]


def test_a_leg_of_one_release_failing_leaves_the_others_running() -> None:
    jobs = data("levanter-tests.yaml")["jobs"].values()
    assert {each["strategy"]["fail-fast"] for each in jobs if "strategy" in each} == {False}


def test_tests_of_a_tpu_run_in_one_job_each_however_they_are_marked() -> None:
    for name in TPU:
        jobs = data(name)["jobs"]
        runs = {each: "".join(step.get("run", "") for step in jobs[each]["steps"]) for each in jobs}
        assert "-m 'tpu_ci'" in runs.pop("tpu-tests")
        assert all("not tpu_ci" in text for text in runs.values())


@pytest.mark.parametrize("name", NAMES)
def test_what_runs_within_a_step_ends_before_the_step_and_the_step_before_the_job(name: str) -> None:
    for each in data(name)["jobs"].values():
        for step in each["steps"]:
            limit = step.get("timeout-minutes", each["timeout-minutes"])
            assert limit <= each["timeout-minutes"]
            assert all(seconds < limit * 60 for seconds in inner_limits(step.get("run", "")))


def test_a_command_of_tests_on_a_tpu_ends_ten_seconds_before_its_step_and_that_before_its_job() -> None:
    tests = job(files()["levanter-tests.yaml"], "tpu-tests")
    (step,) = (step for step in tests["steps"] if step.get("name") == "Test")
    assert (tests["timeout-minutes"], step["timeout-minutes"]) == (16, 15)
    assert "timeout --kill-after=5 --signal=TERM 890 uv run" in step["run"]
    assert '--with "jax[tpu]==$JAX"' in step["run"]


# Marin first.


TPU_SUITE_ENDS = "        timeout_minutes: 16\n"


def tpu_tests(*edits: tuple[str, str]) -> tuple[dict[str, Any], str]:
    """The strategy of Levanter's TPU job, and the text of its file."""
    made = files(*edits)["levanter-tests.yaml"]
    return job(made, "tpu-tests")["strategy"], made.text


def test_all_legs_start_at_once_where_that_leaves_a_vm_for_marin() -> None:
    levanter, text = tpu_tests()
    marin = job(files()["marin-unit-tests.yaml"], "tpu-tests")
    assert "max-parallel" not in levanter, "three legs on six VMs leave the one that Marin's job takes"
    assert "strategy" not in marin
    assert marin["timeout-minutes"] == 10
    assert "marin comes first on tpu-ci: this job leaves it 1 VM.\n  # The legs of one run leave that many" in text


def test_more_jax_versions_than_the_pool_has_room_for_leave_a_vm_for_marin() -> None:
    many = ", ".join(f'"0.8.{patch}"' for patch in range(6))
    pools = "tpu-v6e]\n        jax: "
    levanter, text = tpu_tests((f'{pools}["0.6.2", "0.7.2", "0.8.0"]', f"{pools}[{many}]"))
    assert levanter["max-parallel"] == 5
    assert "So max-parallel limits the legs of one run." in text


@pytest.mark.parametrize(("leave", "most"), [(0, None), (3, None), (4, 2), (6, 1), (60, 1)])
def test_a_suite_may_say_how_many_vms_it_leaves_and_takes_one_in_any_case(leave: int, most: int | None) -> None:
    levanter, text = tpu_tests((TPU_SUITE_ENDS, f"        leave_free: {leave}\n{TPU_SUITE_ENDS}"))
    assert levanter.get("max-parallel") == most
    assert f"this job leaves it {leave} VMs, by leave_free." in text


def test_more_legs_that_come_first_leave_the_others_fewer_vms() -> None:
    more = ("        priority: first\n", '        priority: first\n        jax: ["0.6.2", "0.7.2", "0.8.0", "0.8.1"]\n')
    assert tpu_tests(more)[0]["max-parallel"] == 2


def test_without_a_suite_that_is_first_nobody_is_held_back() -> None:
    levanter, text = tpu_tests(
        ("        priority: first\n", ""), (TPU_SUITE_ENDS, f"        leave_free: 6\n{TPU_SUITE_ENDS}")
    )
    assert "max-parallel" not in levanter
    assert "comes first" not in text


def test_a_smaller_pool_lets_fewer_legs_run_at_once() -> None:
    smaller = monorepo.with_stack("ci", ("us-west4-a: 2", "us-west4-a: 0"), ("us-east1-c: 2", "us-east1-c: 1"))
    made = files(among=smaller)["levanter-tests.yaml"]
    assert job(made, "tpu-tests")["strategy"]["max-parallel"] == 2
    assert "tpu-ci (v5litepod-4)" in made.text


# Where suites run.


def test_one_list_of_pools_serves_both_events() -> None:
    made = files(("        where: [tpu-ci]\n", "        where: [tpu-ci, tpu-v4]\n"))["marin-unit-tests.yaml"]
    assert job(made, "tpu-tests")["strategy"]["matrix"] == {"pool": ["tpu-ci", "tpu-v4"]}


def test_pools_for_one_event_alone_leave_the_other_out() -> None:
    made = files(("        where: [tpu-ci]\n", "        where: {push: [tpu-ci]}\n"))["marin-unit-tests.yaml"].workflow
    starts = {event.name: run(made.plain(), event, Given()) for event in (MAIN, PULL)}
    assert [each.starts for each in starts["push"].jobs] == [True, True]
    assert [each.starts for each in starts["pull_request"].jobs] == [True, False]


def test_a_label_follows_the_stack() -> None:
    fleet = monorepo.with_pool("ci", "tpu-ci", label="v5e-runners")
    made = files(among=fleet)["marin-unit-tests.yaml"]
    assert job(made, "tpu-tests")["runs-on"] == ["self-hosted", "v5e-runners"]


def test_a_pool_that_no_stack_has_becomes_a_label_without_runners_which_the_fit_tells() -> None:
    made = files(("        where: [tpu-ci]\n", "        where: [tpu-cii]\n"))["marin-unit-tests.yaml"]
    assert job(made, "tpu-tests")["runs-on"] == ["self-hosted", "tpu-cii"]
    assert "tpu-cii (in no stack)" in made.text


# One command on TPUs.

ITEST, LAUNCH = "levanter-gpt2_small_itest.yaml", "levanter-launch_small_fast.yaml"


def test_an_integration_test_that_no_pool_is_large_enough_for_gets_a_vm_and_says_why() -> None:
    text = files()[ITEST].text
    assert (
        "the test needs v4-32, and no VM of the pools that serve this\n  # repository has it (tpu-ci (v5litepod-4), "
        in text
    )
    assert "# Made as pool train-v4 of stack training says: v4-32, preemptible, us-central2-b." in text


def test_an_integration_test_goes_to_a_pool_that_is_large_enough() -> None:
    made = files(("    accelerator: v4-32\n", "    accelerator: v4-8\n"))
    assert job(made[ITEST], "integration-test")["runs-on"] == ["self-hosted", "tpu-v4"]
    assert "a pool that is large enough: tpu-v4 (v4-8), where v4-8 is needed." in made[ITEST].text
    assert "clean-up" not in made[ITEST].workflow.plain()["jobs"]
    assert "clean-up" in made[LAUNCH].workflow.plain()["jobs"], "training never runs on a runner"


@pytest.mark.parametrize(
    "changes", [{"zones": {"us-central2-b": 0}}, {"serves": ()}, {"trust": Trust.FORK}], ids=["none", "others", "forks"]
)
def test_a_pool_that_cannot_take_the_test_is_none(changes: dict[str, Any]) -> None:
    fleet = monorepo.with_pool("ci", "tpu-v4", **changes)
    made = files(("    accelerator: v4-32\n", "    accelerator: v4-8\n"), among=fleet)
    assert "clean-up" in made[ITEST].workflow.plain()["jobs"]


def test_training_gets_a_vm_however_large_the_pools_are() -> None:
    made = files(
        ("    kind: training\n    accelerator: v4-32", "    kind: training\n    accelerator: v4-8"),
    )
    assert "# Training goes to a VM made for the run" in made[LAUNCH].text


@pytest.mark.parametrize("name", [ITEST, LAUNCH])
def test_a_vm_for_a_run_is_deleted_whatever_happens(name: str) -> None:
    working, sure = data(name)["jobs"].values()
    deleting = working["steps"][-1]
    assert deleting["if"] == sure["if"] == "always()"
    assert deleting["run"] == sure["steps"][-1]["run"], "written once"
    assert data(name)["concurrency"]["cancel-in-progress"] is False
    for result in ("success", "failure"):
        found = run(
            data(name), dispatch(repository=REPOSITORY), Given(results={next(iter(data(name)["jobs"])): result})
        )
        assert [each.starts for each in found.jobs] == [True, True]


def test_a_vm_for_a_run_carries_the_labels_by_which_it_is_found_later() -> None:
    working, sure = data(LAUNCH)["jobs"].values()
    request = read_request(working["env"]["REQUEST"])
    assert request.times.lifetime >= 60 * (working["timeout-minutes"] + sure["timeout-minutes"])
    assert working["env"]["RUN_ID"] == sure["env"]["RUN_ID"] == "${{ github.run_id }}"
    assert all("tidepool-managed" not in place.node["labels"] for place in request.places)


def test_a_vm_for_a_run_is_what_the_pool_says() -> None:
    request = read_request(job(files()[LAUNCH], "launch")["env"]["REQUEST"])
    (place,) = request.places
    assert (place.zone, request.accelerator, request.hosts, place.capacity.value) == (
        "us-central2-b", "v4-32", 4, "preemptible",
    )  # fmt: skip
    edited = monorepo.with_stack("training", ("capacity: preemptible", "capacity: on-demand"))
    (place,) = read_request(job(files(among=edited)[LAUNCH], "launch")["env"]["REQUEST"]).places
    assert place.capacity.value == "on-demand"


def test_a_run_that_its_stack_does_not_let_have_a_vm_is_refused() -> None:
    for edit, rule in (
        (("    pool: train-v4\n    accelerators", "    pool: other\n    accelerators"), "no pool of this name"),
        (("time_to_live_minutes: 360", "time_to_live_minutes: 60"), "could stand for 210 minutes"),
    ):
        with pytest.raises(ConfigError, match=rule):
            files(among=monorepo.with_stack("training", edit))


@pytest.mark.parametrize("name", NAMES)
def test_no_secret_is_on_a_command_line_in_a_jobs_environment_or_in_metadata(name: str) -> None:
    for each in data(name)["jobs"].values():
        assert "secrets." not in str(each.get("env", ""))
        for step in each["steps"]:
            assert "secrets." not in step.get("run", "")
    assert "credentials_json" not in files()[name].text


# Images.

IMAGES = "docker-images.yaml"


def test_images_are_three_groups_of_jobs() -> None:
    assert list(data(IMAGES)["jobs"]) == [
        "after-tests", "marin-cluster-images", "marin-tpu-ci-image",
        "tested", "levanter-base", "levanter-incremental", "levanter-cluster", "start-runs",
    ]  # fmt: skip
    named = [each["name"] for each in data(IMAGES)["jobs"].values()]
    assert [name for name in named if name.startswith("levanter-tpu-images: ")] == [
        "levanter-tpu-images: levanter-base",
        "levanter-tpu-images: levanter-incremental",
        "levanter-tpu-images: levanter-cluster",
    ]


def test_what_cloud_build_builds_is_only_started_and_only_by_hand() -> None:
    text = "".join(step.get("run", "") for step in job(files()[IMAGES], "marin-cluster-images")["steps"])
    assert "./tidepool images build" in text
    assert "docker" not in text
    assert "marin-cluster-images" not in started(IMAGES, MAIN)
    assert "marin-cluster-images" in started(IMAGES, dispatch({"image": "cluster"}, repository=REPOSITORY))


def test_green_tests_start_a_build_of_their_commit_which_has_an_identity_of_its_own() -> None:
    after = workflow_run("success", "Levanter - Tests", repository=REPOSITORY)
    assert list(started(IMAGES, after)) == ["after-tests"]
    assert not started(IMAGES, workflow_run("failure", "Levanter - Tests", repository=REPOSITORY))
    assert not started(IMAGES, workflow_run("success", "Levanter - Tests", of="pull_request", repository=REPOSITORY))
    step = job(files()[IMAGES], "after-tests")["steps"][0]
    assert step["env"]["REVISION"] == "${{ github.event.workflow_run.head_sha }}"
    assert "id-token" not in job(files()[IMAGES], "after-tests")["permissions"]
    asked = dispatch({"image": "levanter-incremental", "revision": "0" * 40}, repository=REPOSITORY)
    assert list(started(IMAGES, asked)) == ["tested", "levanter-incremental"]


@pytest.mark.parametrize(
    "event",
    [MAIN, schedule(repository=REPOSITORY), dispatch({"image": "all"}, repository=REPOSITORY)],
    ids=["push", "schedule", "by hand"],
)
def test_what_trains_is_built_of_a_tested_commit_alone_whatever_starts_its_build(event: Any) -> None:
    none_green = Given(outputs={"tested": {"commit": ""}})
    assert not {"levanter-incremental", "start-runs"} & started(IMAGES, event, none_green).keys()
    assert (
        job(files()[IMAGES], "levanter-incremental")["env"]["SOURCE_REVISION"] == "${{ needs.tested.outputs.commit }}"
    )


def test_runs_of_hours_follow_the_weekly_build_and_no_other() -> None:
    assert "start-runs" in started(IMAGES, schedule(repository=REPOSITORY))
    assert "start-runs" not in started(IMAGES, MAIN)
    assert "start-runs" not in started(IMAGES, dispatch({"image": "all"}, repository=REPOSITORY))


@pytest.mark.parametrize("event", [MAIN, schedule(repository=REPOSITORY)], ids=["push", "schedule"])
def test_a_build_of_the_base_builds_what_is_from_it(event: Any) -> None:
    assert {"levanter-base", "levanter-cluster", "levanter-incremental"} <= started(IMAGES, event).keys()


def test_nothing_is_built_from_a_base_that_failed() -> None:
    found = started(IMAGES, MAIN, replace(TESTED, results={"levanter-base": "failure"}))
    assert list(found) == ["tested", "levanter-base"]


def test_new_images_start_the_runs_that_use_them() -> None:
    said = "".join(step["run"] for step in job(files()[IMAGES], "start-runs")["steps"])
    assert re.findall(r"gh workflow run (\S+)", said) == [ITEST, LAUNCH]
    failed = started(
        IMAGES, schedule(repository=REPOSITORY), replace(TESTED, results={"levanter-incremental": "failure"})
    )
    assert "start-runs" not in failed


# Publishing.

PUBLISH = "levanter-publish_dev.yaml"


def test_a_package_is_published_of_the_commit_whose_tests_were_green() -> None:
    green = workflow_run("success", "Levanter - Tests", repository=REPOSITORY)
    assert list(started(PUBLISH, green)) == ["build", "publish"]
    for conclusion in ("failure", "cancelled"):
        assert not started(PUBLISH, workflow_run(conclusion, "Levanter - Tests", repository=REPOSITORY))
    assert not started(PUBLISH, workflow_run("success", "Levanter - Tests", of="pull_request", repository=REPOSITORY))
    assert not started(PUBLISH, workflow_run("success", "Run Tests", repository=REPOSITORY))
    proof, checkout = job(files()[PUBLISH], "build")["steps"][:2]
    assert proof["name"] == "Check that main has the commit"
    assert checkout["with"]["ref"] == "${{ github.event.workflow_run.head_sha }}"


def test_the_version_is_written_by_uv_and_no_table_but_projects_is_touched() -> None:
    text = scripts(PUBLISH)
    assert "uv version" in text
    assert not re.search(r"\bsed\b", text)


def test_the_index_trusts_a_job_that_runs_nothing_of_the_package() -> None:
    publish = job(files()[PUBLISH], "publish")
    assert publish["permissions"] == {"id-token": "write"}
    assert all("run" not in step for step in publish["steps"])
    assert "id-token" not in job(files()[PUBLISH], "build")["permissions"]


def test_a_mistake_of_one_section_does_not_hide_anothers() -> None:
    with pytest.raises(ConfigError) as refused:
        files(("timeout_minutes: 240", "timeout_minutes: 1440"), ("timeout_minutes: 30", "timeout_minutes: 1440"))
    told = [problem.subject for problem in refused.value.problems]
    assert [re.sub(r":\d+", ":N", each) for each in told] == [
        "workflows/spec/marin.yaml:N tests[0].suites[0] job cpu-unit-tests",
        "workflows/spec/marin.yaml:N runs[1] stacks/Pulumi.training.yaml tidepool:runs",
    ]


# What becomes of results.


SUITES = [
    ("levanter-tests.yaml", "cpu-unit-tests"), ("levanter-tests.yaml", "cpu-ray-tests"),
    ("levanter-tests.yaml", "cpu-entry-tests"), ("levanter-tests.yaml", "tpu-tests"),
    ("marin-unit-tests.yaml", "cpu-unit-tests"), ("marin-unit-tests.yaml", "tpu-tests"),
]  # fmt: skip


def kept() -> ResultRequest:
    return read_result_request(data("test-results.yaml")["jobs"]["results"]["env"]["REQUEST"])


def step_of(name: str, suite: str, what: str) -> dict[str, Any]:
    steps = job(files()[name], suite)["steps"]
    return next(
        each for each in steps if what in (each.get("name"), each.get("id"), each.get("uses", "").split("@")[0])
    )


@pytest.mark.parametrize(("name", "suite"), SUITES)
def test_a_suite_is_run_by_the_command_of_before_and_writes_what_it_found(name: str, suite: str) -> None:
    """Of a specification that keeps no results the command is what tests ran until then."""
    (section,) = (part for part in monorepo.text().split("\n\n") if part.startswith("results:"))
    plain = files((section, ""))
    before = next(each["run"] for each in job(plain[name], suite)["steps"] if each.get("name") == "Test")
    after = step_of(name, suite, "Test")["run"]
    added = after.replace(before.rstrip("\n"), "").split()
    assert after.startswith(before.rstrip("\n"))
    assert added[:2] == ["\\", '--junitxml="$RUNNER_TEMP/results/$LEG.xml"']
    assert {word.partition("=")[0] for word in added[2:]} <= {"\\", "--override-ini"}


def test_a_specification_that_keeps_no_results_has_no_file_for_them() -> None:
    (section,) = (part for part in monorepo.text().split("\n\n") if part.startswith("results:"))
    assert "test-results.yaml" not in files((section, ""))


@pytest.mark.parametrize(("name", "suite"), SUITES)
def test_what_tests_has_no_identity_and_leaves_files_alone(name: str, suite: str) -> None:
    each = job(files()[name], suite)
    assert each["permissions"] == {"contents": "read"}
    left = each["steps"][-1]
    assert left["uses"].startswith("actions/upload-artifact@")
    assert (left["if"], left["with"]["if-no-files-found"]) == ("${{ !cancelled() }}", "ignore")


def test_every_leg_that_any_event_starts_is_kept_by_its_job_and_its_file() -> None:
    """By the names that GitHub gives them: of legs of runs of both events."""
    started_legs, request = set(), kept()
    for name in TPU:
        for event in (PULL, MAIN):
            for each, legs in started(name, replace(event, paths=("lib/levanter/x.py",))).items():
                shown, step = job(files()[name], each)["name"], step_of(name, each, "Test")
                for matrix, _ in legs:
                    said, leg = (expand(text, Scope({"matrix": matrix})) for text in (shown, step["env"]["LEG"]))
                    started_legs.add((f".github/workflows/{name}", said, f"{leg}.xml"))
    assert {(each.workflow, each.job, *each.files) for each in request.suites} == started_legs
    assert len(started_legs) == 19


def test_a_leg_is_told_apart_by_its_hardware_and_versions() -> None:
    legs = [(each.name, each.hardware, tuple(each.versions.items())) for each in kept().suites]
    assert len(set(legs)) == len(legs)
    assert ("levanter-tpu-tests", "v5p-8", (("jax", "0.8.0"),)) in legs


def test_results_are_kept_by_a_run_of_main_that_is_told_a_number_alone() -> None:
    """A fork's run starts the job without an identity; the one with it hears of nothing else."""
    for event in (
        workflow_run("failure", "Levanter - Tests", of="pull_request", fork=True, repository=REPOSITORY),
        workflow_run("success", "Marin - Tests", of="push", repository=REPOSITORY),
    ):
        assert list(started("test-results.yaml", event, SET_UP)) == ["start"]
    jobs = data("test-results.yaml")["jobs"]
    assert jobs["start"]["permissions"] == {"actions": "write"}
    assert set(jobs["results"]["permissions"].items()) == {
        ("actions", "read"), ("contents", "read"), ("id-token", "write"),
    }  # fmt: skip
    assert "id-token" not in jobs["report"]["permissions"]
    assert "checkout" not in str(jobs)
    asked = dispatch({"run": "1"}, repository=REPOSITORY)
    assert list(started("test-results.yaml", asked, SET_UP)) == ["results", "report"]


def test_a_pass_stands_for_tests_of_the_same_files_where_the_stack_says_which() -> None:
    test = step_of("levanter-tests.yaml", "cpu-unit-tests", "test")
    assert test["if"] == "steps.cache.outputs.cache-hit != 'true' || steps.failed.outputs.cache-hit == 'true'"
    look, mark = (step_of("levanter-tests.yaml", "cpu-unit-tests", name) for name in ("cache", "failed"))
    assert mark["with"]["key"] == f"failed-{look['with']['key']}"
    saved = [
        (each["if"], each["with"]["key"])
        for each in job(files()["levanter-tests.yaml"], "cpu-unit-tests")["steps"]
        if each.get("uses", "").startswith("actions/cache/save")
    ]
    assert saved == [
        ("steps.test.outcome == 'success'", "${{ steps.cache.outputs.cache-primary-key }}"),
        ("${{ !cancelled() && steps.test.outcome == 'failure' }}", "${{ steps.failed.outputs.cache-primary-key }}"),
    ]
    assert "cache" not in str(job(files()["marin-unit-tests.yaml"], "tpu-tests")["steps"][1:])


def test_coverage_is_measured_where_a_suite_says_of_what() -> None:
    edited = files(("        groups: [test]\n", "        groups: [test]\n        cover: levanter\n"))
    test = next(
        each for each in job(edited["levanter-tests.yaml"], "cpu-unit-tests")["steps"] if each.get("id") == "test"
    )
    assert "--with pytest-cov==" in test["run"]
    assert '--cov=levanter \\\n  --cov-report=xml:"$RUNNER_TEMP/results/$LEG-coverage.xml"' in test["run"]
    request = read_result_request(edited["test-results.yaml"].workflow.plain()["jobs"]["results"]["env"]["REQUEST"])
    assert request.suites[0].coverage == "levanter-cpu-unit-tests-0.6.2-coverage.xml"


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("  file: test-results.yaml", "  file: other.yaml"), "result_writers"),
        (("package: marin\n        tests: [tests]", "package: levanter\n        tests: [tests]"), "is kept as"),
    ],
    ids=["a file that may keep none", "two suites of one name"],
)
def test_results_that_cannot_be_kept_are_refused(edit: tuple[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        monorepo.spec(edit)
