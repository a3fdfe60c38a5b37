"""A cluster with slices of every kind of capacity, row by row, by the official CLI and by the embedded engine.

Each engine works on a local cloud of its own. What an act tells, what then stands in the cloud and what the states hold
must be the same. docs/pulumi-cli.md carries the table.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engines.live import rows
from tests.engines.live.live_stacks import CLUSTER
from tests.engines.live.table import Row

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("official")]


def test_every_kind_of_slices_is_made_from_nothing(brought_up: Callable[[str], rows.Base]) -> None:
    rows.came_up_alike(brought_up(CLUSTER))


@pytest.mark.parametrize(("row", "stack"), rows.of((CLUSTER,)))
def test_both_engines_do_the_same(brought_up: Callable[[str], rows.Base], row: Row, stack: str) -> None:
    rows.run(row, brought_up(stack))
