"""The small committed listings of other repositories' files."""

from __future__ import annotations

from infra.model.images.listings import filters, listing_file, listing_text, parse_listing, sample
from infra.model.images.load import load_images
from infra.model.stack import load_stack, stack_names
from tests.model.given import ROOT

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_listing_keeps_a_few_files_of_each_filter() -> None:
    files = ["a/1", "a/2", "a/3", "a/4", "b", "c"]
    assert sample(files, ["a/*", "b", "d"]) == ("a/1", "a/2", "a/3", "b")


def test_a_listing_reads_back_what_was_written() -> None:
    text = listing_text("lab/code", ["uv.lock", "lib/a"], commit=COMMIT, day="2026-11-21")
    assert parse_listing(text, "lab/code").commits == {"lib/a": COMMIT, "uv.lock": COMMIT}
    assert f"https://github.com/lab/code/tree/{COMMIT}" in text
    assert "./tidepool images listing lab/code --checkout DIR" in text


def test_a_listing_is_named_after_its_repository_in_lower_case() -> None:
    assert listing_file("Lab/Code") == "images/listings/lab.code.txt"


def test_every_committed_listing_is_of_a_repository_that_images_read_and_says_how_it_is_made() -> None:
    spec = load_images(ROOT, {name: load_stack(ROOT, name) for name in stack_names(ROOT)})
    repositories = {image.context.repository for image in spec.images} - {spec.recipes}
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "images/listings").iterdir()}
    assert files == {listing_file(repository) for repository in repositories}
    for repository in repositories:
        text = (ROOT / listing_file(repository)).read_text()
        paths = parse_listing(text, repository).paths
        assert f"./tidepool images listing {repository} --checkout DIR" in text
        assert set(paths) == set(sample(paths, filters(spec, repository))), "a listing has no file that no filter names"
