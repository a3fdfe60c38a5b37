"""A checkout of all that workflows are generated from, for tests that edit it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.model.given import ROOT
from tests.shipped_stacks import lend_steady
from workflows.outputs import outputs
from workflows.world import load_world

_FOLDERS = (".github", "images", "infra/fleet/runner", "infra/model/facts", "workflows")
_FILES = ("LICENSE", "Pulumi.yaml", "infra/__init__.py", "requirements-service.lock")


def made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The checkout below a folder, where commands now look; what is generated is as it should be."""
    root = folder / "checkout"
    for each in _FOLDERS:
        shutil.copytree(ROOT / each, root / each, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    for each in _FILES:
        shutil.copy(ROOT / each, root / each)
    lend_steady(root)
    regenerate(root)
    monkeypatch.setenv("TIDEPOOL_ROOT", str(root))
    monkeypatch.setenv("TIDEPOOL_HOME", str(folder / "home"))
    return root


def regenerate(root: Path) -> None:
    """Make every generated file anew."""
    for path, text in outputs(root, load_world(root)).texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
