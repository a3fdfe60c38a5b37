"""A push of recipes, from the event to the record: the generated workflow's own jobs, run against a real registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench.builds.running import run_jobs
from bench.tests.builds.pipeline_world import RECIPES, World, digest_at
from infra.model.federation import IMAGES_WORKFLOW
from tests.synthetic_lab import the_lab
from workflows.own import generate_own
from workflows.starts import image_jobs
from workflows.triggering import listed
from workflows.world import load_world

BASE, INCREMENTAL, CLUSTER = "levanter-base", "levanter-incremental", "levanter-cluster"


@pytest.fixture(scope="module")
def jobs() -> Mapping[str, Mapping[str, Any]]:
    """The jobs of the file without the actions, of which the one here signs in to Google."""
    [file] = [each for each in generate_own(load_world(the_lab())) if each.path == IMAGES_WORKFLOW]
    return {
        name: {**job, "needs": listed(job.get("needs")), "steps": [each for each in job["steps"] if "run" in each]}
        for name, job in file.workflow.plain()["jobs"].items()
    }


def wanted(*files: str) -> tuple[str, ...]:
    found = image_jobs(the_lab(), RECIPES, files)
    assert found
    return found.images


def test_a_push_to_levanter_base_ends_with_a_record_of_three_digests_each_from_the_one_before(
    images: World, jobs: Mapping[str, Mapping[str, Any]]
) -> None:
    done = dict(run_jobs(jobs, images.machine, wanted=wanted("images/levanter-base/Dockerfile"), run="7"))
    assert {name: each.status for name, each in done.items()} == dict.fromkeys((BASE, INCREMENTAL, CLUSTER), "SUCCESS")
    assert images.recorder.writes == [BASE, INCREMENTAL, CLUSTER]
    current = {name: image.current for name, image in images.record.images.items()}
    assert {name: each.digest for name, each in current.items()} == {
        name: each.outputs["digest"] for name, each in done.items()
    }
    assert len({each.digest for each in current.values()}) == 3
    for name, build in current.items():
        assert build.places == (f"ghcr.io/marin-community/{name}",)
        assert digest_at(images.machine.registry, build.places[0], build.digest)
        assert images.tags(name) == {build.digest}
        assert build.parents == ({} if name == BASE else {BASE: current[BASE].digest})
        assert build.build == "github/7-1"
    calls = [tool for step, tool, _ in images.calls() if step == "parents"]
    assert "tidepool" not in calls, "digests of parents come from the jobs before, not from the record"
