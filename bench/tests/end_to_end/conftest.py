"""A cloud whose operations end as soon as somebody asks twice, and an empty stack at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.cloud.testing import TestCloud, running_cloud
from bench.tests.end_to_end.fleet_world import World


@pytest.fixture(scope="session")
def quick_cloud() -> Iterator[TestCloud]:
    with running_cloud(ticking=0.5) as cloud:
        yield cloud


@pytest.fixture
def cloud(quick_cloud: TestCloud) -> TestCloud:
    quick_cloud.control.reset()
    return quick_cloud


@pytest.fixture
def world(tmp_path: Path, cloud: TestCloud) -> World:
    return World(tmp_path, cloud.url)
