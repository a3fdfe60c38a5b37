"""What each verdict asks for before any limit is asked: the whole proposal, what is waited for, and what is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.fleet.controller.actions import Create, Drain, Proposal, Recreate, RemoveRunner, Restart, Urgency
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.keys import BackoffKey
from infra.fleet.controller.memory import EMPTY, Backoff, Memory, VmMemory
from infra.fleet.controller.observed import KNOWN, Observed, Trouble
from infra.fleet.controller.propose import Proposals
from infra.fleet.controller.rules import remakes
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import (
    AWAY,
    BOTH,
    DARK,
    HOME,
    LOST,
    PAIR,
    START,
    SWEEP,
    V5E,
    judge,
    minutes,
    node,
    nodes,
    runner,
    seen,
    served,
    sight,
    sweeps,
)

ZERO = PAIR.slots[0]
POOL = ZERO.pool
BUSY = (runner(ZERO.name, busy=True), *LOST)


def proposed(observed: Observed, memory: Memory = EMPTY, *, after: float = 0, desired: Desired = PAIR) -> Proposals:
    """What is proposed where all has been as it is for so many minutes."""
    if after:
        memory = judge(observed, desired, memory).memory
    found = Proposals(judge=judge(observed, desired, memory, START + minutes(after)))
    found.judge_everything()
    return found


def of(found: Proposals, kind: type) -> Proposal:
    (proposal,) = (each for each in found.proposals if isinstance(each.action, kind))
    return proposal


def said(found: Proposals) -> list[tuple[str, str, str, Any]]:
    return [(each.subject, each.rule, each.reason.partition("; ")[2], each.until) for each in found.waiting]


@pytest.mark.parametrize(("state", "may_live"), [("PREEMPTED", False), ("TERMINATED", False), ("FAILED", True)])
def test_a_dead_vm_is_made_again_first_of_all_and_what_google_took_is_no_loss(state: str, may_live: bool) -> None:
    found = proposed(sight(s0=state, runners=LOST))
    proposal = of(found, Recreate)
    action = proposal.action
    assert isinstance(action, Recreate)
    assert (action.slot, action.node.state, action.place, action.passed) == (ZERO.name, state, ZERO.home, frozenset())
    wanted = Proposal(action=action, pool=POOL, deletes=may_live, replaces=may_live, freeze=True, urgency=Urgency.HEAL)
    assert proposal == wanted
    assert (found.dead, found.to_delete) == (may_live, 0)
    assert found.unhealthy.keys() == {ZERO.name}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"runners": BUSY}, "its runner has a job"),
        ({"runners": (), "scopes": dict.fromkeys(PAIR.scopes, DARK)}, "GitHub does not say whether it runs a job"),
        ({"runners": LOST, "engine": "an `up` runs"}, "an `up` runs"),
        ({"runners": LOST, "requests_source": DARK},
         "operator requests cannot be read, such as that a zone is given up"),
    ],
    ids=["busy", "not heard", "engine", "requests"],
)  # fmt: skip
def test_a_vm_that_hangs_is_not_replaced_while_it_may_work_or_somebody_may_object(given: Any, why: str) -> None:
    found = proposed(sight(s0="REPAIRING", **given), after=60)
    assert (ZERO.name, "slot-repairing", why, None) in said(found)
    assert not [each for each in found.proposals if isinstance(each.action, Recreate)]


@pytest.mark.parametrize("remade", [1, remakes().told_after - 1, remakes().told_after])
@pytest.mark.parametrize("over", [False, True])
def test_what_was_replaced_and_never_served_waits_and_people_are_told_after_some_times(remade: int, over: bool) -> None:
    wait = remakes().wait(remade)
    before = START - wait + (minutes(0) if over else minutes(0.1))
    memory = replace(EMPTY, vms={ZERO.name: VmMemory(seen=START, remade=remade, remade_at=before)})
    found = proposed(sight(s0="FAILED", runners=LOST), memory)
    again = f"replaced {remade} times, and it never served for an hour"
    assert said(found) == ([] if over else [(ZERO.name, "slot-failed", again, before + wait)])
    assert bool(found.proposals) is over
    told = [(each.subject, each.rule) for each in found.findings]
    assert told == ([(ZERO.name, "slot-remade")] if remade >= remakes().told_after else [])
    assert all(each.reason.endswith(f"; {again}") for each in found.findings)
    given_back = proposed(sight(s0="PREEMPTED", runners=LOST), memory)
    assert given_back.proposals, "what Google took back waits for nothing"


def test_a_vm_that_is_not_there_is_made_and_not_before_people_can_be_heard() -> None:
    gone = sight(s0="", runners=LOST)
    memory = sweeps(PAIR, gone, 1)[-1].memory
    later: dict[str, Any] = {"memory": replace(memory, creating={}, sweeps=9), "after": 60.0}
    proposal = of(proposed(gone, **later), Create)
    action = proposal.action
    assert isinstance(action, Create)
    assert (action.slot, action.place, action.passed) == (ZERO.name, ZERO.home, frozenset())
    assert proposal == Proposal(action=action, pool=POOL, urgency=Urgency.MAKE, freeze=True)
    unheard = proposed(replace(gone, requests_source=DARK), **later)
    assert [each.reason.partition("; ")[2] for each in unheard.waiting if each.subject == ZERO.name] == [
        "operator requests cannot be read, such as that a zone is given up"
    ]
    assert not unheard.proposals


def test_a_vm_without_runner_is_restarted_by_the_number_after_the_last() -> None:
    memory = replace(EMPTY, vms={ZERO.name: VmMemory(seen=START, restart=4)})
    proposal = of(proposed(sight(runners=LOST), memory, after=600), Restart)
    action = proposal.action
    assert isinstance(action, Restart)
    assert (action.vm, action.number, action.rule) == (ZERO.name, 5, "slot-unserved")
    assert proposal == Proposal(action=action, pool=POOL, urgency=Urgency.HEAL)


def test_what_only_its_silence_condemns_waits_while_reports_cannot_be_read() -> None:
    found = proposed(sight(runners=LOST, reports_source=DARK), after=600)
    assert not found.proposals
    assert (ZERO.name, "slot-unserved", "its report cannot be read", None) in said(found)


ORPHAN = node(f"{POOL}-{HOME}-9")
AWAY_NODE = node(ZERO.name, zone=AWAY, capacity=CapacityKind.SPOT)


def away(**given: Any) -> Observed:
    return seen(PAIR, nodes=(AWAY_NODE, *nodes(PAIR)[1:]), **{"zones": BOTH, **given})


def test_a_vm_away_takes_no_more_jobs_and_is_then_made_again_at_home() -> None:
    first = proposed(away(), after=720)
    proposal = of(first, Drain)
    action = proposal.action
    assert isinstance(action, Drain)
    assert (action.vm, action.on, action.rule) == (ZERO.name, True, "slot-serving-away")
    assert proposal == Proposal(action=action, pool=POOL, takes=ZERO.name, freeze=False, urgency=Urgency.CHANGE)
    assert first.unhealthy == {}
    busy = proposed(away(runners=BUSY), after=720)
    assert (ZERO.name, "slot-serving-away", "its runner has a job", None) in said(busy)


@pytest.mark.parametrize(
    ("online", "drained", "goes"),
    [(False, 0, True), (True, 0, False), (True, 1, True)],
    ids=["its runner is gone", "within its grace", "after its grace"],
)
def test_a_drained_vm_away_goes_once_its_runner_is_gone_or_its_grace_is_over(
    *, online: bool, drained: int, goes: bool
) -> None:
    grace, now = proposed(away()).judge.grace, START + minutes(720)
    memory = replace(EMPTY, vms={ZERO.name: VmMemory(seen=START, drained=now - drained * grace)})
    found = proposed(away(), memory, after=720) if online else proposed(away(runners=LOST), memory, after=720)
    if goes and online:
        proposal = of(found, Recreate)
        action = proposal.action
        assert isinstance(action, Recreate)
        assert (action.slot, action.place, action.node) == (ZERO.name, None, AWAY_NODE)
        assert proposal == Proposal(
            action=action, pool=POOL, deletes=True, replaces=True, freeze=False, urgency=Urgency.CHANGE
        )
    elif online:
        assert (ZERO.name, "slot-serving-away", "its runner ends", None) in said(found)
    else:
        assert not [each for each in found.proposals if isinstance(each.action, Drain)]


@pytest.mark.parametrize(
    ("zone", "trouble", "rule"),
    [
        (HOME, Trouble.QUOTA, "create-quota"),
        (HOME, Trouble.REFUSED, "create-refused"),
        (HOME, Trouble.STOCKOUT, None),
        ("us-east1-c", Trouble.QUOTA, None),
    ],
)
def test_what_only_people_can_free_or_mend_is_told_where_it_is_declared(
    zone: str, trouble: Trouble, rule: str | None
) -> None:
    key = BackoffKey(zone, V5E.name, CapacityKind.PREEMPTIBLE)
    wait = Backoff(failures=1, trouble=trouble, last=START, until=START + SWEEP, since=START, text="no chips left")
    found = proposed(sight(), replace(sweeps(PAIR, sight(), 1)[-1].memory, backoff={key: wait}))
    told = [(each.subject, each.rule, each.reason) for each in found.findings]
    assert told == ([(str(key), rule, "no chips left")] if rule else [])


@pytest.mark.parametrize(
    ("rule", "observed"),
    [
        ("unknown", sight(reports_source=DARK)),
        ("unknown", sight(requests_source=DARK)),
        ("unknown", sight(zones={HOME: KNOWN, AWAY: DARK})),
    ],
)
def test_a_source_that_does_not_answer_is_told_by_its_name(rule: str, observed: Observed) -> None:
    found = proposed(observed)
    unknown_ = {str(name): source.reason for name, source in observed.sources.items() if not source.known}
    assert len(unknown_) == 1
    assert {each.subject: each.reason for each in found.findings if each.rule == rule} == unknown_
    assert {each.since for each in found.findings} == {START}


def test_an_orphan_that_serves_is_first_drained_and_counts_as_a_loss() -> None:
    serving = sight(ORPHAN, runners=(*served(PAIR), runner(ORPHAN.name, number=99)))
    memory = sweeps(PAIR, serving, 1)[-1].memory
    found = proposed(serving, replace(memory, sweeps=9), after=60)
    proposal = of(found, Drain)
    assert (proposal.pool, proposal.takes, proposal.deletes, proposal.freeze) == (POOL, ORPHAN.name, True, False)
    assert proposal.patience == START + found.judge.patience
    assert (found.to_delete, proposal.urgency) == (1, Urgency.TIDY)


def test_a_runner_of_no_vm_is_removed_once_it_was_gone_for_long() -> None:
    gone = runner(f"{POOL}-{HOME}-8", number=88, online=False)
    observed = sight(runners=(*served(PAIR), gone))
    memory = sweeps(PAIR, observed, 1)[-1].memory
    found = proposed(observed, replace(memory, sweeps=9), after=24 * 60)
    action = of(found, RemoveRunner).action
    assert isinstance(action, RemoveRunner)
    assert (action.scope, action.id, action.name) == (gone.scope, 88, gone.name)
    assert of(found, RemoveRunner) == Proposal(action=action)


@pytest.mark.parametrize(
    ("state", "attempts", "waits"), [("FAILED", 1, True), ("FAILED", 0, False), ("PREEMPTED", 1, False)]
)
def test_a_create_whose_vm_never_served_begins_a_wait_of_its_place(state: str, attempts: int, waits: bool) -> None:
    one = PAIR.slots[1]
    memory = replace(EMPTY, vms={one.name: VmMemory(seen=START, attempts=attempts, tried={HOME: START})})
    observed = seen(PAIR, nodes=nodes(PAIR, s1=state), runners=served(PAIR, but=(one.name,)), zones=BOTH)
    found = proposed(observed, memory)
    key = BackoffKey(HOME, V5E.name, CapacityKind.PREEMPTIBLE)
    kept = {at: (wait.trouble, wait.text) for at, wait in found.judge.memory.backoff.items()}
    assert kept == ({key: (Trouble.UNSERVED, "no VM served in time: it could not be made")} if waits else {})
