"""The fleet of one stack as it shall be: slots and where they may be, limits, freezes, settings.

Owns the types. Does not own how a manifest is read into them (`manifests`) nor what follows of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.schema import Freeze, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotPlace:
    """One way to obtain a slot's VM. node: the body of `nodes.create` there."""

    zone: str
    capacity: CapacityKind
    reservation: str | None = None
    node: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredSlot:
    """One declared slot. places: its own first, then the pool's fallbacks in the order in which they are declared.

    serves: repositories, `OWNER/NAME`. labels: of its runner. in_window: whether it is declared in windows alone.
    """

    name: str
    pool: str
    accelerator: AcceleratorType
    places: tuple[SlotPlace, ...]
    serves: tuple[str, ...] = ()
    labels: frozenset[str] = frozenset()
    in_window: bool = False

    @property
    def home(self) -> SlotPlace:
        return self.places[0]

    @property
    def chips(self) -> int:
        return self.accelerator.chips

    @property
    def has_runner(self) -> bool:
        """Whether its VM is to have a runner. Of one that serves no repository nobody here knows when it works."""
        return bool(self.serves)

    def place_in(self, zone: str) -> SlotPlace | None:
        """The first place in a zone: one zone may be declared twice, with two kinds of capacity."""
        return next((place for place in self.places if place.zone == zone), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """A reservation or quota as the controller keeps it.

    covers: kinds of capacity that draw on it. held_elsewhere: chips that nobody in this repository declares.
    siblings: chips that other stacks of this repository declare. windows: what their windows draw while they are open.
    """

    name: str
    zone: str
    generation: str
    chips: int
    covers: frozenset[CapacityKind]
    reservation: str | None = None
    held_elsewhere: int = 0
    siblings: int = 0
    windows: tuple[tuple[Window, int], ...] = field(default=(), hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """How quickly and how boldly the controller acts; minutes where not said otherwise.

    boot: from READY to a runner online. job: how long a drain waits. grace: how long something must be without an owner
    before it is deleted. replacements: VMs of one pool replaced within an hour, at most. share: of a pool that a
    rollout may have in work at once. every: from one sweep to the next.
    """

    boot: int = 20
    job: int = 120
    grace: int = 10
    replacements: int = 6
    share: float = 0.34
    every: int = 2


@dataclass(frozen=True, kw_only=True)
class Desired:
    """The fleet of one stack as it shall be. groups: whether runners are an organisation's, in groups.

    bundle: SHA-256 (hexadecimal) of the start-up bundle, None where the manifest names none. run_zones: where VMs that
    workflows make for runs may be left. windows: those of each pool. closed: slots of windows that are not open; of
    what a manifest says all of them, until `by_hour.at` is asked.
    """

    stack: str
    project: str
    slots: tuple[DesiredSlot, ...]
    bundle: str | None = None
    caps: tuple[Cap, ...] = ()
    freezes: tuple[Freeze, ...] = ()
    settings: ControllerSettings = field(default_factory=ControllerSettings)
    groups: bool = False
    run_zones: frozenset[str] = frozenset()
    windows: Mapping[str, tuple[Window, ...]] = field(default_factory=dict)
    closed: tuple[DesiredSlot, ...] = ()

    @cached_property
    def _closed(self) -> Mapping[str, DesiredSlot]:
        return {slot.name: slot for slot in self.closed}

    def is_closed(self, name: str, zone: str) -> bool:
        """Whether a VM of that name and zone is one of a window that is not open."""
        slot = self._closed.get(name)
        return slot is not None and slot.place_in(zone) is not None

    @property
    def possible(self) -> tuple[DesiredSlot, ...]:
        """Every slot, those of windows that are not open with them."""
        return (*self.slots, *self.closed)

    @property
    def scopes(self) -> tuple[str, ...]:
        """What the fleet's runners are registered with, as GitHub's paths have it."""
        return self._scopes(self.possible)

    def scopes_of(self, pool: str) -> tuple[str, ...]:
        """What the runners of a pool are registered with."""
        return self._scopes_by_pool.get(pool, ())

    @cached_property
    def _scopes_by_pool(self) -> Mapping[str, tuple[str, ...]]:
        return {pool: self._scopes(slot for slot in self.possible if slot.pool == pool) for pool in self.pools}

    def _scopes(self, slots: Iterable[DesiredSlot]) -> tuple[str, ...]:
        repositories = {repository for slot in slots for repository in slot.serves}
        if self.groups:
            return tuple(f"orgs/{owner}" for owner in sorted({each.partition("/")[0] for each in repositories}))
        return tuple(f"repos/{each}" for each in sorted(repositories))

    @property
    def pools(self) -> tuple[str, ...]:
        return tuple(sorted({slot.pool for slot in self.possible}))

    @property
    def zones(self) -> frozenset[str]:
        """Every zone in which a slot may be."""
        return frozenset(place.zone for slot in self.possible for place in slot.places)

    def but(self, zones: Collection[str]) -> Desired:
        """The same fleet, whose slots have no place in these zones."""
        slots = (
            replace(slot, places=tuple(place for place in slot.places if place.zone not in zones))
            for slot in self.slots
        )
        return replace(self, slots=tuple(slots))

    def slot(self, name: str) -> DesiredSlot | None:
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> Mapping[str, DesiredSlot]:
        return {slot.name: slot for slot in self.slots}

    def of_pool(self, pool: str) -> tuple[DesiredSlot, ...]:
        return tuple(slot for slot in self.slots if slot.pool == pool)
