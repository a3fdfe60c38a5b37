"""Fixtures of the engine's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.tests.engine.world import World

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True, scope="module")
def cheap(request: pytest.FixtureRequest) -> None:
    """Every test here makes a state of its own."""
    request.getfixturevalue("cheap_keys")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
