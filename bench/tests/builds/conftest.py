"""One registry a test session, and a fresh world for each test: other images' digests in it disturb nobody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.registry import Registry
from bench.tests.builds.pipeline_world import World, committed_spec, start_registry, world
from infra.model.images.spec import ImageSpec


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    found = start_registry(tmp_path_factory.mktemp("registry"))
    yield found
    found.stop()


@pytest.fixture(scope="module")
def spec() -> ImageSpec:
    return committed_spec()


@pytest.fixture
def images(registry: Registry, spec: ImageSpec, tmp_path: Path) -> Iterator[World]:
    found = world(tmp_path, registry.address, spec)
    yield found
    found.recorder.close()
