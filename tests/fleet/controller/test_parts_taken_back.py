"""An image and a bundle are taken back each by itself: the next of the one brings nothing of the other back."""

from __future__ import annotations

from infra.fleet.operator_requests import OperatorRequests, Undone
from infra.fleet.versions import PartKind, VersionPart
from tests.fleet.controller.given_fleet import START
from tests.fleet.controller.rolled_pool import POOL, Pool, rolled_out, steady, target

IMAGE_B = VersionPart(PartKind.IMAGE, "sha256:b")


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


def test_undo_and_redo_without_a_sweep_between_go_back_and_come_again_behind_a_canary() -> None:
    pool = rolled_out("b")
    pool.requests = redone(pool, Undone(IMAGE_B, START, over=True))
    assert (pool.sweep(), pool.stage) == (["0:a", "1:a"], "undone")
    pool.sweep()
    assert pool.stage == "canary"
    pool.sweeps(12)
    assert (pool.images, pool.stage) == ("bbbbbb", "steady")
    assert pool.sweeps(3) == [[], [], []], "and once"
