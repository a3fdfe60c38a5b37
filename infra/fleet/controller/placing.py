"""Where a slot's VM is to be made: at home, or where the zone has no capacity at one of the pool's fallbacks.

Owns the choice and the waits that stand before it. A fallback is taken once every place before it has failed as
`fallbacks` in `rules.yaml` says, and only for a slot that surely has no VM at any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from infra.fleet.controller import backoff
from infra.fleet.controller.absence import Absence
from infra.fleet.controller.desired import Place, Wanted
from infra.fleet.controller.memory import LAG, Backoff, Memory
from infra.fleet.controller.room import Room


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPlace:
    """Why nothing can be made now, and until when, where that is known.

    stands: the chips that it needs are another's, and none of those is on its way out.
    """

    why: str
    until: datetime | None = None
    stands: bool = False


@dataclass(slots=True, kw_only=True)
class Placing:
    """The places that one sweep gives away.

    unknown: zones that did not answer: what stands there is not known, so nothing is made there. probing: places after
    a failure that a VM tries already. lost: zones that somebody gave up, and who. passed: of a slot, silent zones that
    surely have no VM of it.
    """

    memory: Memory
    room: Room
    now: datetime
    unknown: frozenset[str] = frozenset()
    probing: set[str] = field(default_factory=set)
    lost: Mapping[str, str]
    passed: Callable[[Wanted], frozenset[str]]

    @classmethod
    def of(cls, room: Room, absence: Absence) -> Placing:
        """Those that are left with what a sweep saw."""
        memory, observed, desired = absence.memory, absence.observed, absence.desired
        accelerators = {slot.name: slot.accelerator.name for slot in desired.slots}
        asked = {
            backoff.backoff_key(each.zone, accelerators[name], each.capacity)
            for name, each in memory.creating.items()
            if name in accelerators
        }
        return cls(
            memory=memory,
            room=room,
            now=absence.now,
            unknown=frozenset(zone for zone in desired.zones if not observed.zone_known(zone)),
            probing=asked & memory.backoff.keys(),
            lost=observed.wishes.lost,
            passed=absence.passed,
        )

    def place(self, slot: Wanted, only_zone: str | None = None) -> Place | NoPlace:
        """A place for a slot's VM, counted as given away. only_zone: no other zone will do."""
        passed = self.passed(slot) if self.unknown else frozenset()
        for place in slot.places:
            if place.zone in passed and place is not slot.places[-1]:
                continue
            if place.zone in self.lost:
                if place is not slot.places[-1]:
                    continue
                return NoPlace(why=f"{self.lost[place.zone]} declared {place.zone} lost", stands=True)
            key = backoff.backoff_key(place.zone, slot.accelerator.name, place.capacity)
            entry = self.memory.backoff.get(key)
            waits = self._wait(slot, place, key, entry)
            if waits is not None:
                goes_on = backoff.exhausted(entry, self.now) and self._is_surely_not_at(slot, place)
                if goes_on and place is not slot.places[-1]:
                    continue
                return waits
            if only_zone is not None and place.zone != only_zone:
                return NoPlace(why=f"its place is {place.zone} now, and it goes from {only_zone} first")
            if place.zone in self.unknown:
                return NoPlace(why=f"{place.zone} cannot be asked")
            if refusal := self.room.refusal(slot, place):
                return NoPlace(why=refusal, stands=not any(node.missing for node in self.memory.nodes.values()))
            self.room.take(slot, place)
            if entry is not None:
                self.probing.add(key)
            return place
        raise AssertionError("a slot has a place")

    def _wait(self, slot: Wanted, place: Place, key: str, entry: Backoff | None) -> NoPlace | None:
        if entry is None:
            return None
        if self.now < entry.until:
            times = "once" if entry.failures == 1 else f"{entry.failures} times in a row"
            return NoPlace(why=f"{entry.trouble.value} of {key}, {times}", until=entry.until)
        if key in self.probing and self._was_refused(slot, place):
            return NoPlace(why=f"{key}: another VM tries first after a {entry.trouble.value}")
        return None

    def _is_surely_not_at(self, slot: Wanted, place: Place) -> bool:
        """Its own stockout there proves it; else no create of it may be under way, and the zone's list lacks it."""
        if self._was_refused(slot, place):
            return True
        known = self.memory.vms.get(slot.name)
        asked = known.tried.get(place.zone) if known else None
        return place.zone not in self.unknown and (asked is None or self.now - asked >= LAG)

    def _was_refused(self, slot: Wanted, place: Place) -> bool:
        known = self.memory.vms.get(slot.name)
        return known is not None and place.zone in known.refused
