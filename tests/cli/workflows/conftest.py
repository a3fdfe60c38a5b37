"""What commands about workflows make besides is left out: plans of stacks have a test of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.engines.plans import StackPlans


@pytest.fixture(autouse=True, scope="module")
def without_plans() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("infra.engines.plans.plans", lambda _: StackPlans(texts={}, failures={}))
        yield
