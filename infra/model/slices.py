"""From `slices:` to node pools: one pool for each slice of several hosts, one pool for all slices of one host.

Owns which node pools a stack's cluster has for TPUs, and the sums of slices, nodes and chips over them. Does not own
what a shape is (gke_shapes) nor the pools' resources (components).

A pool's name is made of machine type, topology, zone, kind of capacity and index: a smaller count drops the pool of
the highest index, a larger one adds the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from infra.model import names
from infra.model.capacity import SliceCapacity
from infra.model.catalogue import CapacityKind
from infra.model.gke_shapes import GkeShape, gke_shape
from infra.model.schema import Slices, StackConfig

K = TypeVar("K")

SYSTEM_POOL: Final = "system"
"""The node pool of what runs the cluster itself."""

_SHORT: Final = {
    CapacityKind.ON_DEMAND: "od",
    CapacityKind.SPOT: "spot",
    CapacityKind.RESERVED: "res",
    CapacityKind.FLEX_START: "flex",
}
"""Kinds of capacity in names of pools, which have 40 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePool:
    """One TPU node pool of a stack's cluster.

    slices: name of the entry of `slices:` that it belongs to. index: of its slice, None where each node is a slice.
    min_nodes, max_nodes: equal where the pool does not scale; a slice of several hosts is whole or not there at all.
    """

    name: str
    slices: str
    shape: GkeShape
    zone: str
    capacity: SliceCapacity
    index: int | None
    min_nodes: int
    max_nodes: int

    @property
    def family(self) -> str:
        """Its name without the index: what the pools of one entry have alike."""
        return self.name if self.index is None else self.name.removesuffix(f"-{self.index}")

    @property
    def nodes_per_slice(self) -> int:
        return self.shape.nodes

    @property
    def scales(self) -> bool:
        """Whether the cluster's autoscaler says how many of its nodes there are."""
        return self.min_nodes != self.max_nodes

    @property
    def least(self) -> Extent:
        """What always stands."""
        return self._extent(self.min_nodes)

    @property
    def most(self) -> Extent:
        """What may stand at once; limits, money and quotas count this."""
        return self._extent(self.max_nodes)

    def _extent(self, nodes: int) -> Extent:
        return Extent(slices=nodes // self.nodes_per_slice, nodes=nodes, chips=nodes * self.shape.chips_per_node)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """So many slices, with their nodes and chips."""

    slices: int = 0
    nodes: int = 0
    chips: int = 0

    def __add__(self, other: Extent) -> Extent:
        return Extent(slices=self.slices + other.slices, nodes=self.nodes + other.nodes, chips=self.chips + other.chips)


def node_pools(config: StackConfig) -> tuple[NodePool, ...]:
    """Every TPU node pool of the stack, by accelerator, zone, kind of capacity and index."""
    entries = sorted(config.slices, key=lambda each: (each.accelerator.name, each.zone, each.capacity.kind.value))
    return tuple(pool for entry in entries for pool in entry_pools(entry))


def entry_pools(entry: Slices) -> tuple[NodePool, ...]:
    """The pools of one entry of `slices:`; none where its count is 0 or its accelerator has no machine type at GKE.

    Of slices of several hosts the first `least` pools always stand; each of the others is there as a whole or not.
    """
    shape = gke_shape(entry.accelerator)
    if shape is None or not entry.slices:
        return ()
    if not shape.multi_host:
        return (_pool(entry, shape, None, least=entry.least, most=entry.slices),)
    return tuple(
        _pool(entry, shape, index, least=shape.nodes if index < entry.least else 0, most=shape.nodes)
        for index in range(entry.slices)
    )


def slice_names(entry: Slices) -> tuple[str, ...]:
    """A name for each slice at most: that of its pool, or of a pool whose nodes are slices with a number behind it."""
    return tuple(
        name
        for pool in entry_pools(entry)
        for name in (
            [pool.name] if pool.index is not None else [f"{pool.name}-{number}" for number in range(pool.max_nodes)]
        )
    )


def _pool(entry: Slices, shape: GkeShape, index: int | None, *, least: int, most: int) -> NodePool:
    kind = _SHORT[entry.capacity.kind]
    return NodePool(
        name=names.node_pool_name(shape.machine_type, str(shape.topology), entry.zone, kind, index),
        slices=entry.name,
        shape=shape,
        zone=entry.zone,
        capacity=entry.capacity,
        index=index,
        min_nodes=least,
        max_nodes=most,
    )


def most_by(pools: Iterable[NodePool], key: Callable[[NodePool], K]) -> Mapping[K, Extent]:
    """The most that may stand, by whatever `key` gives for a pool, in the order in which the keys first come.

    Such as `lambda pool: pool.shape` for quotas of shapes, or `lambda pool: (pool.zone, pool.capacity.kind)`.
    """
    return _sums(pools, key, lambda pool: pool.most)


def least_by(pools: Iterable[NodePool], key: Callable[[NodePool], K]) -> Mapping[K, Extent]:
    """The same for what always stands."""
    return _sums(pools, key, lambda pool: pool.least)


def _sums(
    pools: Iterable[NodePool], key: Callable[[NodePool], K], extent: Callable[[NodePool], Extent]
) -> Mapping[K, Extent]:
    sums: dict[K, Extent] = {}
    for pool in pools:
        sums[key(pool)] = sums.get(key(pool), Extent()) + extent(pool)
    return sums
