"""From pools to slots: one slot per slice, which is one TPU node, one VM in short, with a name that never moves.

Owns which slots a stack has and the table of its capacity. Does not own a VM's full spec (node).

A slot's name is made of pool, zone and index: a smaller count drops the highest index, a larger one adds the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from infra.model import names
from infra.model.capacity import Capacity
from infra.model.catalogue import AcceleratorType, CapacityKind, region_of
from infra.model.schema import Pool, StackConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One declared VM."""

    name: str
    pool: Pool
    zone: str
    region: str
    index: int
    labels: Mapping[str, str]

    @property
    def accelerator(self) -> AcceleratorType:
        return self.pool.accelerator

    @property
    def runtime_version(self) -> str:
        return self.pool.runtime_version

    @property
    def capacity(self) -> Capacity:
        return self.pool.capacity

    @property
    def external_ip(self) -> bool:
        return self.pool.external_ip


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRow:
    """What one pool has in one zone."""

    pool: str
    zone: str
    accelerator: str
    capacity: CapacityKind
    slices: int
    hosts: int
    chips: int


def slots(config: StackConfig) -> tuple[Slot, ...]:
    """Every slot that stands all the time, sorted by pool, zone and index."""
    return tuple(slot for pool in _sorted_pools(config) for slot in pool_slots(config, pool))


def pool_slots(config: StackConfig, pool: Pool) -> tuple[Slot, ...]:
    """The slots of one pool that stand all the time, sorted by zone and index."""
    return _slots(config, pool, {zone: range(count) for zone, count in pool.zones.items()})


def window_slots(config: StackConfig) -> tuple[Slot, ...]:
    """Every slot that is there in windows alone, sorted as the others, whose indexes it goes on from.

    As many as all windows of a pool have together: how many are open when is told by their calendar.
    """
    return tuple(
        slot
        for pool in _sorted_pools(config)
        for slot in _slots(config, pool, {zone: _after(pool, zone) for zone in pool.zones})
    )


def every_slot(config: StackConfig) -> tuple[Slot, ...]:
    """Every slot, whether it stands all the time or in windows alone."""
    return (*slots(config), *window_slots(config))


def _after(pool: Pool, zone: str) -> range:
    standing = pool.zones[zone]
    return range(standing, standing + pool.added.get(zone, 0))


def _slots(config: StackConfig, pool: Pool, indexes: Mapping[str, range]) -> tuple[Slot, ...]:
    labels = vm_labels(config, pool)
    return tuple(
        Slot(
            name=names.vm_name(pool.name, zone, index),
            pool=pool,
            zone=zone,
            region=region_of(zone),
            index=index,
            labels=labels,
        )
        for zone, those in indexes.items()
        for index in those
    )


def fallbacks(slot: Slot) -> tuple[Slot, ...]:
    """The same slot at each of its pool's fallbacks, in the order declared: same name and labels, another place."""
    return tuple(
        replace(
            slot,
            zone=each.zone,
            region=region_of(each.zone),
            pool=slot.pool.model_copy(update={"capacity": each.capacity}),
        )
        for each in slot.pool.fallback
        if (each.zone, each.capacity) != (slot.zone, slot.capacity)
    )


def capacity(config: StackConfig) -> tuple[CapacityRow, ...]:
    """A row per pool and zone, sorted; a count of 0 has its row too."""
    return tuple(
        CapacityRow(
            pool=pool.name,
            zone=zone,
            accelerator=pool.accelerator.name,
            capacity=pool.capacity.kind,
            slices=count,
            hosts=count * pool.accelerator.hosts,
            chips=count * pool.accelerator.chips,
        )
        for pool in _sorted_pools(config)
        for zone, count in pool.zones.items()
    )


OWNERSHIP: Final = ("tidepool-managed", "tidepool-stack")
"""The labels by which a VM belongs to a stack."""


def owns(stack: str, labels: Mapping[str, str]) -> bool:
    """Whether a VM with these labels belongs to a stack, which may then adopt, change and delete it.

    All other labels may be edited, `tidepool-owner` and `tidepool-pool` too. A VM without one of the two labels belongs
    to no stack, whatever its name.
    """
    return (labels.get("tidepool-managed"), labels.get("tidepool-stack")) == ("true", stack)


def vm_labels(config: StackConfig, pool: Pool) -> dict[str, str]:
    """The labels of a pool's VMs: the program's own, by which it finds them again, and the lab's."""
    return {
        **config.vm_labels,
        "tidepool-managed": "true",
        "tidepool-stack": config.stack,
        "tidepool-pool": pool.name,
        "tidepool-owner": config.owner,
        "tidepool-trust": pool.trust.value,
    }


def _sorted_pools(config: StackConfig) -> list[Pool]:
    return sorted(config.pools, key=lambda pool: pool.name)
