"""One comment on a pull request, whatever goes on around it."""

from __future__ import annotations

from typing import Any

import pytest

from infra.github import sticky
from infra.github.client import WORKFLOW_LOGIN, PostError, PostingPlace, connect
from infra.github.sticky import MARKER, Posted
from tests.github.lab_repository import REPO, SHA, TOKEN, Lab


def post(lab: Lab, text: str) -> Posted:
    return sticky.post(lab.place(), lab.pull, text)


def ours(lab: Lab) -> list[str]:
    return [body for author, body in lab.comments() if author == WORKFLOW_LOGIN]


def test_the_first_post_creates_and_the_next_edits_in_place(lab: Lab) -> None:
    first = post(lab, "one")
    second = post(lab, "two")
    assert (first.outcome, second.outcome) == ("created", "edited")
    assert second.comment == first.comment
    assert ours(lab) == [f"{MARKER}\ntwo"]


@pytest.mark.parametrize("order", [("plan", "meaning"), ("meaning", "plan")])
def test_the_comment_with_the_plan_stays_in_whichever_order_the_jobs_end(lab: Lab, order: tuple[str, str]) -> None:
    place = lab.place()
    for text in order:
        sticky.post(place, lab.pull, text, head="a" * 40, planned=text == "plan")
    assert [body.splitlines()[-1] for body in ours(lab)] == ["plan"]


def test_the_plan_of_an_older_commit_gives_way(lab: Lab) -> None:
    place = lab.place()
    sticky.post(place, lab.pull, "plan", head="a" * 40, planned=True)
    told = sticky.post(place, lab.pull, "meaning", head="b" * 40)
    assert told.outcome == "edited"
    assert ours(lab) == [f"{MARKER}\nmeaning"]


def test_it_is_found_past_the_first_pages(lab: Lab) -> None:
    lab.chatter(150)
    first = post(lab, "one")
    lab.chatter(150)
    assert post(lab, "two").comment == first.comment
    assert len(ours(lab)) == 1


def test_a_strangers_comment_with_our_marker_is_neither_taken_nor_touched(lab: Lab) -> None:
    forged = f"{MARKER}\nall is well"
    lab.control.add_comments(REPO, lab.pull, "eve", [forged])
    assert post(lab, "one").outcome == "created"
    assert ("eve", forged) in lab.comments()


def test_of_several_of_ours_the_oldest_stays(lab: Lab) -> None:
    ids = lab.control.add_comments(REPO, lab.pull, WORKFLOW_LOGIN, [f"{MARKER}\nold"] * 3)
    assert post(lab, "new") == Posted("edited", ids[0], removed=2)
    assert ours(lab) == [f"{MARKER}\nnew"]


def test_a_comment_that_somebody_removes_at_the_same_time_is_no_failure(lab: Lab) -> None:
    lab.control.add_comments(REPO, lab.pull, WORKFLOW_LOGIN, [f"{MARKER}\nold"] * 2)
    lab.control.fail("error", method="github.delete_comment", code=404, count=1)
    assert post(lab, "new").outcome == "edited"


def test_a_job_that_was_overtaken_between_looking_and_creating_leaves_one_comment(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = PostingPlace.ask

    def overtaken(place: PostingPlace, verb: str, path: str, *more: Any, **others: Any) -> Any:
        if verb == "POST":
            lab.control.add_comments(REPO, lab.pull, WORKFLOW_LOGIN, [f"{MARKER}\nfrom the other job"])
        return ask(place, verb, path, *more, **others)

    monkeypatch.setattr(PostingPlace, "ask", overtaken)
    assert post(lab, "mine").removed == 1
    assert ours(lab) == [f"{MARKER}\nmine"]


def test_an_answer_lost_after_the_comment_was_made_is_said_and_the_next_run_makes_no_second(lab: Lab) -> None:
    lab.control.fail("lost", method="github.create_comment", count=1)
    with pytest.raises(PostError, match="run the same command again"):
        post(lab, "one")
    assert post(lab, "one").outcome == "unchanged"
    assert ours(lab) == [f"{MARKER}\none"]


@pytest.mark.parametrize("code", [500, 502, 504])
def test_a_post_that_a_gateway_answers_is_not_sent_again_for_it_may_have_been_done(lab: Lab, code: int) -> None:
    lab.control.fail("error", method="github.create_comment", code=code, count=1)
    with pytest.raises(PostError, match="run the same command again"):
        post(lab, "one")
    assert ours(lab) == []
    assert post(lab, "one").outcome == "created"


@pytest.mark.parametrize("code", [503, 403, 429])
def test_gateway_errors_and_rate_limits_are_waited_out(lab: Lab, code: int) -> None:
    for method in ("list_comments", "create_comment"):
        lab.control.fail("error", method=f"github.{method}", code=code, count=2)
    assert post(lab, "one").outcome == "created"
    lab.control.fail("error", method="github.edit_comment", code=code, count=2)
    assert post(lab, "two").outcome == "edited"
    assert ours(lab) == [f"{MARKER}\ntwo"]


def test_a_used_up_rate_that_lasts_too_long_is_said(lab: Lab) -> None:
    place = lab.place()
    # The client counts in real time, the cloud's clock stands in 2026; a century covers the difference.
    lab.control.leave(TOKEN, 0, reset_in=100 * 365 * 86400.0)
    with pytest.raises(PostError, match="rate limit"):
        sticky.post(place, lab.pull, "one")


def test_a_missing_permission_is_said(lab: Lab) -> None:
    lab.control.add_token("reader", WORKFLOW_LOGIN, app=True, permissions={})
    place = connect(api=lab.control.api, repository=REPO, token="reader")
    with pytest.raises(PostError, match="lacks a permission"):
        sticky.post(place, lab.pull, "one")


def test_the_pull_request_of_a_fork_is_found_by_its_head(lab: Lab) -> None:
    for index in range(120):
        lab.control.open_pull(REPO, branch=f"other-{index}", sha=f"{index:040x}")
    fork = lab.control.open_pull(REPO, branch="edit", sha="e" * 40, head_repository="eve/monorepo")
    assert sticky.of_head(lab.place(), "e" * 40) == (fork,)


def test_a_pull_request_into_another_branch_has_no_part_in_it(lab: Lab) -> None:
    lab.control.open_pull(REPO, branch="edit", sha=SHA, base="release")
    assert sticky.of_head(lab.place(), SHA) == (lab.pull,)


def test_a_head_that_has_moved_on_or_a_closed_pull_request_is_not_found(lab: Lab) -> None:
    lab.control.push_to_pull(REPO, lab.pull, "b" * 40)
    place = lab.place()
    assert sticky.of_head(place, SHA) == ()
    lab.repository().get_issue(lab.pull).edit(state="closed")
    assert sticky.of_head(place, "b" * 40) == ()
