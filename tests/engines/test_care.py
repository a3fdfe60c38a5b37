"""When going on after a failure does no harm, and what is done after one that stopped a pass."""

from __future__ import annotations

import pytest

from infra.engines.passes import next_pass, safe_to_continue
from infra.model.plan import Op, Step
from tests.engines.course_lab import other, vm


def grant(op: Op) -> Step:
    return other(op, f"grant-{op}")


@pytest.mark.parametrize(
    ("steps", "safe"),
    [
        ([], True),
        ([vm(Op.SAME)], True),
        ([vm(Op.CREATE), vm(Op.UPDATE, index=1)], True),
        ([vm(Op.DELETE), grant(Op.DELETE)], True),
        ([vm(Op.CREATE), grant(Op.DELETE)], True),
        ([vm(Op.DELETE), grant(Op.CREATE)], True),
        ([vm(Op.CREATE, "a"), vm(Op.DELETE, "b")], True),
        ([vm(Op.CREATE, zone="us-west4-a"), vm(Op.DELETE, zone="us-east1-c")], False),
        ([vm(Op.REPLACE)], False),
    ],
)
def test_growing_or_shrinking_a_pool_may_go_on_and_moves_and_replacements_stop(steps: list[Step], safe: bool) -> None:
    assert safe_to_continue(steps) is safe


def test_after_a_failure_everything_that_takes_nothing_away_comes_first() -> None:
    left = [vm(Op.REPLACE, "b"), vm(Op.CREATE, "c"), vm(Op.DELETE, "d"), grant(Op.CREATE), grant(Op.DELETE)]
    assert next_pass(left, [vm(Op.CREATE, "a")]) == (vm(Op.CREATE, "c"), grant(Op.CREATE))


def test_then_replacements_of_other_places_and_deletes_of_other_pools() -> None:
    same_place, other_zone, other_pool = vm(Op.REPLACE, index=1), vm(Op.REPLACE, zone="us-east1-c"), vm(Op.REPLACE, "b")
    own_delete, other_delete = vm(Op.DELETE, zone="us-east1-c", index=1), vm(Op.DELETE, "d")
    left = [same_place, other_zone, other_pool, own_delete, other_delete, grant(Op.DELETE)]
    assert next_pass(left, [vm(Op.REPLACE)]) == (other_zone, other_pool, other_delete)


def test_what_is_no_vms_failure_ends_the_run() -> None:
    assert next_pass([vm(Op.CREATE, "b")], [grant(Op.CREATE)]) == ()
