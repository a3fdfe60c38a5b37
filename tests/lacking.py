"""What becomes of a test where this machine lacks what it needs: skipped, or with TIDEPOOL_STRICT=1 failed."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

STRICT = os.environ.get("TIDEPOOL_STRICT") == "1"
"""For marks: a test that is not left out fails by itself for want of what it needs."""


def lacking(why: str) -> NoReturn:
    """End the test for this reason."""
    if STRICT:
        pytest.fail(f"{why}, and TIDEPOOL_STRICT=1 lets nothing be skipped")
    pytest.skip(why)
