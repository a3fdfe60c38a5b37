"""What one edit of a stack file changes in the program: exactly that, and nothing beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
import pytest

from infra.model.stack_text import pulumi_values
from infra.program.stack import run
from tests.program.fake_engine import Built, build
from tests.program.stacks import built, edited, text_of, unedited

VMS_IN_US_WEST4 = ["tpu-ci-us-west4-a-0", "tpu-ci-us-west4-a-1"]


def added(before: Built, after: Built) -> list[str]:
    return sorted(after.resources[urn].name for urn in after.resources.keys() - before.resources.keys())


def changed(before: Built, after: Built) -> dict[str, Mapping[str, Any]]:
    """Of every resource that both have: which inputs differ, as they are after."""
    found = {}
    for urn in before.resources.keys() & after.resources.keys():
        old, new = before.resources[urn].inputs, after.resources[urn].inputs
        differing = {key: new.get(key) for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
        if differing:
            found[after.resources[urn].name] = differing
    return found


def test_one_more_is_exactly_one_more_resource() -> None:
    before, after = unedited("ci"), built("ci", edited("ci", ("us-west4-a: 2", "us-west4-a: 3")))
    assert added(before, after) == ["tpu-ci-us-west4-a-2"]
    assert added(after, before) == []
    assert changed(before, after).keys() == {"manifests/ci.json"}


def test_one_fewer_drops_the_highest_index() -> None:
    before, after = unedited("ci"), built("ci", edited("ci", ("us-west4-a: 2", "us-west4-a: 1")))
    assert added(after, before) == ["tpu-ci-us-west4-a-1"]
    assert added(before, after) == []
    assert changed(before, after).keys() == {"manifests/ci.json"}


def test_a_label_changes_labels_in_place() -> None:
    before, after = unedited("ci"), built("ci", edited("ci", ("tpu-ci-component: runner", "tpu-ci-component: worker")))
    assert added(before, after) == added(after, before) == []
    found = changed(before, after)
    assert set(found.pop("manifests/ci.json")) == {"content"}
    assert set(found) == {vm.name for vm in after.of("V2Vm")}
    assert all(set(inputs) == {"labels"} for inputs in found.values())


def test_another_kind_of_capacity_changes_scheduling_and_keeps_the_name() -> None:
    text = text_of("ci").replace("capacity: preemptible", "capacity: spot", 1)
    before, after = unedited("ci"), built("ci", text)
    assert added(before, after) == added(after, before) == []
    differing = {name: set(inputs) for name, inputs in changed(before, after).items()}
    assert differing.pop("manifests/ci.json") == {"content"}
    assert differing[VMS_IN_US_WEST4[0]] == {"schedulingConfig"}
    assert len(differing) == 6


def test_every_mistake_of_a_file_is_said_at_once_and_nothing_is_declared() -> None:
    text = edited("ci", ("us-west4-a: 2", "us-west9-z: 2"), ("accelerator: v5p-8", "accelerator: v5p-9"))
    with pytest.raises(pulumi.RunError) as raised:
        built("ci", text)
    assert "us-west9-z" in str(raised.value)
    assert "v5p-9" in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__, "a person who mistyped a zone is shown no traceback"


def test_the_other_stacks_are_those_of_the_checkout_that_is_run(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    taken = text_of("nightly").replace("nightly-v6e", "tpu-ci").replace("us-central1-b: 0", "us-central1-b: 1")
    (tmp_path / "stacks" / "Pulumi.nightly.yaml").write_text(taken)
    with pytest.raises(pulumi.RunError, match="nightly"):
        build(lambda: run(tmp_path), stack="ci", config=pulumi_values(text_of("ci")))
