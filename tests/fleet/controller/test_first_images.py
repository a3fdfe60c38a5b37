"""A pool's first image goes the way of every other: a canary, a share, pause and freeze, and a way back to none."""

from __future__ import annotations

import pytest

from infra.fleet.controller.actions import Recreate, Restart
from infra.fleet.reports import Phase
from tests.fleet.controller.given_fleet import fleet
from tests.fleet.controller.rolled_pool import POOL, Pool, steady, target


def imageless(*, real: bool = True, **given: object) -> Pool:
    """A pool to which nothing was promoted, kept by the controller."""
    pool = Pool(desired=fleet(6, **given), target=target(""), real=real)
    assert pool.sweep() == [f"{index}:-" for index in range(6)]
    return pool


@pytest.mark.parametrize("real", [True, False], ids=["takes-no-job-without", "does-without"])
def test_a_broken_first_image_reaches_one_vm_and_goes_back_to_none(real: bool) -> None:
    pool = imageless(real=real)
    pool.target, pool.bad, pool.unfit = target("b"), "b", "runners end at once"
    told = pool.sweeps(40)
    assert [each for each in told if each] == [["0:b"], ["0:-"]]
    assert pool.images == "------"
    (finding,) = (each for each in pool.decided().findings if each.rule == "rollout-failed")
    assert "runners end at once" in finding.reason


def test_a_controller_that_forgot_everything_takes_no_image_from_a_fleet_that_serves() -> None:
    pool = steady()
    forgetful = Pool(desired=pool.desired, target=pool.target, runs=dict(pool.runs))
    assert forgetful.sweep() == [f"{index}:a" for index in range(6)]
    assert forgetful.images == "aaaaaa"


def forgotten(pool: Pool) -> Pool:
    """The same VMs and orders under a controller that lost its memory, when nobody serves."""
    return Pool(desired=pool.desired, target=pool.target, runs=dict(pool.runs), told=dict(pool.told), bad="ab")


def test_where_orders_cannot_be_read_a_pool_that_was_forgotten_is_told_nothing() -> None:
    pool = forgotten(steady())
    pool.locked = True
    assert pool.sweeps(2) == [[], []]
    pool.locked = False
    pool.sweep()
    assert pool.images == "aaaaaa"


def test_where_github_cannot_be_asked_a_new_pool_is_told_nothing() -> None:
    pool = Pool(desired=fleet(6), target=target("b"), deaf=True)
    assert pool.sweeps(2) == [[], []]


def test_a_pointer_that_was_lost_takes_no_image_away() -> None:
    pool = steady()
    pool.target = target("")
    assert pool.sweeps(3) == [[], [], []]
    assert pool.images == "aaaaaa"


def test_a_new_bundle_reaches_a_pool_without_image_though_no_vm_of_it_comes_online() -> None:
    pool = Pool(desired=fleet(6), target=target("", "1"), real=True)
    pool.sweep()
    pool.target = target("", "2")
    pool.sweeps(6)
    assert (pool.stage, {bundle for _, bundle in pool.runs.values()}) == ("steady", {"2"})


def healed(pool: Pool, sweeps: int) -> list[tuple[int, str]]:
    """VMs that were restarted or made again, by the minute."""
    found = []
    for count in range(sweeps):
        actions = pool.decided().actions
        found += [(2 * count, each.rule) for each in actions if isinstance(each, (Restart, Recreate))]
        pool.sweep()
    return found


def test_vms_that_wait_for_a_first_image_are_left_alone_and_people_are_told() -> None:
    pool = imageless()
    assert healed(pool, 150) == []
    decision = pool.decided()
    assert [(each.subject, each.rule) for each in decision.findings] == [(POOL, "slot-imageless")]
    assert decision.pools[POOL].unhealthy == {}


@pytest.mark.parametrize("phase", [None, Phase.CLEANING])
def test_a_vm_without_image_that_does_not_say_that_it_waits_for_one_is_healed(phase: Phase | None) -> None:
    pool = imageless()
    pool.hung = {pool.vm(0): phase}
    assert healed(pool, 21) == [(18, "slot-unserved"), (38, "slot-restarted")]
