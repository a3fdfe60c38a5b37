"""From accelerator types to GKE's shapes, and from `slices:` to node pools."""

from __future__ import annotations

from math import prod

import pytest

from infra.model import names
from infra.model.capacity import FlexStart, OnDemand, Reserved, Spot
from infra.model.catalogue import accelerator_types, generations
from infra.model.gke_shapes import ACCELERATOR_LABEL, TOPOLOGY_LABEL, Placement, gke_shapes
from infra.model.schema import Slices
from infra.model.slices import Extent, entry_pools, least_by, most_by

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


def test_one_string_means_other_hardware_in_other_generations() -> None:
    said = {
        name: (gke_shapes()[name].machine_type, gke_shapes()[name].nodes) for name in ("v4-8", "v5litepod-8", "v6e-8")
    }
    assert said == {
        "v4-8": ("ct4p-hightpu-4t", 1),
        "v5litepod-8": ("ct5lp-hightpu-8t", 1),
        "v6e-8": ("ct6e-standard-8t", 1),
    }


def test_shape_is_selected_by_the_labels_that_gke_gives_to_nodes() -> None:
    assert gke_shapes()["v5litepod-16"].node_labels == {
        ACCELERATOR_LABEL: "tpu-v5-lite-podslice",
        TOPOLOGY_LABEL: "4x4",
    }


def test_only_slices_of_several_hosts_are_placed_and_tpu7x_by_a_policy() -> None:
    assert {name: gke_shapes()[name].placement for name in ("v5p-8", "v5p-16", "tpu7x-8", "tpu7x-16")} == {
        "v5p-8": Placement.NONE,
        "v5p-16": Placement.COMPACT,
        "tpu7x-8": Placement.NONE,
        "tpu7x-16": Placement.POLICY,
    }


def test_v5p_and_v6e_nodes_boot_from_hyperdisk() -> None:
    disks = {each.name: each.gke_boot_disk for each in generations() if each.gke_boot_disk}
    assert disks == {"v5p": "hyperdisk-balanced", "v6e": "hyperdisk-balanced"}


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


@pytest.mark.parametrize(
    ("accelerator", "zone", "pools"),
    [
        ("v4-32", "us-central2-b", 6),
        ("v5litepod-16", "us-west4-a", 6),
        ("v5litepod-4", "europe-west4-b", 1),
        ("v5p-16", "us-central1-a", 6),
        ("v6e-16", "europe-west4-a", 6),
        ("v6e-8", "us-east5-b", 1),
    ],
)
def test_spot_slices_of_a_generation_stand_in_its_zones_with_a_buffer_and_a_maximum(
    accelerator: str, zone: str, pools: int
) -> None:
    found = entry_pools(slices(accelerator, zone, buffer=1, maximum=6))
    assert (len(found), {pool.zone for pool in found}) == (pools, {zone})
    assert (sum(pool.least.slices for pool in found), sum(pool.most.slices for pool in found)) == (1, 6)


def test_one_slice_more_leaves_every_other_pool_as_it_is() -> None:
    fewer, more = entry_pools(slices("v4-32", number=2)), entry_pools(slices("v4-32", number=3))
    assert more[:2] == fewer
    fewer, more = entry_pools(slices(buffer=1, maximum=4)), entry_pools(slices(buffer=2, maximum=4))
    assert [index for index in range(4) if fewer[index] != more[index]] == [1]


def test_no_slice_has_no_pool() -> None:
    assert entry_pools(slices("v4-32", number=0)) == entry_pools(slices("v4-8", number=0)) == ()


def test_sums_are_by_whatever_is_asked_at_most_and_at_least() -> None:
    pools = [*entry_pools(slices("v4-32", buffer=1, maximum=3)), *entry_pools(slices("v4-8", number=2))]
    assert most_by(pools, lambda pool: pool.shape.accelerator.name)["v4-32"] == Extent(slices=3, nodes=12, chips=48)
    assert least_by(pools, lambda pool: pool.zone) == {"us-central2-b": Extent(slices=3, nodes=6, chips=24)}
