"""Docker Hub is asked through the stack's mirror: containers of steps, BuildKit and bases."""

from __future__ import annotations

from datetime import date

import pytest

from infra.model.images.pins import load_pins
from infra.model.images.places import hub_mirror, through
from infra.model.images.steps import bootstrap
from infra.model.images.told import DeclaredImages
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from infra.program.builds import build_plan, image_build
from tests.model.images.test_build_steps import SPEC
from tests.synthetic_lab import the_lab

MIRROR = "us-docker.pkg.dev/hai-gcp-models/docker-hub-mirror"


def told() -> DeclaredImages:
    stacks = {name: load_stack(the_lab(), name) for name in stack_names(the_lab())}
    return DeclaredImages(spec=SPEC, pins=load_pins(the_lab()), stacks=stacks, bootstrap=bootstrap(the_lab()))


@pytest.mark.parametrize(
    ("region", "mirror"),
    [("us-central1", MIRROR), ("europe-west4", MIRROR.replace("us-", "europe-")), ("asia-east1", "")],
)
def test_the_mirror_of_the_builds_own_multi_region_is_taken(region: str, mirror: str) -> None:
    ci = load_stack(the_lab(), "ci")
    assert ci.builds is not None
    assert hub_mirror(ci.model_copy(update={"builds": ci.builds.model_copy(update={"region": region})})) == mirror


def test_only_docker_hubs_images_go_through_it() -> None:
    assert through("docker.io/library/python@sha256:1", MIRROR) == f"{MIRROR}/library/python@sha256:1"
    assert through("docker.io/moby/buildkit:v1", MIRROR) == f"{MIRROR}/moby/buildkit:v1"
    assert through("quay.io/lab/tool:v1", MIRROR) == "quay.io/lab/tool:v1"
    assert through("docker.io/library/python:3", "") == "docker.io/library/python:3"


def test_no_container_buildkit_or_base_of_cloud_build_comes_from_docker_hub_itself() -> None:
    declared, plan = told(), build_plan(the_lab(), load_stack(the_lab(), "ci"))
    assert plan is not None
    for image in plan.images:
        containers = {step["name"] for step in image_build(plan, image)["steps"]}
        assert all(each.startswith(f"{MIRROR}/library/") for each in containers)
        for step in declared.steps(image.name, date(2026, 11, 22)):
            assert not [value for value in step.env.values() if "docker.io" in value], step.id
            if step.id.startswith("build-"):
                assert step.env["BUILDKIT"].startswith(f"{MIRROR}/moby/buildkit@sha256:")
                assert "us-docker.pkg.dev" in step.env["REGISTRIES"].split()
