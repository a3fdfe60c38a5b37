"""A declared VM that no list shows: where it may be all the same, and which silent zones surely have none of it.

Owns what is known of a slot in a zone that cannot be asked. Only three things prove that it has no VM there: Google had
taken that VM away when the zone was last listed; a create of it there was answered with a stockout; or complete lists
lacked it for long. Each counts only while no create was asked for since, by the controller or by a command, and while
neither a runner nor a report of the VM is heard. Owns too which VMs of a slot are stuck in states that no call ends.
Does not own what follows (`judge`, `placing`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from infra.fleet.controller.desired import Desired, DesiredSlot
from infra.fleet.controller.keys import NodeKey
from infra.fleet.controller.memory import Memory, ZoneListing
from infra.fleet.controller.notice import HEARD
from infra.fleet.controller.observed import NodeSeen, Observed
from infra.fleet.controller.rules import GIVEN_BACK, Situation, rule, silence, stuck_row
from infra.fleet.controller.sorting import FleetNodes

SWEEPS: Final = 2
"""Lists in a row that must lack a VM that may be made in another zone than the one that lacks it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """What one sweep knows of slots without a VM. memory: with this sweep noticed in it."""

    desired: Desired
    observed: Observed
    fleet: FleetNodes
    memory: Memory
    now: datetime

    def situations(self, slot: DesiredSlot) -> frozenset[Situation]:
        """In which situations a slot is that no list shows a VM of, but such as are stuck."""
        found = set()
        passed = self.passed(slot) | self.stuck_zones(slot)
        may_be = {slot.home.zone, *self.memory.vms[slot.name].tried}
        if self.observed.engine:
            found.add(Situation.ENGINE)
        if not all(self._is_known_or_lost(zone) for zone in may_be - passed):
            found.add(Situation.UNHEARD)
        if slot.name in self.memory.creating:
            found.add(Situation.ASKED_FOR)
        if self._missed_once(slot, passed):
            found.add(Situation.MISSED_ONCE)
        if slot.name in self.fleet.taken:
            found.add(Situation.TAKEN)
        if self.observed.declared is not None:
            found.add(Situation.JUST_DECLARED)
        return frozenset(found)

    def passed(self, slot: DesiredSlot) -> frozenset[str]:
        """Zones of a slot that were silent for long and surely have no VM of it: they are passed over for it."""
        silent = (place.zone for place in slot.places if not self.observed.zone_known(place.zone))
        return frozenset(
            zone
            for zone in silent
            if (listing := self.memory.listed.get(zone)) is not None
            and self._is_long_silent(listing)
            and self._is_surely_without(slot, zone, listing)
        )

    def stuck(self, slot: DesiredSlot) -> tuple[NodeSeen, ...]:
        """The VMs of a slot that have been for too long in a state that no call of ours ends."""
        return tuple(node for node in self.observed.nodes_of(slot.name) if self._is_stuck(node))

    def stuck_zones(self, slot: DesiredSlot) -> frozenset[str]:
        """Where a slot's VM cannot be made, because a stuck one has its name there."""
        return frozenset(node.zone for node in self.stuck(slot))

    def _is_stuck(self, node: NodeSeen) -> bool:
        row, known = stuck_row(node.state), self.memory.nodes[node.key]
        limit = row.limit(self.desired.settings) if row else None
        return limit is not None and known.ours and self.now - known.since >= limit

    def _is_long_silent(self, listing: ZoneListing) -> bool:
        row = silence()
        since = listing.silent or self.now
        return listing.failed >= row.lists and self.now - since >= timedelta(minutes=row.minutes)

    def _is_surely_without(self, slot: DesiredSlot, zone: str, listing: ZoneListing) -> bool:
        if not self._is_of_this_fleet(listing) or self._may_be_heard(slot):
            return False
        known = self.memory.vms[slot.name]
        node, asked = self.memory.nodes.get(NodeKey(zone, slot.name)), known.tried.get(zone)
        if node is not None and not node.missing:
            # One that was first seen dead may be an older one, in a list that lags behind.
            return node.state in GIVEN_BACK and node.since > node.first_seen and node.asked == asked
        lacked = known.lacked.get(zone)
        long = lacked is not None and listing.at - lacked >= timedelta(minutes=silence().lacked)
        return asked is None and (zone in known.refused or long)

    def _is_of_this_fleet(self, listing: ZoneListing) -> bool:
        """Whether no command, and no apply of another tool, can have made VMs since a zone was listed."""
        declared, apply = self.observed.declared, rule("slot-declared").limit(self.desired.settings)
        over = declared is None or apply is None or listing.at - declared >= apply
        return over and listing.epoch == self.observed.epoch

    def _may_be_heard(self, slot: DesiredSlot) -> bool:
        """Whether a VM of this name serves or speaks, or nobody can say that it does not."""
        observed = self.observed
        if not observed.reports_source.known or not observed.hears(self.desired.scopes_of(slot.pool)):
            return True
        report = observed.reports.get(slot.name)
        speaks = report is not None and abs(self.now - report.at) < HEARD
        return speaks or any(runner.online for runner in observed.runners_of(slot.name))

    def _missed_once(self, slot: DesiredSlot, passed: frozenset[str]) -> bool:
        """Made again in its own zone, a VM that a list left out is refused as there already; in another it is not."""
        zones = {place.zone for place in slot.places if not self._is_given_up(place.zone)} - passed
        known = [self.memory.nodes.get(NodeKey(zone, slot.name)) for zone in zones]
        return len(zones) > 1 and any(each is not None and each.ours and each.missing < SWEEPS for each in known)

    def _is_known_or_lost(self, zone: str) -> bool:
        return self.observed.zone_known(zone) or self._is_given_up(zone)

    def _is_given_up(self, zone: str) -> bool:
        return self.memory.is_given_up(zone, self.observed, self.now)
