"""When going on after a failure does no harm."""

from __future__ import annotations

import pytest

from infra.engines.care import safe_to_continue
from infra.model.plan import Op, Plan, Step
from infra.model.planned_capacity import VM_TYPE

GRANT = "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember"


def plan(*steps: tuple[Op, str]) -> Plan:
    made = (
        Step(op=op, urn=f"urn:pulumi:ci::tidepool::{kind}::{index}", type=kind, name=str(index))
        for index, (op, kind) in enumerate(steps)
    )
    return Plan(stack="ci", engine="pulumi", cloud="google", steps=tuple(made))


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [(Op.SAME, VM_TYPE)],
        [(Op.CREATE, VM_TYPE), (Op.UPDATE, VM_TYPE)],
        [(Op.DELETE, VM_TYPE), (Op.DELETE, GRANT)],
        [(Op.CREATE, VM_TYPE), (Op.DELETE, GRANT)],
        [(Op.DELETE, VM_TYPE), (Op.CREATE, GRANT)],
    ],
)
def test_growing_or_shrinking_alone_may_go_on(steps: list[tuple[Op, str]]) -> None:
    assert safe_to_continue(plan(*steps))


def test_a_swap_stops_before_it_deletes_what_it_could_not_make_elsewhere() -> None:
    assert not safe_to_continue(plan((Op.CREATE, VM_TYPE), (Op.DELETE, VM_TYPE)))


def test_replacements_stop_at_the_first_that_fails() -> None:
    assert not safe_to_continue(plan((Op.REPLACE, VM_TYPE)))
