"""Places at which creates, deletes or VMs come to nothing without an error: the slot moves, and people are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from tests.fleet.simulation.fleet_life import EVERY, Life, grow_up, in_process, newborn
from tests.fleet.simulation.simulated_tpus import SimulatedTpus

HOME, AWAY = "us-west4-a", "us-central1-a"
HOUR = 3600.0


def hours(life: Life, count: float) -> Counter[str]:
    """Sweeps of so many hours. Returns in how many of them each rule found something."""
    found: Counter[str] = Counter()
    until = life.world.now + count * HOUR
    while life.world.now < until:
        life.world.pass_until(life.world.now + EVERY)
        swept = life.tick()
        found.update({each.rule for each in swept.decision.findings} if swept else ())
    return found


def lose(life: Life, zone: str) -> int:
    """Google takes every VM of a zone. Returns how many."""
    lost = [node for node in life.world.tpus.nodes.values() if node.zone == zone and node.name[-1].isdigit()]
    lost = [node for node in lost if life.world.desired.slot(node.name) is not None]
    for node in lost:
        life.world.tpus.becomes(node, "PREEMPTED")
    return len(lost)


def zones_of_slots(life: Life) -> Counter[str]:
    slots = {slot.name for slot in life.world.desired.slots}
    return Counter(node.zone for node in life.world.tpus.nodes.values() if node.name in slots)


@pytest.mark.parametrize(
    ("fails", "count", "told"),
    [
        (lambda tpus: tpus.ghosts.update({HOME: float("inf")}), 12, 10),
        (lambda tpus: tpus.mute.add(HOME), 10, 6),
    ],
    ids=["creates come to nothing", "VMs never register"],
)
def test_a_place_that_fails_without_an_error_leads_to_the_fallback(
    fails: Callable[[SimulatedTpus], None], count: int, told: int
) -> None:
    life = newborn(0)
    with in_process():
        grow_up(life)
        life.world.tpus.created.clear()
        fails(life.world.tpus)
        lost = lose(life, HOME)
        found = hours(life, count)
        assert not life.world.promises.missing()
    assert zones_of_slots(life)[AWAY] >= lost
    assert Counter(life.world.tpus.created)[HOME] <= 3 * lost, "after three in a row the fallback is taken"
    assert found["create-fruitless"] > told * HOUR / EVERY


@pytest.mark.heavy
def test_vms_that_are_stuck_for_days_lead_to_the_fallback_and_are_found_until_they_are_gone() -> None:
    life = newborn(0)
    with in_process():
        grow_up(life)
        world = life.world
        stuck = [node for node in map(world.tpus.of_slot, range(5)) if node is not None]
        for node in stuck:
            node.stuck = True
            world.tpus.becomes(node, "DELETING")
        found = hours(life, 48)
        assert not [each for each in world.promises.missing() if not each.endswith("has two VMs")]
        assert zones_of_slots(life)[AWAY] == 5
        assert found["orphan-stuck"] > 46 * HOUR / EVERY
        assert len(world.tpus.created) == 6 + 5, "nothing is made for nothing"
        for node in stuck:
            del world.tpus.nodes[node.body["name"]]
        hours(life, 14)
        assert not world.promises.missing()
    assert not zones_of_slots(life)[AWAY], "all are home again"
