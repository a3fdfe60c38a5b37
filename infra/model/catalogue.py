"""Cloud TPU generations, accelerator types, zones and prices: typed look-ups over `facts/*.yaml`.

Owns what is true of TPUs whoever uses them. Does not own what a lab declares (stack) or how names are spelled (names).

A *slice* is what one accelerator type asks for. Its `hosts` are its worker machines, one VM each (Google's tables
call the same number VMs); from v5litepod-16 on, two of those VMs share one physical machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from math import prod
from typing import Any

from infra.model.errors import nearest
from infra.model.facts import facts

# Digits that a size may have and still be compared with others.
_MAX_DIGITS = 9


class UnknownNameError(ValueError):
    """A name that the catalogue does not have. near: the valid one that it most likely means, empty for none."""

    def __init__(self, what: str, name: str, near: str) -> None:
        self.name = name
        self.near = near
        super().__init__(f"{name!r} is not a known {what}{f'; the nearest is {near}' if near else ''}")


class CapacityKind(StrEnum):
    """How a slice is obtained, as a stack file spells it."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    PREEMPTIBLE = "preemptible"
    RESERVED = "reserved"
    FLEX_START = "flex-start"


class Support(StrEnum):
    """How sure the catalogue is that a generation exists as a TPU VM."""

    DOCUMENTED = "documented"
    SEEN = "seen"


class ZoneStanding(StrEnum):
    """How sure the catalogue is that a zone has a generation."""

    LISTED = "listed"
    SEEN = "seen"


@dataclass(frozen=True, slots=True, order=True)
class Topology:
    """The shape of a slice in chips, such as 2x2x4."""

    sides: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Topology:
        """Read `2x2x4`; ValueError when a side is not a positive whole number."""
        sides = tuple(int(side) for side in text.split("x"))
        if any(side < 1 for side in sides):
            raise ValueError(f"{text!r} is not a topology: every side is at least 1")
        return cls(sides)

    @property
    def chips(self) -> int:
        return prod(self.sides)

    def __str__(self) -> str:
        return "x".join(map(str, self.sides))


