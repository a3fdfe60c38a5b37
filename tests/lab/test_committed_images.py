"""The committed declaration of the lab's images, as the issue of the day-to-day work knows them."""

from __future__ import annotations

import pytest
import yaml

from infra.model.images.listings import filters, listing_file, parse_listing, sample
from infra.model.images.load import load_images
from infra.model.images.pins import load_pins
from infra.model.images.places import places
from infra.model.images.spec import Builder, ImageSpec
from infra.model.images.steps import step_pins
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from tests.model.given import ROOT

STACKS = {name: load_stack(ROOT, name) for name in stack_names(ROOT)}


@pytest.fixture(scope="module")
def spec() -> ImageSpec:
    return load_images(ROOT, STACKS)


def test_every_image_has_one_writer(spec: ImageSpec) -> None:
    hosts = {image.name: {place.partition("/")[0] for place in places(image, STACKS)} for image in spec.images}
    for image in spec.images:
        if image.builder is Builder.GITHUB:
            assert hosts[image.name] == {"ghcr.io"}
        else:
            assert all(host.endswith("-docker.pkg.dev") for host in hosts[image.name])
            assert len(hosts[image.name]) == 6


def test_every_pool_runs_an_image_of_the_file_or_none_is_named_for_it(spec: ImageSpec) -> None:
    ci = {pool for image in spec.images if image.used_by.stack == "ci" for pool in image.used_by.pools}
    pools = {pool.name for pool in STACKS["ci"].pools}
    assert ci == pools, "a runner pool stands in used_by.pools of its test image, in images/images.yaml"


def test_every_pin_is_of_an_image_or_of_the_steps_of_builds(spec: ImageSpec) -> None:
    pins = load_pins(ROOT)
    assert {*pins.bases, *pins.downloads} == set(step_pins(spec.images))


def test_a_vm_fills_the_cache_where_images_look_for_it(spec: ImageSpec) -> None:
    assert f"\nuv_cache=$root{spec.paths.uv_cache}\n" in (ROOT / "infra/fleet/runner/lib.sh").read_text()


def test_the_cache_of_test_images_holds_every_release_of_jax_that_tests_run_with() -> None:
    """Else each leg downloads hundreds of megabytes on a VM that waits."""
    suites = yaml.safe_load((ROOT / "workflows/spec/marin.yaml").read_text())["tests"]
    wanted = {release for file in suites for suite in file["suites"] for release in suite.get("jax", ())}
    folder = ROOT / "images/tpu-ci"
    assert {path.stem.removeprefix("jax-") for path in folder.glob("jax-*.txt")} == wanted
    for release in wanted:
        assert f"jax=={release} \\" in (folder / f"jax-{release}.txt").read_text()
    assert f"for release in {' '.join(sorted(wanted))}; do" in (folder / "smoke.sh").read_text()


def test_every_committed_listing_is_of_a_repository_that_images_read_and_says_how_it_is_made(
    spec: ImageSpec,
) -> None:
    repositories = {image.context.repository for image in spec.images} - {spec.recipes}
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "images/listings").iterdir()}
    assert files == {listing_file(repository) for repository in repositories}
    for repository in repositories:
        text = (ROOT / listing_file(repository)).read_text()
        paths = parse_listing(text, repository).paths
        assert f"./tidepool images listing {repository} --checkout DIR" in text
        assert set(paths) == set(sample(paths, filters(spec, repository))), "a listing has no file that no filter names"
