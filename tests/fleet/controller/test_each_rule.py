"""Each row of the controller's table, reached by what a sweep sees and remembers, and what then is done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from infra.fleet.controller import rules
from infra.fleet.controller.actions import Decision, subject
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import ControllerSettings, Desired
from infra.fleet.controller.memory import EMPTY, Memory
from infra.fleet.controller.observed import NodeSeen, Observed, RunnerSeen, unknown
from infra.fleet.controller.propose import Proposals
from infra.fleet.operator_requests import DrainRequest, OperatorRequests
from infra.fleet.reports import Phase, ReportSeen
from infra.fleet.versions import PoolVersion
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import (
    AWAY,
    HOME,
    START,
    doing,
    first,
    fleet,
    judge,
    labels,
    minutes,
    node,
    nodes,
    place,
    quota,
    remembered,
    runner,
    seen,
    served,
    slot,
)

VM = f"tpu-ci-{HOME}-0"
FLEET = fleet(6)
WHOLE = replace(EMPTY, sweeps=9)
"""A memory that forgot nothing."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is seen for how long, and what the last sweep does with whom. at: minutes from the first to the last."""

    observed: Observed
    at: tuple[float, ...] = (0,)
    desired: Desired = FLEET
    memory: Memory = EMPTY
    done: str = ""
    about: str = VM


def state(name: str) -> Observed:
    return seen(FLEET, nodes=nodes(FLEET, s0=name), runners=served(FLEET, but=(VM,)))


def lost(**given: Any) -> Observed:
    """The first VM is READY without a runner."""
    return seen(FLEET, runners=served(FLEET, but=(VM,)), **given)


def beside(*extra: Any, **given: Any) -> Observed:
    return seen(FLEET, nodes=(*nodes(FLEET), *extra), **given)


def unfit(proved: str = HOME) -> ReportSeen:
    return ReportSeen(vm=VM, pool="tpu-ci", phase=Phase.UNFIT, at=START, reason="the TPU stays busy", proved=proved)


def at_work(vm: str, at: float) -> Observed:
    """A VM without a runner at GitHub says at that minute that it runs a job."""
    said = ReportSeen(vm=vm, pool="tpu-ci", phase=Phase.BUSY, at=START + timedelta(minutes=at))
    return lost(reports={vm: said})


ORPHAN = node(f"tpu-ci-{HOME}-9")
AT_ORPHAN = ORPHAN.name
UNKNOWN_POOLS = replace(ORPHAN, labels=labels(pool="of-a-memory-that-was-lost"))
AWAY_FLEET = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
AWAY_NODE = node(VM, zone=AWAY, capacity=CapacityKind.SPOT)
TWO = (AWAY_NODE, *nodes(AWAY_FLEET, s0=""))
RUN = {"tidepool-run": "77-1", "tidepool-expires": str(int((START + minutes(60)).timestamp()))}
GHOST = runner(f"tpu-ci-{HOME}-7", number=70, online=False)
RESERVED = quota(64, covers=frozenset({CapacityKind.RESERVED}), reservation="lab", generation="v4")
HELD = fleet(6, caps=(RESERVED,))
READY_SICK = nodes(FLEET)[1:]
TRAINING = fleet(slots=tuple(replace(each, serves=()) for each in FLEET.slots))
ONE = fleet(1)
WAITS = ReportSeen(vm=VM, pool="tpu-ci", phase=Phase.PULLING, at=START)
IMAGELESS = seen(ONE, runners=(), reports={VM: WAITS}, targets={"tpu-ci": PoolVersion()})
WINDOWED = fleet(6, closed=(slot(6),), settings=ControllerSettings(job=20))
CLOSED = node(f"tpu-ci-{HOME}-6")


def over(vm: NodeSeen, *at: float, done: str = "", runners: tuple[RunnerSeen, ...] = (), **given: Any) -> Case:
    """A VM of a window that is over, beside a fleet that serves."""
    memory = given.pop("memory", EMPTY)
    observed = beside(vm, runners=(*served(FLEET), *runners), **given)
    return Case(observed=observed, at=at, desired=WINDOWED, memory=memory, done=done, about=vm.name)


