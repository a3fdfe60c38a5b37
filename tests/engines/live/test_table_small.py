"""A small stack, row by row: the official CLI with Google's plugin beside the embedded engine.

Each engine works on a local cloud of its own. What an act tells, what then stands in the cloud and what the states hold
must be the same. docs/pulumi-cli.md carries the table.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engines.live import rows
from tests.engines.live.live_stacks import SMALL
from tests.engines.live.table import Row

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("official")]


@pytest.mark.parametrize("stack", rows.from_nothing(SMALL))
def test_from_nothing(brought_up: Callable[[str], rows.Base], stack: str) -> None:
    rows.came_up_alike(brought_up(stack))


@pytest.mark.parametrize(("row", "stack"), rows.of((SMALL,)))
def test_both_engines_do_the_same(brought_up: Callable[[str], rows.Base], row: Row, stack: str) -> None:
    rows.run(row, brought_up(stack))
