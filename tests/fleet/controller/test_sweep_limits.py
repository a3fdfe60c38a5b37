"""Each limit on both sides of its bound: what it lets pass, what it holds, and what it says of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from infra.fleet.controller.actions import (
    Delete,
    Drain,
    Held,
    Proposal,
    Recreate,
    RemoveRunner,
    Urgency,
    subject,
)
from infra.fleet.controller.desired import ControllerSettings, Desired
from infra.fleet.controller.limits import (
    A_SWEEP,
    FUSE_MINUTES,
    FUSE_SWEEPS,
    HOUR,
    Limited,
    Losses,
    fuse,
    is_far,
    limited,
    trickles,
)
from infra.fleet.controller.memory import EMPTY, Fuse, Memory, VmMemory
from infra.model.catalogue import CapacityKind
from infra.model.schema import Freeze
from tests.fleet.controller.given_fleet import HOME, START, fleet, minutes, node, of_kind, place

POOL = "tpu-ci"
SECOND = timedelta(seconds=1)
SPOT = place(HOME, CapacityKind.SPOT)


def limits(*proposals: Proposal, desired: Desired | None = None, memory: Memory = EMPTY, **given: Any) -> Limited:
    """The limits of one sweep at START. serving: by pool, VMs that take jobs; blown: the fuse."""
    usual: dict[str, Any] = {"serving": {}, "blown": None, "now": START}
    return limited(proposals, desired=desired or of_kind(CapacityKind.SPOT, 12), memory=memory, **{**usual, **given})


def held(found: Limited) -> list[tuple[str, str, datetime | None, bool]]:
    return [(subject(each.action), each.why, each.until, each.stands) for each in found.held]


def allowed(found: Limited) -> list[str]:
    return [subject(each.action) for each in found.allowed]


def recreate(vm: str, **given: Any) -> Proposal:
    action = Recreate(slot=vm, node=node(vm), place=given.pop("place", SPOT), rule="r", reason="")
    return Proposal(action=action, pool=POOL, **given)


def drain(vm: str, pool: str = POOL, **given: Any) -> Proposal:
    return Proposal(action=Drain(vm=vm, on=True, rule="r", reason=""), pool=pool, takes=vm, **given)


def delete(vm: str, pool: str = POOL) -> Proposal:
    return Proposal(action=Delete(node=node(vm), rule="r", reason=""), pool=pool, deletes=True)


# The last VM that serves


def serving(*vms: str) -> Mapping[str, frozenset[str]]:
    return {POOL: frozenset(vms)}


def test_the_last_vm_that_serves_is_kept_until_its_patience_ends() -> None:
    kept = f"no other VM of pool {POOL} serves"
    late = START + minutes(5)
    assert held(limits(drain("a"), serving=serving("a"))) == [("a", kept, None, True)], "nothing ends it by itself"
    assert held(limits(drain("a", patience=late), serving=serving("a"))) == [("a", kept, late, False)]
    assert held(limits(drain("a", patience=START + SECOND), serving=serving("a")))
    assert allowed(limits(drain("a", patience=START), serving=serving("a"))) == ["a"], "from then on"
    assert allowed(limits(drain("a"), serving=serving("a", "b"))) == ["a"], "another serves"
    assert held(limits(drain("a"), serving={"other": frozenset("b")})) == [("a", kept, None, True)]


def test_of_two_that_serve_one_goes_and_the_other_waits_for_the_next_sweep() -> None:
    kept = f"no other VM of pool {POOL} serves"
    for patience in (None, START, START + minutes(5)):
        both = limits(drain("a", patience=patience), drain("b", patience=patience), serving=serving("a", "b"))
        assert (allowed(both), held(both)) == (["a"], [("b", kept, None, False)]), "no patience ends it now"


# Replacements and creates


def test_a_pool_that_has_had_its_replacements_waits_until_the_first_of_the_hour_is_over() -> None:
    desired = of_kind(CapacityKind.SPOT, 4, settings=ControllerSettings(replacements=2))
    times = (START - HOUR, START - minutes(40), START - minutes(10))
    full = Memory(replacements={POOL: times, "other": (START,) * 9})
    why = f"pool {POOL} has reached its limit of 2 replacements an hour"
    found = limits(recreate("a", replaces=True), recreate("b"), desired=desired, memory=full)
    assert held(found) == [("a", why, START + minutes(20), False)]
    assert allowed(found) == ["b"], "it replaces none that may live"
    one = limits(
        *(recreate(vm, replaces=True) for vm in "abc"), desired=desired, memory=Memory(replacements={POOL: times[1:2]})
    )
    assert (allowed(one), [(vm, until) for vm, _, until, _ in held(one)]) == (
        ["a"],
        [("b", START + minutes(20)), ("c", START + minutes(20))],
    )
    none = limits(*(recreate(vm, replaces=True) for vm in "abc"), desired=desired)
    assert (allowed(none), [until for _, _, until, _ in held(none)]) == (["a", "b"], [None]), "all are of this sweep"


# Fuse and freeze


@pytest.mark.parametrize(
    ("losses", "blows"),
    [((2, 6, 0, 6), False), ((2, 5, 0, 5), True), ((1, 1, 0, 1), False), ((0, 6, 2, 6), False), ((0, 6, 3, 6), True)],
)
def test_more_than_a_third_and_more_than_one_blow_the_fuse(losses: tuple[int, int, int, int], blows: bool) -> None:
    dead, slots, orphans, listed = losses
    seen = Losses(dead=dead, slots=slots, orphans=orphans, listed=listed)
    assert fuse(None, seen, START) == (Fuse(since=START) if blows else None)
    assert fuse(Fuse(since=START, sweeps=4), seen, START + HOUR) == (Fuse(since=START, sweeps=5) if blows else None)


def test_a_freeze_window_holds_what_may_wait_and_says_until_when() -> None:
    def window(end: str) -> Desired:
        given = {"name": "break", "time_zone": "UTC", "from": "2026-11-20", "to": end}
        return fleet(6, freezes=(Freeze.model_validate(given),))

    proposals = (drain("a", freeze=False), drain("b"))
    found = limits(*proposals, desired=window("2026-11-21T12:30"), serving=serving("a", "b", "c"))
    assert (allowed(found), held(found)) == (["b"], [("a", "freeze window break", START + minutes(30), False)])
    (far,) = limits(proposals[0], desired=window("2026-11-22")).held
    assert isinstance(far, Held)
    assert (far.until, far.stands) == (datetime.fromisoformat("2026-11-23T00:00:00+00:00"), True)
    assert not is_far(START + HOUR, START)
    assert is_far(START + HOUR + SECOND, START)


def test_urgent_proposals_come_first_then_those_that_were_tried_least_then_by_name() -> None:
    tried = Memory(vms={"a": VmMemory(seen=START, attempts=2), "b": VmMemory(seen=START, attempts=1)})
    proposals = [
        recreate("a", urgency=Urgency.HEAL),
        recreate("b", urgency=Urgency.HEAL),
        recreate("c", urgency=Urgency.HEAL),
        recreate("0", urgency=Urgency.CHANGE),
    ]
    assert allowed(limits(*proposals, memory=tried)) == ["c", "b", "a", "0"]
    assert allowed(limits(recreate("b"), recreate("a"))) == ["a", "b"]
    flood = [delete(f"vm-{index}") for index in range(6)]
    drawn = [tuple(allowed(limits(*flood, memory=Memory(sweeps=sweep)))) for sweep in range(4)]
    assert len(set(drawn)) == 4, "another lot in every sweep"
    assert drawn == [tuple(allowed(limits(*flood[::-1], memory=Memory(sweeps=sweep)))) for sweep in range(4)]


@pytest.mark.parametrize("kind", [Delete, RemoveRunner])
def test_one_sweep_asks_github_so_often_and_the_next_goes_on(kind: type) -> None:
    most = A_SWEEP[kind]

    def asked(number: int) -> Proposal:
        gone = RemoveRunner(scope="orgs/a-lab", id=number, name=f"vm-{number}", rule="r", reason="")
        return Proposal(action=gone) if kind is RemoveRunner else delete(f"vm-{number}")

    found = limits(*(asked(number) for number in range(most + 1)), drain("a"), serving=serving("a", "b"))
    assert len(found.allowed) == most + 1
    assert [why for _, why, _, _ in held(found)] == [f"this sweep has done {most} of this kind; the next goes on"]
    assert "a" in allowed(found)


def test_a_blown_fuse_lets_one_vm_a_pool_go_after_minutes_and_sweeps() -> None:
    old = START - timedelta(minutes=FUSE_MINUTES)
    assert trickles(Fuse(since=old, sweeps=FUSE_SWEEPS), START)
    assert not trickles(Fuse(since=old + SECOND, sweeps=FUSE_SWEEPS), START)
    assert not trickles(Fuse(since=old, sweeps=FUSE_SWEEPS - 1), START)
    young = Fuse(since=START - minutes(5))
    why = "the fuse is blown since 11:55: more than a third of the fleet looks lost at once"
    found = limits(delete("a"), drain("b"), blown=young, serving=serving("b", "c"))
    assert (allowed(found), held(found)) == (["b"], [("a", why, None, False)])
    found = limits(delete("a"), delete("b"), delete("c", pool="other"), blown=Fuse(since=old, sweeps=FUSE_SWEEPS))
    (late,) = held(found)
    assert late[1:] == ("the fuse is blown: one VM a pool and sweep", None, False)
    assert {each.pool for each in found.allowed} == {POOL, "other"}
