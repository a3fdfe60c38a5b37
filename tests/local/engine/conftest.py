"""Fixtures of the engine's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from infra.local.engine import secrets
from tests.local.engine.world import World

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def cheap_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second for every key would be most of the time of these tests."""
    monkeypatch.setattr(secrets, "ROUNDS", 1)
    secrets._keys.clear()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
