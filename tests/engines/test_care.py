"""When going on after a failure does no harm, and what is done after one that stopped a pass."""

from __future__ import annotations

import pytest

from infra.engines.passes import next_pass, safe_to_continue
from infra.model.plan import Op, Step
from tests.engines.course_lab import other, vm


def grant(op: Op) -> Step:
    return other(op, f"grant-{op}")


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [vm(Op.SAME)],
        [vm(Op.CREATE), vm(Op.UPDATE, index=1)],
        [vm(Op.DELETE), grant(Op.DELETE)],
        [vm(Op.CREATE), grant(Op.DELETE)],
        [vm(Op.DELETE), grant(Op.CREATE)],
        [vm(Op.CREATE, "a"), vm(Op.DELETE, "b")],
    ],
)
def test_growing_or_shrinking_a_pool_may_go_on(steps: list[Step]) -> None:
    assert safe_to_continue(steps)


def test_a_pool_that_moves_stops_before_it_deletes_what_it_could_not_make_elsewhere() -> None:
    assert not safe_to_continue([vm(Op.CREATE, zone="us-west4-a"), vm(Op.DELETE, zone="us-east1-c")])


def test_replacements_stop_at_the_first_that_fails() -> None:
    assert not safe_to_continue([vm(Op.REPLACE)])


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
