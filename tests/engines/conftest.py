"""What the tests of both engines share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.cloud.testing import TestCloud, running_cloud
from infra.engines import away, standing, strays
from infra.engines.protocol import CloudName, EngineRequest
from tests.engines.vm_world import STACK, Cloud


@pytest.fixture(scope="module")
def quick_cloud() -> Iterator[TestCloud]:
    """One for a whole module, whose clock moves half a second a request; each use resets it."""
    with running_cloud(ticking=0.5) as cloud:
        yield cloud


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Cloud:
    """A fake API for all that looks for VMs."""
    made = Cloud()
    for module in (standing, away, strays):
        monkeypatch.setattr(module, "clients", made.clients)
        if hasattr(module, "time"):
            monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def request_(tmp_path: Path) -> EngineRequest:
    """Of a stack on it."""
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.lone.yaml").write_text(STACK)
    return EngineRequest(root=tmp_path, home=tmp_path, stack="lone", cloud=CloudName.LOCAL, cloud_url="http://cloud/")
