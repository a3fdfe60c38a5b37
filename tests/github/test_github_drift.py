"""One issue a stack that follows its drift."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infra.github import drift
from infra.github.client import WORKFLOW_LOGIN, connect
from infra.github.drift import PlanError, Told, drift_of
from infra.preview.markup import code
from tests.github.lab_repository import REPO, Lab

GOLDEN = Path(__file__).parent / "drift_issue.md"


def step(name: str = "tpu-ci-0", *, op: str = "update", **diff: Any) -> dict[str, Any]:
    changes = {path: {"kind": "update", "before": 1, "after": after, "replaces": False} for path, after in diff.items()}
    return {"op": op, "urn": f"urn:{name}", "type": "gcp:tpu/v2Vm:V2Vm", "name": name, "diff": changes}


def plan(*steps: dict[str, Any], stack: str = "ci", code: int = 0) -> dict[str, Any]:
    return {"stack": stack, "steps": [step("quiet", op="same"), *steps], "exit": code}


def tell(lab: Lab, *steps: dict[str, Any], stack: str = "ci") -> Told:
    return drift.tell(lab.place(), drift_of(stack, plan(*steps, stack=stack)))


def issue(lab: Lab, told: Told) -> Any:
    assert told.number is not None
    return lab.repository().get_issue(told.number)


def test_nothing_to_tell_makes_no_issue(lab: Lab) -> None:
    assert tell(lab) == Told("clean", None)
    assert lab.writes() == []


def test_drift_is_told_by_resource_and_property_and_never_by_value(lab: Lab, update_goldens: bool) -> None:
    paths: dict[str, Any] = {f"path{number}": 2 for number in range(7)}
    steps = [step(labels="a-value-nobody-should-see"), step("gone", op="delete"), step("many", **paths)]
    both = granted(*(f"user:{n:02}@example.org" for n in range(22)), unread=("403",)) | {"steps": steps}
    told = drift.tell(lab.place(), drift_of("ci", both))
    found = issue(lab, told)
    assert (told.outcome, found.title) == ("created", "Drift in ci: 3 resources differ, 22 grants by hand")
    assert [label.name for label in found.labels] == [drift.LABEL]
    if update_goldens:
        GOLDEN.write_text(found.body, encoding="utf-8")
    assert found.body == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"
    assert issue(lab, tell(lab, step(labels=2), stack="nightly")).title == "Drift in nightly: 1 resource differs"


def test_the_issue_closes_when_clean_and_is_reopened(lab: Lab) -> None:
    first = tell(lab, step(labels=2))
    assert tell(lab) == Told("closed", first.number)
    assert issue(lab, first).state == "closed"
    assert tell(lab) == Told("clean", first.number)
    assert tell(lab, step(labels=2)) == Told("reopened", first.number)
    assert issue(lab, first).state == "open"


def test_a_strangers_issue_with_our_marker_is_left_alone(lab: Lab) -> None:
    lab.control.add_token("eve", "eve")
    eve = connect(api=lab.control.api, repository=REPO, token="eve")
    forged = drift.tell(eve, drift_of("ci", plan(step(labels=2))))
    assert tell(lab, step(labels=2)).number != forged.number
    tell(lab)
    assert issue(lab, forged).state == "open"


def test_of_two_open_issues_of_ours_one_stays(lab: Lab) -> None:
    first = tell(lab, step(labels=2))
    twin = lab.repository().create_issue("Drift", body=issue(lab, first).body, labels=[drift.LABEL])
    told = tell(lab, step(labels=2))
    assert told == Told("unchanged", twin.number)
    assert issue(lab, first).state == "closed"
    assert {each.user.login for each in lab.repository().get_issues()} >= {WORKFLOW_LOGIN}


def test_ten_thousand_differences_fit_in_one_issue(lab: Lab) -> None:
    paths: dict[str, Any] = {f"{'path' * 15}{number}": 2 for number in range(9)}
    steps = [
        step(f"{'long-name-' * 6}{index:05d}") | step(**paths) | {"urn": f"urn:{index}"} for index in range(10_000)
    ]
    steps = [each | {"name": f"{'long-name-' * 6}{index:05d}"} for index, each in enumerate(steps)]
    found = issue(lab, tell(lab, *steps))
    assert len(found.body) <= 65_536
    assert "9,900 more" in found.body


def granted(*members: str, unread: tuple[str, ...] = ()) -> dict[str, Any]:
    strange = [{"kind": "registry", "resource": "r", "role": "roles/w", "member": member} for member in members]
    return {**plan(), "grants": {"strange": strange, "unread": list(unread)}}


def test_a_grant_that_no_stack_declares_is_told_by_its_role_and_member_until_it_is_gone(lab: Lab) -> None:
    told = drift.tell(lab.place(), drift_of("ci", granted("user:eve@example.org")))
    found = issue(lab, told)
    assert (told.outcome, found.title) == ("created", "Drift in ci: 1 grant by hand")
    assert " | ".join(map(code, ("r", "roles/w", "user:eve@example.org"))) in found.body
    assert drift.tell(lab.place(), drift_of("ci", granted("user:eve@example.org"))).outcome == "unchanged"
    assert drift.tell(lab.place(), drift_of("ci", granted("user:mallory@example.org"))).outcome == "updated"
    assert drift.tell(lab.place(), drift_of("ci", granted(unread=("403",)))).outcome == "unchanged", "nobody knows"
    assert drift.tell(lab.place(), drift_of("ci", granted())).outcome == "closed"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (plan(stack="other"), "not of ci"),
        (plan(code=1), "could not be made"),
        ({"stack": "ci"}, "not the JSON"),
        ([], "not the JSON"),
    ],
)
def test_a_plan_that_proves_nothing_closes_nothing(document: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        drift_of("ci", document)
