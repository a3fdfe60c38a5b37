"""An image and a bundle are taken back each by itself: the next of the one brings nothing of the other back."""

from __future__ import annotations

from dataclasses import replace

from infra.fleet.operator_requests import OperatorRequests, Undone
from infra.fleet.versions import PartKind, Stage, VersionPart
from tests.fleet.controller.given_fleet import START
from tests.fleet.controller.rolled_pool import POOL, Pool, rolled_out, steady, taken_back, target

IMAGE_B, BUNDLE_2 = VersionPart(PartKind.IMAGE, "sha256:b"), VersionPart(PartKind.BUNDLE, "2")


def bundles(pool: Pool) -> str:
    return "".join(pool.runs[slot.name][1] for slot in pool.desired.slots)


def redone(pool: Pool, *undone: Undone) -> OperatorRequests:
    return OperatorRequests(undone={POOL: undone} if undone else {}, redone={POOL: pool.rollout.since})


def test_an_image_that_failed_stays_away_when_the_next_bundle_comes_and_people_are_still_told() -> None:
    pool = steady(first=target("a", "1"))
    pool.target, pool.bad = target("b", "1"), "b"
    pool.sweeps(30)
    pool.target = target("b", "2")
    told = pool.sweeps(30)
    assert (pool.images, bundles(pool)) == ("aaaaaa", "222222")
    assert not [each for sweep in told for each in sweep if ":b" in each], "not even a canary gets it"
    (finding,) = pool.decided().findings
    assert finding.reason.startswith("image b was rolled back")


def test_a_canary_that_fails_with_both_new_brings_neither_back_with_the_next_of_the_other() -> None:
    pool = steady(first=target("a", "1"))
    pool.target, pool.bad = target("b", "2"), "b"
    pool.sweeps(30)
    assert pool.rollout.bad == (BUNDLE_2, IMAGE_B)
    pool.target = target("b", "3")
    pool.sweeps(10)
    assert (pool.images, bundles(pool)) == ("aaaaaa", "333333")


def test_undo_and_redo_without_a_sweep_between_go_back_and_come_again_behind_a_canary() -> None:
    pool = rolled_out("b")
    pool.requests = redone(pool, Undone(IMAGE_B, START, over=True))
    assert (pool.sweep(), pool.stage) == (["0:a", "1:a"], "undone")
    pool.sweep()
    assert pool.stage == "canary"
    pool.sweeps(12)
    assert (pool.images, pool.stage) == ("bbbbbb", "steady")
    assert pool.sweeps(3) == [[], [], []], "and once"


def test_redo_and_undo_without_a_sweep_between_leave_it_taken_back() -> None:
    pool = steady()
    pool.target, pool.bad = target("b"), "b"
    pool.sweeps(30)
    again = OperatorRequests(undone=taken_back("image sha256:b").undone, redone={POOL: pool.rollout.since})
    pool.requests, pool.bad = again, ""
    assert pool.sweeps(3) == [[], [], []]
    assert (pool.images, pool.decided().findings) == ("aaaaaa", ())


def test_an_undo_that_a_restart_of_its_memory_finds_over_is_not_obeyed_again() -> None:
    pool = rolled_out("b")
    forgetful = Pool(desired=pool.desired, target=pool.target, runs=dict(pool.runs))
    forgetful.requests = taken_back("image sha256:b", over=True)
    forgetful.sweeps(6)
    assert forgetful.images == "bbbbbb"


def test_a_target_that_an_older_version_wrote_whole_is_still_taken_back() -> None:
    pool = steady(first=target("a", "1"))
    pool.target = target("b", "1")
    pool.sweeps(8)
    pool.requests = OperatorRequests(undone={POOL: (Undone(target("b", "1").key),)})
    pool.sweeps(8)
    assert (pool.images, bundles(pool)) == ("aaaaaa", "111111")
    pool.target = target("b", "2")
    pool.sweeps(10)
    assert (pool.images, bundles(pool)) == ("aaaaaa", "222222"), "of it only what was new then"


def test_a_failure_that_an_older_version_remembered_whole_is_read_by_its_parts() -> None:
    pool = steady(first=target("a", "1"))
    failed = replace(pool.rollout, stage=Stage.FAILED, bad=(target("b", "1").key,))
    pool.memory = replace(pool.memory, rollouts={POOL: failed})
    pool.target = target("b", "2")
    pool.sweeps(8)
    assert (pool.images, bundles(pool)) == ("aaaaaa", "222222")
