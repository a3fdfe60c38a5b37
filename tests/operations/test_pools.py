"""How declared slices are compared with what the TPU API lists."""

from __future__ import annotations

import pytest

from bench.cloud.testing import TestCloud
from infra.fleet.google import GoogleError
from infra.model.catalogue import CapacityKind
from infra.model.fleet import CapacityRow, capacity
from infra.model.schema import StackConfig
from infra.model.stack import parse_stack
from infra.operations.fleet import pools
from infra.operations.fleet.pools import NodeListing, list_nodes, pool_states
from infra.operations.stacks.stack_words import pools_shown

STACK = """\
config:
  gcp:project: my-lab
  tidepool:owner: team
  tidepool:bucket: {name: lab-records, location: us}
  tidepool:pools:
    - name: ci
      accelerator: v5litepod-4
      zones:
        us-west4-a: 2
        europe-west4-b: 1
      capacity: spot
      trust: member
      serves: [lab/repository]
"""


def _config() -> StackConfig:
    return parse_stack(STACK, stack="ci", source="stacks/Pulumi.ci.yaml")


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


def _node(cloud: TestCloud, zone: str, name: str) -> None:
    node = {
        "acceleratorType": "v5litepod-4",
        "runtimeVersion": "v2-alpha-tpuv5-lite",
        "schedulingConfig": {"spot": True},
    }
    cloud.control.add_node(f"projects/my-lab/locations/{zone}/nodes/{name}", node)


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


def test_a_pool_of_size_0_has_a_row_without_states() -> None:
    (state,) = pool_states([_row(0)], NodeListing(nodes={"us-west4-a": {}}, silent={}))
    assert str(state) == ""
    assert state.is_ready


def test_nodes_are_listed_by_zone(cloud: TestCloud) -> None:
    for zone, name in (("us-west4-a", "ci-us-west4-a-0"), ("europe-west4-b", "ci-europe-west4-b-0")):
        _node(cloud, zone, name)
    cloud.control.preempt("ci-us-west4-a-0")
    config = _config()
    listing = list_nodes(config, cloud.url)
    assert listing.nodes == {
        "us-west4-a": {"ci-us-west4-a-0": "PREEMPTED"},
        "europe-west4-b": {"ci-europe-west4-b-0": "READY"},
    }
    assert [str(state) for state in pool_states(capacity(config), listing)] == ["1 READY", "1 MISSING, 1 PREEMPTED"]


def test_one_zone_that_refuses_costs_the_others_nothing(cloud: TestCloud) -> None:
    _node(cloud, "europe-west4-b", "ci-europe-west4-b-0")
    cloud.control.fail("error", zone="us-west4-a", code=403, message="no entry")
    listing = list_nodes(_config(), cloud.url)
    assert listing.nodes == {"europe-west4-b": {"ci-europe-west4-b-0": "READY"}}
    assert "no entry" in listing.silent["us-west4-a"]


def test_missing_credentials_silence_every_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise GoogleError("finding Google credentials", "there are none")

    monkeypatch.setattr(pools, "clients", refuse)
    listing = list_nodes(_config(), None)
    assert listing.nodes == {}
    assert set(listing.silent) == {"us-west4-a", "europe-west4-b"}


def test_vms_that_are_listed_and_give_no_capacity_are_named() -> None:
    nodes = {"ci-us-west4-a-0": "PREEMPTED", "ci-us-west4-a-1": "READY", "ci-us-west4-a-2": "TERMINATED"}
    (state,) = pool_states([_row(4)], NodeListing(nodes={"us-west4-a": nodes}, silent={}))
    assert state.ended == ("ci-us-west4-a-0", "ci-us-west4-a-2")
    assert state.missing == ("ci-us-west4-a-3",)


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ({"ci-us-west4-a-0": "READY"}, "ci-us-west4-a-1 is not there; `./tidepool why ci-us-west4-a-1` says why"),
        ({}, "2 VMs are not there; `./tidepool why ci-us-west4-a-0` says why"),
    ],
)
def test_a_vm_that_is_not_there_is_told_with_the_command_that_says_why(nodes: dict[str, str], said: str) -> None:
    _, _, told = pools_shown("ci", pool_states([_row(2)], NodeListing(nodes={"us-west4-a": nodes}, silent={})))
    assert said in str(told)
    assert str(told).endswith("./tidepool reconcile ci")


def test_a_vm_at_a_fallback_is_not_missing() -> None:
    nodes = {"us-west4-a": {"ci-us-west4-a-0": "READY"}, "us-central1-a": {"ci-us-west4-a-1": "READY"}}
    (state,) = pool_states([_row(2)], NodeListing(nodes=nodes, silent={}))
    assert str(state) == "1 READY, 1 READY in us-central1-a"
    assert not state.is_ready, "it is not where it is declared"


def test_zones_of_fallbacks_are_asked_too(cloud: TestCloud) -> None:
    text = STACK.replace("capacity: spot", "capacity: spot\n      fallback: [{zone: us-central1-a, capacity: spot}]")
    _node(cloud, "us-central1-a", "ci-us-west4-a-0")
    listing = list_nodes(parse_stack(text, stack="ci", source="ci"), cloud.url)
    assert listing.nodes["us-central1-a"] == {"ci-us-west4-a-0": "READY"}
