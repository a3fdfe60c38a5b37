"""What commands about workflows make besides is left out: plans of stacks have a test of their own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def without_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infra.engines.plans.plans", lambda _: {})
