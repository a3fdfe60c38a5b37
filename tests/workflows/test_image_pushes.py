"""What a push means for the images that GitHub builds: the jobs of the generated files are what `images plan` names."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from infra.model.federation import IMAGES_WORKFLOW
from infra.model.images.rebuilds import Change, rebuilds
from infra.model.images.spec import Builder
from tests.synthetic_lab import the_lab
from workflows.events import dispatch, push
from workflows.image_builds import TESTED
from workflows.own import generate_own
from workflows.own.docker_images import CHOICE
from workflows.runs import Given, run
from workflows.starts import image_jobs
from workflows.world import World, load_world

ROOT = Path(__file__).resolve().parents[2]
HERE, MONOREPO = "marin-community/tidepool", "marin-community/marin"
BASE, INCREMENTAL, CLUSTER = "levanter-base", "levanter-incremental", "levanter-cluster"
FAMILY = (BASE, INCREMENTAL, CLUSTER)
SET_UP = {"TIDEPOOL_IDENTITY_PROVIDER": "projects/1/locations/global/workloadIdentityPools/github"}


@pytest.fixture(scope="module")
def world() -> World:
    return load_world(the_lab())


@pytest.fixture(scope="module")
def jobs(world: World) -> Mapping[str, Any]:
    [file] = [each for each in generate_own(world) if each.path == IMAGES_WORKFLOW]
    return file.workflow.plain()["jobs"]


def planned(world: World, repository: str, *files: str) -> list[dict[str, Any]]:
    """What `images plan --json` prints for these files."""
    changes = [Change(repository, file) for file in files]
    return [asdict(each) for each in rebuilds(world.images, changes, world.stacks)]


def of_github(plan: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(each["image"] for each in plan if each["builder"] is Builder.GITHUB)


@pytest.mark.parametrize(
    ("files", "images"),
    [
        (["images/levanter-base/Dockerfile"], FAMILY),
        (["images/levanter-base/Dockerfile.dockerignore"], FAMILY),
        (["images/levanter-base/smoke.sh", "README.md"], FAMILY),
        (["images/levanter-incremental/Dockerfile"], (INCREMENTAL,)),
        (["images/levanter-cluster/smoke.sh"], (CLUSTER,)),
        (["images/levanter-incremental/Dockerfile", "images/levanter-cluster/Dockerfile"], (INCREMENTAL, CLUSTER)),
        (["images/levanter-cluster/Dockerfile", "images/levanter-base/Dockerfile"], FAMILY),
        (["images/steps/push.sh"], FAMILY),
        (["images/bases.yaml"], FAMILY),
        (["images/images.yaml"], FAMILY),
        (["infra/model/images/steps.py", IMAGES_WORKFLOW], FAMILY),
        (["images/levanter-base/README.md"], ()),
        (["images/levanter-base/README.md", "images/levanter-cluster/Dockerfile"], (CLUSTER,)),
        (["images/tpu-ci/Dockerfile"], ()),
        (["images/levanter-basement/Dockerfile"], ()),
        (["infra/cli/app.py", "docs/images.md"], ()),
        (["uv.lock"], ()),
    ],
    ids=" ".join,
)
def test_a_push_of_recipes_starts_the_jobs_of_the_images_that_the_plan_names(
    world: World, files: list[str], images: tuple[str, ...]
) -> None:
    found = image_jobs(the_lab(), HERE, files)
    assert found
    assert found.images == of_github(planned(world, HERE, *files)) == images
    assert bool(found.why) is not bool(images)


@pytest.mark.parametrize(
    ("file", "images"),
    [("uv.lock", FAMILY), ("pyproject.toml", FAMILY), ("lib/levanter/pyproject.toml", FAMILY), ("docs/index.md", ())],
)
def test_a_push_of_the_sources_starts_the_jobs_of_the_images_that_the_plan_names(
    world: World, file: str, images: tuple[str, ...]
) -> None:
    found = image_jobs(the_lab(), MONOREPO, [file])
    assert found
    assert found.images == of_github(planned(world, MONOREPO, file)) == images


def test_what_follows_tests_is_not_built_at_the_push_of_its_sources(world: World) -> None:
    found = image_jobs(the_lab(), MONOREPO, ["lib/levanter/src/levanter/main.py"])
    assert found
    assert not found.images
    assert of_github(planned(world, MONOREPO, "lib/levanter/src/levanter/main.py")) == (INCREMENTAL,)


@pytest.mark.parametrize("ref", [{"branch": "topic"}, {"tag": "v1"}], ids=str)
def test_a_push_elsewhere_than_to_main_starts_no_job(ref: dict[str, str]) -> None:
    found = image_jobs(the_lab(), HERE, ["images/levanter-base/Dockerfile"], **ref)
    assert found
    assert not found.images


def test_nothing_is_said_of_repositories_and_checkouts_without_a_workflow_of_images(tmp_path: Path) -> None:
    assert image_jobs(the_lab(), "somebody/else", ["Dockerfile"]) is None
    assert image_jobs(tmp_path, HERE, ["images/levanter-base/Dockerfile"]) is None


def test_a_child_is_told_the_digest_that_its_parents_job_puts_out(jobs: Mapping[str, Any]) -> None:
    assert jobs[BASE]["outputs"] == {"digest": f"${{{{ steps.record-{BASE}.outputs.digest }}}}"}
    for child in (INCREMENTAL, CLUSTER):
        assert jobs[child]["needs"] == [CHOICE, *([TESTED] if child == INCREMENTAL else []), BASE]
        [step] = [each for each in jobs[child]["steps"] if each.get("id") == "parents"]
        assert step["env"]["KNOWN"] == f"{BASE}=${{{{ needs.{BASE}.outputs.digest }}}}"


def test_no_commit_can_be_asked_for_and_what_trains_is_of_a_tested_one(jobs: Mapping[str, Any]) -> None:
    for image in FAMILY:
        sources = "${{ needs.tested.outputs.commit }}" if image == INCREMENTAL else ""
        assert "RECIPES_REVISION" not in jobs[image]["env"]
        assert jobs[image]["env"]["SOURCE_REVISION"] == sources
    [step] = jobs[TESTED]["steps"]
    assert step["env"]["REVISION"] == ""


def started(
    jobs: Mapping[str, Any], images: tuple[str, ...], *, commit: str = "f00d" * 10, **results: Any
) -> list[str]:
    outputs = {CHOICE: {"images": json.dumps(images)}, TESTED: {"commit": commit}}
    given = Given(variables=SET_UP, outputs=outputs, **results)
    found = run({"on": {"push": None, "workflow_dispatch": None}, "jobs": jobs}, push(), given)
    return [job.id for job in found.jobs if job.starts]


def test_a_child_waits_for_a_parent_that_is_built_and_for_no_other(jobs: Mapping[str, Any]) -> None:
    assert started(jobs, FAMILY, results={BASE: "failure"}) == [CHOICE, TESTED, BASE]
    assert started(jobs, FAMILY, commit="") == [CHOICE, TESTED, BASE, CLUSTER]
    assert started(jobs, (CLUSTER,)) == [CHOICE, CLUSTER]
    assert started(jobs, (), results={CHOICE: "failure"}) == [CHOICE]
    assert started(jobs, FAMILY, cancelled=True) == [CHOICE]


def test_nothing_starts_from_another_branch_or_before_the_identity_is_set_up(jobs: Mapping[str, Any]) -> None:
    workflow = {"on": {"push": None, "workflow_dispatch": None}, "jobs": jobs}
    for event, variables in ((dispatch(branch="topic"), SET_UP), (push(), {})):
        assert not [job.id for job in run(workflow, event, Given(variables=variables)).jobs if job.starts]


def chosen(jobs: Mapping[str, Any], folder: Path, plan: list[dict[str, Any]], **env: str) -> tuple[str, str, str]:
    """Run the first job's script: what it asked for, what it puts out, what it tells people."""
    (folder / "plan").write_text(json.dumps(plan))
    (folder / "tidepool").write_text('#!/bin/sh\necho "$*" >>asked\ncat plan\n')
    (folder / "tidepool").chmod(0o755)
    files = {"GITHUB_OUTPUT": folder / "output", "GITHUB_STEP_SUMMARY": folder / "summary", "RUNNER_TEMP": folder}
    [step] = [each for each in jobs[CHOICE]["steps"] if each.get("id") == "plan"]
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "ASKED": "", "BEFORE": "", **env}
    environ |= {key: str(path) for key, path in files.items()}
    subprocess.run(["bash", "-e", "-c", step["run"]], cwd=folder, env=environ, check=True)
    asked, output, summary = ((folder / name).read_text() for name in ("asked", "output", "summary"))
    return asked, output, summary


def test_the_first_job_hands_on_what_the_plan_names_of_githubs(
    jobs: Mapping[str, Any], world: World, tmp_path: Path
) -> None:
    plan = planned(world, HERE, "images/steps/push.sh")
    asked, output, summary = chosen(jobs, tmp_path, plan, BEFORE="ba5eba11" * 5)
    assert asked == f"images plan --base {'ba5eba11' * 5} --json\n"
    assert output == f"images={json.dumps(FAMILY, separators=(',', ':'))}\n"
    assert [line.partition(":")[0] for line in summary.splitlines()] == [f"- {image}" for image in FAMILY]


@pytest.mark.parametrize("image", ["all", *FAMILY])
def test_who_starts_it_by_hand_gets_an_image_and_what_is_from_it(
    jobs: Mapping[str, Any], world: World, tmp_path: Path, image: str
) -> None:
    asked, _, _ = chosen(jobs, tmp_path, [], ASKED=image)
    files = asked.split()[asked.split().index("--changed") + 1 : -1]
    expected = FAMILY if image in ("all", BASE) else (image,)
    assert of_github(planned(world, HERE, *files)) == expected
