"""What of a plan counts when it is compared with the reviewed one."""

from __future__ import annotations

from typing import Any

import pytest

from infra.model.stepset import PlanError, step_set, why_approval


def step(op: str, name: str, **diff: Any) -> dict[str, Any]:
    return {"op": op, "urn": f"urn:{name}", "name": name, "diff": diff}


def plan(*steps: dict[str, Any], stack: str = "ci", exit_code: int = 0) -> dict[str, Any]:
    return {"stack": stack, "complete": exit_code == 0, "steps": list(steps), "exit": exit_code}


GROWTH = plan(step("create", "vm-1"), step("same", "vm-0"))


def test_values_do_not_count_but_the_properties_that_differ_do() -> None:
    one, other = (plan(step("update", "vm", labels={"after": value})) for value in ("a", "b"))
    assert step_set([one]).digest == step_set([other]).digest
    assert step_set([one]).digest != step_set([plan(step("update", "vm", metadata={}))]).digest


def test_what_stays_the_same_does_not_count() -> None:
    assert step_set([GROWTH]) == step_set([plan(step("create", "vm-1"), step("read", "ci"))])
    assert step_set([GROWTH]).steps == 1


def test_another_operation_resource_or_stack_is_another_set() -> None:
    others = [
        plan(step("replace", "vm-1")),
        plan(step("create", "vm-2")),
        plan(step("create", "vm-1"), stack="nightly"),
        plan(),
    ]
    assert len({step_set([each]).digest for each in [GROWTH, *others]}) == 5


def test_a_vm_that_the_controller_made_since_the_review_is_no_other_plan() -> None:
    reviewed, now = step_set([GROWTH]), step_set([plan(step("adopt", "vm-1"), step("same", "vm-0"))])
    assert why_approval(now, reviewed.digest) == ()
    assert now.steps == 1, "it is still to be taken into the state"


@pytest.mark.parametrize("op", ["delete", "replace"])
def test_a_loss_needs_somebody_even_where_it_was_reviewed(op: str) -> None:
    now = step_set([plan(step(op, "vm-1"))])
    assert why_approval(now, now.digest) == ("deleted or replaced: vm-1",)


def test_many_losses_are_counted() -> None:
    now = step_set([plan(*(step("delete", f"vm-{number}") for number in range(8)))])
    assert why_approval(now, now.digest) == ("deleted or replaced: vm-0, vm-1, vm-2, vm-3, vm-4 and 3 more",)


def test_a_plan_that_nobody_saw_or_that_is_another_needs_somebody() -> None:
    now = step_set([GROWTH])
    assert why_approval(now, None) == ("no reviewed plan of this head and base is known",)
    assert why_approval(now, "0" * 64) == ("the plan is another than the reviewed one",)


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ([plan(exit_code=1)], "could not be made"),
        ([{**GROWTH, "complete": False}], "incomplete"),
        ([{key: value for key, value in GROWTH.items() if key != "complete"}], "incomplete"),
        ([[]], "not what"),
        ([{"stack": "ci"}], "not what"),
        ([plan({"op": "create"})], "without op, urn, name or diff"),
        ([GROWTH, GROWTH], "twice"),
    ],
)
def test_what_is_no_plan_is_refused(documents: list[Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        step_set(documents)
