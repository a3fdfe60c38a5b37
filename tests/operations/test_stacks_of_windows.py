"""A stack whose VMs stand in windows alone is a stack that declares VMs."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.operations.fleet.looks import fleets_declared
from tests.synthetic_lab import the_lab

WINDOW = """
      windows:
        - {name: night, start: 0 2 * * *, duration: 1h, time_zone: UTC, adds: {us-central1-b: 1}}
"""


def test_a_stack_with_windows_alone_is_found_by_what_is_about_all_fleets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stacks").mkdir()
    text = (the_lab() / "stacks" / "Pulumi.nightly.yaml").read_text()
    path = tmp_path / "stacks" / "Pulumi.nightly.yaml"
    monkeypatch.setenv("TIDEPOOL_ROOT", str(tmp_path))
    path.write_text(text)
    assert fleets_declared(None) == []
    path.write_text(text.replace("      trust: fork\n", f"      trust: fork{WINDOW}"))
    assert fleets_declared(None) == ["nightly"]
