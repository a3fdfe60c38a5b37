"""The labels that say what an edit does to capacity."""

from __future__ import annotations

import pytest

from infra.github import labels
from tests.github.lab_repository import Lab
from tests.github.meanings import LARGE, SMALL, meaning, stack


def put(lab: Lab, *wanted: labels.Label) -> None:
    labels.put(lab.place(), lab.pull, frozenset(wanted))


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (stack(one=(SMALL, 3)), {"capacity-up"}),
        (stack(one=(SMALL, 1)), {"capacity-down"}),
        (stack(one=(SMALL, 1), two=(SMALL, 3)), {"capacity-up", "capacity-down"}),
        (stack(one=(LARGE, 1)), {"replaces-vms"}),
        (stack().replace("owner: lab", "owner: other"), set()),
        (stack(), {"no-change"}),
    ],
)
def test_the_labels_say_which_way_each_pool_goes(head: str, expected: set[str]) -> None:
    assert labels.wanted([meaning(head)]) == expected


def test_ours_are_exactly_those_and_others_stay(lab: Lab) -> None:
    lab.repository().get_pull(lab.pull).add_to_labels("bug", "no-change", "capacity-down")
    put(lab, "capacity-up", "capacity-down")
    assert lab.labels() == ["bug", "capacity-down", "capacity-up"]
    put(lab)
    assert lab.labels() == ["bug"]


def test_a_label_that_somebody_takes_off_at_the_same_time_is_no_failure(lab: Lab) -> None:
    lab.repository().get_pull(lab.pull).add_to_labels("no-change")
    lab.control.fail("error", method="github.remove_issue_label", code=404, count=1)
    put(lab)