@dataclass(frozen=True, slots=True)
class MachineType:
    """A Compute Engine machine type that carries TPU chips."""

    name: str
    chips: int
    vcpus: int
    memory_gb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One generation of Cloud TPU. Fields are explained at the head of `facts/accelerators.yaml`."""

    name: str
    api_type: str | None
    prefix: str
    suffix_counts: str
    dimensions: int
    hbm_gb_per_chip: int
    chips_per_vm: tuple[int, ...]
    chips_per_physical_host: int | None
    tpu_vm: Support
    compute_engine: bool
    gke_accelerator: str
    gke_boot_disk: str | None
    gke_placement: str
    max_slice_chips: int
    runtime: str
    machine_types: tuple[MachineType, ...]
    listed_zones: tuple[str, ...]
    seen_zones: tuple[str, ...]
    note: str

    @classmethod
    def parse(cls, name: str) -> Generation:
        """The generation of that name (`v5e`); UnknownNameError otherwise."""
        if name not in _generations():
            raise UnknownNameError("TPU generation", name, nearest(name, _generations()))
        return _generations()[name]

    def __str__(self) -> str:
        return self.name

    @property
    def zones(self) -> tuple[str, ...]:
        """Every zone listed or seen."""
        return self.listed_zones + self.seen_zones

    def standing(self, zone: str) -> ZoneStanding | None:
        """Whether a zone is listed or only seen for this generation; None where it is neither."""
        if zone in self.listed_zones:
            return ZoneStanding.LISTED
        return ZoneStanding.SEEN if zone in self.seen_zones else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorType:
    """What one slice is: `v4-32` is 16 chips on 4 hosts, shaped 2x2x4."""

    name: str
    generation: Generation
    hosts: int
    topology: Topology

    @classmethod
    def parse(cls, name: str) -> AcceleratorType:
        """The accelerator type of that name; UnknownNameError otherwise."""
        if name not in accelerator_types():
            raise UnknownNameError("accelerator type", name, _nearest_type(name))
        return accelerator_types()[name]

    @property
    def chips(self) -> int:
        return self.topology.chips

    @property
    def vms(self) -> int:
        """Worker VMs of a slice, the word of Google's shape tables for `hosts`."""
        return self.hosts

    @property
    def chips_per_host(self) -> int:
        return self.chips // self.hosts

    @property
    def multi_host(self) -> bool:
        return self.hosts > 1

    @property
    def machine_type(self) -> MachineType | None:
        """The Compute Engine and GKE machine type of one host; None where none is published."""
        return next((each for each in self.generation.machine_types if each.chips == self.chips_per_host), None)

    @property
    def runtime(self) -> str:
        """The documented runtime version of a TPU VM."""
        return self.generation.runtime

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A list price with the month and the page it was read from."""

    usd_per_chip_hour: float
    as_of: str
    source: str


def generations() -> tuple[Generation, ...]:
    """Every generation, oldest first."""
    return tuple(_generations().values())


@cache
def accelerator_types() -> Mapping[str, AcceleratorType]:
    """Every accelerator type by name."""
    return {
        name: AcceleratorType(name=name, generation=generation, hosts=hosts, topology=Topology.parse(topology))
        for generation in generations()
        for name, (_, hosts, topology) in _tables()[generation.name]["accelerator_types"].items()
    }


@cache
def zones() -> tuple[str, ...]:
    """Every zone that any generation is listed or seen in, sorted."""
    return tuple(sorted({zone for generation in generations() for zone in generation.zones}))


def machine_families(zone: str) -> tuple[str, ...] | None:
    """The families of machine types of a zone that lacks some; None for one that has the usual ones."""
    found = facts("zones")["machine_families"].get(zone)
    return tuple(found) if found is not None else None


def region_of(zone: str) -> str:
    """The region of a zone: everything before its last hyphen (`us-central1-ai1a` lies in `us-central1`)."""
    region, hyphen, _ = zone.rpartition("-")
    if not hyphen:
        raise ValueError(f"{zone!r} is not a zone, which is its region, a hyphen and a suffix")
    return region


def price(generation: Generation, zone: str, kind: CapacityKind) -> Price | None:
    """The list price of a chip-hour, or None where none is published.

    Preemptible is priced as spot. A reservation is paid at its contract's price, used or not, so it has none here, and
    flex-start has SKUs of its own, which the table does not carry.
    """
    if kind in (CapacityKind.RESERVED, CapacityKind.FLEX_START):
        return None
    column = "on_demand" if kind is CapacityKind.ON_DEMAND else "spot"
    table = facts("prices")
    for row in table["usd_per_chip_hour"].get(generation.name, ()):
        if zone in row["zones"] and row[column] is not None:
            return Price(usd_per_chip_hour=row[column], as_of=table["as_of"], source=table["source"])
    return None


def _nearest_type(name: str) -> str:
    """The size near the one that was asked for where the generation is clear (also v5e-4), else a similar name."""
    head, hyphen, number = name.lower().partition("-")
    number = number if hyphen else "1"  # a generation alone: its smallest sizes
    meant = [each for each in generations() if head in (each.name, each.prefix)]
    if not meant or not number.isdecimal() or len(number) > _MAX_DIGITS:
        return nearest(name, accelerator_types())
    sizes = [each for each in accelerator_types() if each.rpartition("-")[0] == meant[0].prefix]
    return min(sizes, key=lambda size: abs(int(size.rpartition("-")[2]) - int(number)))


def _tables() -> Mapping[str, Mapping[str, Any]]:
    return facts("accelerators")["generations"]


@cache
def _generations() -> Mapping[str, Generation]:
    zone_table = facts("zones")["zones"]
    return {name: _generation(name, row, zone_table[name]) for name, row in _tables().items()}


def _generation(name: str, row: Mapping[str, Any], zone_row: Mapping[str, list[str]]) -> Generation:
    return Generation(
        name=name,
        api_type=row["api_type"],
        prefix=row["prefix"],
        suffix_counts=row["suffix_counts"],
        dimensions=row["dimensions"],
        hbm_gb_per_chip=row["hbm_gb_per_chip"],
        chips_per_vm=tuple(row["chips_per_vm"]),
        chips_per_physical_host=row.get("chips_per_physical_host"),
        tpu_vm=Support(row["tpu_vm"]),
        compute_engine=row["compute_engine"],
        gke_accelerator=row["gke_accelerator"],
        gke_boot_disk=row.get("gke_boot_disk"),
        gke_placement=row.get("gke_placement", "compact"),
        max_slice_chips=row["max_slice_chips"],
        runtime=row["runtime"],
        machine_types=tuple(
            MachineType(name=machine, chips=chips, vcpus=vcpus, memory_gb=memory)
            for chips, (machine, vcpus, memory) in row["machine_types"].items()
        ),
        listed_zones=tuple(zone_row["listed"]),
        seen_zones=tuple(zone_row["seen"]),
        note=row.get("note", ""),
    )
