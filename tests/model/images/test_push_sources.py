"""Which repositories' pushes start a build, and which of them Cloud Build is connected to."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.model.images.load import load_images
from infra.model.images.spec import ImageSpec
from infra.model.images.stack_rules import push_sources, unconnected
from infra.model.schema import Builds
from tests.model.images.declared import BUILDS, IMAGES, SOURCE, edited, project, stacks

CODE, RECIPES = "lab/code", "lab/tidepool"
ACCESS = "installation: 7, token_secret: token/versions/1"


@pytest.fixture
def spec(tmp_path: Path) -> ImageSpec:
    return load_images(project(tmp_path), stacks())


def builds(*edits: tuple[str, str]) -> Builds:
    found = stacks(builds=edited(BUILDS, *edits))["ci"].builds
    assert found is not None
    return found


def test_pushes_of_the_context_and_of_the_recipes_start_a_build(spec: ImageSpec) -> None:
    assert list(push_sources(spec, spec.image("runner"))) == [CODE, RECIPES]
    assert push_sources(spec, spec.image("child")) == {}, "it is built after tests"


def test_an_image_that_no_push_builds_waits_for_no_connection(tmp_path: Path) -> None:
    text = edited(IMAGES, ("      push: {branch: main}\n      schedule", "      schedule"))
    quiet = load_images(project(tmp_path, {SOURCE: text}), stacks())
    assert unconnected(quiet, quiet.image("runner"), builds()) == ()


def test_a_repository_is_connected_once_its_installation_and_token_are_known(spec: ImageSpec) -> None:
    runner = spec.image("runner")
    assert unconnected(spec, runner, builds()) == (CODE, RECIPES)
    one = ("{repository: lab/code}", f"{{repository: lab/code, {ACCESS}}}")
    assert unconnected(spec, runner, builds(one)) == (RECIPES,)
    other = ("{repository: lab/tidepool}", f"{{repository: lab/tidepool, {ACCESS}}}")
    assert unconnected(spec, runner, builds(one, other)) == ()
