"""How a slice is obtained, as types: only one kind at a time can be said, and only `Reserved` names a reservation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from infra.model.catalogue import CapacityKind


class _Kind:
    """What every kind has; a stack file and a table spell it by its `kind`."""

    __slots__ = ()
    kind: ClassVar[CapacityKind]

    def __str__(self) -> str:
        return self.kind.value


@dataclass(frozen=True, slots=True)
class OnDemand(_Kind):
    """Stays until it is deleted."""

    kind = CapacityKind.ON_DEMAND


@dataclass(frozen=True, slots=True)
class Spot(_Kind):
    """May be taken away at any time; no limit to its life."""

    kind = CapacityKind.SPOT


@dataclass(frozen=True, slots=True)
class Preemptible(_Kind):
    """May be taken away at any time, and is after 24 hours."""

    kind = CapacityKind.PREEMPTIBLE


@dataclass(frozen=True, slots=True)
class Reserved(_Kind):
    """Drawn from a reservation that the stack declares."""

    kind = CapacityKind.RESERVED
    reservation: str

    def __str__(self) -> str:
        return f"reserved:{self.reservation}"


@dataclass(frozen=True, slots=True)
class FlexStart(_Kind):
    """Waits until Google has all nodes of a slice at once, then stays for a limited time, in seconds."""

    kind = CapacityKind.FLEX_START
    max_run_seconds: int

    def __str__(self) -> str:
        return f"flex-start:{self.max_run_seconds}s"


Capacity = OnDemand | Spot | Preemptible | Reserved
SliceCapacity = OnDemand | Spot | Reserved | FlexStart
"""How slices of a GKE cluster are obtained. Preemptible is the older form of spot, with an end after a day."""
