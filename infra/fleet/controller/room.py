"""Whether one more VM fits below every reservation and quota, counting what is there and what is being made.

Owns the sum. Chips of others never count twice: of what is declared as held and what is seen, the larger counts. A node
that is missing from one list is still counted; it must be missing twice.
"""

from __future__ import annotations

from collections import defaultdict

from infra.fleet.controller.desired import Cap, Desired, Place, Wanted
from infra.fleet.controller.memory import Memory
from infra.fleet.controller.observed import NodeKey, node_key
from infra.fleet.controller.rules import GIVEN_BACK
from infra.fleet.controller.sorting import Fleet
from infra.model.catalogue import AcceleratorType, CapacityKind, UnknownNameError


class Room:
    """What is drawn on each limit in one sweep; every create that is decided draws on it too."""

    def __init__(self, desired: Desired, fleet: Fleet, memory: Memory) -> None:
        self._caps = desired.caps
        self._wanted = {slot.name: slot for slot in desired.slots}
        self._ours: dict[int, dict[NodeKey, int]] = defaultdict(dict)
        self._siblings: dict[int, int] = defaultdict(int)
        self._others: dict[int, int] = defaultdict(int)
        siblings = {node.key for node in fleet.siblings}
        for key, node in memory.nodes.items():
            # A stopped one is counted: nobody promises that its chips are free.
            if node.state in GIVEN_BACK or node.missing > 1:
                continue
            for index in self._drawn(key.partition("/")[0], node.accelerator, node.capacity):
                chips = _chips(node.accelerator)
                if node.ours:
                    self._ours[index][key] = chips
                elif key in siblings:
                    self._siblings[index] += chips
                else:
                    self._others[index] += chips
        for name, asked in memory.creating.items():
            slot = self._wanted.get(name)
            if slot is not None:
                self._draw(slot, asked.zone, asked.capacity)

    def refusal(self, slot: Wanted, place: Place) -> str:
        """Why a slot's VM may not be made at a place, empty where it may. A node that it replaces is not counted."""
        for index in self._drawn(place.zone, slot.accelerator.name, place.capacity):
            cap, used = self._caps[index], self._used(index, but=node_key(place.zone, slot.name))
            if used + slot.chips > cap.chips:
                return f"{cap.name}: {used} of {cap.chips} chips are in use, and it needs {slot.chips}"
        return ""

    def take(self, slot: Wanted, place: Place) -> None:
        """Count a VM that will be made."""
        self._draw(slot, place.zone, place.capacity)

    def _draw(self, slot: Wanted, zone: str, capacity: CapacityKind) -> None:
        for index in self._drawn(zone, slot.accelerator.name, capacity):
            self._ours[index][node_key(zone, slot.name)] = slot.chips

    def _used(self, index: int, *, but: NodeKey) -> int:
        cap = self._caps[index]
        ours = sum(chips for key, chips in self._ours[index].items() if key != but)
        return ours + max(cap.siblings, self._siblings[index]) + max(cap.held_elsewhere, self._others[index])

    def _drawn(self, zone: str, accelerator: str, capacity: CapacityKind) -> list[int]:
        generation = _generation(accelerator)
        return [index for index, cap in enumerate(self._caps) if _draws(cap, zone, generation, capacity)]


def _draws(cap: Cap, zone: str, generation: str, capacity: CapacityKind) -> bool:
    return cap.zone == zone and cap.generation == generation and capacity in cap.covers


def _generation(accelerator: str) -> str:
    """Empty for a type that the catalogue does not have: such a node draws on no limit that a stack can declare."""
    try:
        return AcceleratorType.parse(accelerator).generation.name
    except UnknownNameError:
        return ""


def _chips(accelerator: str) -> int:
    return AcceleratorType.parse(accelerator).chips
