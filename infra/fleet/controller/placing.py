"""Where a slot's VM is to be made: at home, or where the zone has no capacity at one of the pool's fallbacks.

Owns the choice, the waits that stand before it, and whether one more VM fits below every reservation and quota,
counting what is there and what is being made. Chips of others never count twice: of what is declared as held and what
is seen, the larger counts. A node that is missing from one list is still counted; it must be missing twice. A fallback
is taken once every place before it has failed as `fallbacks` in `rules.yaml` says, and only for a slot that surely has
no VM at any of them. Where a stuck VM stands nothing is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from infra.fleet.controller.absence import Absence
from infra.fleet.controller.creates import ENDED_BY_PEOPLE, exhausted
from infra.fleet.controller.desired import Cap, Desired, DesiredSlot, SlotPlace
from infra.fleet.controller.keys import BackoffKey, NodeKey
from infra.fleet.controller.memory import LAG, Backoff, Memory
from infra.fleet.controller.rules import GIVEN_BACK
from infra.fleet.controller.sorting import FleetNodes
from infra.model.catalogue import AcceleratorType, CapacityKind, UnknownNameError


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPlace:
    """Why nothing can be made now, and until when, where that is known.

    stands: the chips that it needs are another's, and none of those is on its way out; or Google refused it again after
    the wait, for a reason that only people end.
    """

    why: str
    until: datetime | None = None
    stands: bool = False


class Room:
    """What is drawn on each limit in one sweep; every create that is decided draws on it too."""

    def __init__(self, desired: Desired, fleet: FleetNodes, memory: Memory) -> None:
        self._caps = desired.caps
        self._wanted = {slot.name: slot for slot in desired.slots}
        self._ours: dict[int, dict[NodeKey, int]] = defaultdict(dict)
        self._sums: dict[int, int] = defaultdict(int)
        self._siblings: dict[int, int] = defaultdict(int)
        self._others: dict[int, int] = defaultdict(int)
        siblings = {node.key for node in fleet.siblings}
        for key, node in memory.nodes.items():
            # A stopped one is counted: nobody promises that its chips are free.
            if node.state in GIVEN_BACK or node.missing > 1:
                continue
            for index in self._drawn(key.zone, node.accelerator, node.capacity):
                chips = _chips(node.accelerator)
                if node.ours:
                    self._add(index, key, chips)
                elif key in siblings:
                    self._siblings[index] += chips
                else:
                    self._others[index] += chips
        for name, asked in memory.creating.items():
            slot = self._wanted.get(name)
            if slot is not None:
                self._draw(slot, asked.zone, asked.capacity)

    def refusal(self, slot: DesiredSlot, place: SlotPlace) -> str:
        """Why a slot's VM may not be made at a place, empty where it may. A node that it replaces is not counted."""
        for index in self._drawn(place.zone, slot.accelerator.name, place.capacity):
            cap, used = self._caps[index], self._used(index, but=NodeKey(place.zone, slot.name))
            if used + slot.chips > cap.chips:
                return f"{cap.name}: {used} of {cap.chips} chips are in use, and it needs {slot.chips}"
        return ""

    def uses(self) -> tuple[tuple[Cap, int], ...]:
        """Every limit with the chips that are drawn on it, or that others may draw."""
        return tuple((cap, self._used(index)) for index, cap in enumerate(self._caps))

    def take(self, slot: DesiredSlot, place: SlotPlace) -> None:
        """Count a VM that will be made."""
        self._draw(slot, place.zone, place.capacity)

    def _draw(self, slot: DesiredSlot, zone: str, capacity: CapacityKind) -> None:
        for index in self._drawn(zone, slot.accelerator.name, capacity):
            self._add(index, NodeKey(zone, slot.name), slot.chips)

    def _add(self, index: int, key: NodeKey, chips: int) -> None:
        """Count a VM once, however often it is added."""
        self._sums[index] += chips - self._ours[index].get(key, 0)
        self._ours[index][key] = chips

    def _used(self, index: int, *, but: NodeKey | None = None) -> int:
        cap = self._caps[index]
        ours = self._sums[index] - (self._ours[index].get(but, 0) if but else 0)
        return ours + max(cap.siblings, self._siblings[index]) + max(cap.held_elsewhere, self._others[index])

    def _drawn(self, zone: str, accelerator: str, capacity: CapacityKind) -> list[int]:
        generation = _generation(accelerator)
        return [index for index, cap in enumerate(self._caps) if _draws(cap, zone, generation, capacity)]


