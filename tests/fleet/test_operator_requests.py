"""What people ask of a fleet: each change leaves every other request as it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from infra.fleet import operator_requests
from infra.fleet.operator_requests import DrainRequest, Undone, read_requests
from infra.fleet.records import Body
from infra.fleet.versions import PartKind, VersionPart

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def drain(subject: str, by: str = "ada") -> DrainRequest:
    return DrainRequest(subject=subject, by=by, since=NOW, minutes=60)


def test_a_zone_is_given_up_and_taken_back_beside_all_other_requests() -> None:
    drained = operator_requests.with_drains(None, [drain("tpu-ci")])
    lost = operator_requests.with_lost(
        operator_requests.with_lost(drained, "us-west4-a", "ada", NOW), "us-east1-d", "bob", NOW
    )
    assert read_requests(lost).lost == {"us-west4-a": "ada", "us-east1-d": "bob"}
    found = read_requests(operator_requests.without_lost(lost, "us-west4-a"))
    assert found.lost == {"us-east1-d": "bob"}
    assert found.drains == read_requests(drained).drains


def test_a_commands_own_drain_stands_beside_others_and_ends_alone() -> None:
    until = NOW + timedelta(minutes=90)
    one, two = (
        DrainRequest(subject="vm-0", by="up", since=NOW + timedelta(minutes=later), minutes=60, until=until)
        for later in (0, 5)
    )
    body = operator_requests.with_drains(operator_requests.with_drains(None, [one]), [two])
    body = operator_requests.with_drains(body, [drain("vm-0")])
    assert read_requests(body).drains == (one, two, drain("vm-0")), "a person's replaces no command's"
    body = operator_requests.without_these(operator_requests.with_drains(body, [drain("vm-0", by="bob")]), [one])
    assert read_requests(body).drains == (two, drain("vm-0", by="bob"))
    assert read_requests(operator_requests.without_drains(body, {"vm-0"})).drains == ()
    late = DrainRequest(subject="vm-0", by="up", since=until, minutes=60, until=until + timedelta(minutes=90))
    assert read_requests(operator_requests.with_drains(body, [late])).drains == (drain("vm-0", by="bob"), late)


@given(st.sets(st.sampled_from("abcd")), st.sets(st.sampled_from("abcd")))
def test_a_rollout_rests_from_pause_to_resume(pausing: set[str], resuming: set[str]) -> None:
    body = operator_requests.resumed(operator_requests.paused(None, pausing), resuming)
    assert read_requests(body).paused == pausing - resuming


def image(digest: str) -> VersionPart:
    return VersionPart(PartKind.IMAGE, digest)


def keys(body: Body, pool: str) -> list[str]:
    return [str(each.what) for each in read_requests(body).undone.get(pool, ()) if not each.over]


def test_parts_taken_back_are_kept_by_pool_and_not_without_end() -> None:
    body = operator_requests.undone(None, "tpu-v4", {image("kept")}, NOW)
    for number in range(30):
        body = operator_requests.undone(body, "tpu-ci", {image(str(number))}, NOW)
    body = operator_requests.undone(body, "tpu-ci", {image("29")}, NOW)
    assert keys(body, "tpu-v4") == ["image kept"]
    assert len(keys(body, "tpu-ci")) == 20
    assert keys(body, "tpu-ci")[-1] == "image 29"


def test_trying_again_takes_that_part_back_no_more_and_names_what_is_forgiven() -> None:
    body = operator_requests.undone(
        operator_requests.undone(None, "tpu-ci", {image("bad")}, NOW),
        "tpu-ci",
        {VersionPart(PartKind.BUNDLE, "other")},
        NOW,
    )
    body = operator_requests.redone(
        operator_requests.undone(body, "tpu-v4", {image("bad")}, NOW), "tpu-ci", {image("bad")}, NOW
    )
    assert (keys(body, "tpu-v4"), keys(body, "tpu-ci")) == (["image bad"], ["bundle other"])
    assert read_requests(body).redone == {"tpu-ci": NOW}


def test_what_is_asked_for_again_is_still_known_as_taken_back_once_until_that_is_done_anew() -> None:
    later = NOW + timedelta(minutes=1)
    body = operator_requests.redone(
        operator_requests.undone(None, "tpu-ci", {image("bad")}, NOW), "tpu-ci", {image("bad")}, NOW
    )
    assert read_requests(body).undone == {"tpu-ci": (Undone(image("bad"), NOW, over=True),)}
    body = operator_requests.undone(body, "tpu-ci", {image("bad")}, later)
    assert read_requests(body).undone == {"tpu-ci": (Undone(image("bad"), later),)}


def test_whole_targets_that_an_older_version_wrote_are_read_and_end_with_the_request_for_a_part_of_them() -> None:
    old = {"version": 1, "rollout": {"undone": {"tpu-ci": ["sha256:bad|ab", "sha256:worse|ab"]}}}
    assert keys(old, "tpu-ci") == ["sha256:bad|ab", "sha256:worse|ab"]
    assert keys(operator_requests.redone(old, "tpu-ci", {image("sha256:bad")}, NOW), "tpu-ci") == ["sha256:worse|ab"]
