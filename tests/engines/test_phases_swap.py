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


def test_a_vm_of_a_type_that_the_catalogue_does_not_know_draws_on_no_limit() -> None:
    old = {"acceleratorType": "v2-8", "zone": "us-west4-a", "project": "my-lab", "labels": {"tidepool-pool": "old"}}
    gone = Step(op=Op.DELETE, urn="urn:old", type=VM_TYPE, name="old", old_inputs=old)
    assert phases_of(Plan(stack="fleet", engine="local", cloud="local", steps=(gone,)), [FULL]).order == ()
