"""A plan that a preview saved, and `up` with it: what was agreed on is done, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from infra.model.plan import Op, Plan, PropertyChange, Step
from infra.operations.declared.stack_file import declared
from infra.operations.errors import Failure
from infra.operations.stacks.preview import Planned
from infra.operations.stacks.saved import insist_on, save
from infra.rules.finding import Finding, Level
from tests.synthetic_lab import lend

KEPT = Step(op=Op.SAME, urn="urn:pulumi:ci::tidepool::t::kept", type="t", name="kept")
NEW = Step(op=Op.CREATE, urn="urn:pulumi:ci::tidepool::t::new", type="t", name="new", new_inputs={"zone": "us-west4-a"})
CHANGED = Step(
    op=Op.UPDATE,
    urn="urn:pulumi:ci::tidepool::t::old",
    type="t",
    name="old",
    diff={"labels.owner": PropertyChange(kind="update", before="anna", after="ben")},
    new_inputs={"labels": {"owner": "ben"}},
)


def planned(*steps: Step, cloud: str = "google", stack: str = "ci") -> Planned:
    plan = Plan(stack=stack, engine="pulumi", cloud=cloud, steps=(KEPT, *steps))
    return Planned(wanted=declared("ci"), plan=plan, phases=None, findings=())


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEPOOL_ROOT", str(lend(tmp_path / "checkout")))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    save(planned(NEW, CHANGED), tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_the_same_plan_may_be_applied(file: Path) -> None:
    insist_on(file, planned(NEW, CHANGED))


def test_inputs_that_json_has_no_word_for_are_compared_too(tmp_path: Path) -> None:
    dated = replace(NEW, new_inputs={"folder": tmp_path})
    save(planned(dated), tmp_path / "plan.json")
    insist_on(tmp_path / "plan.json", planned(dated))


def test_a_vm_that_the_controller_made_meanwhile_may_be_adopted(file: Path) -> None:
    insist_on(file, planned(replace(NEW, op=Op.ADOPT), CHANGED))


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ((NEW,), "old is as declared by now"),
        ((NEW, CHANGED, replace(NEW, urn=NEW.urn + "er", name="newer")), "newer (create) is not in it"),
        ((NEW, replace(CHANGED, op=Op.REPLACE)), "old (update then, replace now)"),
        ((replace(NEW, new_inputs={"zone": "us-east1-c"}), CHANGED), "new (create) with other values"),
        (
            (NEW, replace(CHANGED, diff={"labels.owner": PropertyChange(kind="update", before="anna", after="eve")})),
            "old (update) with other values",
        ),
    ],
)
def test_another_plan_is_refused_with_each_resource_that_differs(file: Path, now: tuple[Step, ...], said: str) -> None:
    with pytest.raises(Failure) as refused:
        insist_on(file, planned(*now))
    assert f"is not what {file} says: {said}. Save it anew: " in refused.value.message


def test_a_plan_of_another_cloud_or_stack_is_refused(file: Path) -> None:
    with pytest.raises(Failure, match="is a plan of cloud 'google', and this is 'local'"):
        insist_on(file, planned(NEW, CHANGED, cloud="local"))
    with pytest.raises(Failure, match="is a plan of stack 'ci', and this is 'nightly'"):
        insist_on(file, planned(NEW, CHANGED, stack="nightly"))


@pytest.mark.parametrize(
    "text", ["", "[]", '{"stack": "ci", "cloud": "google"}', '{"stack": "ci", "cloud": "google", "steps": [{}]}']
)
def test_what_is_no_saved_plan_is_refused(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(Failure, match=f"nothing was changed: {file} is no saved plan"):
        insist_on(file, planned())


def test_a_plan_that_a_rule_stops_is_not_saved(tmp_path: Path) -> None:
    finding = Finding(rule="growth", level=Level.STOP, subject="ci", reason="too much", fix="less")
    with pytest.raises(Failure, match="was not written: this plan cannot be applied"):
        save(replace(planned(NEW), findings=(finding,)), tmp_path / "plan.json")
    assert not (tmp_path / "plan.json").exists()
