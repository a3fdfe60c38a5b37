"""A checkout of all that workflows are generated from, for tests that edit it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.synthetic_lab import lend_workflows, regenerate


def made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The checkout below a folder, where commands now look; what is generated is as it should be."""
    root = lend_workflows(folder / "checkout")
    regenerate(root)
    monkeypatch.setenv("TIDEPOOL_ROOT", str(root))
    monkeypatch.setenv("TIDEPOOL_HOME", str(folder / "home"))
    return root
