"""Invariants of the catalogue: what must hold of any row, whatever Google adds next."""

from __future__ import annotations

import re

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

TYPES = tuple(catalogue.accelerator_types().values())
GENERATIONS = catalogue.generations()

each_type = pytest.mark.parametrize("kind", TYPES, ids=str)
each_generation = pytest.mark.parametrize("generation", GENERATIONS, ids=lambda generation: generation.name)


@each_type
def test_chips_are_the_product_of_the_topology_and_agree_with_the_published_count(kind: AcceleratorType) -> None:
    published = facts("accelerators")["generations"][kind.generation.name]["accelerator_types"][kind.name][0]
    product = 1
    for side in kind.topology.sides:
        product *= side
    assert kind.chips == product == published


@each_type
def test_hosts_share_the_chips_evenly_in_a_size_of_vm_that_exists(kind: AcceleratorType) -> None:
    assert kind.hosts * kind.chips_per_host == kind.chips
    assert kind.chips_per_host in kind.generation.chips_per_vm


@each_type
def test_a_slice_of_several_hosts_is_made_of_four_chip_hosts(kind: AcceleratorType) -> None:
    assert not kind.multi_host or kind.chips_per_host == 4


@each_type
def test_the_suffix_counts_what_its_generation_says(kind: AcceleratorType) -> None:
    prefix, _, suffix = kind.name.rpartition("-")
    assert prefix == kind.generation.prefix
    chips_per_unit = {"chips": 1, "tensorcores": 2}[kind.generation.suffix_counts]
    assert int(suffix) == kind.chips * chips_per_unit


@each_type
def test_a_topology_has_its_generations_dimensions_with_sides_in_order(kind: AcceleratorType) -> None:
    assert len(kind.topology.sides) == kind.generation.dimensions
    assert list(kind.topology.sides) == sorted(kind.topology.sides) or kind.topology == Topology.parse("2x2x1")


@each_type
def test_large_three_dimensional_topologies_are_built_of_cubes_of_four(kind: AcceleratorType) -> None:
    if kind.generation.dimensions == 3 and kind.chips > Topology.parse("2x4x4").chips:
        assert all(side % 4 == 0 for side in kind.topology.sides)


@each_type
def test_no_slice_is_larger_than_its_generation_allows(kind: AcceleratorType) -> None:
    assert kind.chips <= kind.generation.max_slice_chips


@each_type
def test_a_machine_type_carries_the_chips_of_one_host(kind: AcceleratorType) -> None:
    machine = kind.machine_type
    if machine is None:
        assert kind.chips_per_host not in {each.chips for each in kind.generation.machine_types}
    else:
        assert machine.chips == kind.chips_per_host


@each_type
def test_every_type_is_found_by_its_own_name(kind: AcceleratorType) -> None:
    assert AcceleratorType.parse(kind.name) is kind
    assert AcceleratorType.parse(kind.name).runtime == kind.generation.runtime


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("v2-8", "v4-8"), ("v5e-4", "v5litepod-4"), ("v5litepod4", "v5litepod-4"), ("V6E-8", "v6e-8")],
)
def test_an_unknown_type_is_answered_with_the_nearest(wrong: str, near: str) -> None:
    with pytest.raises(UnknownNameError, match=re.escape(repr(wrong))) as caught:
        AcceleratorType.parse(wrong)
    assert caught.value.near == near


def test_an_unknown_generation_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="TPU generation"):
        Generation.parse("v3")


@pytest.mark.parametrize("text", ["2x0", "axb", "", "2x"])
def test_a_topology_with_a_side_that_is_no_positive_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Topology.parse(text)


@each_generation
def test_a_zone_is_listed_or_seen_for_a_generation_but_not_both(generation: Generation) -> None:
    assert not set(generation.listed_zones) & set(generation.seen_zones)
    assert len(generation.zones) == len(set(generation.zones))
    assert {generation.standing(zone) for zone in generation.listed_zones} == {ZoneStanding.LISTED}
    assert generation.standing("antarctica-south1-a") is None


