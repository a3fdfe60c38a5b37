"""The table of base images and downloads: what it may not say, and that nothing is built from what is not pinned."""

from __future__ import annotations

import pytest

from infra.model.images.pins import Pins, load_pins, parse_pins
from tests.model.images.declared import PINS, edited, refused
from tests.synthetic_lab import the_lab


@pytest.mark.parametrize(
    ("old", "new", "where", "said"),
    [
        (f"sha256:{'a' * 64}", "sha256:12", "bases.debian.digest", "64 hexadecimal digits"),
        (f"sha256:{'a' * 64}", "bookworm-slim", "bases.debian.digest", "unresolved"),
        (f"sha256:{'a' * 64}", f"sha256:{'A' * 64}", "bases.debian.digest", "64 hexadecimal digits"),
        (f"sha256:{'a' * 64}", "", "bases.debian.digest", "a value"),
        ("b" * 64, "b" * 63, "downloads.uv.sha256", "64 hexadecimal digits"),
        ("b" * 64, f"sha256:{'b' * 64}", "downloads.uv.sha256", "64 hexadecimal digits"),
        ("    source: https://hub.docker.com/_/debian/tags\n", "", "bases.debian.source", "source is required"),
        ("source: https://hub.docker.com/_/debian/tags", "source: a colleague", "bases.debian.source", "https URL"),
        ("source: https://hub.docker.com/_/debian/tags", "source: http://a.org", "bases.debian.source", "https URL"),
        ("url: https://files", "url: ftp://files", "downloads.uv.url", "https URL"),
        ("url: https://files", "url: https://a.org/$(id)/files", "downloads.uv.url", "dollar signs"),
        ("url: https://files", "url: https://a.org/'x'/files", "downloads.uv.url", "without quotes"),
        ("version: 0.9.0", "version: 0.9;id", "downloads.uv.version", "a release"),
        ("  uv:\n", "  7zip:\n", "downloads.7zip", "a letter"),
        ("read: 2026-11-21", "read: yesterday", "bases.debian.read", "a day"),
        ("    read: 2026-11-21\n", "", "bases.debian.read", "read is required"),
        ("docker.io/library/debian", "debian", "bases.debian.image", "with its registry"),
        ("docker.io/library/debian", "docker.io/library/debian:12", "bases.debian.image", "without tag or digest"),
        ("tag: bookworm-slim", "tag: a tag", "bases.debian.tag", "a tag of the image"),
        ("tag: bookworm-slim", "tga: bookworm-slim", "bases.debian.tga", "tag, or one of"),
        ("  uv:\n", "  debian:\n", "downloads.debian", "the name stands for a base and for a download"),
        ("version: 0.9.0", "version: 1.10", "downloads.uv.version", "in quotes"),
        ("version: 1", "version: 3", "version", "not version 1, which this program reads"),
        ("downloads:", "dowloads:", "dowloads", "downloads, or one of"),
    ],
)
def test_a_bad_pin_is_refused(old: str, new: str, where: str, said: str) -> None:
    with refused() as problems:
        parse_pins(edited(PINS, (old, new)))
    here = [problem for problem in problems if problem.subject.endswith(f" {where}")]
    assert any(said in f"{each.rule} {each.fix}" for each in here), "\n".join(map(str, problems))
    assert all(problem.subject.startswith("images/bases.yaml:") for problem in problems)


def test_a_base_is_pulled_by_digest() -> None:
    assert parse_pins(PINS).base("debian").reference == f"docker.io/library/debian@sha256:{'a' * 64}"


def test_an_unresolved_base_has_no_reference() -> None:
    with pytest.raises(ValueError, match=r"docker\.io/library/python:3\.11-slim is unresolved"):
        _ = parse_pins(PINS).base("python").reference


def test_unresolved_is_legal_in_the_table_and_refused_by_a_build() -> None:
    pins = parse_pins(PINS)
    assert pins.unresolved() == ("python",)
    pins.insist(["debian", "uv"])
    with refused() as problems:
        pins.insist(["uv", "python", "debian"])
    assert [(each.subject, each.fix) for each in problems] == [
        ("images/bases.yaml bases.python.digest", "./tidepool images bases --resolve")
    ]


def test_no_pin_of_the_committed_table_lacks_its_source() -> None:
    pins: Pins = load_pins(the_lab())
    entries = [*pins.bases.values(), *pins.downloads.values()]
    assert entries
    assert all(entry.source.startswith("https://") and entry.read for entry in entries)
