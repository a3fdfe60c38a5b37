"""What a plan says of the fleet's records, in sentences."""

from __future__ import annotations

from typing import Any

import pytest

from infra.model.manifest import manifest, told
from infra.model.plan import Op, Plan, PropertyChange, Step
from infra.model.planned_capacity import VM_TYPE
from infra.model.planned_records import OBJECT_TYPE, RECORDS_TYPE, record_changes
from infra.model.schema import StackConfig
from tests.model.given import parse, pool, stack_text

QUOTA = "- {project: my-lab, zone: us-west4-a, generation: v5e, kind: preemptible, chips: 64}\n"
CONTENT = {"content": PropertyChange(kind="update", before="[secret]", after="[secret]")}


def fleet(*, bundle: str = "a", broker: str | None = None, **given: str) -> dict[str, Any]:
    parts = {key: given.pop(key) for key in ("quotas",) if key in given}
    config: StackConfig = parse(stack_text(pools=pool(**{"name": "tpu-ci", **given}), **parts))
    return told(config, manifest(config, bundle=bundle, startup_script="x", broker=broker))


def plan(*steps: Step) -> Plan:
    return Plan(stack="ci", engine="local", cloud="local", steps=steps)


def step(op: Op, type_: str = OBJECT_TYPE, name: str = "manifests/ci.json", **given: Any) -> Step:
    return Step(op=op, urn=name, type=type_, name=name, **given)


def component(before: Any, after: Any) -> Step:
    inputs = {"old_inputs": {"fleet": before}, "new_inputs": {"fleet": after}}
    return step(Op.SAME if before == after else Op.UPDATE, RECORDS_TYPE, "records", **inputs)


def said(*steps: Step) -> list[str]:
    return [change.says for change in record_changes(plan(*steps))]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ({}, {"labels": "[tpu]"}, "runner labels of pool tpu-ci change: added tpu"),
        (
            {"labels": "[a, b]"},
            {"labels": "[b, a]"},
            "runner labels of pool tpu-ci change: now in the order b, a, tpu-ci",
        ),
        (
            {"serves": "[a/b]"},
            {"serves": "[a/c]"},
            "repositories that pool tpu-ci serves change: added a/c; removed a/b",
        ),
        ({}, {"bundle": "b"}, "start-up bundle changes: VMs take it by rollout"),
        ({}, {"broker": "https://b.example"}, "VMs reach the broker at https://b.example"),
        ({"broker": "https://b.example"}, {}, "VMs have no broker any more"),
    ],
)
def test_each_edit_has_its_sentence(before: dict[str, str], after: dict[str, str], sentence: str) -> None:
    assert said(component(fleet(**before), fleet(**after)), step(Op.UPDATE, diff=CONTENT)) == [sentence]


def test_limits_are_told_by_name() -> None:
    free, limited, wider = fleet(), fleet(quotas=QUOTA), fleet(quotas=QUOTA.replace("64", "96"))
    (name,) = limited["limits"]
    assert said(component(free, limited)) == [f"limit {name} is new"]
    assert said(component(limited, free)) == [f"limit {name} goes"]
    assert said(component(limited, wider)) == [f"limit {name}: chips 64 -> 96"]


def test_what_nothing_explains_is_told_plainly() -> None:
    assert said(step(Op.UPDATE, diff=CONTENT)) == ["manifests/ci.json changes, and the plan cannot say what in it"]
    assert said(step(Op.UPDATE)) == ["manifests/ci.json was changed by others: it is written again"]
    assert said(step(Op.CREATE)) == ["manifests/ci.json is not in the fleet bucket: it is written again"]


@pytest.mark.parametrize(
    "before", [None, "[unknown]", {"pools": []}, {"pools": {"tpu-ci": None}}, {"limits": {"a": 1}}]
)
def test_records_of_another_shape_are_told_plainly(before: Any) -> None:
    assert said(component(before, fleet())) == ["the fleet's records change; what changes in them cannot be read here"]


def test_the_first_time_is_one_line() -> None:
    first = step(Op.CREATE, RECORDS_TYPE, "records", new_inputs={"fleet": fleet()})
    assert said(first, step(Op.CREATE), step(Op.CREATE, VM_TYPE, "vm")) == [
        "manifest and start-up bundle are published by the program"
    ]
