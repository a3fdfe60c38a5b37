"""Stacks that both engines have brought up, for every row of the table to begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from infra.engines.choose import observe
from tests.engines.live.live_stacks import CLUSTER, SMALL, write_cluster, write_small, write_synthetic
from tests.engines.live.live_worlds import Yard
from tests.engines.live.rows import Base
from tests.lacking import lacking

OF_THE_MACHINE = ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE")


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with pytest.MonkeyPatch.context() as patch:
        for name in OF_THE_MACHINE:
            patch.delenv(name, raising=False)
        made = Yard(tmp_path_factory.mktemp("table"))
        yield made
        made.end()


@pytest.fixture
def official(tool: Callable[[str], str]) -> None:
    tool("pulumi")
    if observe().plugin is None:
        lacking("the pulumi CLI has no gcp plugin")


@pytest.fixture(scope="module")
def brought_up(yard: Yard) -> Callable[[str], Base]:
    """The worlds in which a stack stands."""
    files = {SMALL: write_small, CLUSTER: write_cluster}
    return cache(lambda stack: Base(yard, stack, files.get(stack, write_synthetic)))
