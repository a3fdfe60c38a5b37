"""How a slice is obtained, as types: only one kind at a time can be said, and only `Reserved` names a reservation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from infra.model.catalogue import CapacityKind


@dataclass(frozen=True, slots=True)
class OnDemand:
    kind: ClassVar = CapacityKind.ON_DEMAND

    def __str__(self) -> str:
        return self.kind.value


@dataclass(frozen=True, slots=True)
class Spot:
    """May be taken away at any time; no limit to its life."""

    kind: ClassVar = CapacityKind.SPOT

    def __str__(self) -> str:
        return self.kind.value


@dataclass(frozen=True, slots=True)
class Preemptible:
    """May be taken away at any time, and is after 24 hours."""

    kind: ClassVar = CapacityKind.PREEMPTIBLE

    def __str__(self) -> str:
        return self.kind.value


@dataclass(frozen=True, slots=True)
class Reserved:
    """Drawn from a reservation that the stack declares."""

    reservation: str
    kind: ClassVar = CapacityKind.RESERVED

    def __str__(self) -> str:
        return f"reserved:{self.reservation}"


Capacity = OnDemand | Spot | Preemptible | Reserved