@each_generation
def test_a_generation_that_is_only_seen_as_a_tpu_vm_says_so(generation: Generation) -> None:
    assert bool(generation.note) == (generation.tpu_vm is Support.SEEN)


def test_every_priced_zone_is_a_zone_of_its_generation_and_priced_once() -> None:
    for generation in GENERATIONS:
        priced = [zone for row in facts("prices")["usd_per_chip_hour"][generation.name] for zone in row["zones"]]
        assert set(priced) <= set(generation.zones)
        assert len(priced) == len(set(priced))


def test_every_listed_zone_has_a_price_row() -> None:
    for generation in GENERATIONS:
        priced = {zone for row in facts("prices")["usd_per_chip_hour"][generation.name] for zone in row["zones"]}
        assert set(generation.listed_zones) <= priced


@each_generation
def test_spot_costs_less_than_on_demand_and_preemptible_costs_the_same(generation: Generation) -> None:
    for zone in generation.zones:
        spot = catalogue.price(generation, zone, CapacityKind.SPOT)
        on_demand = catalogue.price(generation, zone, CapacityKind.ON_DEMAND)
        assert catalogue.price(generation, zone, CapacityKind.PREEMPTIBLE) == spot
        assert catalogue.price(generation, zone, CapacityKind.RESERVED) is None
        if spot and on_demand:
            assert 0 < spot.usd_per_chip_hour < on_demand.usd_per_chip_hour


def test_a_price_says_when_and_where_it_was_read() -> None:
    price = catalogue.price(Generation.parse("v5e"), "us-west4-a", CapacityKind.SPOT)
    assert price is not None
    assert price.usd_per_chip_hour == 0.48
    assert re.fullmatch(r"20\d\d-\d\d", price.as_of)
    assert price.source.startswith("https://cloud.google.com/")


def test_a_price_that_is_not_published_is_none() -> None:
    assert catalogue.price(Generation.parse("v6e"), "southamerica-west1-a", CapacityKind.SPOT) is None
    assert catalogue.price(Generation.parse("tpu7x"), "us-central1-c", CapacityKind.ON_DEMAND) is None


@pytest.mark.parametrize("block", ["accelerators", "zones", "prices", "regions"])
def test_every_block_of_facts_has_a_public_source_and_a_date(block: str) -> None:
    content = facts(block)
    assert content["source"].startswith("https://cloud.google.com/")
    assert re.fullmatch(r"20\d\d-\d\d", content["as_of"])


@pytest.mark.parametrize(
    ("zone", "region"),
    [("us-central1-a", "us-central1"), ("us-central1-ai1a", "us-central1"), ("europe-west4-b", "europe-west4")],
)
def test_a_region_is_everything_before_the_last_hyphen(zone: str, region: str) -> None:
    assert region_of(zone) == region


def test_a_zone_without_a_hyphen_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a zone"):
        region_of("global")


def test_no_zone_is_the_tail_of_another_so_that_vm_names_of_two_zones_never_meet() -> None:
    zones = catalogue.zones()
    assert not [(a, b) for a in zones for b in zones if a != b and a.endswith(f"-{b}")]


def test_no_two_generations_share_a_word_by_which_they_are_told_apart() -> None:
    for words in (
        [generation.prefix for generation in GENERATIONS],
        [generation.gke_accelerator for generation in GENERATIONS],
        [generation.api_type for generation in GENERATIONS if generation.api_type],
        [machine.name for generation in GENERATIONS for machine in generation.machine_types],
    ):
        assert len(words) == len(set(words))


@each_generation
def test_machine_types_carry_a_number_of_chips_that_a_vm_can_have(generation: Generation) -> None:
    assert {machine.chips for machine in generation.machine_types} <= set(generation.chips_per_vm)


@pytest.mark.parametrize("name", ["v5p-" + "9" * 5000, "v5p-²", "-", "", "v4-"])
def test_a_name_that_is_nothing_like_one_is_refused_all_the_same(name: str) -> None:
    with pytest.raises(UnknownNameError):
        AcceleratorType.parse(name)
