"""How many VMs of a pool a rollout has in work, who they are, and what is told where it does not go on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infra.fleet.operator_requests import OperatorRequests
from infra.model.schema import Freeze
from tests.fleet.controller.given_fleet import minutes
from tests.fleet.controller.rolled_pool import POOL, rolled_out, steady, taken_back, target


@pytest.mark.parametrize(("failures", "stage", "images"), [(2, "steady", "bbbbbb"), (3, "failed", "aaaaaa")])
def test_more_failures_than_the_share_after_the_canary_bring_everything_back(
    failures: int, stage: str, images: str
) -> None:
    pool = steady(6)
    pool.target = target("b")
    pool.sweeps(2)
    assert pool.stage == "rolling"
    for _ in range(100):
        pool.sweep()
        pool.slow |= set([each for each in pool.rollout.waiting if each not in pool.slow][: failures - len(pool.slow)])
    assert (pool.stage, pool.images) == (stage, images)
    assert pool.rollout.why.count("did not come online with it") == (failures if stage == "failed" else 0)


def test_an_unfit_canary_whose_clock_is_behind_fails_by_what_it_runs() -> None:
    pool = steady(3)
    pool.bad, pool.unfit, pool.target, pool.wrote = "b", "no chips", target("b"), pool.now - minutes(9)
    pool.sweeps(2)
    assert pool.stage == "failed"


def test_a_vm_that_does_not_come_back_holds_the_others_no_longer_than_its_allowance() -> None:
    pool = rolled_out("b")
    pool.requests = taken_back("image sha256:b")
    pool.sweep()
    pool.slow = {pool.vm(0), pool.vm(1)}
    told = pool.sweeps(30)
    assert told[19] == ["2:a", "3:a"], "40 minutes after the first two"
    assert pool.images == "aaaaaa"


def test_while_github_cannot_be_asked_a_share_goes_back_and_no_more() -> None:
    pool = rolled_out("b")
    pool.requests, pool.deaf = taken_back("image sha256:b"), True
    assert pool.sweeps(4) == [["0:a", "1:a"], [], [], []]


def test_a_canary_with_a_long_job_gives_its_turn_to_a_vm_that_has_none() -> None:
    pool = steady()
    pool.busy, pool.target = {pool.vm(index) for index in range(6)}, target("b")
    assert pool.sweeps(2) == [["0:b"], []]
    pool.busy -= {pool.vm(4)}
    assert sorted(pool.sweep()) == ["0:a", "4:b"]
    pool.busy = {pool.vm(0)}
    pool.sweeps(4)
    assert (pool.stage, pool.images) == ("rolling", "abbbbb"), "in the end its job alone is waited for"
    assert pool.rollout.held == (f"the job of {pool.vm(0)}",)


def test_one_that_lost_its_turn_and_waits_to_go_back_is_told_what_it_runs() -> None:
    pool = steady(3)
    pool.target = target("b")
    pool.sweeps(2)
    assert (pool.stage, pool.images) == ("rolling", "bba")
    pool.busy, pool.target = {pool.vm(index) for index in range(3)}, target("c")
    assert pool.sweep() == ["0:c"]
    pool.busy -= {pool.vm(2)}
    assert sorted(pool.sweep()) == ["0:b", "2:c"]
    pool.busy, pool.bad = set(), "c"
    pool.sweeps(3)
    assert pool.images == "bbc"


def test_what_holds_a_rollout_is_told() -> None:
    pool = steady()
    pool.target, pool.requests = target("b"), OperatorRequests(paused=frozenset({POOL}))
    pool.sweep()
    assert pool.rollout.held == ("paused",)
    pool.requests = OperatorRequests()
    window = Freeze.model_validate({"name": "paper", "time_zone": "UTC", "from": "2026-11-20", "to": "2026-11-22"})
    pool.desired = replace(pool.desired, freezes=(window,))
    pool.sweep()
    assert pool.rollout.held[0].startswith("freeze window paper")
    pool.desired, pool.deaf = replace(pool.desired, freezes=()), True
    pool.sweep()
    assert pool.rollout.held == ("GitHub cannot be asked",)
    pool.deaf = False
    pool.sweeps(8)
    assert (pool.stage, pool.rollout.held) == ("steady", ())
