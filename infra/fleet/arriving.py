"""Which VMs are waited for before others go: those that were just made, and do work that the others do now.

A VM serves once it is READY and a runner of it takes jobs; where GitHub does not tell, or it is to have no runner,
READY is enough. Owns this rule. Does not own waiting itself, nor draining what goes (`infra.fleet.draining`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from infra.fleet.controller.desired import Desired, DesiredSlot
from infra.fleet.controller.observed import NodeSeen, Observed
from infra.fleet.reports import Phase

READY = "READY"
_TAKES_JOBS: Final = frozenset({Phase.IDLE, Phase.BUSY})


@dataclass(frozen=True, slots=True)
class Leaving:
    """VMs that go. returning: names of those that go at a fallback alone, and stand at home from now on.

    makes_room: whether what takes their place may have no room before they are gone.
    """

    names: frozenset[str]
    returning: frozenset[str] = frozenset()
    makes_room: bool = False

    def takes(self, node: NodeSeen, slot: DesiredSlot) -> bool:
        """Whether a slot's VM is one of those that go."""
        return slot.name in self.names and not (slot.name in self.returning and node.zone == slot.home.zone)

    def takes_all(self, slot: DesiredSlot) -> bool:
        """Whether nothing of a slot stays."""
        return slot.name in self.names - self.returning


def just_made(desired: Desired, observed: Observed, leaving: Leaving, now: datetime) -> frozenset[str]:
    """Declared VMs that stay, do not serve, and were made within the stack's `boot_minutes`.

    Only those of a pool, or for a repository, that a VM of `leaving` serves now: nobody else's work moves to them.
    """
    served = _served(desired, observed, leaving)
    pools, repositories = _pools(served), _repositories(served)
    since = now - timedelta(minutes=desired.settings.boot)
    return frozenset(
        slot.name
        for slot in desired.slots
        if (slot.pool in pools or repositories & set(slot.serves))
        and any(
            node.made is not None and node.made >= since and not leaving.takes(node, slot)
            for node in observed.nodes_of(slot.name)
        )
        and not takes_over(slot, desired, observed, leaving)
    )


def unserved(desired: Desired, observed: Observed, leaving: Leaving) -> tuple[str, ...]:
    """Pools that stay, that a VM of `leaving` serves, and of whose other VMs none does; then such repositories.

    A pool that goes as a whole is followed by others for its repositories, but for what they wait for room.
    """
    served = _served(desired, observed, leaving)
    staying = [slot for slot in desired.slots if not leaving.takes_all(slot)]
    serving = [slot for slot in staying if takes_over(slot, desired, observed, leaving)]
    pools = _pools(served) & _pools(staying) - _pools(serving)
    elsewhere = [slot for slot in served if slot.pool not in pools and not leaving.makes_room]
    repositories = _repositories(elsewhere) & _repositories(staying) - _repositories(serving)
    return (*sorted(pools), *sorted(repositories))


def stand_ins(names: Collection[str], desired: Desired, observed: Observed, leaving: Leaving) -> frozenset[str]:
    """VMs that stay and do now what these are to do."""
    found = [slot for slot in desired.slots if slot.name in names]
    pools, repositories = _pools(found), _repositories(found)
    return frozenset(
        slot.name
        for slot in desired.slots
        if (slot.pool in pools or repositories & set(slot.serves)) and takes_over(slot, desired, observed, leaving)
    )


def takes_over(slot: DesiredSlot, desired: Desired, observed: Observed, leaving: Leaving) -> bool:
    """Whether a VM of the slot that stays does its work now."""
    if leaving.takes_all(slot) or not serves(slot, desired, observed):
        return False
    return slot.name not in leaving.returning or _serves_at_home(slot, desired, observed)


def serves(slot: DesiredSlot, desired: Desired, observed: Observed) -> bool:
    """Whether its VM does the slot's work now. What runners of other pools do nobody has to tell."""
    if not any(node.state == READY for node in observed.nodes_of(slot.name)):
        return False
    return _works_unheard(slot, desired, observed) or any(each.serves for each in observed.runners_of(slot.name))


def _served(desired: Desired, observed: Observed, leaving: Leaving) -> list[DesiredSlot]:
    """Slots whose work a VM that goes does now."""
    return [
        slot
        for slot in desired.slots
        if any(node.state == READY and leaving.takes(node, slot) for node in observed.nodes_of(slot.name))
        and serves(slot, desired, observed)
    ]


def _pools(slots: Iterable[DesiredSlot]) -> set[str]:
    return {slot.pool for slot in slots}


def _repositories(slots: Iterable[DesiredSlot]) -> set[str]:
    return {each for slot in slots for each in slot.serves}


def _serves_at_home(slot: DesiredSlot, desired: Desired, observed: Observed) -> bool:
    """Whether it does so at home, while a VM of its name stands at a fallback.

    No name of a runner tells which of the two has it: as many as there are VMs have to take jobs, or the one at home
    has to say that it does.
    """
    ready = [node for node in observed.nodes_of(slot.name) if node.state == READY]
    home = next((node for node in ready if node.zone == slot.home.zone), None)
    if home is None:
        return False
    report = observed.reports.get(slot.name)
    its_own = report is not None and report.proved == home.zone and report.is_of(home.made)
    return (
        _works_unheard(slot, desired, observed)
        or (report is not None and its_own and report.phase in _TAKES_JOBS)
        or sum(each.serves for each in observed.runners_of(slot.name)) >= len(ready)
    )


def _works_unheard(slot: DesiredSlot, desired: Desired, observed: Observed) -> bool:
    """Whether READY is all that is to be had of it."""
    return not slot.has_runner or not observed.hears(desired.scopes_of(slot.pool))
