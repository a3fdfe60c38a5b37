"""The table of base images and downloads: what it may not say, and that nothing is built from what is not pinned."""

from __future__ import annotations

import pytest

from infra.model.images.pins import parse_pins
from tests.model.images.declared import PINS, refused


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
