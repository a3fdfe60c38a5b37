"""No test is left out in silence where the strict mode asks for all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import lacking

TESTS = Path(__file__).parent
SKIP = re.compile(r"pytest\.(?:skip|importorskip)\(")
MAY_SKIP = {"lacking.py"}


def test_what_a_machine_lacks_fails_a_test_in_the_strict_mode_and_skips_it_in_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lacking, "STRICT", True)
    with pytest.raises(pytest.fail.Exception, match="crane is not here, and TIDEPOOL_STRICT=1 lets nothing"):
        lacking.lacking("crane is not here")
    monkeypatch.setattr(lacking, "STRICT", False)
    with pytest.raises(pytest.skip.Exception, match="crane is not here"):
        lacking.lacking("crane is not here")


def test_no_test_skips_by_itself_without_asking_for_that_mode() -> None:
    texts = {str(path.relative_to(TESTS)): path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    assert {name for name, text in texts.items() if SKIP.search(text)} == MAY_SKIP
