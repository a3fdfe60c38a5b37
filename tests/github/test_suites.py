"""What GitHub shows of a suite: one issue, one comment and one status, whatever runs how often."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.github import issues, suites
from infra.github.sticky import LONGEST
from infra.github.suites import LABELS, SuiteText
from tests.github.lab_repository import REPO, SHA, Lab

TOLD = SuiteText(
    suite="tpu",
    hardware="v6e-1",
    title="Suite tpu: 1 broken",
    markdown="### tpu: failed",
    status="failed; 1 finding",
    failed=True,
    commit=SHA,
)


def test_a_broken_suite_has_one_issue_that_is_updated_and_closed_when_green(lab: Lab) -> None:
    place = lab.place()
    first = suites.tell_main(place, TOLD)
    issue = lab.repository().get_issue(first.number or 0)
    assert (first.outcome, issue.title) == ("created", TOLD.title)
    assert {label.name for label in issue.labels} == set(LABELS)
    assert suites.tell_main(place, TOLD).outcome == "unchanged"
    other = suites.tell_main(place, replace(TOLD, markdown="### tpu: slower"))
    assert (other.outcome, other.number) == ("updated", first.number)
    closed = suites.tell_main(place, replace(TOLD, failed=False))
    assert (closed.outcome, closed.number) == ("closed", first.number)
    assert suites.tell_main(place, TOLD).outcome == "reopened"


def test_a_green_suite_makes_no_issue_and_suites_have_their_own(lab: Lab) -> None:
    place = lab.place()
    assert suites.tell_main(place, replace(TOLD, failed=False)).number is None
    assert suites.tell_main(place, TOLD).number != suites.tell_main(place, replace(TOLD, suite="tpu-long")).number


def test_a_pull_request_has_one_comment_a_suite_beside_that_of_the_preview(lab: Lab) -> None:
    place = lab.place()
    lab.control.add_comments(REPO, lab.pull, "bob", ["<!-- tidepool:results:tpu:v6e-1 -->\nforged"])
    assert suites.tell_pull(place, lab.pull, TOLD).outcome == "created"
    assert suites.tell_pull(place, lab.pull, replace(TOLD, markdown="green")).outcome == "edited"
    suites.tell_pull(place, lab.pull, replace(TOLD, suite="cpu"))
    assert len(lab.comments()) == 3


def test_what_a_strangers_tests_are_called_has_no_effect_and_fits(lab: Lab) -> None:
    text = "@everyone [x](http://evil) <img src=x>\n" + "long line\n" * 20_000
    suites.tell_pull(lab.place(), lab.pull, replace(TOLD, markdown=text))
    ((_, body),) = lab.comments()
    assert len(body) <= LONGEST
    assert "@everyone" not in body
    assert "<img" not in body


def test_the_log_is_a_link_whatever_the_tests_are_called(lab: Lab) -> None:
    link = "https://github.com/lab/monorepo/actions/runs/1"
    suites.tell_pull(lab.place(), lab.pull, replace(TOLD, markdown="[x](http://evil)" * 9_000, link=link))
    ((_, body),) = lab.comments()
    assert f"[Log of the run](<{link}>)" in body
    assert "](http" not in body.replace(f"](<{link}>)", "")
    assert len(body) <= LONGEST


def test_a_commit_has_the_newest_status_of_the_suite(lab: Lab) -> None:
    lab.control.add_token("statuses", "github-actions[bot]", app=True, permissions={"statuses": "write"})
    place = replace(lab.place(), token="statuses")
    assert suites.set_status(place, replace(TOLD, status="x" * 500)) == "failure"
    assert suites.set_status(place, replace(TOLD, failed=False)) == "success"
    commit = lab.repository()._requester.requestJsonAndCheck("GET", f"/repos/{REPO}/commits/{SHA}/statuses")[1]
    assert [(each["context"], each["state"]) for each in commit] == [
        ("tidepool/tpu (v6e-1)", "success"),
        ("tidepool/tpu (v6e-1)", "failure"),
    ]


def test_one_kind_of_hardware_does_not_close_what_another_opened(lab: Lab) -> None:
    place = lab.place()
    first = suites.tell_main(place, TOLD)
    assert suites.tell_main(place, replace(TOLD, hardware="v6e-4 --> x", failed=False)).outcome == "clean"
    assert lab.repository().get_issue(first.number or 0).state == "open"


def test_two_jobs_that_open_an_issue_at_once_leave_one_open(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    place, ours = lab.place(), issues._ours
    first = suites.tell_main(place, TOLD)
    early: list[list[Any]] = [[]]
    # As a job that looked before the other had opened its issue.
    monkeypatch.setattr(issues, "_ours", lambda *asked: early.pop() if early else ours(*asked))
    second = suites.tell_main(place, TOLD)
    states = [lab.repository().get_issue(each.number or 0).state for each in (first, second)]
    assert second.outcome == "created"
    assert states == ["closed", "open"]
