"""What tests of whole sweeps share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from infra.fleet.google import clients
from tests.model.given import parse, stack_text

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud
from tests.fleet.controller.swept_lab import POOLS, Lab


@pytest.fixture
def lab(ticking_cloud: TestCloud) -> Iterator[Lab]:
    config = parse(stack_text(pools=POOLS))
    with clients(config.project, ticking_cloud.url) as google:
        yield Lab(ticking_cloud, config, google)
