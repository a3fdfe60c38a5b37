"""What is done with VMs that stand: drains, ways home, and doubts that leave them alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from infra.fleet.controller import creates
from infra.fleet.controller.actions import Delete, Drain, Recreate
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import ControllerSettings
from infra.fleet.controller.events import Result
from infra.fleet.controller.keys import BackoffKey
from infra.fleet.controller.memory import EMPTY
from infra.fleet.controller.observed import KNOWN, Trouble, unknown
from infra.fleet.controller.outcomes import ActionOutcome, learned
from infra.fleet.operator_requests import DrainRequest, OperatorRequests
from infra.fleet.reports import Phase, ReportSeen
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import (
    AWAY,
    HOME,
    START,
    SWEEP,
    doing,
    first,
    fleet,
    labels,
    minutes,
    node,
    nodes,
    of_kind,
    place,
    remembered,
    runner,
    seen,
    served,
    slot,
    sweeps,
)


def test_a_vm_whose_own_word_cannot_be_read_is_neither_restarted_nor_made_again_nor_deleted() -> None:
    desired = of_kind(CapacityKind.SPOT, 9)
    mute, heard = (each.name for each in desired.slots[:2])
    orphan = node(f"tpu-ci-{HOME}-30")
    said = {heard: ReportSeen(vm=heard, pool="tpu-ci", phase=Phase.UNFIT, at=START, proved=HOME)}
    down = seen(
        desired,
        nodes=(*nodes(desired), orphan),
        runners=served(desired, but=(mute, heard)),
        reports=said,
        reports_source=unknown("reading Google's keys failed"),
    )
    decisions = sweeps(desired, down, 60)
    done = [each for decision in decisions for each in doing(decision)]
    assert set(done) == {("Recreate", heard)}, "what could be read counts"
    waits = {each.subject for each in decisions[-1].waiting if "cannot be read" in each.reason}
    assert waits == {mute, orphan.name}
    known = decide(desired, replace(down, reports_source=KNOWN), decisions[-1].memory, START + 60 * SWEEP)
    assert {("Restart", mute), ("Delete", orphan.name)} <= set(doing(known))


def test_a_drain_that_people_request_begins_and_ends_with_their_request() -> None:
    desired = fleet(2)
    request = DrainRequest(subject="tpu-ci", by="ada", since=START, minutes=30)
    requested = seen(desired, requests=OperatorRequests(drains=(request,)))
    drained = first(desired, requested)
    assert doing(drained) == [("Drain", each.name) for each in desired.slots]
    memory = remembered(drained, desired, START)
    busy = replace(requested, runners=(runner(desired.slots[0].name, busy=True),))
    late = decide(desired, busy, memory, START + minutes(30))
    assert [each.rule for each in late.findings] == ["drain-late"]
    for hours, idle in ((23.9, set()), (24, {(each.name, "drain-forgotten") for each in desired.slots})):
        after = decide(desired, requested, memory, START + timedelta(hours=hours))
        assert {(each.subject, each.rule) for each in after.findings} == idle
    blind = replace(seen(desired), requests_source=unknown("503"))
    assert doing(decide(desired, blind, memory, START + minutes(40))) == [], "nobody knows whether it is over"
    over = decide(desired, seen(desired), memory, START + minutes(40))
    assert [(type(action), action.on) for action in over.actions if isinstance(action, Drain)] == [(Drain, False)] * 2


def test_of_two_vms_of_one_slot_the_one_that_is_ready_stays() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name = desired.slots[0].name
    second = node(name, "CREATING", zone=AWAY, capacity=CapacityKind.SPOT)
    observed = seen(desired, nodes=(*nodes(desired), second), runners=())
    actions = [action for each in sweeps(desired, observed, 7) for action in each.actions]
    deleted = [action.node for action in actions if isinstance(action, Delete)]
    assert deleted
    assert all(each == second for each in deleted)


def test_a_vm_at_its_fallback_goes_home_once_its_runner_has_ended() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name = desired.slots[0].name
    away = node(name, zone=AWAY, capacity=CapacityKind.SPOT)
    observed = seen(desired, nodes=(away, *nodes(desired, s0="")))
    memory = remembered(first(desired, observed), desired, START)
    drained = decide(desired, observed, memory, START + timedelta(hours=12))
    assert doing(drained) == [("Drain", name)]
    memory = remembered(drained, desired, START + timedelta(hours=12))
    ended = replace(observed, runners=served(desired, but=(name,)))
    gone = decide(desired, ended, memory, START + timedelta(hours=12, minutes=2))
    (action,) = [action for action in gone.actions if isinstance(action, Recreate)]
    assert action.node == away
    assert action.place is None, "another zone is tried once this VM is gone"


def test_a_vm_at_its_fallback_takes_jobs_again_once_people_drain_it_no_more() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name = desired.slots[0].name
    observed = seen(desired, nodes=(node(name, zone=AWAY, capacity=CapacityKind.SPOT), *nodes(desired, s0="")))
    request = DrainRequest(subject=name, by="ada", since=START, minutes=30)
    drained = first(desired, replace(observed, requests=OperatorRequests(drains=(request,))))
    assert doing(drained) == [("Drain", name)]
    (over,) = decide(desired, observed, remembered(drained, desired, START), START + minutes(40)).actions
    assert isinstance(over, Drain)
    assert not over.on, "it goes home in eleven hours only"


def test_a_vm_that_was_to_go_home_takes_jobs_again_where_its_home_has_no_capacity_after_all() -> None:
    desired = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),))
    name, late = desired.slots[0].name, START + timedelta(hours=12)
    observed = seen(desired, nodes=(node(name, zone=AWAY, capacity=CapacityKind.SPOT), *nodes(desired, s0="")))
    memory = remembered(first(desired, observed), desired, START)
    drained = decide(desired, observed, memory, late)
    assert doing(drained) == [("Drain", name)]
    home = BackoffKey(HOME, desired.slots[0].accelerator.name, CapacityKind.PREEMPTIBLE)
    short = creates.failed(None, home, Trouble.STOCKOUT, "no more capacity", late, late)
    memory = replace(remembered(drained, desired, late), backoff={home: short})
    (over,) = decide(desired, observed, memory, late + minutes(2)).actions
    assert isinstance(over, Drain)
    assert not over.on


def test_a_clock_that_went_back_holds_nothing_for_ever() -> None:
    desired = fleet(2)
    observed = seen(desired, nodes=nodes(desired, s0="UNKNOWN"))
    memory = decide(desired, observed, EMPTY, START + timedelta(days=400)).memory
    again = decide(desired, observed, memory, START)
    assert doing(decide(desired, observed, again.memory, START + minutes(11))) == [("Recreate", desired.slots[0].name)]


def test_slots_of_an_unknown_zone_wait_while_others_are_made() -> None:
    elsewhere = slot(0, home=place("us-east1-c"))
    desired = fleet(slots=(slot(0), elsewhere))
    observed = seen(desired, nodes=(), runners=(), zones={HOME: unknown("503"), "us-east1-c": KNOWN})
    assert doing(first(desired, observed)) == [("Create", elsewhere.name)]


def test_without_a_grace_time_two_sweeps_must_still_agree() -> None:
    desired = fleet(3, settings=ControllerSettings(grace=0))
    orphan = node(f"tpu-ci-{HOME}-9")
    ghost = runner(f"tpu-ci-{HOME}-7", number=70, online=False)
    observed = seen(desired, nodes=(*nodes(desired), orphan), runners=(*served(desired), ghost))
    assert [sorted(doing(each)) for each in sweeps(desired, observed, 2)] == [
        [],
        [("Delete", orphan.name), ("RemoveRunner", ghost.name)],
    ]


def test_a_vm_whose_wait_is_over_is_kept_while_its_runner_has_a_job() -> None:
    desired = fleet(3)
    name = desired.slots[0].name
    repairing = nodes(desired, s0="REPAIRING")
    busy = seen(desired, nodes=repairing, runners=(runner(name, busy=True), *served(desired, but=(name,))))
    memory = remembered(first(desired, busy), desired, START)
    late = decide(desired, busy, memory, START + minutes(60))
    assert doing(late) == []
    idle = seen(desired, nodes=repairing)
    assert doing(decide(desired, idle, late.memory, START + minutes(62))) == [("Recreate", name)]


def unserved_through(deaf: tuple[int, ...], until: int) -> list[tuple[float, str]]:
    """What is done to a VM that never registers, with its minute, while GitHub is unknown in some of them."""
    desired = fleet(3)
    unserved = seen(desired, runners=served(desired, but=(desired.slots[0].name,)))
    memory, done = EMPTY, []
    for minute in range(0, until + 1, 2):
        observed = replace(unserved, github=unknown("502")) if minute in deaf else unserved
        decision = decide(desired, observed, memory, START + minutes(minute))
        memory = remembered(decision, desired, START + minutes(minute))
        done += [(minute, what) for what, _ in doing(decision)]
    return done


def test_an_outage_of_github_gives_every_vm_its_whole_allowance_again() -> None:
    assert unserved_through(deaf=(10, 12, 14, 16), until=58) == [(38, "Restart"), (58, "Recreate")]


def test_a_github_that_fails_now_and_then_does_not_spare_a_vm_that_never_registers() -> None:
    every_third = tuple(range(4, 60, 6))
    assert unserved_through(deaf=every_third, until=42) == [(20, "Restart"), (42, "Recreate")]


def test_an_order_that_was_not_written_is_written_at_the_next_sweep() -> None:
    desired = fleet(2)
    request = DrainRequest(subject=desired.slots[0].name, by="ada", since=START, minutes=30)
    requested = seen(desired, requests=OperatorRequests(drains=(request,)))
    decision = first(desired, requested)
    lost = [ActionOutcome(action=action, result=Result.FAILED, text="503") for action in decision.actions]
    memory = learned(decision.memory, desired, lost, START)
    assert doing(decide(desired, requested, memory, START + minutes(2))) == [("Drain", desired.slots[0].name)]


def test_a_job_of_a_repository_that_is_served_no_more_is_not_cut_off() -> None:
    """Its runner is registered where nobody looks any more; the VM itself says that it works."""
    desired = fleet(3)
    orphan = node(f"old-pool-{HOME}-0", labels=labels(pool="old-pool"))
    unseen = desired.slots[0].name
    memory = EMPTY
    for sweep in range(60):
        now = START + minutes(2 * sweep)
        said = {
            vm: ReportSeen(vm=vm, pool="any", phase=Phase.BUSY, at=now - minutes(5)) for vm in (orphan.name, unseen)
        }
        observed = seen(desired, nodes=(*nodes(desired), orphan), runners=served(desired, but=(unseen,)), reports=said)
        decision = decide(desired, observed, memory, now)
        assert {what for what, _ in doing(decision)} <= {"Drain"}
        memory = remembered(decision, desired, now)
    silent = replace(observed, reports={})
    late = decide(desired, silent, memory, START + minutes(122))
    assert {("Delete", orphan.name), ("Restart", unseen)} <= set(doing(late))
