"""What a plan means in slices, hosts and chips."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model.catalogue import CapacityKind, accelerator_types
from infra.model.fleet import CapacityRow
from infra.model.plan import Op
from infra.model.planned_capacity import capacity, chips_of, place
from tests.cli import plans

ZONES = ("us-west4-a", "us-east1-c")
OPS = st.sampled_from([Op.SAME, Op.CREATE, Op.UPDATE, Op.DELETE])


def _spot(zone: str) -> dict:
    return plans.vm_inputs("a", zone, schedulingConfig={"spot": True})


def test_a_new_kind_of_capacity_is_a_row_of_its_own() -> None:
    step = plans.vm(Op.REPLACE, "a", "us-west4-a", 0, new_inputs=_spot("us-west4-a"))
    assert [(row.place.capacity, row.before, row.after) for row in capacity(plans.plan(step))] == [
        ("preemptible", 1, 0),
        ("spot", 0, 1),
    ]


def test_the_kind_of_capacity_is_read_from_the_scheduling() -> None:
    kinds = {"spot": "spot", "preemptible": "preemptible", "reserved": "reserved"}
    for key, kind in kinds.items():
        assert place(plans.vm_inputs("a", "z", schedulingConfig={key: True})).capacity == kind
    for none in ({}, {"spot": False}, None):
        assert place(plans.vm_inputs("a", "z", schedulingConfig=none)).capacity == "on-demand"


def test_what_is_no_vm_has_no_capacity() -> None:
    step = plans.other(Op.CREATE, plans.REPOSITORY, "r", new_inputs={"location": "us"})
    assert capacity(plans.plan(step)) == ()
    assert chips_of(step) == 0


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ZONES), st.sampled_from(sorted(accelerator_types())), OPS), max_size=30))
def test_capacity_adds_up_to_the_vms_of_the_plan(vms: list[tuple[str, str, Op]]) -> None:
    steps = [plans.vm(op, "pool", zone, index, kind) for index, (zone, kind, op) in enumerate(vms)]
    rows = capacity(plans.plan(*steps))
    assert sum(row.before for row in rows) == sum(step.op is not Op.CREATE for step in steps)
    assert sum(row.after for row in rows) == sum(step.op is not Op.DELETE for step in steps)
    assert list(rows) == sorted(rows, key=lambda row: row.place)
    for row in rows:
        assert row.chips == (row.before * row.place.shape.chips, row.after * row.place.shape.chips)


def test_a_declared_pool_of_no_vms_has_its_row() -> None:
    rows = [
        CapacityRow(
            pool="a",
            zone=zone,
            accelerator="v5litepod-4",
            capacity=CapacityKind.PREEMPTIBLE,
            slices=0,
            hosts=0,
            chips=0,
        )
        for zone in ZONES
    ]
    plan = plans.plan(plans.vm(Op.SAME, "a", "us-west4-a", 0))
    assert [(row.place.zone, row.before, row.after) for row in capacity(plan, rows)] == [
        ("us-east1-c", 0, 0),
        ("us-west4-a", 1, 1),
    ]
