"""The small committed listings of other repositories' files."""

from __future__ import annotations

from infra.model.images.listings import listing_file, listing_text, parse_listing, sample

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
