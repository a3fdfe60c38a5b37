"""Which stack a VM that somebody names is of."""

from __future__ import annotations

import pytest

from infra.operations.declared.known import Named
from infra.operations.fleet.subjects import declared_subjects
from tests.model.given import parse, pool, stack_text


@pytest.mark.parametrize(
    ("subject", "known"),
    [
        ("tpu-ci", True),
        ("tpu-ci-us-west4-a-0", True),
        ("tpu-ci-us-west4-a-99", True),
        ("tpu-ci-us-east1-c-0", True),
        ("tpu-ci-us-central1-ai1a-0", True),
        ("tpu-ci-us-west4-a", False),
        ("tpu-ci-night-us-west4-a-0", False),
        ("tpu-us-west4-a-0", False),
        ("us-west4-a-0", False),
        ("x-west4-a-0", False),
        ("research", False),
    ],
)
def test_a_vm_is_of_the_stack_that_has_its_pool_also_where_its_zone_is_declared_no_more(
    subject: str, known: bool
) -> None:
    config = parse(stack_text(pools=pool(name="tpu-ci", zones="{us-west4-a: 3}")))
    assert bool(declared_subjects(subject, (Named.POOL, Named.VM), [config])) == known
