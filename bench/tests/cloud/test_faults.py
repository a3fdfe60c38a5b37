"""Faults on purpose: which requests they strike, how, how often and until when."""

from __future__ import annotations

import http.client
import time
from typing import Any

import pytest

from bench.cloud.control import ControlError
from bench.cloud.testing import TestCloud
from bench.tests.cloud.cloud_clients import A_WHILE, NODE, ZONE, Direct, ask

NODES = f"/v2/{ZONE}/nodes"


def outcome(cloud: TestCloud, operation: dict[str, Any]) -> dict[str, Any]:
    cloud.wall.advance(A_WHILE)
    return ask(cloud.url, "GET", f"/v2/{operation['name']}")[1]


@pytest.mark.parametrize(
    ("code", "status"), [(429, "RESOURCE_EXHAUSTED"), (503, "UNAVAILABLE"), (403, "PERMISSION_DENIED")]
)
def test_an_error_comes_as_often_as_was_said_and_does_nothing(cloud: TestCloud, code: int, status: str) -> None:
    cloud.control.fail("error", code=code, count=2, method="tpu.*.nodes.create", message="not today")
    for _ in range(2):
        answered, answer = ask(cloud.url, "POST", f"{NODES}?nodeId=vm-0", NODE)
        assert (answered, answer["error"]["status"], answer["error"]["message"]) == (code, status, "not today")
    assert cloud.control.faults() == []
    assert cloud.control.nodes() == []
    assert ask(cloud.url, "POST", f"{NODES}?nodeId=vm-0", NODE)[0] == 200


def test_one_zone_fails_while_others_work(cloud: TestCloud) -> None:
    cloud.control.fail("error", code=503, zone="us-west4-a")
    assert ask(cloud.url, "GET", NODES)[0] == 503
    assert ask(cloud.url, "POST", f"{NODES}?nodeId=vm-0", NODE)[0] == 503
    assert ask(cloud.url, "GET", "/v2/projects/lab/locations/us-east1-c/nodes")[0] == 200
    cloud.control.mend()
    assert ask(cloud.url, "GET", NODES)[0] == 200


def test_a_fault_strikes_by_accelerator_and_by_name_whether_creating_or_reading(cloud: TestCloud) -> None:
    for name, accelerator in (("big-0", "v5litepod-16"), ("small-0", "v5litepod-4")):
        ask(cloud.url, "POST", f"{NODES}?nodeId={name}", {**NODE, "acceleratorType": accelerator})
    rule = cloud.control.fail("error", accelerator="v5litepod-16")
    assert ask(cloud.url, "GET", f"{NODES}/big-0")[0] == 503
    assert ask(cloud.url, "GET", f"{NODES}/small-0")[0] == 200
    cloud.control.mend(rule["id"])
    cloud.control.fail("error", name="small-*")
    assert ask(cloud.url, "GET", f"{NODES}/big-0")[0] == 200
    assert ask(cloud.url, "GET", f"{NODES}/small-0")[0] == 503
    assert ask(cloud.url, "POST", f"{NODES}?nodeId=small-1", NODE)[0] == 503


def test_a_stockout_arrives_in_the_operation_and_leaves_no_node(cloud: TestCloud) -> None:
    cloud.control.fail("stockout", count=1)
    status, operation = ask(cloud.url, "POST", f"{NODES}?nodeId=vm-0", NODE)
    assert (status, operation["done"]) == (200, False)
    assert cloud.control.nodes()[0]["state"] == "CREATING"
    error = outcome(cloud, operation)["error"]
    assert error["code"] == 8
    assert error["message"].startswith('There is no more capacity in the zone "us-west4-a"')
    assert cloud.control.nodes() == []
    assert ask(cloud.url, "GET", f"{NODES}/vm-0")[0] == 404
    ask(cloud.url, "POST", f"{NODES}?nodeId=vm-0", NODE)
    cloud.wall.advance(A_WHILE)
    assert cloud.control.nodes()[0]["state"] == "READY"