CASES: dict[str, Case] = {
    "slot-preempted": Case(observed=state("PREEMPTED"), done="Recreate"),
    "slot-terminated": Case(observed=state("TERMINATED"), done="Recreate"),
    "slot-failed": Case(observed=state("FAILED"), done="Recreate"),
    "slot-stopped": Case(observed=state("STOPPED"), done="Recreate"),
    "slot-lost": Case(observed=state("UNKNOWN"), at=(0, 10), done="Recreate"),
    "slot-creating": Case(observed=state("CREATING"), at=(0, 60), done="Recreate"),
    "slot-repairing": Case(observed=state("REPAIRING"), at=(0, 60), done="Recreate"),
    "slot-restarting": Case(observed=state("RESTARTING"), at=(0, 30), done="Recreate"),
    "slot-deleting": Case(observed=state("DELETING"), at=(0, 30), done="Report"),
    "slot-hidden": Case(observed=state("HIDDEN"), at=(0, 60), done="Report"),
    "slot-unspecified": Case(observed=state("STATE_UNSPECIFIED"), at=(0, 10), done="Report"),
    "slot-unlisted": Case(observed=state("A_STATE_OF_TOMORROW"), at=(0, 10), done="Report"),
    "slot-runnerless": Case(observed=seen(TRAINING, runners=()), desired=TRAINING, at=(0, 20, 40, 600)),
    "slot-serving": Case(observed=seen(FLEET), at=(0, 600)),
    "slot-serving-away": Case(observed=seen(AWAY_FLEET, nodes=TWO), desired=AWAY_FLEET, at=(0, 720), done="Drain"),
    "slot-unheard": Case(observed=seen(FLEET, runners=(), github=unknown("502")), at=(0, 600)),
    "slot-draining": Case(
        observed=lost(requests=OperatorRequests(drains=(DrainRequest(subject=VM, by="ada", since=START, minutes=60),))),
        at=(0, 2, 600),
    ),
    "slot-unfit": Case(observed=lost(reports={VM: unfit()}), done="Recreate"),
    "slot-unfit-unproved": Case(observed=lost(reports={VM: unfit(proved="")}), done="Restart"),
    "slot-own-word": Case(observed=at_work(VM, 120), at=(0, 120), done="Report"),
    "slot-at-work": Case(observed=at_work(VM, 120), at=(0, 120), memory=WHOLE, done="Restart"),
    "slot-unhealthy": Case(
        observed=lost(nodes=(node(VM, health="UNHEALTHY_MAINTENANCE"), *READY_SICK)), at=(0, 20), done="Recreate"
    ),
    "slot-imageless": Case(observed=IMAGELESS, desired=ONE, at=(0, 2), done="Report", about="tpu-ci"),
    "slot-unserved": Case(observed=lost(), at=(0, 20), done="Restart"),
    "slot-restarted": Case(observed=lost(), at=(0, 20, 40), done="Recreate"),
    "slot-engine": Case(observed=seen(FLEET, nodes=nodes(FLEET, s0=""), engine="an update is under way")),
    "slot-unseen": Case(observed=seen(FLEET, nodes=(), runners=(), zones={HOME: unknown("no answer")})),
    "slot-asked-for": Case(observed=state(""), at=(0, 2)),
    "slot-taken": Case(observed=seen(FLEET, nodes=(node(VM, labels={}), *READY_SICK)), done="Report"),
    "slot-declared": Case(observed=replace(state(""), declared=START), at=(0, 28, 30), done="Create"),
    "slot-absent": Case(observed=state(""), done="Create"),
    "orphan-stuck": Case(
        observed=seen(AWAY_FLEET, nodes=(AWAY_NODE, *nodes(AWAY_FLEET, s0="HIDDEN"))),
        desired=AWAY_FLEET,
        at=(0, 60),
        done="Report",
    ),
    "orphan-deleting": Case(
        observed=beside(replace(ORPHAN, state="DELETING")), at=(0, 30), done="Report", about=AT_ORPHAN
    ),
    "orphan-engine": Case(observed=beside(ORPHAN, engine="an update"), at=(0, 60), about=AT_ORPHAN),
    "orphan-new": Case(observed=beside(ORPHAN), at=(0, 8), about=AT_ORPHAN),
    "orphan-dead": Case(
        observed=beside(replace(ORPHAN, state="PREEMPTED")), at=(0, 10), done="Delete", about=AT_ORPHAN
    ),
    "orphan-hidden": Case(observed=beside(replace(ORPHAN, state="HIDDEN")), at=(0, 10), done="Report", about=AT_ORPHAN),
    "orphan-unheard": Case(observed=beside(ORPHAN, github=unknown("502")), at=(0, 60), about=AT_ORPHAN),
    "orphan-undrained": Case(
        observed=beside(ORPHAN, runners=(*served(FLEET), runner(ORPHAN.name, number=9))),
        at=(0, 10),
        done="Drain",
        about=AT_ORPHAN,
    ),
    "orphan-own-word": Case(
        observed=replace(at_work(ORPHAN.name, 15), nodes=(*nodes(FLEET), UNKNOWN_POOLS), runners=served(FLEET)),
        desired=fleet(6, settings=ControllerSettings(job=20)),
        at=(0, 10, 20),
        done="Report",
        about=AT_ORPHAN,
    ),
    "orphan-at-work": Case(
        observed=replace(at_work(ORPHAN.name, 15), nodes=(*nodes(FLEET), ORPHAN), runners=served(FLEET)),
        desired=fleet(6, settings=ControllerSettings(job=20)),
        memory=WHOLE,
        at=(0, 10, 20),
        done="Delete",
        about=AT_ORPHAN,
    ),
    "orphan-busy": Case(
        observed=beside(ORPHAN, runners=(*served(FLEET), runner(ORPHAN.name, number=9, busy=True))),
        at=(0, 10, 120),
        done="Report",
        about=AT_ORPHAN,
    ),
    "orphan-draining": Case(
        observed=beside(ORPHAN, runners=(*served(FLEET), runner(ORPHAN.name, number=9))),
        at=(0, 10, 20),
        done="Delete",
        about=AT_ORPHAN,
    ),
    "orphan-idle": Case(observed=beside(ORPHAN), at=(0, 10), done="Delete", about=AT_ORPHAN),
    "window-deleting": over(replace(CLOSED, state="DELETING"), 0, 30, done="Report"),
    "window-engine": over(CLOSED, 0, 60, engine="an update"),
    "window-dead": over(replace(CLOSED, state="PREEMPTED"), 0, done="Delete"),
    "window-hidden": over(replace(CLOSED, state="HIDDEN"), 0, done="Report"),
    "window-unheard": over(CLOSED, 0, 60, github=unknown("502")),
    "window-undrained": over(CLOSED, 0, done="Drain", runners=(runner(CLOSED.name),)),
    "window-own-word": over(CLOSED, 0, 20, done="Report", reports=at_work(CLOSED.name, 10).reports),
    "window-at-work": over(CLOSED, 0, 20, done="Delete", memory=WHOLE, reports=at_work(CLOSED.name, 10).reports),
    "window-busy": over(CLOSED, 0, 20, done="Report", runners=(runner(CLOSED.name, busy=True),)),
    "window-draining": over(CLOSED, 0, 10, done="Delete", runners=(runner(CLOSED.name),)),
    "window-idle": over(CLOSED, 0, done="Delete"),
    "run-deleting": Case(
        observed=beside(node("run-1", "DELETING", labels=RUN)), at=(0, 30), done="Report", about="run-1"
    ),
    "run-expired": Case(observed=beside(node("run-1", labels=RUN)), at=(60,), done="Delete", about="run-1"),
    "run-current": Case(observed=beside(node("run-1", labels=RUN)), at=(59,), about="run-1"),
    "stranger-reservation": Case(
        observed=beside(node("x", labels={}, capacity=CapacityKind.RESERVED, accelerator="v4-8")),
        desired=HELD,
        done="Report",
        about="x",
    ),
    "stranger-labels": Case(
        observed=beside(node("x", labels={"tidepool-run": "77-1"})), at=(0,), done="Report", about="x"
    ),
    "stranger": Case(observed=beside(node("x", labels={})), done="Report", about="x"),
    "runner-foreign": Case(
        observed=seen(FLEET, runners=(*served(FLEET), runner("big-mac", number=70, online=False))),
        at=(0, 600),
        about=runner("big-mac", number=70).name,
    ),
    "runner-online": Case(
        observed=seen(FLEET, runners=(*served(FLEET), replace(GHOST, online=True))), at=(0, 600), about=GHOST.name
    ),
    "runner-unseen": Case(
        observed=seen(FLEET, nodes=(), runners=(GHOST,), zones={HOME: unknown("no answer")}),
        at=(0, 600),
        about=GHOST.name,
    ),
    "runner-new": Case(observed=seen(FLEET, runners=(*served(FLEET), GHOST)), at=(0, 8), about=GHOST.name),
    "runner-ghost": Case(
        observed=seen(FLEET, runners=(*served(FLEET), GHOST)), at=(0, 10), done="RemoveRunner", about=GHOST.name
    ),
    "runner-left": Case(
        observed=seen(FLEET, runners=(*served(FLEET), runner(VM, number=70, online=False))),
        at=(0, 90),
        done="RemoveRunner",
        about=runner(VM, number=70).name,
    ),
}
"""By rule. A row that needs more than one fixed picture has a test of its own below."""

