"""What befalls a node by itself or by command: preemption, the 24 hours, maintenance, changes of no API call."""

from __future__ import annotations

import pytest

from bench.cloud.control import ControlError
from bench.cloud.services.tpu import node as tpu_node
from bench.cloud.testing import TestCloud
from bench.tests.cloud.cloud_clients import A_WHILE, NODE, ZONE, Direct, ask

HOUR = 3600.0
SPOT = {**NODE, "schedulingConfig": {"spot": True}}
ON_DEMAND = {**NODE, "schedulingConfig": {}}


def make(cloud: TestCloud, name: str, body: dict) -> None:
    assert ask(cloud.url, "POST", f"/v2/{ZONE}/nodes?nodeId={name}", body)[0] == 200
    cloud.wall.advance(A_WHILE)


def states(cloud: TestCloud) -> dict[str, str]:
    return {node["name"].rpartition("/")[2]: node["state"] for node in cloud.control.nodes()}


def test_a_preempted_node_stays_listed_and_is_a_normal_read(cloud: TestCloud) -> None:
    make(cloud, "vm-0", SPOT)
    before = ask(cloud.url, "GET", f"/v2/{ZONE}/nodes/vm-0")[1]
    cloud.control.preempt("vm-0")
    after = ask(cloud.url, "GET", f"/v2/{ZONE}/nodes/vm-0")[1]
    assert after["state"] == "PREEMPTED"
    changed = {key for key in before | after if before.get(key) != after.get(key)}
    assert changed == {"state", "health"}
    assert cloud.control.status()["nodes"] == {"PREEMPTED": 1}
    status, answer = ask(cloud.url, "POST", f"/v2/{ZONE}/nodes/vm-0:start", {})
    assert (status, "PREEMPTED" in answer["error"]["message"]) == (400, True)


def test_only_running_preemptible_and_spot_nodes_can_be_preempted(cloud: TestCloud) -> None:
    make(cloud, "paid", ON_DEMAND)
    make(cloud, "spot", SPOT)
    with pytest.raises(ControlError, match="on-demand"):
        cloud.control.preempt("paid")
    with pytest.raises(ControlError, match="not found"):
        cloud.control.preempt("nobody")
    cloud.control.preempt(f"{ZONE}/nodes/spot")
    with pytest.raises(ControlError, match="PREEMPTED"):
        cloud.control.preempt("spot")


def test_an_id_in_two_zones_needs_the_full_name(cloud: TestCloud) -> None:
    make(cloud, "twin", SPOT)
    cloud.control.add_node("projects/lab/locations/us-east1-c/nodes/twin", SPOT)
    with pytest.raises(ControlError, match=r"us-east1-c.*us-west4-a"):
        cloud.control.preempt("twin")


def test_a_preemptible_node_lives_a_day_and_a_spot_node_longer(cloud: TestCloud) -> None:
    make(cloud, "day", NODE)
    make(cloud, "spot", SPOT)
    make(cloud, "paid", ON_DEMAND)
    cloud.control.advance(24 * HOUR - 60)
    assert set(states(cloud).values()) == {"READY"}
    cloud.control.advance(120)
    assert states(cloud) == {"day": "PREEMPTED", "spot": "READY", "paid": "READY"}


def test_a_node_made_anew_has_its_own_day(cloud: TestCloud) -> None:
    make(cloud, "vm-0", NODE)
    cloud.control.advance(23 * HOUR)
    ask(cloud.url, "DELETE", f"/v2/{ZONE}/nodes/vm-0")
    cloud.wall.advance(A_WHILE)
    make(cloud, "vm-0", NODE)
    cloud.control.advance(2 * HOUR)
    assert states(cloud) == {"vm-0": "READY"}


def taken_within_a_day(seed: int, *, rate: float = 0.05) -> frozenset[str]:
    direct = Direct()
    for index in range(40):
        direct.ask("POST", f"/v2/{ZONE}/nodes?nodeId=vm-{index}", SPOT)
    direct.wall.advance(A_WHILE)
    assert direct.control("POST", "faults", {"kind": "preempt", "per_hour": rate, "seed": seed})[0] == 200
    direct.control("POST", "clock", {"advance": 24 * HOUR})
    nodes = direct.ask("GET", f"/v2/{ZONE}/nodes")[1]["nodes"]
    return frozenset(node["name"] for node in nodes if node["state"] == "PREEMPTED")


def test_random_preemption_is_the_same_for_a_seed_and_follows_its_rate() -> None:
    assert taken_within_a_day(7) == taken_within_a_day(7)
    assert taken_within_a_day(7) != taken_within_a_day(8)
    counts = [len(taken_within_a_day(seed)) for seed in range(10)]
    # 1 - exp(-0.05 * 24) of 400 is 280.
    assert 240 < sum(counts) < 320
    assert not taken_within_a_day(7, rate=0.0)


def test_a_preemption_rule_takes_later_nodes_too_and_none_once_it_is_removed(cloud: TestCloud) -> None:
    rule = cloud.control.fail("preempt", per_hour=100.0, zone="us-west4-*", seed=1)
    make(cloud, "early", SPOT)
    cloud.control.advance(HOUR)
    assert states(cloud) == {"early": "PREEMPTED"}
    make(cloud, "late", SPOT)
    cloud.control.mend(rule["id"])
    cloud.control.advance(100 * HOUR)
    assert states(cloud)["late"] == "READY"


def test_maintenance_ends_by_itself_and_follows_the_clock(cloud: TestCloud) -> None:
    make(cloud, "vm-0", SPOT)
    cloud.control.maintain("vm-0", 600)
    node = cloud.control.nodes()[0]
    assert (node["state"], node["health"]) == ("REPAIRING", "UNHEALTHY_MAINTENANCE")
    cloud.control.advance(599)
    assert states(cloud) == {"vm-0": "REPAIRING"}
    cloud.control.advance(1)
    assert states(cloud) == {"vm-0": "READY"}


def test_nodes_can_appear_differ_and_vanish_behind_everybodys_back(cloud: TestCloud) -> None:
    cloud.control.add_node(f"{ZONE}/nodes/stranger", SPOT)
    cloud.control.edit_node("stranger", {"labels": {"who": "console"}, "state": "UNKNOWN", "health": None})
    node = ask(cloud.url, "GET", f"/v2/{ZONE}/nodes/stranger")[1]
    assert (node["labels"], node["state"], "health" in node) == ({"who": "console"}, "UNKNOWN", False)
    with pytest.raises(ControlError, match="acceleratorType"):
        cloud.control.edit_node("stranger", {"acceleratorType": "v5litepod-8"})
    with pytest.raises(ControlError, match="not a state of a node"):
        cloud.control.edit_node("stranger", {"state": "SLEEPING"})
    with pytest.raises(ControlError, match=r"nodes/stranger' already exists"):
        cloud.control.add_node(f"{ZONE}/nodes/stranger", SPOT)
    cloud.control.remove_node("stranger")
    assert ask(cloud.url, "GET", f"/v2/{ZONE}/nodes/stranger")[0] == 404


def test_a_defect_of_the_control_surface_is_told_in_words(cloud: TestCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise LookupError("of nothing")

    monkeypatch.setattr(tpu_node, "maintain", fails)
    make(cloud, "vm-0", SPOT)
    with pytest.raises(ControlError, match="a defect of it: LookupError: of nothing"):
        cloud.control.maintain("vm-0")
    assert states(cloud) == {"vm-0": "READY"}
