"""What befalls a node by itself or by command: preemption, the 24 hours, maintenance, changes of no API call."""

from __future__ import annotations

from typing import Any

import pytest

from bench.cloud.services.tpu import node as tpu_node
from bench.cloud.testing import EPOCH
from bench.tests.cloud.cloud_clients import A_WHILE, NODE, ZONE, Direct, Row, compared

HOUR = 3600.0
SPOT, ON_DEMAND = {**NODE, "schedulingConfig": {"spot": True}}, {**NODE, "schedulingConfig": {}}
NODES, VM = f"v2/{ZONE}/nodes", f"v2/{ZONE}/nodes/vm-0"


def make(name: str, body: Any) -> Row:
    return ("POST", f"{NODES}?nodeId={name}", body, 200)


def state(name: str) -> Row:
    return ("GET", f"{NODES}/{name}", None, 200)


def told(command: str, body: Any, status: int = 200) -> Row:
    return ("POST", f"_tidepool/{command}", body, status)


def edit(status: int = 200, **changes: Any) -> Row:
    return told("edit_node", {"name": "stranger", "changes": changes}, status)


def advance(seconds: float) -> Row:
    return told("advance", {"seconds": seconds})


ADDED = {"name": f"{ZONE}/nodes/stranger", "node": SPOT}
CALLS: dict[str, list[Row]] = {
    "by command": [
        make("vm-0", SPOT), make("paid", ON_DEMAND), told("preempt", {"node": "vm-0"}),
        state("vm-0"),
        ("POST", "_tidepool/status", None, 200),
        ("POST", f"{VM}:start", {}, 400),
        told("preempt", {"node": "vm-0"}, 400), told("preempt", {"node": "paid"}, 400),
        ("POST", "_tidepool/preempt", {"node": "nobody"}, 404),
        told("add_node", {"name": "projects/lab/locations/us-east1-c/nodes/vm-0", "node": SPOT}),
        told("preempt", {"node": "vm-0"}, 400),
    ],
    "by age": [
        make("vm-0", NODE), make("spot", SPOT), make("paid", ON_DEMAND), advance(24 * HOUR - 60),
        state("vm-0"), advance(120), state("vm-0"), state("spot"),
        state("paid"),
        ("DELETE", VM, None, 200), make("vm-0", NODE), advance(23 * HOUR), state("vm-0"),
    ],
    "by a rule": [
        told("fail", {"kind": "preempt", "per_hour": 100.0, "zone": "us-west4-*", "seed": 1}), make("early", SPOT),
        advance(HOUR), state("early"), make("late", SPOT), ("POST", "_tidepool/mend", {"fault": 1}, 200),
        advance(100 * HOUR), state("late"),
        told("fail", {"kind": "preempt", "per_hour": 1.0, "until": EPOCH + 101 * HOUR + 60}), make("later", SPOT),
        advance(100 * HOUR), state("later"),
    ],
    "maintenance": [
        make("vm-0", SPOT), told("maintain", {"node": "vm-0", "seconds": 600}),
        state("vm-0"), told("maintain", {"node": "vm-0"}, 400),
        advance(590), state("vm-0"), advance(10), state("vm-0"),
    ],
    "of no call": [
        told("add_node", ADDED), edit(labels={"who": "console"}, state="UNKNOWN", health=None),
        state("stranger"),
        told("add_node", ADDED, 409), told("add_node", {"name": "stranger", "node": {}}, 400),
        told("remove_node", {"name": "stranger"}), ("GET", f"{NODES}/stranger", None, 404),
    ],
}  # fmt: skip


@pytest.mark.parametrize("calls", CALLS)
def test_nodes_are_preempted_maintained_and_changed(calls: str, update_goldens: bool) -> None:
    compared(Direct().check(CALLS[calls]), f"preemption {calls}", update_goldens)


def taken_within_a_day(seed: int, *, rate: float = 0.05) -> frozenset[str]:
    direct = Direct()
    for index in range(40):
        direct.ask("POST", f"/{NODES}?nodeId=vm-{index}", SPOT)
    direct.wall.advance(A_WHILE)
    direct.control("fail", {"kind": "preempt", "per_hour": rate, "seed": seed})
    direct.control("advance", {"seconds": 24 * HOUR})
    nodes = direct.ask("GET", f"/{NODES}")[1]["nodes"]
    return frozenset(node["name"] for node in nodes if node["state"] == "PREEMPTED")


def test_random_preemption_is_the_same_for_a_seed_and_follows_its_rate() -> None:
    assert taken_within_a_day(7) == taken_within_a_day(7) != taken_within_a_day(8)
    # 1 - exp(-0.05 * 24) of 400 is 280.
    assert 240 < sum(len(taken_within_a_day(seed)) for seed in range(10)) < 320
    assert not taken_within_a_day(7, rate=0.0)


def test_a_defect_of_the_control_surface_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise LookupError("of nothing")

    monkeypatch.setattr(tpu_node, "maintain", fails)
    direct = Direct()
    direct.check([make("vm-0", SPOT)])
    status, answer = direct.control("maintain", {"node": "vm-0"})
    assert (status, "a defect of it: LookupError: of nothing" in answer["error"]["message"]) == (501, True)
    direct.check([state("vm-0")])
