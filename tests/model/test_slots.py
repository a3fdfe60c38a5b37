"""From pools to slots: names that never move, and capacity in slices, hosts and chips."""

from __future__ import annotations

import pytest

from infra.model import catalogue, fleet
from infra.model.catalogue import CapacityKind
from infra.model.stack import read_stack
from tests.model.given import parse, pool, stack_text


def names(text: str) -> list[str]:
    return [slot.name for slot in fleet.slots(parse(text))]


def test_a_slot_is_named_by_pool_zone_and_index_from_zero() -> None:
    zones = "{us-west4-a: 2, europe-west4-b: 1}"
    assert names(stack_text(pools=pool(name="tpu-ci", zones=zones))) == [
        "tpu-ci-europe-west4-b-0",
        "tpu-ci-us-west4-a-0",
        "tpu-ci-us-west4-a-1",
    ]
    (slot,) = fleet.slots(parse(stack_text(pools=pool(zones="{europe-west4-b: 1}"))))
    assert (slot.zone, slot.region, slot.index, slot.pool.name) == ("europe-west4-b", "europe-west4", 0, "other")


def test_a_slot_carries_the_programs_labels_and_the_labs() -> None:
    (slot,) = fleet.slots(parse(stack_text(pools=pool(), vm_labels="{team: tpu, tier: 'true'}\n")))
    assert slot.labels == {
        "team": "tpu",
        "tier": "true",
        "tidepool-managed": "true",
        "tidepool-stack": "ci",
        "tidepool-pool": "other",
        "tidepool-owner": "lab",
        "tidepool-trust": "member",
    }


def test_a_fallback_is_the_same_slot_in_another_place_in_the_order_declared() -> None:
    places = (("us-east5-a", "spot"), ("us-west4-a", "on-demand"), ("us-east1-c", "spot"))
    ways = [f"{{zone: {zone}, capacity: {kind}}}" for zone, kind in places]
    declared = pool(zones="{us-west4-a: 1}", fallback=f"[{', '.join(ways)}]")
    (slot,) = fleet.slots(read_stack(stack_text(pools=declared).encode(), stack="ci", source="ci").parts.config)
    found = fleet.fallbacks(slot)
    assert [(each.zone, each.region, str(each.capacity)) for each in found] == [
        ("us-east5-a", "us-east5", "spot"),
        ("us-west4-a", "us-west4", "on-demand"),
        ("us-east1-c", "us-east1", "spot"),
    ]
    assert {(each.name, each.index, each.labels["tidepool-pool"]) for each in found} == {(slot.name, 0, "other")}


@pytest.mark.parametrize(("trust", "external_ip"), [("fork", False), ("member", True), ("protected", True)])
def test_what_forks_run_on_has_no_external_address(trust: str, external_ip: bool) -> None:
    (slot,) = fleet.slots(parse(stack_text(pools=pool(trust=trust))))
    assert slot.external_ip is external_ip


def test_a_runtime_is_the_catalogues_unless_overridden() -> None:
    plain, other = fleet.slots(
        parse(stack_text(pools=pool(name="a") + pool(name="b", runtime_override="{version: x1, reason: tried}")))
    )
    assert plain.runtime_version == plain.accelerator.generation.runtime
    assert other.runtime_version == "x1"


@pytest.mark.parametrize("kind", catalogue.accelerator_types().values(), ids=str)
def test_capacity_counts_slices_hosts_and_chips(kind: catalogue.AcceleratorType) -> None:
    zone = kind.generation.listed_zones[0]
    config = parse(stack_text(pools=pool(accelerator=kind.name, zones=f"{{{zone}: 3}}")))
    (row,) = fleet.capacity(config)
    assert (row.slices, row.hosts, row.chips) == (3, 3 * kind.hosts, 3 * kind.topology.chips)
    assert (row.pool, row.zone, row.accelerator, row.capacity) == ("other", zone, kind.name, CapacityKind.SPOT)
    assert len(fleet.slots(config)) == row.slices


def test_a_routing_label_is_the_pools_name_unless_another_is_given() -> None:
    config = parse(stack_text(pools=pool(name="a", labels="[tpu, self-hosted]") + pool(name="b", label="gold")))
    assert config.pool("a").runner_labels == ("tpu", "self-hosted", "a")
    assert config.pool("b").runner_labels == ("gold",)
    with pytest.raises(KeyError):
        config.pool("c")
