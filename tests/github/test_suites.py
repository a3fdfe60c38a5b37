"""What GitHub shows of a suite: one issue, one comment and one status, whatever runs how often."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.github import sticky, suites
from infra.github.client import PostingPlace
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
    assert lab.repository().get_issue(first.number or 0).title == TOLD.title
    closed = suites.tell_main(place, replace(TOLD, failed=False))
    assert (closed.outcome, closed.number) == ("closed", first.number)
    assert suites.tell_main(place, TOLD).outcome == "reopened"


def pulled(lab: Lab, **changes: Any) -> SuiteText:
    return replace(TOLD, pull=lab.pull, **changes)


def poster(lab: Lab) -> PostingPlace:
    """That may set statuses, too."""
    permissions = {"statuses": "write", "pull_requests": "write", "issues": "write"}
    lab.control.add_token("posts", "github-actions[bot]", app=True, permissions=permissions)
    return replace(lab.place(), token="posts")


def statuses(lab: Lab) -> list[tuple[str, str, str]]:
    """Newest first."""
    found = lab.repository()._requester.requestJsonAndCheck("GET", f"/repos/{REPO}/commits/{SHA}/statuses")[1]
    return [(each["context"], each["state"], each["description"]) for each in found]


def test_a_pull_request_has_one_comment_and_one_status_of_all_suites(lab: Lab) -> None:
    place = poster(lab)
    lab.control.add_comments(REPO, lab.pull, "bob", ["<!-- tidepool:results -->\nforged"])
    both = [pulled(lab), pulled(lab, suite="cpu", markdown="### cpu: passed", failed=False)]
    assert [each.comment for each in suites.post(place, both)] == ["created", "created"]
    assert len(lab.comments()) == 2
    body = lab.comments()[-1][1]
    assert body.index("### tpu: failed") < body.index("### cpu: passed"), "what somebody has to act on comes first"
    assert f"**Tests of {SHA[:12]}: 1 of 2 suites need a look: tpu.**" in body
    assert statuses(lab)[0] == ("tidepool/results", "failure", "1 of 2 suites need a look: tpu")


def test_a_run_tells_of_its_own_suites_and_leaves_what_others_said_of_the_commit(lab: Lab) -> None:
    place = poster(lab)
    suites.post(place, [pulled(lab)])
    suites.post(place, [pulled(lab, suite="cpu", markdown="### cpu: passed", failed=False)])
    assert statuses(lab)[0][1] == "failure", "the other one did not mend it"
    assert "### tpu: failed" in lab.comments()[-1][1]
    suites.post(place, [pulled(lab, markdown="### tpu: passed", failed=False)])
    assert statuses(lab)[0] == ("tidepool/results", "success", "all 2 suites are well")
    assert "### tpu: failed" not in lab.comments()[-1][1]
    assert len(lab.comments()) == 1


@pytest.mark.parametrize(
    ("first", "second", "state", "said"),
    [
        ("missing", "passed", "error", "without a whole result: tpu"),
        ("passed", "missing", "error", "without a whole result: cpu"),
        ("missing", "failed", "failure", "1 of 2 suites need a look: cpu; without a whole result: tpu"),
        ("failed", "missing", "failure", "1 of 2 suites need a look: tpu; without a whole result: cpu"),
    ],
)
def test_no_suite_makes_a_pull_request_pass_in_which_another_has_no_result(
    lab: Lab, first: str, second: str, state: str, said: str
) -> None:
    """Whether one run tells of both or two tell one after the other."""
    place = poster(lab)
    both = [
        pulled(lab, suite=suite, markdown=f"### {suite}", failed=ended == "failed", unknown=ended == "missing")
        for suite, ended in (("tpu", first), ("cpu", second))
    ]
    suites.post(place, both)
    assert statuses(lab)[0] == ("tidepool/results", state, said)
    for each in both:
        suites.post(place, [each])
        assert statuses(lab)[0] == ("tidepool/results", state, said)
    suites.post(place, [replace(each, failed=False, unknown=False) for each in both])
    assert statuses(lab)[0][1:] == ("success", "all 2 suites are well")


@pytest.mark.parametrize("before", [True, False], ids=["one-comment", "none"])
def test_two_runs_that_tell_of_a_commit_at_once_are_both_told(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, *, before: bool
) -> None:
    """The second has read the comment before the first wrote it, and writes it before the first has set its status."""
    place, read, told = poster(lab), sticky._ours, suites.set_status
    if before:
        suites.post(place, [pulled(lab, suite="docs", markdown="### docs: passed", failed=False)])
    early = [read(place, lab.pull, suites._COMMENT)]
    second = [pulled(lab, suite="cpu", markdown="### cpu: passed", failed=False)]

    def after_the_second(*asked: Any) -> suites.STATE:
        if second:
            monkeypatch.setattr(sticky, "_ours", lambda *asked: early.pop() if early else read(*asked))
            suites.post(place, [second.pop()])
        return told(*asked)

    monkeypatch.setattr(suites, "set_status", after_the_second)
    suites.post(place, [pulled(lab)])
    ((_, body),) = lab.comments()
    assert body.index("### tpu: failed") < body.index("### cpu: passed")
    assert ("### docs: passed" in body) is before
    assert statuses(lab)[0] == ("tidepool/results", "failure", f"1 of {2 + before} suites need a look: tpu")


def test_a_test_cannot_be_called_so_that_it_speaks_for_another_suite(lab: Lab) -> None:
    place = poster(lab)
    forged = f"x\n<!-- tidepool:part cpu:v6e-1 {SHA} failed -->\nforged"
    suites.post(place, [pulled(lab, markdown=forged, failed=False)])
    suites.post(place, [pulled(lab, suite="docs", markdown="fine", failed=False)])
    assert statuses(lab)[0] == ("tidepool/results", "success", "all 2 suites are well")


def test_what_a_newer_run_has_said_stands(lab: Lab) -> None:
    (done,) = suites.post(poster(lab), [pulled(lab, newer="9-1", overtaken=True)])
    assert (done.comment, done.status) == ("left to run 9-1, which is newer",) * 2
    assert (lab.comments(), statuses(lab)) == ([], [])
    (left,) = suites.post(poster(lab), [replace(TOLD, on_main=True, newer="9-1")])
    assert left.issue == "left to run 9-1, which is newer"
    (made,) = suites.post(poster(lab), [replace(TOLD, on_main=True)])
    assert made.issue.startswith("created #")


def test_what_a_strangers_tests_are_called_has_no_effect_and_fits(lab: Lab) -> None:
    text = "@everyone [x](http://evil) <img src=x>\n" + "long line\n" * 20_000
    suites.post(poster(lab), [pulled(lab, markdown=text)])
    ((_, body),) = lab.comments()
    assert len(body) <= LONGEST
    assert "@everyone" not in body
    assert "<img" not in body


def test_a_commit_without_a_pull_request_has_a_status_of_each_suite(lab: Lab) -> None:
    place = poster(lab)
    suites.post(place, [replace(TOLD, status="x" * 500)])
    suites.post(place, [replace(TOLD, failed=False)])
    assert [each[:2] for each in statuses(lab)] == [
        ("tidepool/tpu (v6e-1)", "success"),
        ("tidepool/tpu (v6e-1)", "failure"),
    ]
