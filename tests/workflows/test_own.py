"""The workflows of this repository are what the generator makes of its modules and the stacks."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.model.demand import WRITE
from infra.model.errors import ConfigError
from infra.model.images.spec import Builder
from tests.synthetic_lab import the_lab
from workflows.builders.step import inner_limits
from workflows.checks import Known, check
from workflows.composite import FOLDER, MARK, Generated
from workflows.events import GitHubEvent, dispatch, pull_request, push, schedule, workflow_run
from workflows.expressions import Scope, expand
from workflows.own import generate_own
from workflows.runs import Given, run
from workflows.world import World, load_world

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def world() -> World:
    return load_world(the_lab())


@pytest.fixture(scope="module")
def own(world: World) -> dict[str, Generated]:
    return {Path(each.path).name: each for each in generate_own(world)}


def scripts(generated: Generated) -> list[str]:
    return [step["run"] for job in plain(generated)["jobs"].values() for step in job["steps"] if "run" in step]


def plain(generated: Generated) -> dict[str, Any]:
    return generated.workflow.plain()


def test_where_github_builds_no_image_there_is_no_workflow_of_images(world: World, own: dict[str, Generated]) -> None:
    images = tuple(each for each in world.images.images if each.builder is not Builder.GITHUB)
    without = replace(world, images=world.images.model_copy(update={"images": images}))
    made = {Path(each.path).name for each in generate_own(without)}
    assert own.keys() - made == {"docker-images.yaml"}


def test_a_file_says_what_made_it_and_how_it_is_made_anew(own: dict[str, Generated]) -> None:
    for each in own.values():
        first, second = each.text.splitlines()[:2]
        module = first.removeprefix(f"# {MARK} ").split()[0]
        assert (ROOT / module).is_file()
        assert "Do not edit" in first
        assert second == f"# {WRITE}"


def test_every_job_is_traced_to_the_function_that_makes_it(own: dict[str, Generated]) -> None:
    for each in own.values():
        assert each.sources.keys() == plain(each)["jobs"].keys()
        for job, source in each.sources.items():
            line = (ROOT / source.file).read_text().splitlines()[source.line - 1]
            assert line.startswith(f"def {source.key}(around: OrderedWorld"), f"{job}: {source}"
            assert line.endswith(") -> Job:")


def test_generated_files_are_marked_for_those_who_review() -> None:
    marked = [
        f"{FOLDER}/apply.yaml",
        ".github/actionlint.yaml",
        "workflows/generated/marin/.github/workflows/x.yaml",
        "workflows/demand.yaml",
    ]
    written = ["workflows/actions.yaml", "workflows/spec/marin.yaml", "workflows/own/apply.py"]
    done = subprocess.run(
        ["git", "check-attr", "linguist-generated", "--", *marked, *written],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = dict(line.split(": linguist-generated: ") for line in done.stdout.splitlines())
    assert said == dict.fromkeys(marked, "true") | dict.fromkeys(written, "unspecified")


def test_the_checker_finds_nothing_in_them(own: dict[str, Generated]) -> None:
    files = [each.whole() for each in own.values()]
    assert not check(files, Known(repository="lab/tidepool"))


def test_a_new_stack_has_its_turn_in_every_file_that_goes_through_them(world: World) -> None:
    more = {**world.stacks, "archive": world.stacks["training"].model_copy(update={"stack": "archive"})}
    files = {Path(each.path).name: each for each in generate_own(replace(world, stacks=more))}
    for name in ("plan.yaml", "apply.yaml", "drift.yaml"):
        loops = [line for text in scripts(files[name]) for line in text.splitlines() if line.startswith("for stack in")]
        assert set(loops) == {"for stack in ci archive nightly training; do"}


def test_an_environment_that_no_stack_lets_in_is_refused(world: World) -> None:
    ci = world.stacks["ci"]
    assert ci.github is not None
    one = ci.model_copy(update={"github": ci.github.model_copy(update={"environments": ("apply",)})})
    with pytest.raises(ConfigError, match="apply-after-approval"):
        generate_own(replace(world, stacks={**world.stacks, "ci": one}))


def test_an_apply_has_time_for_every_stack_to_be_stopped_in_good_order(own: dict[str, Generated], world: World) -> None:
    job = plain(own["apply.yaml"])["jobs"]["apply"]
    limits = [seconds / 60 for text in scripts(own["apply.yaml"]) for seconds in inner_limits(text)]
    others = sum(step.get("timeout-minutes", 0) for step in job["steps"])
    assert len(limits) == len(world.stacks)
    assert sum(limits) + others < job["timeout-minutes"] <= 360


def test_an_apply_that_github_would_end_in_the_middle_of_a_drain_is_refused(world: World) -> None:
    ci = world.stacks["ci"]
    slow = ci.model_copy(update={"runners": ci.runners.model_copy(update={"job_minutes": 216})})
    with pytest.raises(ConfigError, match="may take 361 minutes"):
        generate_own(replace(world, stacks={**world.stacks, "ci": slow}))


def test_a_step_with_work_to_do_ends_before_its_job_so_that_what_follows_can_tell(own: dict[str, Generated]) -> None:
    for name in ("checks.yaml", "drift.yaml", "plan.yaml", "preview.yaml", "preview-comment.yaml"):
        for job in plain(own[name])["jobs"].values():
            working = [step for step in job["steps"] if "tidepool" in step.get("run", "") or "ci/run" in str(step)]
            assert working
            assert sum(step["timeout-minutes"] for step in working) < job["timeout-minutes"]


def identified(own: dict[str, Generated], event: GitHubEvent, **variables: str) -> set[str]:
    """The jobs with an identity that an event starts."""
    outputs = {"plan": {"steps": "3", "environment": "apply"}, "choose": {"images": '["levanter-base"]'}}
    found = set()
    for name, each in own.items():
        for job in run(plain(each), event, Given(variables=variables, outputs=outputs)).jobs:
            if job.starts and "id-token" in plain(each)["jobs"][job.id]["permissions"]:
                found.add(f"{name} {job.id}")
    return found


SET_UP = {"TIDEPOOL_IDENTITY_PROVIDER": "projects/1/locations/global/workloadIdentityPools/github"}


@pytest.mark.parametrize(
    ("event", "jobs"),
    [
        (push(), {"apply.yaml plan", "apply.yaml apply", "docker-images.yaml levanter-base"}),
        (push("change"), set()),
        (pull_request(), {"plan.yaml plan"}),
        (pull_request(fork=True), set()),
        (pull_request(activity="labeled", label="x"), set()),
        (schedule(), {"drift.yaml look"}),
        (dispatch(), {"drift.yaml look", "docker-images.yaml levanter-base"}),
        (dispatch(branch="change"), set()),
        (workflow_run("success", of="pull_request", fork=True), set()),
        (workflow_run("failure", of="pull_request"), set()),
        (workflow_run("cancelled"), set()),
    ],
    ids=lambda value: value.title if isinstance(value, GitHubEvent) else "",
)
def test_who_acts_as_whom_is_decided_by_the_event(
    own: dict[str, Generated], event: GitHubEvent, jobs: set[str]
) -> None:
    assert identified(own, event, **SET_UP) == jobs
    assert identified(own, event) == set()


def group(own: dict[str, Generated], name: str, **github: Any) -> str:
    return str(expand(plain(own[name])["concurrency"]["group"], Scope({"github": github})))


def ended(sha: str, conclusion: str = "success", repository: str = "lab/tidepool") -> dict[str, Any]:
    run = {"head_repository": {"full_name": repository}, "head_sha": sha, "conclusion": conclusion}
    return {"event": {"workflow_run": run}}


def test_comments_of_one_commit_wait_for_one_another_and_push_no_other_commits_out(own: dict[str, Generated]) -> None:
    def of(**event: Any) -> str:
        return group(own, "preview-comment.yaml", **event)

    assert of(**ended("a")) == of(**ended("a", "failure"))
    assert len({of(**ended("a")), of(**ended("b", "cancelled")), of(**ended("a", repository="eve/tidepool"))}) == 3


def test_a_commit_of_main_is_checked_to_the_end(own: dict[str, Generated]) -> None:
    def of(event_name: str, run_id: int) -> str:
        return group(own, "checks.yaml", event_name=event_name, run_id=str(run_id), ref="r")

    assert of("pull_request", 1) == of("pull_request", 2)
    assert of("push", 1) != of("push", 2)


def test_what_decides_an_apply_starts_one_and_is_planned_in_the_pull_request(own: dict[str, Generated]) -> None:
    applied = set(plain(own["apply.yaml"])["on"]["push"]["paths"])
    planned = set(plain(own["plan.yaml"])["on"]["pull_request"]["paths"])
    assert {"stacks/**", "infra/**", "images/**", "requirements.lock"} <= applied < planned
    assert planned == set(plain(own["preview.yaml"])["on"]["pull_request"]["paths"])
