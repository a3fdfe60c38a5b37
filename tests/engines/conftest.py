"""What the tests of both engines share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.local.cloud.testing import TestCloud, running_cloud


@pytest.fixture(scope="module")
def quick_cloud() -> Iterator[TestCloud]:
    """One for a whole module, whose clock moves half a second a request; each use resets it."""
    with running_cloud(ticking=0.5) as cloud:
        yield cloud
