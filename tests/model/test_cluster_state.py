"""How a cluster's nodes stand beside what is declared: what is whole, what is missing, and what nobody said."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from infra.model.cluster_state import MISSING, RUNNING, UNKNOWN, ClusterNow, ClusterSeen, NodesNow, cluster_now
from infra.model.schema import StackConfig
from infra.model.slices import entry_pools
from tests.model.given import parse
from tests.model.test_cluster_refusals import batch, cluster, entry, text

SCALED = {"number": None, "buffer": 1, "maximum": 3}


@pytest.fixture(scope="module")
def config() -> StackConfig:
    """Slices of four hosts and of one: of each one always, three at most. Beside them one system and one batch node
    pool."""
    slices = (entry(**SCALED), entry(**SCALED | {"accelerator": "v4-8"}))
    return parse(text(*slices, of=cluster(cpu_pools=batch())))


def pools(config: StackConfig) -> dict[str, str]:
    named = [pool.name for entry in config.slices for pool in entry_pools(entry)]
    return dict.fromkeys([*named, "system", "batch"], RUNNING)


def nodes(config: StackConfig, **ready: int) -> Mapping[str, tuple[int, int]]:
    """What always stands; ready: otherwise that many nodes of `large_INDEX` or `small`."""
    large, small = (entry_pools(entry) for entry in config.slices)
    names = {f"large_{pool.index}": pool.name for pool in large} | {"small": small[0].name}
    whole = {names["large_0"]: (4, 4), names["small"]: (1, 1), "system": (1, 1)}
    return whole | {names[each]: (max(count, 4), count) for each, count in ready.items()}


def seen(config: StackConfig, given: ClusterSeen) -> tuple[ClusterNow, NodesNow, NodesNow]:
    assert config.cluster is not None
    found = cluster_now(config, config.cluster, given)
    return found, found.rows[0], found.rows[1]


def standing(config: StackConfig, **ready: int) -> tuple[ClusterNow, NodesNow, NodesNow]:
    return seen(config, ClusterSeen(state=RUNNING, pools=pools(config), nodes=nodes(config, **ready)))


def slices_standing(row: NodesNow) -> int | None:
    assert row.slices is not None
    return row.slices.standing


def test_what_always_stands_is_all_that_is_asked_for(config: StackConfig) -> None:
    found, large, small = standing(config)
    assert (found.troubles, found.known) == ((), True)
    assert (slices_standing(large), slices_standing(small)) == (1, 1)
    assert (large.least, large.most, large.there, large.ready) == (4, 12, 4, 4)


def test_slice_of_several_hosts_stands_once_all_of_them_are_ready(config: StackConfig) -> None:
    assert slices_standing(standing(config, large_1=3)[1]) == 1
    assert slices_standing(standing(config, large_1=4)[1]) == 2


def test_each_ready_node_of_one_host_is_a_slice(config: StackConfig) -> None:
    assert slices_standing(standing(config, small=3)[2]) == 3


def test_buffer_without_its_nodes_is_told(config: StackConfig) -> None:
    found, *_ = standing(config, large_0=3)
    assert found.troubles == ("v4-32-spot us-central2-b: 0 of 1 slices stand; 1 must always stand",)


def test_one_host_slices_below_their_buffer_are_told_with_what_makes_them(config: StackConfig) -> None:
    """GKE holds a minimum only against taking nodes away."""
    given = {name: counts for name, counts in nodes(config).items() if "2x2x1" not in name}
    found, *_ = seen(config, ClusterSeen(state=RUNNING, pools=pools(config), nodes=given))
    (trouble,) = found.troubles
    assert trouble.startswith("v4-8-spot us-central2-b: 0 of 1 slices stand; 1 must always stand; ")
    assert trouble.endswith("`gcloud container clusters resize`")


def test_pools_that_gke_lacks_or_could_not_make_are_told(config: StackConfig) -> None:
    states = pools(config)
    first, second, third = (pool.name for pool in entry_pools(config.slices[0]))
    del states[first]
    states[second], states[third], states["batch"] = "ERROR", "RECONCILING", "STOPPING"
    found, large, _ = seen(config, ClusterSeen(state=RUNNING, pools=states, nodes=nodes(config)))
    assert large.pools == {MISSING: 1, "ERROR": 1, "RECONCILING": 1}
    assert found.troubles == (
        "v4-32-spot us-central2-b: 1 node pool is ERROR; `up --refresh` asks for its nodes again",
        "v4-32-spot us-central2-b: 1 node pool is MISSING",
        "batch us-central2-b: 1 node pool is STOPPING",
    )


def test_system_pool_without_ready_nodes_is_told(config: StackConfig) -> None:
    given = {**nodes(config), "system": (1, 0)}
    found, *_ = seen(config, ClusterSeen(state=RUNNING, pools=pools(config), nodes=given))
    assert found.troubles == ("system us-central2-b: 0 of 1 nodes are ready; 1 must always be",)


def test_cluster_that_is_not_there_is_told_alone(config: StackConfig) -> None:
    found, *_ = seen(config, ClusterSeen(state=MISSING, pools={}, nodes={}))
    assert found.troubles == ("cluster train is not there",)


def test_node_pool_of_ours_that_nobody_declares_is_told(config: StackConfig) -> None:
    left = "ct4p-hightpu-4t-2x2x4-b-spot-3"
    declared = [name for name in pools(config) if name.startswith("ct4p")]
    found, *_ = seen(
        config,
        ClusterSeen(state=RUNNING, pools=pools(config), nodes=nodes(config), strays=(*declared, left)),
    )
    assert found.troubles == (f"node pool {left} has a label of Tidepool's and is not declared",)


def test_what_nobody_said_is_unknown_and_no_trouble(config: StackConfig) -> None:
    silent, large, _ = seen(config, ClusterSeen(problems=("GKE did not answer",)))
    assert (silent.troubles, silent.known) == ((), False)
    assert (large.pools, large.ready, slices_standing(large)) == ({UNKNOWN: 3}, None, None)
    without_nodes, *_ = seen(config, ClusterSeen(state=RUNNING, pools=pools(config)))
    assert (without_nodes.troubles, without_nodes.known) == ((), False)


def test_free_slices_are_what_kueue_says_of_their_flavor(config: StackConfig) -> None:
    given = ClusterSeen(state=RUNNING, pools=pools(config), nodes=nodes(config), free={"v4-32-spot": 40})
    _, large, small = seen(config, given)
    assert large.slices is not None
    assert small.slices is not None
    assert (large.slices.free, small.slices.free) == (2, None)
    assert large.to_json() == {
        "name": "v4-32-spot",
        "zones": ["us-central2-b"],
        "kind": "v4-32",
        "pools": {RUNNING: 3},
        "nodes": {"least": 4, "most": 12, "there": 4, "ready": 4},
        "slices": {"least": 1, "most": 3, "standing": 1, "free": 2},
    }
