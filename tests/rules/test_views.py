"""A resource as rules see it: its place in a plan, and the careful reading of what may have any shape."""

from __future__ import annotations

from typing import Any

from infra.model.plan import Op, Plan, Status, Step
from infra.rules.view import HIDDEN, UNKNOWN, ResourceView, texts, view, views
from tests.cli import plans

INPUTS = {"disks": [{"mode": "READ_WRITE"}, UNKNOWN], "labels": {"a": HIDDEN}, "name": "vm", "tags": ("x",)}
VIEW = ResourceView(type="gcp:tpu/v2Vm:V2Vm", name="vm", inputs=INPUTS)


def step(op: Op = Op.UPDATE, name: str = "vm", inputs: dict[str, Any] | None = None) -> Step:
    return Step(
        op=op,
        urn=f"urn:pulumi:ci::tidepool::gcp:tpu/v2Vm:V2Vm::{name}",
        type="gcp:tpu/v2Vm:V2Vm",
        name=name,
        old_inputs={"name": "old"},
        new_inputs=inputs,
        protect=True,
        status=Status.PLANNED,
    )


def test_a_view_has_what_its_step_is_to_be() -> None:
    made = view(step(inputs=INPUTS))
    assert (made.type, made.name, made.urn) == (
        "gcp:tpu/v2Vm:V2Vm",
        "vm",
        "urn:pulumi:ci::tidepool::gcp:tpu/v2Vm:V2Vm::vm",
    )
    assert (made.inputs, made.protect) == (INPUTS, True)
    assert view(step()).inputs == {}


def test_what_a_plan_deletes_leaves_alone_or_only_reads_is_not_seen() -> None:
    plan: Plan = plans.plan(*(step(op, op.value) for op in Op))
    gone = {Op.DELETE, Op.RETAIN, Op.READ}
    assert {each.name for each in views(plan)} == {op.value for op in Op} - {op.value for op in gone}


def test_what_is_not_there_or_not_known_is_none() -> None:
    assert (VIEW.get("disks", 0, "mode"), VIEW.get("disks", 2), VIEW.get("name", "x")) == ("READ_WRITE", None, None)
    assert (VIEW.get("tags", 0), VIEW.get("tags", 1), VIEW.get("labels", 0)) == ("x", None, None)
    assert (VIEW.text("name"), VIEW.text("labels", "a"), VIEW.text("disks", 1)) == ("vm", None, None)
    assert (VIEW.table("labels"), VIEW.table("name")) == ({"a": HIDDEN}, {})
    assert (VIEW.items("labels"), VIEW.items("tags"), VIEW.items("name")) == (({"a": HIDDEN},), ("x",), ())


def test_a_view_is_called_by_its_name_and_short_type() -> None:
    assert VIEW.subject == "vm (tpu.V2Vm)"
    assert ResourceView(type="pulumi:pulumi:Stack", name="ci").subject == "ci (pulumi.Stack)"
    assert ResourceView(type="odd", name="it").subject == "it (odd)"


def test_texts_are_read_with_their_paths_down_to_the_64th_level() -> None:
    assert dict(texts(INPUTS)) == {
        "disks[0].mode": "READ_WRITE",
        "disks[1]": UNKNOWN,
        "labels.a": HIDDEN,
        "name": "vm",
        "tags[0]": "x",
    }

    def below(levels: int, *, lists: bool) -> Any:
        value: Any = "deep"
        for _ in range(levels):
            value = [value] if lists else {"k": value}
        return value

    for lists in (False, True):
        assert [text for _, text in texts(below(64, lists=lists))] == ["deep"]
        assert list(texts(below(65, lists=lists))) == []