OWN_TEST = {"slot-missed"}


def remembers(case: Case) -> tuple[Memory, datetime]:
    """What is remembered before the last sweep, and when that is."""
    memory = case.memory
    for at in case.at[:-1]:
        now = START + timedelta(minutes=at)
        memory = remembered(decide(case.desired, case.observed, memory, now), case.desired, now)
    return memory, START + timedelta(minutes=case.at[-1])


def lived(case: Case) -> Decision:
    return decide(case.desired, case.observed, *remembers(case))


def done_to(decision: Decision, about: str) -> list[tuple[str, str]]:
    """What is done with one subject, orders of what to run left out, as kind and rule."""
    return [
        (type(action).__name__, action.rule)
        for action in decision.actions
        if subject(action) == about and type(action).__name__ != "Assign"
    ]


@pytest.mark.parametrize("rule", CASES)
def test_the_row_does_what_it_says(rule: str) -> None:
    case = CASES[rule]
    decision = lived(case)
    assert done_to(decision, case.about) == ([(case.done, rule)] if case.done else [])
    told = [(each.rule, each.stands) for each in decision.waiting if each.subject == case.about]
    if rules.rule(rule).verdict == "wait":
        wanted = [] if rule == "runner-unseen" else [(rule, rule == "slot-unheard")]
        assert told == wanted, "what is waited for is said, and whether it ends by itself"


