"""What a pool is taken to run once its memory is lost, and what its VMs are told with their orders."""

from __future__ import annotations

import pytest

from infra.fleet.controller.actions import Assign
from infra.fleet.operator_requests import DrainRequest, OperatorRequests
from infra.fleet.versions import PoolVersion
from tests.fleet.controller.given_fleet import START, fleet
from tests.fleet.controller.rolled_pool import POOL, Pool, taken_back, target


def proved(promoted: PoolVersion, *told: str) -> PoolVersion:
    """What is proved of a pool whose memory is lost. told: by VM the last letter of its image, and its bundle."""
    desired = fleet(len(told))
    orders = {slot.name: (f"r@sha256:{said[0]}", said[1:]) for slot, said in zip(desired.slots, told, strict=True)}
    pool = Pool(desired, promoted, runs=dict(orders), told=dict(orders))
    pool.sweep()
    return pool.rollout.stable


@pytest.mark.parametrize(
    ("promoted", "told", "image", "bundle"),
    [
        (target("b", "1"), ("b1", "c1"), "c", "1"),
        (target("a", "2"), ("a2", "a3"), "a", "3"),
        (target("b", "1"), ("a1", "a1", "d1"), "a", "1"),
        (target("b", "1"), ("a3", "a3", "a4"), "a", "3"),
        (target("b", "1"), ("b1", "b1"), "b", "1"),
    ],
)
def test_without_memory_what_most_orders_say_beside_what_is_new_is_proved(
    promoted: PoolVersion, told: tuple[str, ...], image: str, bundle: str
) -> None:
    found = proved(promoted, *told)
    assert found.images == dict.fromkeys(("us-west4", "us-central1"), f"r@sha256:{image}")
    assert found.bundle == bundle


def reasons(pool: Pool) -> set[str]:
    return {each.reason for each in pool.decided().actions if isinstance(each, Assign)}


def test_each_order_says_why_a_vm_has_its_version() -> None:
    pool = Pool(fleet(4), target("a"))
    assert reasons(pool) == {"what its pool runs"}
    pool.sweeps(3)
    pool.target = target("b")
    assert reasons(pool) == {"it is the canary of its pool"}
    while pool.stage != "rolling":
        pool.sweep()
    pool.requests = taken_back("image sha256:b")
    assert reasons(pool) == {"back to what was proved: it was undone"}


def test_first_orders_of_a_pool_that_somebody_drains_say_to_take_no_job() -> None:
    drain = DrainRequest(subject=POOL, by="up", since=START, minutes=60)
    for requests, drained in ((OperatorRequests(drains=(drain,)), True), (OperatorRequests(), False)):
        pool = Pool(fleet(2), target("a"), requests=requests)
        told = [each.drained for each in pool.decided().actions if isinstance(each, Assign)]
        assert told == [drained, drained]
