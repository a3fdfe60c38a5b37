"""How declared slices are compared with what the TPU API lists."""

from __future__ import annotations

from bench.cloud.testing import TestCloud
from infra.model.catalogue import CapacityKind
from infra.model.fleet import CapacityRow
from infra.operations.fleet.pools import NodeListing, list_nodes, pool_states
from tests.model.given import parse, pool, stack_text


def _row(slices: int) -> CapacityRow:
    return CapacityRow(
        pool="ci",
        zone="us-west4-a",
        accelerator="v4-32",
        capacity=CapacityKind.SPOT,
        slices=slices,
        hosts=4 * slices,
        chips=16 * slices,
    )


def test_each_declared_slice_counts_once_by_its_state() -> None:
    nodes = {"ci-us-west4-a-0": "PREEMPTED", "ci-us-west4-a-1": "READY", "ci-us-west4-a-7": "READY", "else": "READY"}
    (state,) = pool_states([_row(4)], NodeListing(nodes={"us-west4-a": nodes}, silent={}))
    assert state.states == {"PREEMPTED": 1, "READY": 1, "MISSING": 2}
    assert str(state) == "1 READY, 2 MISSING, 1 PREEMPTED"
    assert (state.row.slices, state.row.hosts, state.row.chips) == (4, 16, 64)
    assert not state.is_ready


def test_a_silent_zone_is_unknown_and_not_missing() -> None:
    (state,) = pool_states([_row(2)], NodeListing(nodes={}, silent={"us-west4-a": "503"}))
    assert state.states == {"UNKNOWN": 2}


def test_one_zone_that_refuses_costs_the_others_nothing(cloud: TestCloud) -> None:
    config = parse(stack_text(pools=pool(name="ci", zones="{us-west4-a: 2, europe-west4-b: 1}")))
    node = {"acceleratorType": "v5litepod-4", "runtimeVersion": "v2-alpha-tpuv5-lite"}
    cloud.control.add_node(f"projects/{config.project}/locations/europe-west4-b/nodes/ci-europe-west4-b-0", node)
    cloud.control.fail("error", zone="us-west4-a", code=403, message="no entry")
    listing = list_nodes(config, cloud.url)
    assert listing.nodes == {"europe-west4-b": {"ci-europe-west4-b-0": "READY"}}
    assert "no entry" in listing.silent["us-west4-a"]


def test_a_vm_at_a_fallback_is_not_missing() -> None:
    nodes = {"us-west4-a": {"ci-us-west4-a-0": "READY"}, "us-central1-a": {"ci-us-west4-a-1": "READY"}}
    (state,) = pool_states([_row(2)], NodeListing(nodes=nodes, silent={}))
    assert str(state) == "1 READY, 1 READY in us-central1-a"
    assert not state.is_ready, "it is not where it is declared"
