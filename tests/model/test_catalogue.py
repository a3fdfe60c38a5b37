"""Invariants of the catalogue: what must hold of any row, whatever Google adds next."""

from __future__ import annotations

import re
from math import prod

import pytest

from infra.model import catalogue
from infra.model.catalogue import (
    AcceleratorType,
    CapacityKind,
    Generation,
    Support,
    Topology,
    UnknownNameError,
    ZoneStanding,
    region_of,
)
from infra.model.facts import facts

GENERATIONS = catalogue.generations()
PRICES = facts("prices")["usd_per_chip_hour"]


@pytest.mark.parametrize("kind", catalogue.accelerator_types().values(), ids=str)
def test_a_type_is_a_topology_of_whole_hosts_as_its_generation_has_them(kind: AcceleratorType) -> None:
    generation, sides = kind.generation, kind.topology.sides
    published = facts("accelerators")["generations"][generation.name]["accelerator_types"][kind.name][0]
    assert kind.chips == prod(sides) == published
    assert kind.hosts * kind.chips_per_host == kind.chips <= generation.max_slice_chips
    assert kind.chips_per_host in generation.chips_per_vm
    assert not kind.multi_host or kind.chips_per_host == 4
    prefix, _, suffix = kind.name.rpartition("-")
    assert (prefix, int(suffix)) == (
        generation.prefix,
        kind.chips * {"chips": 1, "tensorcores": 2}[generation.suffix_counts],
    )
    assert len(sides) == generation.dimensions
    assert list(sides) == sorted(sides) or kind.topology == Topology.parse("2x2x1")
    if generation.dimensions == 3 and kind.chips > Topology.parse("2x4x4").chips:
        assert all(side % 4 == 0 for side in sides)
    if kind.machine_type is None:
        assert kind.chips_per_host not in {each.chips for each in generation.machine_types}
    else:
        assert kind.machine_type.chips == kind.chips_per_host
    assert AcceleratorType.parse(kind.name) is kind
    assert kind.runtime == generation.runtime


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda generation: generation.name)
def test_a_generation_has_each_zone_and_price_once(generation: Generation) -> None:
    assert len(generation.zones) == len(set(generation.zones))
    assert not set(generation.listed_zones) & set(generation.seen_zones)
    assert {generation.standing(zone) for zone in generation.listed_zones} == {ZoneStanding.LISTED}
    assert generation.standing("antarctica-south1-a") is None
    assert bool(generation.note) == (generation.tpu_vm is Support.SEEN)
    assert {machine.chips for machine in generation.machine_types} <= set(generation.chips_per_vm)
    priced = [zone for row in PRICES[generation.name] for zone in row["zones"]]
    assert set(generation.listed_zones) <= set(priced) <= set(generation.zones)
    assert len(priced) == len(set(priced))
    for zone in generation.zones:
        spot = catalogue.price(generation, zone, CapacityKind.SPOT)
        on_demand = catalogue.price(generation, zone, CapacityKind.ON_DEMAND)
        assert catalogue.price(generation, zone, CapacityKind.PREEMPTIBLE) == spot
        assert catalogue.price(generation, zone, CapacityKind.RESERVED) is None
        if spot and on_demand:
            assert 0 < spot.usd_per_chip_hour < on_demand.usd_per_chip_hour


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("v2-8", "v4-8"), ("v5e-4", "v5litepod-4"), ("v5litepod4", "v5litepod-4"), ("V6E-8", "v6e-8")],
)
def test_an_unknown_type_is_answered_with_the_nearest(wrong: str, near: str) -> None:
    with pytest.raises(UnknownNameError, match=re.escape(repr(wrong))) as caught:
        AcceleratorType.parse(wrong)
    assert caught.value.near == near


@pytest.mark.parametrize("name", ["v5p-" + "9" * 5000, "v5p-²", "-", "", "v4-"])
def test_a_name_that_is_nothing_like_one_is_refused_all_the_same(name: str) -> None:
    with pytest.raises(UnknownNameError):
        AcceleratorType.parse(name)
    with pytest.raises(UnknownNameError, match="TPU generation"):
        Generation.parse(name)


@pytest.mark.parametrize("text", ["2x0", "axb", "", "2x"])
def test_a_topology_with_a_side_that_is_no_positive_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Topology.parse(text)


def test_a_price_says_when_and_where_it_was_read_and_one_that_is_not_published_is_none() -> None:
    price = catalogue.price(Generation.parse("v5e"), "us-west4-a", CapacityKind.SPOT)
    assert price is not None
    assert price.usd_per_chip_hour == 0.48
    assert re.fullmatch(r"20\d\d-\d\d", price.as_of)
    assert price.source.startswith("https://cloud.google.com/")
    assert catalogue.price(Generation.parse("tpu7x"), "us-central1-c", CapacityKind.ON_DEMAND) is None


@pytest.mark.parametrize("block", ["accelerators", "zones", "prices", "regions"])
def test_every_block_of_facts_has_a_public_source_and_a_date(block: str) -> None:
    content = facts(block)
    assert tuple(catalogue._generations.__wrapped__().values()) == GENERATIONS
    assert content["source"].startswith("https://cloud.google.com/")
    assert re.fullmatch(r"20\d\d-\d\d", content["as_of"])


def test_a_region_is_everything_before_the_last_hyphen() -> None:
    assert [region_of(zone) for zone in ("us-central1-ai1a", "europe-west4-b")] == ["us-central1", "europe-west4"]
    with pytest.raises(ValueError, match="is not a zone"):
        region_of("global")


def test_no_name_is_the_tail_of_another_or_shared_by_two() -> None:
    zones = catalogue.zones()
    assert not [(a, b) for a in zones for b in zones if a != b and a.endswith(f"-{b}")], "names of VMs would meet"
    for words in (
        [generation.prefix for generation in GENERATIONS],
        [generation.gke_accelerator for generation in GENERATIONS],
        [generation.api_type for generation in GENERATIONS if generation.api_type],
        [machine.name for generation in GENERATIONS for machine in generation.machine_types],
    ):
        assert len(words) == len(set(words))
