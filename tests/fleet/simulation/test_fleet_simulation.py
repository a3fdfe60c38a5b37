"""Seeded lives of a fleet: whatever goes wrong, no promise is broken, and the fleet comes back to what is declared."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

import pytest

from tests.fleet.simulation.fleet_faults import DAMAGES, KINDS, RECORDS, Fault, drawn
from tests.fleet.simulation.fleet_life import BOUND, EVERY, SLOTS, Life, grow_up, in_process, live, newborn
from tests.fleet.simulation.google_in_process import Process
from tests.fleet.simulation.promises import SKEW
from tests.fleet.simulation.two_controllers import Duet

SHORT: Final[dict[str, Any]] = {"days": 0.08, "slots": SLOTS, "others": 22.0, "lasting": 0.4}
"""A life in the default tests: two hours with much trouble, which lasts less long."""
LONG: Final = 1.0
"""Days of a life in the heavy tier, with as many faults as `drawn` usually has."""


@pytest.mark.parametrize(
    "seed", [pytest.param(each, marks=[] if each < 16 else [pytest.mark.heavy]) for each in range(50)]
)
def test_a_life_under_faults_keeps_every_promise_and_ends_as_declared(seed: int) -> None:
    live(seed, drawn(seed, **SHORT))


@pytest.mark.parametrize("record", range(len(RECORDS)))
def test_a_record_of_each_kind_may_be_damaged_in_each_way_while_vms_are_lost(record: int) -> None:
    """The fleet heals, and no busy VM goes."""
    rolls = (roll / 1e6 for roll in range(1000 * record, 1000 * record + DAMAGES))
    live(record, [Fault(3600.0 * turn, "unreadable-record", turn, 0, roll) for turn, roll in enumerate(rolls, 1)])


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(1000))
def test_a_day_of_a_thousand_fleets(seed: int) -> None:
    live(seed, drawn(seed, LONG, SLOTS))


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(4))
def test_two_weeks_of_a_fleet(seed: int) -> None:
    live(seed, drawn(seed, 14.0, SLOTS))


def test_fifty_lives_have_every_kind_of_fault() -> None:
    assert {fault.kind for seed in range(50) for fault in drawn(seed, **SHORT)} == KINDS.keys()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_controller_may_die_at_each_of_its_changes(after: bool) -> None:
    life = newborn(0)
    with in_process():
        grow_up(life)
        for change in count(1):
            get_messy(life, change)
            process = life.next_process = Process(dies_at=change, after=after)
            life.tick()
            settle(life)
            if not process.dead:
                break
    assert change > 10, "lease, memory, a delete, a create, one more delete, a removal, an order, and the records again"


@pytest.mark.parametrize(
    "call", [pytest.param(call, marks=[] if call % 24 == 20 else [pytest.mark.heavy]) for call in range(1, 73)]
)
@pytest.mark.parametrize("ahead", [0.0, SKEW], ids=["same-time", "ahead"])
def test_a_second_controller_may_begin_at_each_call_of_the_first(call: int, ahead: float) -> None:
    for turn, turns in enumerate((0.0, 0.3)):
        life = newborn(turn)
        with in_process():
            grow_up(life)
            get_messy(life, call)
            life.next_duet = Duet(begins=call, ahead=ahead, pause=SKEW * turn, turns=turns, seed=call)
            life.tick()
            settle(life)


def get_messy(life: Life, turn: int) -> None:
    """So much that one sweep does of everything: makes a VM again, deletes one, removes a runner, orders a version."""
    world = life.world
    slot = world.desired.slots[turn % SLOTS]
    world.github.add(f"{slot.pool}-{slot.home.zone}-30-{turn:06x}")
    life.tick()
    world.pass_until(world.now + 900)
    node = world.tpus.of_slot(turn)
    assert node is not None
    world.tpus.becomes(node, "PREEMPTED")
    world.tpus.add(slot.home.zone, f"run-{turn}", {"tidepool-run": "5-1", "tidepool-expires": str(int(world.now))})
    world.promote(image=f"sha256:{turn:064x}")


def settle(life: Life) -> None:
    """Sweeps until the fleet is as declared."""
    until = life.world.now + BOUND
    while life.swept is None or life.world.promises.missing():
        assert life.world.now < until, "\n".join(life.world.log[-40:])
        life.world.pass_until(life.world.now + EVERY)
        life.tick()
