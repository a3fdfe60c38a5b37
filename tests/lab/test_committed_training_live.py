"""The committed training stack on a real API server: nothing that it renders is refused by strict validation."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.tests.kubernetes.training_plane import everything_is_taken, training_plane
from tests.lab.committed import shipped

pytestmark = pytest.mark.live


def test_everything_that_the_committed_training_renders_is_taken_by_strict_validation(tmp_path: Path) -> None:
    with training_plane(tmp_path, shipped("training")) as plane:
        everything_is_taken(plane)
