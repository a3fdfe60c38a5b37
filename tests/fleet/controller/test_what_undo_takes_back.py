"""What `undo` takes back of a pool's rollout, what the next sweep leaves out, and what is remembered of it."""

from __future__ import annotations

import pytest

from infra.fleet.controller.rollout import undoable
from infra.fleet.operator_requests import OperatorRequests, Undone
from infra.fleet.versions import PartKind, PoolVersion, Rollout, Stage, TakenBack, VersionPart
from tests.fleet.controller.given_fleet import START, fleet, minutes
from tests.fleet.controller.rolled_pool import POOL, Pool, steady, taken_back, target
from tests.fleet.controller.rolled_pool import rolled_out as rolled_out_pool

A, B, C = target("a", "1"), target("b", "1"), target("b", "2")
IMAGE, BUNDLE = VersionPart(PartKind.IMAGE, "sha256:b"), VersionPart(PartKind.BUNDLE, "2")
NOBODY = OperatorRequests()
UNDONE = taken_back("image sha256:b")
ELSEWHERE = OperatorRequests(undone={"other": UNDONE.undone[POOL]}, redone={"other": START})


def rollout(
    stable: PoolVersion,
    aim: PoolVersion | None = None,
    stage: Stage = Stage.STEADY,
    *,
    previous: PoolVersion | None = None,
    bad: tuple[TakenBack, ...] = (),
) -> Rollout:
    return Rollout(stable=stable, target=aim or stable, stage=stage, since=START, previous=previous, bad=bad)


FAILED = rollout(A, stage=Stage.FAILED, bad=(IMAGE,))


@pytest.mark.parametrize(
    ("course", "promoted", "requests", "taken"),
    [
        (rollout(A, B, Stage.CANARY), B, NOBODY, {IMAGE}),
        (rollout(A), B, NOBODY, {IMAGE}),
        (rollout(A), C, NOBODY, {IMAGE, BUNDLE}),
        (FAILED, B, NOBODY, {IMAGE}),
        (FAILED, C, NOBODY, {IMAGE}),
        (FAILED, C, OperatorRequests(redone={POOL: START}), {IMAGE, BUNDLE}),
        (FAILED, C, OperatorRequests(redone={POOL: START + minutes(1)}), {IMAGE}),
        (rollout(B, previous=A), B, NOBODY, {IMAGE}),
        (rollout(C, previous=A), C, NOBODY, {IMAGE, BUNDLE}),
        (rollout(B, previous=A), B, ELSEWHERE, {IMAGE}),
        (rollout(B, stage=Stage.UNDONE, previous=A), B, NOBODY, set()),
        (rollout(B), B, NOBODY, set()),
        (rollout(A, B, Stage.CANARY), B, UNDONE, set()),
        (rollout(B, previous=A), B, UNDONE, set()),
        (rollout(A, stage=Stage.UNDONE), B, UNDONE, set()),
        (rollout(A, stage=Stage.UNDONE), C, UNDONE, {BUNDLE}),
    ],
)
def test_undo_takes_back_what_failed_else_what_is_new_else_what_was_rolled_out_last(
    course: Rollout, promoted: PoolVersion, requests: OperatorRequests, taken: set[VersionPart]
) -> None:
    assert undoable(course, promoted, requests, POOL) == taken


def rolled_out() -> Pool:
    """A pool of two VMs that has rolled out B in place of A."""
    pool = Pool(fleet(2), A)
    pool.sweeps(3)
    pool.target = B
    pool.sweeps(8)
    assert (pool.stage, pool.rollout.stable, pool.rollout.previous) == ("steady", B, A)
    return pool


def test_what_was_rolled_out_and_undone_has_nothing_before_it() -> None:
    pool = rolled_out()
    pool.requests = UNDONE
    now = pool.now
    pool.sweep()
    assert (pool.rollout.stable.key, pool.rollout.previous) == (A.key, None)
    assert (pool.stage, pool.rollout.since, pool.rollout.obeyed) == ("undone", now, (START,))
    assert (pool.rollout.target.key, pool.rollout.why) == (A.key, "it was undone")


def test_a_stage_stands_since_the_sweep_that_began_it() -> None:
    pool = rolled_out()
    pool.target, pool.now = target("c", "1"), START + minutes(90)
    pool.sweep()
    assert (pool.stage, pool.rollout.since, pool.rollout.target.key) == ("canary", START + minutes(90), pool.target.key)
    pool.target = B
    pool.sweep()
    assert (pool.stage, pool.rollout.since, pool.rollout.target.key) == ("steady", START + minutes(92), B.key)


def test_what_failed_is_told_while_something_else_is_under_way() -> None:
    pool = rolled_out()
    pool.target, pool.bad = target("c", "1"), "c"
    pool.sweeps(30)
    assert pool.stage == "failed"
    pool.target = target("c", "2")
    pool.sweep()
    (found,) = pool.decided().findings
    assert found.reason == (
        "image c was rolled back: its canary failed; promote or publish another one, "
        "or `./tidepool rollout redo tpu-ci` tries it again"
    )


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
    pool = rolled_out_pool("b")
    pool.requests = redone(pool, Undone(IMAGE, START, over=True))
    assert (pool.sweep(), pool.stage) == (["0:a", "1:a"], "undone")
    pool.sweep()
    assert pool.stage == "canary"
    pool.sweeps(12)
    assert (pool.images, pool.stage) == ("bbbbbb", "steady")
    assert pool.sweeps(3) == [[], [], []], "and once"
