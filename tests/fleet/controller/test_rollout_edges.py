"""What a pool is taken to run once its memory is lost, and what its VMs are told with their orders."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infra.fleet.controller.actions import Assign
from infra.fleet.operator_requests import DrainRequest, OperatorRequests
from infra.fleet.versions import AssignedVersion, PoolVersion
from tests.fleet.controller.given_fleet import START, fleet
from tests.fleet.controller.rolled_pool import POOL, Pool, rolled_out, steady, taken_back, target


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


@pytest.mark.parametrize(("serving", "image"), [("a--", ""), ("aa-", "a"), ("abb-", "b")])
def test_without_memory_a_first_image_is_proved_once_two_serve_with_it(serving: str, image: str) -> None:
    desired = fleet(len(serving))
    images = ["" if letter == "-" else f"r@sha256:{letter}" for letter in serving]
    orders = {slot.name: (said, "") for slot, said in zip(desired.slots, images, strict=True)}
    pool = Pool(desired, target("a"), runs=dict(orders), told=dict(orders), real=True)
    pool.sweep()
    assert pool.rollout.stable.images == target(image).images


def assigns(pool: Pool) -> list[Assign]:
    return [each for each in pool.decided().actions if isinstance(each, Assign)]


def reasons(pool: Pool) -> set[str]:
    return {each.reason for each in assigns(pool)}


def test_each_order_says_why_a_vm_has_its_version() -> None:
    pool = Pool(fleet(4), target("a"))
    assert reasons(pool) == {"what its pool runs"}
    pool.sweeps(3)
    pool.target = target("b")
    assert reasons(pool) == {"it is the canary of its pool"}
    pool.sweep()
    assert reasons(pool) == {"the canary has proved it"}
    while pool.stage != "rolling":
        pool.sweep()
    pool.requests = taken_back("image sha256:b")
    assert reasons(pool) == {"back to what was proved: it was undone"}


def test_orders_of_vms_that_wait_to_go_back_say_why_and_let_them_take_jobs() -> None:
    pool = rolled_out("b")
    pool.requests, pool.busy = taken_back("image sha256:b"), {pool.vm(index) for index in range(6)}
    pool.sweep()
    pool.busy.discard(pool.vm(5))
    told = {each.vm: (each.reason, each.first, each.drained) for each in assigns(pool)}
    assert told == {
        pool.vm(0): ("it has a job, and an idle VM goes back first", False, False),
        pool.vm(5): ("back to what was proved: it was undone", False, False),
    }


def test_one_that_waits_to_go_back_is_told_the_image_and_the_bundle_that_it_runs() -> None:
    pool = steady(first=target("a", "1"))
    pool.target = target("b", "1")
    pool.sweeps(8)
    pool.busy, pool.target = {pool.vm(index) for index in range(6)}, target("c", "1")
    assert pool.sweep() == ["0:c1"]
    pool.busy, pool.requests = {pool.vm(0)}, taken_back("image sha256:b", "image sha256:c")
    told = {each.vm: (each.version, each.reason, each.drained) for each in assigns(pool)}
    assert told.keys() == {pool.vm(index) for index in range(3)}
    assert told[pool.vm(0)] == (AssignedVersion("r@sha256:b", "1"), "others go back first", False)


def test_orders_that_may_have_been_written_are_written_anew() -> None:
    pool = steady(2)
    name = pool.vm(0)
    vms = {**pool.memory.vms, name: replace(pool.memory.vms[name], unsure=1)}
    pool.memory = replace(pool.memory, vms=vms)
    assert [(each.vm, each.first) for each in assigns(pool)] == [(name, True)]


def test_first_orders_of_a_pool_that_somebody_drains_say_to_take_no_job() -> None:
    drain = DrainRequest(subject=POOL, by="up", since=START, minutes=60)
    for requests, drained in ((OperatorRequests(drains=(drain,)), True), (OperatorRequests(), False)):
        pool = Pool(fleet(2), target("a"), requests=requests)
        told = [each.drained for each in pool.decided().actions if isinstance(each, Assign)]
        assert told == [drained, drained]
