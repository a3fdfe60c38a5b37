"""One local cloud and its fleets for all tests of comments."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.cloud.testing import running_cloud
from tests.preview.comment.fleets import Fleets


@pytest.fixture(scope="package")
def fleets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleets]:
    with running_cloud(ticking=0.5) as cloud:
        yield Fleets(tmp_path_factory.mktemp("fleets"), cloud)
