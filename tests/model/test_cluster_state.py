"""How a cluster's nodes stand beside what is declared: what is whole, what is missing, and what nobody said."""

from __future__ import annotations

from typing import Any

import pytest

from infra.model.cluster_state import MISSING, RUNNING, UNKNOWN, ClusterNow, ClusterSeen, cluster_now
from tests.model.clustered import batch, cluster, entry, text
from tests.model.given import parse

SCALED = {"number": None, "buffer": 1, "maximum": 3}
CONFIG = parse(text(entry(**SCALED), entry(**SCALED | {"accelerator": "v4-8"}), of=cluster(cpu_pools=batch())))
"""Slices of four hosts and of one: of each one always, three at most. Beside them one system and one batch pool."""
FOUR, ONE = "ct4p-hightpu-4t-2x2x4-b-spot", "ct4p-hightpu-4t-2x2x1-b-spot"
POOLS = dict.fromkeys([f"{FOUR}-0", f"{FOUR}-1", f"{FOUR}-2", ONE, "system", "batch"], RUNNING)
NODES = {f"{FOUR}-0": (4, 4), ONE: (1, 1), "system": (1, 1)}
"""There, and ready."""


def seen(**more: Any) -> ClusterNow:
    assert CONFIG.cluster is not None
    usual: dict[str, Any] = {"state": RUNNING, "pools": POOLS, "nodes": NODES}
    return cluster_now(CONFIG, CONFIG.cluster, ClusterSeen(**usual | more))


def standing(found: ClusterNow) -> list[int | None]:
    return [row.slices.standing for row in found.rows if row.slices]


@pytest.mark.parametrize(
    ("nodes", "slices"),
    [
        (NODES, [1, 1]),
        (NODES | {f"{FOUR}-1": (4, 3)}, [1, 1]),
        (NODES | {f"{FOUR}-1": (4, 4)}, [2, 1]),
        (NODES | {ONE: (4, 3)}, [1, 3]),
    ],
    ids=["what always stands", "three of four hosts", "all hosts", "each host a slice"],
)
def test_slices_stand_once_all_their_hosts_are_ready(nodes: dict[str, tuple[int, int]], slices: list[int]) -> None:
    found = seen(nodes=nodes)
    assert (found.troubles, found.known, standing(found)) == ((), True, slices)


@pytest.mark.parametrize(
    ("more", "troubles"),
    [
        (
            {"nodes": NODES | {f"{FOUR}-0": (4, 3)}},
            ["v4-32-spot us-central2-b: 0 of 1 slices stand; 1 must always stand"],
        ),
        (
            {"nodes": {name: each for name, each in NODES.items() if name != ONE}},
            [
                "v4-8-spot us-central2-b: 0 of 1 slices stand; 1 must always stand; GKE makes them once pods ask, or at `gcloud container clusters resize`"  # noqa: E501
            ],
        ),
        (
            {"pools": {key: POOLS[key] for key in POOLS if key != f"{FOUR}-0"}
             | {f"{FOUR}-1": "ERROR", f"{FOUR}-2": "RECONCILING", "batch": "STOPPING"}},
            [
                "v4-32-spot us-central2-b: 1 node pool is ERROR; `up --refresh` asks for its nodes again",
                "v4-32-spot us-central2-b: 1 node pool is MISSING",
                "batch us-central2-b: 1 node pool is STOPPING",
            ],
        ),
        ({"nodes": NODES | {"system": (1, 0)}}, ["system us-central2-b: 0 of 1 nodes are ready; 1 must always be"]),
        ({"state": MISSING, "pools": {}, "nodes": {}}, ["cluster train is not there"]),
        (
            {"strays": (*(name for name in POOLS if name.startswith("ct4p")), f"{FOUR}-3")},
            [f"node pool {FOUR}-3 has a label of Tidepool's and is not declared"],
        ),
    ],
    ids=["a host less", "no node", "node pools", "the system pool", "no cluster", "a stray"],
)  # fmt: skip
def test_what_is_missing_is_told(more: dict[str, Any], troubles: list[str]) -> None:
    assert list(seen(**more).troubles) == troubles


def test_what_nobody_said_is_unknown_and_no_trouble() -> None:
    assert CONFIG.cluster is not None
    silent = cluster_now(CONFIG, CONFIG.cluster, ClusterSeen(problems=("GKE did not answer",)))
    assert (silent.troubles, silent.known, standing(silent)) == ((), False, [None, None])
    assert (silent.rows[0].pools, silent.rows[0].ready) == ({UNKNOWN: 3}, None)
    without_nodes = cluster_now(CONFIG, CONFIG.cluster, ClusterSeen(state=RUNNING, pools=POOLS))
    assert (without_nodes.troubles, without_nodes.known) == ((), False)


def test_programs_read_each_row_and_free_slices_are_what_kueue_says_of_their_flavor() -> None:
    large, small, *_ = seen(free={"v4-32-spot": 40}).rows
    assert small.slices is not None
    assert small.slices.free is None
    assert large.to_json() == {
        "name": "v4-32-spot",
        "zones": ["us-central2-b"],
        "kind": "v4-32",
        "pools": {RUNNING: 3},
        "nodes": {"least": 4, "most": 12, "there": 4, "ready": 4},
        "slices": {"least": 1, "most": 3, "standing": 1, "free": 2},
    }
