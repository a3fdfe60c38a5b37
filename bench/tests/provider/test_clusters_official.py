"""Changes of clusters and node pools: the embedded provider makes the calls that Google's own makes, part by part.

Runs where `pulumi-resource-gcp` is on PATH (`./tidepool test --live`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bench.cloud.testing import TestCloud
from bench.providers.google import GoogleProvider
from bench.tests.provider import cluster_inputs as gke
from bench.tests.provider.official_provider import OfficialProvider

pytestmark = pytest.mark.live

CLUSTER_CHANGES: tuple[dict[str, Any], ...] = (
    *({name: value} for name, value in gke.CLUSTER_CHANGES.items()),
    {"privateClusterConfig": {"enablePrivateNodes": False}},
    {"controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": False}}},
    {"nodePoolDefaults": {"nodeConfigDefaults": {"gcfsConfig": {"enabled": False}}}},
    {"maintenancePolicy": None},
    {"clusterAutoscaling": {"autoscalingProfile": "BALANCED"}},
    {"dnsConfig": {"clusterDns": "PLATFORM_DEFAULT"}},
    {"enableIntranodeVisibility": True},
)
POOL_CHANGES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    *((gke.SLICE_INPUTS, {name: value}) for name, value in gke.SLICE_CHANGES.items()),
    (gke.SLICE_INPUTS, {"placementPolicy": {"type": "COMPACT", "tpuTopology": "2x2x1"}}),
    (gke.SLICE_INPUTS, {"autoscaling": None, "nodeCount": 4}),
    (gke.SLICE_INPUTS, {"nodeConfig": {**gke.NODE_CONFIG, "imageType": "UBUNTU_CONTAINERD"}}),
    (gke.SLICE_INPUTS, {"nodeConfig": {**gke.NODE_CONFIG, "kubeletConfig": {"cpuManagerPolicy": "none"}}}),
    *((gke.CPU_POOL_INPUTS, {name: value}) for name, value in gke.CPU_POOL_CHANGES.items()),
)


@pytest.fixture
def official(tool: Callable[[str], str], cloud: TestCloud) -> Iterator[OfficialProvider]:
    """Started for each test: the plugin keeps the pools of a cluster in memory for five minutes."""
    started = OfficialProvider.of_google(tool("pulumi-resource-gcp"), cloud.url, gke.PROJECT)
    yield started
    started.close()


def words(change: dict[str, Any]) -> str:
    return "-".join(change)


def without(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if value is not None}


def needed(provider: GoogleProvider, virtual: Any, needs: tuple[tuple[str, dict[str, Any]], ...]) -> None:
    for token, inputs in needs:
        provider.create(token, provider.check(token, "it", "urn:it", inputs, None).inputs, None, virtual)


def calls(cloud: TestCloud, after: int) -> list[tuple[str, str]]:
    """What changed something since a number of the cloud's log, sorted: each is an operation of its own."""
    entries = cloud.control.log(limit=1000, after=after)
    found = [(entry["verb"], entry["path"]) for entry in entries if entry["verb"] != "GET"]
    return sorted(each for each in found if "/container/" in each[1])


def last(cloud: TestCloud) -> int:
    return cloud.control.log(limit=1)[-1]["number"]


def of_both(
    token: str,
    inputs: dict[str, Any],
    change: dict[str, Any],
    needs: tuple[tuple[str, dict[str, Any]], ...],
    official: OfficialProvider,
    cloud: TestCloud,
    provider: GoogleProvider,
    virtual: Any,
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The calls of each provider for one change, the official one's first; it then deletes what it changed."""
    wanted = without({**inputs, **change})
    needed(provider, virtual, needs)
    old, new = official.check(token, inputs)[0], official.check(token, wanted)[0]
    made, outputs = official.create(token, old)
    before = last(cloud)
    after = official.update(token, made, old, outputs, new)
    theirs = calls(cloud, before)
    official.delete(token, made, after)
    assert provider.read(token, made, new) is None

    cloud.control.reset()
    needed(provider, virtual, needs)
    old = provider.check(token, "it", "urn:it", inputs, None).inputs
    new = provider.check(token, "it", "urn:it", wanted, old).inputs
    created = provider.create(token, old, None, virtual)
    before = last(cloud)
    outputs = provider.update(token, created.id, old, created.outputs, new, None, virtual)
    ours = calls(cloud, before)
    assert not official.diff(token, created.id, new, outputs, new).replaces
    return theirs, ours


@pytest.mark.parametrize("change", CLUSTER_CHANGES, ids=words)
def test_a_changed_cluster_takes_the_same_calls(
    change: dict[str, Any], official: OfficialProvider, cloud: TestCloud, provider: GoogleProvider, virtual: Any
) -> None:
    needs = gke.NEEDED_BY_CLUSTERS
    theirs, ours = of_both(gke.CLUSTER, gke.CLUSTER_INPUTS, change, needs, official, cloud, provider, virtual)
    assert ours == theirs


@pytest.mark.parametrize(("inputs", "change"), POOL_CHANGES, ids=lambda each: words(each) if len(each) < 3 else "")
def test_a_changed_pool_takes_the_same_calls(
    inputs: dict[str, Any],
    change: dict[str, Any],
    official: OfficialProvider,
    cloud: TestCloud,
    provider: GoogleProvider,
    virtual: Any,
) -> None:
    """A changed topology takes none at all: neither provider tells GKE of it."""
    theirs, ours = of_both(gke.POOL, inputs, change, gke.NEEDED_BY_POOLS, official, cloud, provider, virtual)
    assert ours == theirs
    if "placementPolicy" in change:
        assert ours == []
