"""A swap inside a full reservation: what one pass does to it, and what phases do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from bench.cloud.testing import TestCloud
from infra.engines.passes import phases_of
from infra.model.phases import Work
from infra.model.plan import Op, Plan, Status, Step
from infra.model.planned_capacity import VM_TYPE
from tests.engines.phase_world import (
    Pool,
    Stack,
    bound,
    declare,
    declared,
    high_water,
    refusals,
    stack_at,
    vm_steps,
    vms,
)

pytestmark = pytest.mark.usefixtures("cheap_keys")

__all__ = ["high_water"]

FULL = bound("reserved", 16)
BEFORE = {"a": Pool(size=4)}
SWAPPED = {"a": Pool(size=2), "b": Pool(size=2)}


@pytest.fixture
def stack(ticking_cloud: TestCloud) -> Iterator[Stack]:
    """Four VMs, which have the whole reservation."""
    with stack_at(ticking_cloud) as stack:
        declare(ticking_cloud, FULL)
        assert not stack.up(BEFORE, FULL).failed
        yield stack


def test_one_pass_creates_before_it_deletes_and_never_gets_through(stack: Stack) -> None:
    for _ in range(2):
        run = stack.single_pass(SWAPPED)
        assert run.failed
        assert "There is not enough capacity left in reservation" in "".join(said.message for said in run.diagnostics)
        assert stack.standing() == declared(BEFORE), "no delete was sent, so a second run stands where the first did"


def test_one_pass_that_goes_on_after_failures_needs_a_second_run(stack: Stack) -> None:
    assert stack.single_pass(SWAPPED, continue_on_error=True).failed
    assert set(stack.standing()) < set(declared(SWAPPED))
    assert not stack.single_pass(SWAPPED).failed


def test_phases_delete_first_and_get_through_in_one_run(stack: Stack, high_water: Counter[str]) -> None:
    order = stack.phases(SWAPPED, FULL)
    assert [phase.work for phase in order.order] == [Work.SHRINK, Work.GROW]
    assert order.first == ("a-us-west4-a-2", "a-us-west4-a-3")

    run = stack.up(SWAPPED, FULL)
    assert not run.failed
    assert vms(run, Status.DONE) == {
        "a-us-west4-a-2": Op.DELETE,
        "a-us-west4-a-3": Op.DELETE,
        "b-us-west4-a-0": Op.CREATE,
        "b-us-west4-a-1": Op.CREATE,
    }
    assert stack.standing() == declared(SWAPPED)
    assert refusals(stack.cloud) == []
    assert high_water["reserved"] <= 16
    assert not vms(stack.up(SWAPPED, FULL))


def test_larger_slices_inside_a_full_reservation_wait_for_the_deletes(stack: Stack, high_water: Counter[str]) -> None:
    larger = {"a": Pool(size=2, accelerator="v5litepod-8")}
    run = stack.up(larger, FULL)
    assert not run.failed
    assert Counter(vms(run, Status.DONE).values()) == {Op.REPLACE: 2, Op.DELETE: 2}
    assert stack.standing() == declared(larger)
    assert refusals(stack.cloud) == []
    assert high_water["reserved"] <= 16


def test_pools_that_trade_limits_both_go_first(stack: Stack, high_water: Counter[str]) -> None:
    quota = bound("preemptible", 16)
    declare(stack.cloud, quota)
    assert not stack.up(BEFORE | {"b": Pool(size=4, kind="preemptible")}, FULL, quota).failed
    traded = {"a": Pool(size=4, kind="preemptible"), "b": Pool(size=4)}
    order = stack.phases(traded, FULL, quota)
    assert len(order.first) == len(order.remade) == 8
    run = stack.up(traded, FULL, quota)
    assert not run.failed
    assert set(vms(run, Status.DONE).values()) == {Op.REPLACE}, (
        "a replacement is one step, in whichever phase its halves are"
    )
    assert refusals(stack.cloud) == []
    assert max(high_water.values()) <= 16
    assert not vms(stack.up(traded, FULL, quota))


def test_a_failed_delete_holds_back_only_the_creates_that_need_its_chips(
    stack: Stack, high_water: Counter[str]
) -> None:
    wanted = {"a": Pool(size=2), "b": Pool(size=2), "c": Pool(size=1, kind="on-demand")}
    stack.cloud.control.fail("error", code=403, message="not yours", method="*.nodes.delete", name="a-us-west4-a-3")
    run = stack.up(wanted, FULL)
    assert run.failed
    assert vms(run, Status.FAILED) == {"a-us-west4-a-3": Op.DELETE}
    assert vms(run, Status.SKIPPED) == {"b-us-west4-a-1": Op.CREATE}
    assert set(stack.standing()) == {*declared(wanted), "a-us-west4-a-3"} - {"b-us-west4-a-1"}
    (said,) = [said.message for said in run.diagnostics if said.message.startswith("1 VM (a-us-west4-a-3)")]
    assert said == (
        "1 VM (a-us-west4-a-3) could not be deleted: 1 VM (b-us-west4-a-1) held back, since their chips are still "
        "taken; mend that and run `./tidepool up fleet` again: it does only what is missing"
    )
    assert refusals(stack.cloud) == []

    stack.cloud.control.mend()
    again = stack.up(wanted, FULL)
    assert vms(again, Status.DONE) == {"a-us-west4-a-3": Op.DELETE, "b-us-west4-a-1": Op.CREATE}
    assert stack.standing() == declared(wanted)
    assert refusals(stack.cloud) == []
    assert high_water["reserved"] <= 16


def test_a_vm_that_went_first_and_could_not_be_made_again_says_so(stack: Stack) -> None:
    bigger, smaller = Pool(size=1, accelerator="v5litepod-8"), Pool(size=1)
    start, wanted = {"a": smaller, "b": bigger}, {"a": bigger, "b": smaller}
    tight = bound("reserved", 12)
    assert not stack.up(start, FULL).failed
    declare(stack.cloud, tight)
    stack.cloud.control.fail("stockout", name="b-*")
    run = stack.up(wanted, tight)
    assert vms(run, Status.FAILED) == {"b-us-west4-a-0": Op.REPLACE}
    assert vms(run, Status.DONE) == {"a-us-west4-a-0": Op.REPLACE}
    stack.cloud.control.mend()
    assert vms(stack.up(wanted, tight), Status.DONE) == {"b-us-west4-a-0": Op.CREATE}
    assert refusals(stack.cloud) == []


def test_a_limit_that_is_passed_already_lets_vms_go_and_none_come(stack: Stack) -> None:
    small = bound("reserved", 8)
    declare(stack.cloud, small)
    wanted = {"a": Pool(size=2), "b": Pool(size=1)}
    order = stack.phases(wanted, small)
    assert order.held == ("b-us-west4-a-0",)
    assert [load.why for load in order.exceeded] == [
        "us-west4-a v5e reservation lab: 12 of 8 chips are declared, 16 are held"
    ]
    run = stack.up(wanted, small)
    assert run.failed
    assert vms(run, Status.SKIPPED) == {"b-us-west4-a-0": Op.CREATE}
    assert set(stack.standing()) == {"a-us-west4-a-0", "a-us-west4-a-1"}
    assert refusals(stack.cloud) == []


def test_an_edit_with_room_for_both_deletes_nothing_first(stack: Stack) -> None:
    wide = bound("reserved", 24)
    declare(stack.cloud, wide)
    stack.passes.clear()
    order = stack.phases(SWAPPED, wide)
    assert ([phase.work for phase in order.order], order.first) == ([Work.GROW, Work.RETIRE], ())
    run = stack.up(SWAPPED, wide)
    assert stack.passes == [()]
    assert all(step.status is Status.DONE for step in vm_steps(run))


def test_a_vm_of_a_type_that_the_catalogue_does_not_know_draws_on_no_limit() -> None:
    old = {"acceleratorType": "v2-8", "zone": "us-west4-a", "project": "my-lab", "labels": {"tidepool-pool": "old"}}
    gone = Step(op=Op.DELETE, urn="urn:old", type=VM_TYPE, name="old", old_inputs=old)
    assert phases_of(Plan(stack="fleet", engine="local", cloud="local", steps=(gone,)), [FULL]).order == ()