@dataclass(slots=True, kw_only=True)
class Placing:
    """The places that one sweep gives away.

    unknown: zones that did not answer: what stands there is not known, so nothing is made there. probing: places after
    a failure that a VM tries already. lost: zones that somebody gave up, and who. absence: in which zones a slot
    surely has no VM, or a stuck one.
    """

    memory: Memory
    room: Room
    now: datetime
    unknown: frozenset[str] = frozenset()
    probing: set[BackoffKey] = field(default_factory=set)
    lost: Mapping[str, str]
    absence: Absence

    @classmethod
    def of(cls, room: Room, absence: Absence) -> Placing:
        """Those that are left with what a sweep saw."""
        memory, observed, desired = absence.memory, absence.observed, absence.desired
        accelerators = {slot.name: slot.accelerator.name for slot in desired.slots}
        asked = {
            BackoffKey(each.zone, accelerators[name], each.capacity)
            for name, each in memory.creating.items()
            if name in accelerators
        }
        return cls(
            memory=memory,
            room=room,
            now=absence.now,
            unknown=frozenset(zone for zone in desired.zones if not observed.zone_known(zone)),
            probing=asked & memory.backoff.keys(),
            lost=observed.requests.lost,
            absence=absence,
        )

    def place(self, slot: DesiredSlot, only_zone: str | None = None) -> SlotPlace | NoPlace:
        """A place for a slot's VM, counted as given away. only_zone: no other zone will do."""
        passed = self.absence.passed(slot) if self.unknown else frozenset()
        stuck = self.absence.stuck_zones(slot)
        places = [place for place in slot.places if place.zone not in stuck]
        for place in places:
            if place.zone in passed and place is not places[-1]:
                continue
            if place.zone in self.lost:
                if place is not places[-1]:
                    continue
                return NoPlace(why=f"{self.lost[place.zone]} declared {place.zone} lost", stands=True)
            key = BackoffKey(place.zone, slot.accelerator.name, place.capacity)
            entry = self.memory.backoff.get(key)
            waits = self._wait(slot, place, key, entry)
            if waits is not None:
                goes_on = exhausted(entry, self.now) and self._is_surely_not_at(slot, place)
                if goes_on and place is not places[-1]:
                    continue
                return waits
            if only_zone is not None and place.zone != only_zone:
                return NoPlace(why=f"it moves to {place.zone}, and leaves {only_zone} first")
            if place.zone in self.unknown:
                return NoPlace(why=f"{place.zone} does not answer")
            if refusal := self.room.refusal(slot, place):
                return NoPlace(why=refusal, stands=not any(node.missing for node in self.memory.nodes.values()))
            self.room.take(slot, place)
            if entry is not None:
                self.probing.add(key)
            return place
        return NoPlace(why=f"{', '.join(sorted(stuck))} has a stuck VM of its name", stands=True)

    def _wait(self, slot: DesiredSlot, place: SlotPlace, key: BackoffKey, entry: Backoff | None) -> NoPlace | None:
        if entry is None:
            return None
        if self.now < entry.until:
            times = "once" if entry.failures == 1 else f"{entry.failures} times in a row"
            stands = entry.failures > 1 and entry.trouble in ENDED_BY_PEOPLE
            return NoPlace(why=f"{entry.trouble.value} of {key}, {times}", until=entry.until, stands=stands)
        if key in self.probing and self._was_refused(slot, place):
            return NoPlace(why=f"{key}: another VM tries first after a {entry.trouble.value}")
        return None

    def _is_surely_not_at(self, slot: DesiredSlot, place: SlotPlace) -> bool:
        """Its own stockout there proves it; else no create of it may be under way, and the zone's list lacks it."""
        if self._was_refused(slot, place):
            return True
        known = self.memory.vms.get(slot.name)
        asked = known.tried.get(place.zone) if known else None
        return place.zone not in self.unknown and (asked is None or self.now - asked >= LAG)

    def _was_refused(self, slot: DesiredSlot, place: SlotPlace) -> bool:
        known = self.memory.vms.get(slot.name)
        return known is not None and place.zone in known.refused


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
