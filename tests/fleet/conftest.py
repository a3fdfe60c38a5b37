"""What tests of a runner VM share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fleet.sandbox import IMAGE, NEEDED, Sandbox, sandbox


@pytest.fixture
def vm(tmp_path: Path, tool: Callable[[str], str]) -> Iterator[Sandbox]:
    """A VM with its image, as after a boot."""
    for name in NEEDED:
        tool(name)
    with sandbox(tmp_path) as made:
        made.publish(images={"tpu-ci": {"us-west4": IMAGE}})
        made.flag("images", f"{IMAGE}\n")
        yield made
