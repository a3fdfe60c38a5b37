"""From accelerator types to GKE's shapes, and from `slices:` to node pools."""

from __future__ import annotations

from math import prod

import pytest

from infra.model import names
from infra.model.capacity import FlexStart, OnDemand, Reserved, Spot
from infra.model.catalogue import accelerator_types
from infra.model.gke_shapes import Placement, gke_shapes
from infra.model.schema import Slices
from infra.model.slices import Extent, entry_pools

KINDS = (OnDemand(), Spot(), Reserved("lab"), FlexStart(3600))


def slices(accelerator: str = "v4-32", zone: str = "us-central2-b", **values: object) -> Slices:
    return Slices.model_validate({"accelerator": accelerator, "zone": zone, "capacity": "spot", **values})


@pytest.mark.parametrize("shape", gke_shapes().values(), ids=str)
def test_nodes_of_every_shape_hold_the_chips_of_its_topology(shape) -> None:
    assert shape.nodes * shape.chips_per_node == prod(shape.topology.sides) == shape.chips
    assert shape.machine_type.endswith(f"-{shape.chips_per_node}t"), "GKE's machine types end in their chips"
    assert shape.multi_host == (shape.nodes > 1)


def test_only_an_accelerator_without_a_published_machine_type_has_no_shape() -> None:
    assert accelerator_types().keys() - gke_shapes().keys() == {"tpu7x-2"}


def test_only_slices_of_several_hosts_are_placed_and_tpu7x_by_a_policy() -> None:
    assert {name: gke_shapes()[name].placement for name in ("v5p-8", "v5p-16", "tpu7x-8", "tpu7x-16")} == {
        "v5p-8": Placement.NONE,
        "v5p-16": Placement.COMPACT,
        "tpu7x-8": Placement.NONE,
        "tpu7x-16": Placement.POLICY,
    }


def test_every_pool_name_that_can_be_made_fits_and_is_its_own() -> None:
    made: list[str] = []
    for shape in gke_shapes().values():
        for zone in shape.generation.zones:
            for kind in KINDS:
                entry = slices(shape.accelerator.name, zone, number=1)
                pool = entry_pools(entry.model_copy(update={"capacity": kind}))[0]
                longest = pool.name.removesuffix("-0") + ("-9999" if shape.multi_host else "")
                assert len(longest) <= names.MAX_GKE_NAME
                assert shape.machine_type in pool.name
                assert f"-{shape.topology}-" in pool.name
                assert names.is_node_pool(pool.name), "and is told from a VM"
                assert not names.is_node_pool(names.vm_name(pool.family, zone, 0))
                made.append(f"{zone.rpartition('-')[0]} {pool.name}")
    assert len(made) == len(set(made)), "within a cluster, which is in one region, a name means one pool"


def test_slice_of_several_hosts_is_a_pool_of_its_own_and_whole_or_absent() -> None:
    pools = entry_pools(slices("v4-32", buffer=1, maximum=3))
    assert [(pool.name, pool.min_nodes, pool.max_nodes) for pool in pools] == [
        ("ct4p-hightpu-4t-2x2x4-b-spot-0", 4, 4),
        ("ct4p-hightpu-4t-2x2x4-b-spot-1", 0, 4),
        ("ct4p-hightpu-4t-2x2x4-b-spot-2", 0, 4),
    ]
    assert [pool.scales for pool in pools] == [False, True, True]


def test_slices_of_one_host_scale_by_node_in_one_pool() -> None:
    (pool,) = entry_pools(slices("v4-8", buffer=2, maximum=8))
    assert (pool.name, pool.index, pool.min_nodes, pool.max_nodes) == ("ct4p-hightpu-4t-2x2x1-b-spot", None, 2, 8)
    assert pool.most == Extent(slices=8, nodes=8, chips=32)


def test_one_slice_more_leaves_every_other_pool_as_it_is() -> None:
    fewer, more = entry_pools(slices("v4-32", number=2)), entry_pools(slices("v4-32", number=3))
    assert more[:2] == fewer
    fewer, more = entry_pools(slices(buffer=1, maximum=4)), entry_pools(slices(buffer=2, maximum=4))
    assert [index for index in range(4) if fewer[index] != more[index]] == [1]
