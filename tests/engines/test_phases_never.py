"""No limit is ever passed, whatever fleet becomes whatever other fleet: the local cloud refuses over-use and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.cloud.testing import TestCloud
from infra.model.bounds import Bound
from infra.model.plan import Status
from tests.engines.phase_world import (
    KINDS,
    Pool,
    Pools,
    bound,
    declare,
    declared,
    nothing_runs,
    refusals,
    stack_at,
    vms,
    watch,
)

pytestmark = pytest.mark.usefixtures("cheap_keys")

CHIPS = {"v5litepod-1": 1, "v5litepod-4": 4, "v5litepod-8": 8}
POOL = st.builds(Pool, size=st.integers(0, 3), accelerator=st.sampled_from(sorted(CHIPS)), kind=st.sampled_from(KINDS))
FLEET = st.fixed_dictionaries({"a": POOL, "b": POOL, "c": POOL})
SPARE = st.fixed_dictionaries({kind: st.sampled_from([0, 0, 1, 4]) for kind in KINDS})
OTHERS = st.integers(0, 8)

GROWN = {"a": Pool(size=2, accelerator="v5litepod-8"), "b": Pool(size=1)}
"""What TIGHT becomes inside the same 20 chips: `a` grows slice by slice, and `b` gives up all but one."""
TIGHT = {"a": Pool(size=2), "b": Pool(size=3)}
TRADED = {"a": Pool(size=3, kind="preemptible"), "b": Pool(size=3, kind="on-demand"), "c": Pool(size=3)}
"""Each pool takes the place of another in a limit that is full."""
IN_A_RING = {"a": Pool(size=3), "b": Pool(size=3, kind="preemptible"), "c": Pool(size=3, kind="on-demand")}
MOVING = {"a": Pool(size=3), "b": Pool(size=3, kind="preemptible")}
MOVED = {"a": Pool(size=1), "b": Pool(size=1, kind="preemptible"), "c": Pool(size=2)}
"""A full limit from which VMs go first, and another from which they go last."""
NO_SPARE = dict.fromkeys(KINDS, 0)


def drawn(pools: Pools) -> Counter[str]:
    chips: Counter[str] = Counter()
    for pool in pools.values():
        chips[pool.kind] += pool.size * CHIPS[pool.accelerator]
    return chips


def bounds_of(before: Pools, after: Pools, spare: dict[str, int], others: int) -> list[Bound]:
    """The smallest limits that hold each of both fleets, and a little more."""
    needed = drawn(before) | drawn(after)
    return [bound(kind, needed[kind] + spare[kind] + others, others=others) for kind in KINDS]


@pytest.fixture(scope="module")
def marks() -> Iterator[Counter[str]]:
    """The high-water mark of each kind of limit, since it was last cleared."""
    with pytest.MonkeyPatch.context() as patch:
        yield watch(patch)


@settings(deadline=None, max_examples=3)
@given(FLEET, FLEET, SPARE, OTHERS, st.integers(0, 2), st.booleans())
@example(TIGHT, GROWN, NO_SPARE, 0, 0, False)
@example(TIGHT, GROWN, NO_SPARE, 3, 1, True)
@example(TRADED, IN_A_RING, NO_SPARE, 0, 0, True)
@example(TRADED, IN_A_RING, NO_SPARE, 0, 2, False)
@example(MOVING, MOVED, NO_SPARE, 0, 1, True)
def test_no_limit_is_passed_at_any_instant(
    quick_cloud: TestCloud,
    marks: Counter[str],
    before: Pools,
    after: Pools,
    spare: dict[str, int],
    others: int,
    stuck: int,
    waits: bool,
) -> None:
    """One fleet becomes another; first with that many VMs that cannot be deleted, then without.

    waits: whether what goes stands until what is new is made.
    """
    hold = nothing_runs if waits else None
    marks.clear()
    bounds = bounds_of(before, after, spare, others)
    with stack_at(quick_cloud) as stack:
        for each in bounds:
            declare(quick_cloud, each)
        assert not stack.up(before, *bounds).failed
        faulty = stack.phases(after, *bounds).first[:stuck]
        for name in faulty:
            quick_cloud.control.fail("error", code=403, message="not yours", method="*.nodes.delete", name=name)
        run = stack.up(after, *bounds, hold=hold)
        assert run.failed == bool(faulty)
        assert {*vms(run, Status.FAILED)} == {*faulty}, "nothing fails but what was made to"
        quick_cloud.control.mend()
        if faulty:
            assert not stack.up(after, *bounds, hold=hold).failed
        assert stack.standing() == declared(after)
        assert vms(stack.preview(after)) == {}
        assert refusals(quick_cloud) == []
        assert all(marks[kind] + each.others <= each.limit.chips for kind, each in zip(KINDS, bounds, strict=True))


once: Any = test_no_limit_is_passed_at_any_instant
test_no_limit_is_passed_in_many_more_fleets = pytest.mark.heavy(
    settings(deadline=None, max_examples=400)(
        given(FLEET, FLEET, SPARE, OTHERS, st.integers(0, 4), st.booleans())(once.hypothesis.inner_test)
    )
)
