"""New versions: a canary, then a share at a time, or back to what was proved."""

from __future__ import annotations

from dataclasses import replace

from infra.fleet.controller.actions import Assign, Report
from infra.fleet.controller.decide import decide
from infra.fleet.controller.memory import EMPTY, Memory, VmMemory
from infra.fleet.controller.observed import KNOWN, NodeSeen, Observed, unknown
from infra.fleet.controller.trial import at_once
from infra.fleet.operator_requests import OperatorRequests
from infra.fleet.versions import AssignedVersion, PoolVersion
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import AWAY, HOME, START, fleet, minutes, node, place, remembered, seen
from tests.fleet.controller.rolled_pool import steady, taken_back, target


def test_a_new_image_goes_to_one_canary_and_then_to_a_share_at_a_time() -> None:
    pool = steady()
    pool.target = target("b")
    assert [pool.sweep() for _ in range(5)] == [["0:b"], ["1:b", "2:b"], ["3:b", "4:b"], ["5:b"], []]
    assert pool.stage == "steady"
    assert pool.images == "bbbbbb"


def test_the_canary_is_an_idle_vm_where_there_is_one() -> None:
    pool = steady()
    pool.busy = {pool.desired.slots[0].name, pool.desired.slots[1].name}
    pool.target = target("b")
    assert pool.sweep() == ["2:b"]


def test_a_canary_that_does_not_come_online_brings_its_image_back_and_it_is_not_tried_again() -> None:
    pool = steady()
    pool.target, pool.bad = target("b"), "b"
    told = [pool.sweep() for _ in range(40)]
    assert [each for each in told if each] == [["0:b"], ["0:a"]]
    assert pool.stage == "failed"
    assert (pool.rollout.waiting, pool.rollout.proved, pool.rollout.failed) == ({}, (), ())
    assert [each.rule for each in pool.decided().findings] == ["rollout-failed"]
    pool.target = target("c")
    assert pool.sweep() == ["0:c"]
    pool.target, pool.bad = target("b"), ""
    assert pool.sweep() == ["0:b"], "another was promoted meanwhile"


def test_a_canary_that_calls_itself_unfit_goes_back_with_its_reason_and_is_not_made_again() -> None:
    pool = steady()
    pool.target, pool.bad, pool.unfit = target("b"), "b", "runners end at once"
    assert pool.sweep() == ["0:b"]
    back = pool.decided()
    assert [type(action) for action in back.actions] == [Assign, Report]
    assert pool.sweep() == ["0:a"]
    assert (
        pool.memory.rollouts["tpu-ci"].why == "tpu-ci-us-west4-a-0 says that it is unfit with it: runners end at once"
    )
    assert not pool.decided().actions


def test_a_canary_that_is_lost_proves_nothing_and_another_takes_its_place() -> None:
    pool = steady()
    pool.target = target("b")
    pool.sweep()
    pool.gone = pool.desired.slots[0].name
    assert sorted(pool.sweep()) == ["0:a", "1:b"], "the lost one boots with what is proved"


def test_undo_brings_back_what_ran_before_a_share_at_a_time() -> None:
    pool = steady()
    pool.target = target("b")
    pool.sweeps(5)
    pool.requests = taken_back("image sha256:b")
    assert [pool.sweep() for _ in range(4)] == [["0:a", "1:a"], ["2:a", "3:a"], ["4:a", "5:a"], []]
    assert pool.stage == "undone"


def test_what_failed_is_tried_once_for_each_request() -> None:
    pool = steady()
    pool.target, pool.bad, pool.unfit = target("b"), "b", "runners end at once"
    assert [pool.sweep() for _ in range(4)] == [["0:b"], ["0:a"], [], []]
    pool.requests = OperatorRequests(redone={"tpu-ci": pool.memory.rollouts["tpu-ci"].since})
    assert [pool.sweep() for _ in range(4)] == [["0:b"], ["0:a"], [], []]
    assert pool.stage == "failed"


def test_a_pool_is_never_in_work_as_a_whole() -> None:
    assert [at_once(size, 0.34) for size in (1, 2, 3, 6, 100)] == [1, 1, 1, 2, 34]
    assert at_once(100, 0.29) == 29
    assert [at_once(size, 1.0) for size in (1, 2, 3)] == [1, 1, 2]


SOME, ALL = ("us-west4",), ("us-west4", "us-central1")
VM = f"tpu-ci-{HOME}-0"
HAS_FALLBACK = fleet(1, fallbacks=(place(AWAY, CapacityKind.SPOT),))
KNOWN_VM = VmMemory(seen=START, tried={AWAY: START}, assigned=AssignedVersion("us-west4/r@sha256:a"), region="us-west4")
REMEMBERED = replace(EMPTY, vms={VM: KNOWN_VM})
AT_FALLBACK = node(VM, zone=AWAY, capacity=CapacityKind.SPOT)


def copied(digest: str, regions: tuple[str, ...] = ALL) -> PoolVersion:
    return PoolVersion(images={region: f"{region}/r@sha256:{digest}" for region in regions})


def away(regions: tuple[str, ...] = ALL, *, listed: NodeSeen | None = AT_FALLBACK, dark: str = "") -> Observed:
    """A fleet of one VM, which stands at its fallback; `regions` have the image, and one zone does not answer."""
    return seen(
        HAS_FALLBACK,
        nodes=(listed,) if listed else (),
        zones={zone: unknown("503") if zone == dark else KNOWN for zone in (HOME, AWAY)},
        targets={"tpu-ci": copied("a", regions)},
    )


def told(*sights: Observed, memory: Memory = REMEMBERED) -> list[str | None]:
    """The images that one VM is told to run in sweeps that see this, one after another."""
    images = []
    for index, sight in enumerate(sights):
        decision = decide(HAS_FALLBACK, sight, memory, START + minutes(2 * index))
        memory = remembered(decision, HAS_FALLBACK, START + minutes(2 * index))
        images += [action.image for action in decision.actions if isinstance(action, Assign)]
    return images


def test_a_vm_at_its_fallback_pulls_from_the_repository_of_that_region() -> None:
    assert told(away(), away()) == ["us-central1/r@sha256:a"]


def test_a_vm_that_a_list_lacks_keeps_what_it_was_told() -> None:
    assert told(away(), away(listed=None, dark=AWAY), away()) == ["us-central1/r@sha256:a"], "no list"
    assert told(away(), away(listed=None), away()) == ["us-central1/r@sha256:a"], "a list without it"


def test_where_a_region_has_no_copy_the_one_of_the_home_is_pulled_until_it_has() -> None:
    assert told(away(SOME), away(SOME)) == []
    assert told(away(SOME), away(ALL), away(ALL)) == ["us-central1/r@sha256:a"]


def test_one_that_is_lost_after_the_canary_counts_as_proved() -> None:
    pool = steady()
    pool.target = target("b")
    pool.sweeps(2)
    pool.gone = pool.vm(1)
    assert pool.sweep() == ["3:b", "4:b"], "whoever takes its place boots with it"