@pytest.mark.parametrize("rule", [rule for rule, case in CASES.items() if rules.rule(rule).wait is not None])
def test_nothing_is_done_a_minute_before_the_wait_is_over(rule: str) -> None:
    case = CASES[rule]
    early = lived(replace(case, at=(*case.at[:-1], case.at[-1] - 1)))
    assert done_to(early, case.about) == []
    assert [each.until for each in early.waiting if each.subject == case.about and each.until]


def test_every_row_has_its_case() -> None:
    assert {rule.id for rule in rules.rules()} == CASES.keys() | OWN_TEST


def test_a_vm_that_may_be_elsewhere_must_be_missing_from_two_lists() -> None:
    present = seen(AWAY_FLEET, nodes=TWO)
    gone = seen(AWAY_FLEET, nodes=TWO[1:], runners=())
    memory = decide(AWAY_FLEET, present, EMPTY, START).memory
    once = decide(AWAY_FLEET, gone, memory, START + minutes(2))
    assert [each.rule for each in once.waiting if each.subject == VM] == ["slot-missed"]
    twice = decide(AWAY_FLEET, gone, once.memory, START + minutes(4))
    assert done_to(twice, VM) == [("Create", "slot-absent")]


@pytest.mark.parametrize(
    ("created", "written", "believed"),
    [
        (START, START, True),
        (START + timedelta(seconds=1), START, False),
        (None, START, True),
        (None, START - timedelta(seconds=1), False),
    ],
    ids=["made then", "made later", "seen first then", "seen first later"],
)
def test_a_report_is_believed_of_the_vm_that_stands_and_not_of_its_predecessor(
    created: datetime | None, written: datetime, believed: bool
) -> None:
    made = tuple(
        replace(each, created=created.isoformat() if created else "") if each.name == VM else each
        for each in nodes(FLEET)
    )
    decision = first(FLEET, lost(nodes=made, reports={VM: replace(unfit(), at=written)}))
    assert (("Recreate", VM) in doing(decision)) is believed


@pytest.mark.parametrize(
    ("rule", "pool", "takes", "deletes", "freeze"),
    [
        ("orphan-dead", "tpu-ci", "", False, False),
        ("orphan-idle", "tpu-ci", "", True, False),
        ("orphan-undrained", "tpu-ci", AT_ORPHAN, True, False),
        ("window-idle", "tpu-ci", "", False, True),
        ("window-undrained", "tpu-ci", "", False, True),
        ("run-expired", "", "", True, True),
    ],
)
def test_what_goes_is_limited_by_what_may_live_on_it(
    rule: str, pool: str, takes: str, deletes: bool, freeze: bool
) -> None:
    case = CASES[rule]
    memory, now = remembers(case)
    found = Proposals(judge=judge(case.observed, case.desired, memory, now))
    found.judge_everything()
    (one,) = (each for each in found.proposals if subject(each.action) == case.about)
    assert (one.pool, one.takes, one.deletes, one.freeze) == (pool, takes, deletes, freeze)


@pytest.mark.parametrize(
    ("rule", "costs"), [("slot-hidden", True), ("orphan-stuck", True), ("orphan-hidden", False), ("stranger", False)]
)
def test_a_finding_costs_where_a_slot_lacks_its_vm(rule: str, *, costs: bool) -> None:
    assert [each.costs for each in lived(CASES[rule]).findings if each.rule == rule] == [costs]
