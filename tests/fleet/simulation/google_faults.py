"""What Google does to a simulated fleet: VMs and zones that go, lists that lie, calls that are refused or hang.

Owns what each of these kinds of fault does to the world. How often they come is `fleet_faults`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from infra.fleet import operator_requests
from tests.fleet.simulation.promises import is_limited
from tests.fleet.simulation.simulated_tpus import Lie

if TYPE_CHECKING:
    from tests.fleet.simulation.fleet_faults import Fault
    from tests.fleet.simulation.fleet_life import Life

LOSS_AN_HOUR: Final = 0.2
"""The share of a pool of spot or preemptible VMs that the simulation takes in an hour, hour after hour. Google
publishes no rate."""


def becomes(life: Life, slot: int, state: str = "PREEMPTED") -> None:
    """What Google does to the VM of a slot that stands."""
    node = life.world.tpus.of_slot(slot)
    if node is not None and node.state == "READY":
        life.world.tell(f"{node.name} is {state}")
        life.world.tpus.becomes(node, state)


def preempt(life: Life, fault: Fault) -> None:
    becomes(life, fault.slot)


def zone_lost(life: Life, *zones: str) -> None:
    """Everything of some zones at once, which is more than a fuse lets pass."""
    for index, slot in enumerate(life.world.desired.slots):
        if slot.home.zone in zones:
            becomes(life, index)


def zone_preempted(life: Life, fault: Fault) -> None:
    zone_lost(life, life.zone_of(fault))


def _flapping(life: Life, fault: Fault) -> None:
    """Google takes so many of the fleet in each hour as a pool is to bear."""
    dice, slots = Random(f"flapping {fault.roll}"), len(life.world.desired.slots)
    after = 0.0
    while (after := after + dice.expovariate(LOSS_AN_HOUR * slots) * 3600) < fault.minutes * 60:
        life.world.plan(after, partial(becomes, life, dice.randrange(slots)))


def _ends_otherwise(life: Life, fault: Fault) -> None:
    becomes(life, fault.slot, ("TERMINATED", "STOPPED", "FAILED", "UNKNOWN")[int(fault.roll * 4)])


def _repaired(life: Life, fault: Fault) -> None:
    """Google takes a VM away for some time, and gives it back unless that is long."""
    node = life.world.tpus.of_slot(fault.slot)
    becomes(life, fault.slot, ("REPAIRING", "RESTARTING")[int(fault.roll * 2)])

    def back() -> None:
        if node is not None and node.state in ("REPAIRING", "RESTARTING"):
            life.world.tpus.becomes(node, "READY")

    life.world.plan(60 * (2 + 100 * fault.roll), back)


def _vanishes(life: Life, fault: Fault) -> None:
    node = life.world.tpus.of_slot(fault.slot)
    if node is not None and node.state == "READY":
        life.world.tell(f"{node.name} vanishes")
        life.world.tpus.vanish(node)


def _stockout(life: Life, fault: Fault) -> None:
    life.world.tpus.stockouts[life.zone_of(fault)] = life.world.now + fault.minutes * 60
    preempt(life, fault)


def _ghosts(life: Life, fault: Fault) -> None:
    """Creates of a zone are taken, and nothing comes of them."""
    life.world.tpus.ghosts[life.zone_of(fault)] = life.world.now + fault.minutes * 60
    preempt(life, fault)


def down(life: Life, fault: Fault, what: str) -> None:
    life.world.down[what] = life.world.now + fault.minutes * 60


def _given_up(life: Life, fault: Fault) -> None:
    """A zone is silent with all that it had, and people say so, until it is back and empty."""
    world, zone = life.world, life.zone_of(fault)
    down(life, fault, zone)
    for node in [node for node in world.tpus.nodes.values() if node.zone == zone]:
        if world.desired.slot(node.name) is not None:
            world.tpus.vanish(node)
    world.tell(f"{zone} is lost, and given up")
    world.request(lambda body: operator_requests.with_lost(body, zone, "ada", world.moment()))
    world.plan(fault.minutes * 60, lambda: world.request(lambda body: operator_requests.without_lost(body, zone)))


def _limited(life: Life, fault: Fault) -> None:
    """Some creates are needed at once, and few are taken a minute."""
    life.world.tpus.a_minute = 1 + int(fault.roll * 3)
    life.world.tpus.limited = life.world.now + fault.minutes * 60
    zone_preempted(life, fault)


def _hangs(life: Life, fault: Fault) -> None:
    life.world.tpus.hangs[life.slot(fault)] = life.world.now + fault.minutes * 60
    preempt(life, fault)


_STUCK: Final = ("DELETING", "HIDDEN", "STATE_UNSPECIFIED", "A_STATE_OF_TOMORROW")


def _stuck(life: Life, fault: Fault) -> None:
    """A VM is in a state that no call ends, until it is gone or lives again."""
    world, node = life.world, life.world.tpus.of_slot(fault.slot)
    if node is None or node.state != "READY":
        return
    state = _STUCK[int(fault.roll * 1e3) % len(_STUCK)]
    node.stuck = True
    world.tell(f"{node.name} in {node.zone} is {state}")
    world.tpus.becomes(node, state)

    def ends() -> None:
        if world.tpus.nodes.get(node.body["name"]) is not node or node.state != state:
            return
        if state == "DELETING" or fault.roll < 0.5:
            world.tell(f"{node.name} in {node.zone} is gone")
            del world.tpus.nodes[node.body["name"]]
        else:
            world.tell(f"{node.name} in {node.zone} lives again")
            world.tpus.becomes(node, "READY")

    world.plan(fault.minutes * 60, ends)


def _lies(life: Life, fault: Fault, kind: str) -> None:
    """What nobody declares is found by lists alone: while it holds chips, they are true. See `_displaced`."""
    world, zone = life.world, life.zone_of(fault)
    there = [node for node in world.tpus.nodes.values() if node.zone == zone]
    undeclared = [node for node in there if world.desired.slot(node.name) is None and is_limited(node)]
    if not undeclared:
        then = [dict(node.body) for node in there]
        world.tpus.lies[zone] = Lie(kind, world.now + fault.minutes * 60, then)


OF_GOOGLE: Final[dict[str, Callable[[Life, Fault], None]]] = {
    "preempt": preempt,
    "zone-preempted": zone_preempted,
    "all-preempted": lambda life, _: zone_lost(life, *life.world.desired.zones),
    "flapping": _flapping,
    "ends-otherwise": _ends_otherwise,
    "repaired": _repaired,
    "vanishes": _vanishes,
    "stockout": _stockout,
    "ghost-creates": _ghosts,
    "zone-outage": lambda life, fault: down(life, fault, life.zone_of(fault)),
    "zone-outage-of-a-day": lambda life, fault: down(life, fault, life.zone_of(fault)),
    "zone-given-up": _given_up,
    "request-limit": _limited,
    "hanging-delete": _hangs,
    "stuck": _stuck,
    "late-list": lambda life, fault: _lies(life, fault, "late"),
    "empty-list": lambda life, fault: _lies(life, fault, "empty"),
    "partial-list": lambda life, fault: _lies(life, fault, "partial"),
}
