"""What a sweep says of one thing: the row that fits it, until when it waits, and its details."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from infra.fleet.controller.keys import RunnerKey, SourceKind, SourceName
from infra.fleet.controller.memory import EMPTY, Creating, Memory, ScopeMemory, VmMemory
from infra.fleet.controller.notice import HEARD
from infra.fleet.controller.observed import KNOWN, unknown
from infra.fleet.operator_requests import DrainRequest, OperatorRequests
from infra.fleet.reports import Phase, ReportSeen
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import (
    AWAY,
    BOTH,
    DARK,
    HOME,
    LOST,
    PAIR,
    START,
    judge,
    minutes,
    node,
    nodes,
    runner,
    seen,
    served,
    sight,
)

ZERO, ONE = PAIR.slots
ORPHAN = node(f"tpu-ci-{HOME}-9")
CREATING = {ZERO.name: Creating(zone=AWAY, capacity=CapacityKind.SPOT, at=START)}


def report(vm: str, phase: Phase, at: datetime = START, **given: Any) -> dict[str, ReportSeen]:
    return {vm: ReportSeen(vm=vm, pool="tpu-ci", phase=phase, at=at, reason="no chips", **given)}


def drain(subject: str) -> DrainRequest:
    return DrainRequest(subject=subject, by="ada", since=START, minutes=60)


def told(vm: str, drained: datetime | None) -> Memory:
    return Memory(vms={vm: VmMemory(seen=START, drained=drained)})


def test_a_vm_that_is_asked_for_is_waited_for_though_a_list_shows_the_dead_one() -> None:
    memory = Memory(creating=CREATING)
    for state in ("PREEMPTED", "DELETING", ""):
        found = judge(sight(s0=state), memory=memory).slot(ZERO)
        assert (found.subject, found.rule.id, found.until) == (ZERO.name, "slot-asked-for", None)
    assert judge(sight(), memory=memory).slot(ZERO).rule.id == "slot-serving", "the one at home is READY after all"


@pytest.mark.parametrize(
    ("zone", "runs", "drained", "row"),
    [
        (HOME, False, START, "slot-draining"),
        (HOME, True, None, "slot-serving"),
        (AWAY, True, None, "slot-serving-away"),
        (AWAY, False, START, "slot-serving-away"),
        (AWAY, False, None, "slot-unserved"),
    ],
)
def test_only_a_vm_that_stands_and_serves_away_goes_home(
    zone: str, runs: bool, drained: datetime | None, row: str
) -> None:
    capacity = CapacityKind.SPOT if zone == AWAY else CapacityKind.PREEMPTIBLE
    there = node(ZERO.name, zone=zone, capacity=capacity)
    runners = served(PAIR) if runs else ()
    found = judge(seen(PAIR, nodes=(there,), runners=runners, zones=BOTH), memory=told(ZERO.name, drained))
    assert found.slot(ZERO).rule.id == row
    kept = replace(found.observed, requests=OperatorRequests(drains=(drain(ZERO.pool),)))
    assert judge(kept, memory=told(ZERO.name, drained)).slot(ZERO).rule.id != "slot-serving-away", "people drain it"


def test_orphans_serve_their_pool_until_they_are_drained() -> None:
    runners = (*served(PAIR), runner(ORPHAN.name, number=9))
    found = judge(sight(ORPHAN, runners=runners))
    assert found.serving_by_pool() == {"tpu-ci": {ZERO.name, ONE.name, ORPHAN.name}}
    assert judge(sight(ORPHAN)).serving_by_pool() == {"tpu-ci": {ZERO.name, ONE.name}}, "no runner of it is online"
    suspect = replace(found.memory.suspects[ORPHAN.orphan_key], drained=START)
    memory = replace(found.memory, suspects={ORPHAN.orphan_key: suspect})
    assert replace(found, memory=memory).serving_by_pool() == {"tpu-ci": {ZERO.name, ONE.name}}
    lost = judge(sight(s0="CREATING", runners=runners), memory=told(ONE.name, START))
    assert lost.serving_by_pool() == {}


def at_rest(phase: Phase, at: datetime, *, scopes: dict[str, ScopeMemory] | None = None) -> bool:
    """Whether an orphan without a runner, that says this, is taken to be at rest once it was suspected for long."""
    observed = sight(ORPHAN, reports=report(ORPHAN.name, phase, at))
    found = judge(observed)
    old = {key: replace(each, sweeps=9, since=START - minutes(90)) for key, each in found.memory.suspects.items()}
    known = {} if scopes is None else {"tpu-ci": scopes}
    found = replace(found, memory=replace(found.memory, suspects=old, scopes=known))
    return found.orphan(ORPHAN).rule.id == "orphan-idle"


def test_an_orphan_whose_runner_may_be_anywhere_is_at_rest_by_its_own_fresh_word_alone() -> None:
    assert at_rest(Phase.DRAINING, START - HEARD + minutes(1))
    assert at_rest(Phase.UNFIT, START + HEARD - minutes(1)), "its clock is its own"
    assert not at_rest(Phase.DRAINING, START - HEARD)
    assert not at_rest(Phase.IDLE, START)
    scopes = {"orgs/a-lab": ScopeMemory(until=START, declared=True)}
    assert at_rest(Phase.IDLE, START, scopes=scopes), "its runner would be listed"
    assert not at_rest(Phase.BUSY, START, scopes=scopes)


def test_a_runner_is_known_by_its_scope_and_number_and_a_source_by_what_is_asked_there() -> None:
    assert runner("a", number=4).key == RunnerKey("orgs/a-lab", 4)
    names = {"repos/a-lab/gone": unknown("404")}
    observed = seen(PAIR, zones={HOME: KNOWN}, left=names, scopes={"orgs/a-lab": KNOWN}, operations={AWAY: DARK})
    always = {SourceKind.GITHUB, SourceKind.REPORTS, SourceKind.REQUESTS, SourceKind.POINTER}
    named = {
        SourceName(SourceKind.ZONE, HOME),
        SourceName(SourceKind.OPERATIONS, AWAY),
        SourceName(SourceKind.GITHUB, "repos/a-lab/gone"),
        SourceName(SourceKind.GITHUB, "orgs/a-lab"),
    }
    assert observed.sources.keys() == named | {SourceName(kind) for kind in always}
    blind = replace(observed, github=DARK, told_source=DARK)
    assert blind.sources.keys() == observed.sources.keys() - {SourceName(SourceKind.GITHUB, "orgs/a-lab")} | {
        SourceName(SourceKind.ORDERS)
    }
    assert blind.sources[SourceName(SourceKind.ORDERS)] == DARK
    assert observed.sources[SourceName(SourceKind.GITHUB, "repos/a-lab/gone")] == unknown("404")


@pytest.mark.parametrize(
    ("states", "made", "boots"),
    [
        (("CREATING",), 120, True),
        (("READY",), 19, True),
        (("READY",), 20, False),
        (("CREATING", "READY"), 120, True),
        (("served", "READY"), 19, False),
        (("served",), 19, False),
        (("PREEMPTED",), 19, False),
    ],
)
def test_a_vm_boots_until_it_served_or_its_allowance_is_over(states: tuple[str, ...], made: int, boots: bool) -> None:
    memory, created = EMPTY, (START - minutes(made)).isoformat()
    for turn, state in enumerate(states):
        listed = tuple(replace(each, created=created) for each in nodes(PAIR, s0=state.replace("served", "READY")))
        runners = served(PAIR) if state == "served" else LOST
        now = START + turn * minutes(2)
        found = judge(seen(PAIR, nodes=listed, runners=runners, zones=BOTH), memory=memory, now=now)
        memory = found.memory
    assert found.boots(ZERO, found.slot(ZERO)) is boots


def test_an_unfit_vm_is_told_with_its_own_reason_and_another_with_none() -> None:
    found = judge(sight(runners=LOST, reports=report(ZERO.name, Phase.UNFIT, proved=HOME))).slot(ZERO)
    assert (found.subject, found.rule.id, found.detail) == (ZERO.name, "slot-unfit", "no chips")
    idle = judge(sight(reports=report(ZERO.name, Phase.IDLE))).slot(ZERO)
    assert (idle.rule.id, idle.detail, idle.until) == ("slot-serving", "", None)


def test_where_a_vm_stands_is_where_it_is_made_then_where_it_is_then_its_home() -> None:
    assert judge(sight()).zone(ZERO) == HOME
    assert judge(sight(s0="DELETING"), memory=Memory(creating=CREATING)).zone(ZERO) == AWAY
    assert judge(sight(), memory=Memory(creating=CREATING)).zone(ZERO) == HOME
    away = seen(PAIR, nodes=(node(ZERO.name, zone=AWAY, capacity=CapacityKind.SPOT),), zones=BOTH)
    assert judge(away).zone(ZERO) == AWAY
    assert judge(sight(s0="")).zone(ZERO) == HOME
    assert judge(sight(s0="", zones={HOME: DARK, AWAY: KNOWN})).zone(ZERO) is None


def test_a_vm_of_a_run_is_told_by_its_run_and_goes_when_its_time_is_over() -> None:
    now = int(START.timestamp())
    for expires, told in {
        f"{now}": ("run-expired", "run 77-1"), f"{now + 1}": ("run-current", "run 77-1"), "": ("run-current", ""),
    }.items():  # fmt: skip
        vm = node("r", labels={"tidepool-run": "77-1", "tidepool-expires": expires})
        found = judge(sight(vm)).run_vm(vm)
        assert (found.rule.id, found.detail) == told


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "a runner of it is online"),
        ({"runners": LOST, "github": DARK}, "GitHub does not say whether it runs a job"),
        ({"runners": LOST, "reports_source": DARK}, "its report cannot be read"),
        ({"runners": LOST, "reports": report(ZERO.name, Phase.BUSY)}, "it says that it runs a job"),
    ],
)
def test_a_stuck_vm_keeps_its_slot_for_a_reason(given: dict[str, Any], why: str) -> None:
    found = judge(sight(s0="HIDDEN", **given))
    stuck = found.fleet.slots[ZERO.name]
    assert stuck is not None
    assert found.stays(ZERO, stuck) == why