def test_a_start_can_run_out_of_stock_too_and_the_node_stays_stopped(cloud: TestCloud) -> None:
    ask(cloud.url, "POST", f"{NODES}?nodeId=vm-0", NODE)
    cloud.wall.advance(A_WHILE)
    ask(cloud.url, "POST", f"{NODES}/vm-0:stop", {})
    cloud.wall.advance(A_WHILE)
    cloud.control.fail("stockout", count=1)
    operation = ask(cloud.url, "POST", f"{NODES}/vm-0:start", {})[1]
    assert outcome(cloud, operation)["error"]["code"] == 8
    assert cloud.control.nodes()[0]["state"] == "STOPPED"


def test_an_operation_can_fail_with_any_code_and_undoes_nothing_else(cloud: TestCloud) -> None:
    ask(cloud.url, "POST", f"{NODES}?nodeId=vm-0", NODE)
    cloud.wall.advance(A_WHILE)
    cloud.control.fail("operation", status="INTERNAL", message="broken", method="*.delete", count=1)
    operation = ask(cloud.url, "DELETE", f"{NODES}/vm-0")[1]
    assert outcome(cloud, operation)["error"] == {"code": 13, "message": "broken"}
    assert cloud.control.nodes()[0]["state"] == "READY"


def test_a_fault_ends_when_its_time_has_come(cloud: TestCloud) -> None:
    cloud.control.fail("error", until=cloud.control.clock()["seconds"] + 600)
    assert ask(cloud.url, "GET", NODES)[0] == 503
    cloud.control.advance(600)
    assert ask(cloud.url, "GET", NODES)[0] == 200
    assert cloud.control.faults() == []


def test_a_slow_answer_is_late_and_right(cloud: TestCloud) -> None:
    cloud.control.fail("slow", seconds=0.2, count=1)
    began = time.monotonic()
    assert ask(cloud.url, "GET", NODES)[0] == 200
    assert time.monotonic() - began >= 0.2


def test_a_lost_answer_is_one_whose_request_was_obeyed(cloud: TestCloud) -> None:
    cloud.control.fail("lost", count=1, method="*.create")
    with pytest.raises(http.client.IncompleteRead):
        ask(cloud.url, "POST", f"{NODES}?nodeId=vm-0", NODE)
    assert ask(cloud.url, "POST", f"{NODES}?nodeId=vm-0", NODE)[0] == 409
    assert [node["name"] for node in cloud.control.nodes()] == [f"{ZONE}/nodes/vm-0"]


def struck(seed: int) -> list[bool]:
    direct = Direct()
    direct.control("POST", "faults", {"kind": "error", "probability": 0.3, "seed": seed})
    return [direct.ask("GET", NODES)[0] == 503 for _ in range(200)]


def test_chance_is_the_same_for_a_seed_and_follows_its_probability() -> None:
    assert struck(1) == struck(1)
    assert struck(1) != struck(2)
    assert 30 < sum(struck(1)) < 90


@pytest.mark.parametrize(
    "rule",
    [
        {"code": 200},
        {"count": 0},
        {"probability": 1.5},
        {"seconds": -1},
        {"status": "BAD"},
        {"zones": "*"},
        {"zone": 3},
    ],
)
def test_a_fault_that_makes_no_sense_is_refused_by_its_field(cloud: TestCloud, rule: dict[str, Any]) -> None:
    with pytest.raises(ControlError, match=next(iter(rule))):
        cloud.control.fail("error", **rule)
    with pytest.raises(ControlError, match="kind"):
        cloud.control.fail("explode")  # ty: ignore[invalid-argument-type]


def test_a_fault_touches_neither_the_control_surface_nor_unserved_paths(cloud: TestCloud) -> None:
    cloud.control.fail("error")
    assert cloud.control.status()["faults"] == 1
    assert ask(cloud.url, "GET", "/v2/nothing")[0] == 404
