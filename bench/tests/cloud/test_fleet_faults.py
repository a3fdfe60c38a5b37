"""Faults that people who operate fleets meet: operations that hang, lists that are wrong, rates, quotas of regions."""

from __future__ import annotations

from typing import Any

import pytest

from bench.cloud.control import ControlError
from bench.cloud.testing import TestCloud
from bench.tests.cloud.cloud_clients import A_WHILE, NODE, ZONE, ask

NODES = f"/v2/{ZONE}/nodes"
EVERYWHERE = "/v2/projects/lab/locations/-/nodes"


def create(cloud: TestCloud, name: str, zone: str = "us-west4-a", accelerator: str = "v5litepod-4") -> dict[str, Any]:
    path = f"/v2/projects/lab/locations/{zone}/nodes?nodeId={name}"
    return ask(cloud.url, "POST", path, {**NODE, "acceleratorType": accelerator})[1]


def names(cloud: TestCloud, path: str = NODES) -> list[str]:
    return [node["name"].rpartition("/")[2] for node in ask(cloud.url, "GET", path)[1].get("nodes", [])]


def state(cloud: TestCloud, name: str = "vm-0") -> str:
    status, node = ask(cloud.url, "GET", f"{NODES}/{name}")
    return node["state"] if status == 200 else "gone"


def test_a_create_hangs_until_its_rule_is_lifted(cloud: TestCloud) -> None:
    rule = cloud.control.fail("hang", method="tpu.*.nodes.create", count=1)
    operation = create(cloud, "vm-0")
    create(cloud, "vm-1")
    cloud.control.advance(24 * 3600 + 60)
    assert (state(cloud), state(cloud, "vm-1")) == ("CREATING", "PREEMPTED"), "the second create is not struck"
    assert not ask(cloud.url, "GET", f"/v2/{operation['name']}")[1].get("done")
    assert [each["count"] for each in cloud.control.faults()] == [0], "what something hangs by stays listed"
    cloud.control.mend(rule["id"])
    cloud.wall.advance(A_WHILE)
    assert state(cloud) == "READY"
    ended = ask(cloud.url, "GET", f"/v2/{operation['name']}")[1]
    assert ended["done"]
    assert ended["metadata"]["endTime"] > "2026-11-22", "it ended when it did, a day later"


def test_a_delete_hangs_for_the_time_of_its_rule_and_holds_its_chips(cloud: TestCloud) -> None:
    limit = {"project": "lab", "zone": "us-west4-a", "generation": "v5e", "capacity": "preemptible"}
    cloud.control.limit(**limit, chips=4)
    create(cloud, "vm-0")
    cloud.wall.advance(A_WHILE)
    cloud.control.fail("hang", method="*.nodes.delete", seconds=600)
    first = ask(cloud.url, "DELETE", f"{NODES}/vm-0")[1]
    cloud.control.advance(599)
    assert state(cloud) == "DELETING"
    assert ask(cloud.url, "DELETE", f"{NODES}/vm-0")[1]["name"] == first["name"]
    assert create(cloud, "vm-1")["error"]["status"] == "RESOURCE_EXHAUSTED"
    cloud.control.advance(2)
    assert state(cloud) == "gone"
    assert create(cloud, "vm-1")["name"]


def test_a_node_whose_create_hangs_can_be_deleted(cloud: TestCloud) -> None:
    cloud.control.fail("hang", method="*.create")
    operation = create(cloud, "vm-0")
    ask(cloud.url, "DELETE", f"{NODES}/vm-0")
    cloud.wall.advance(A_WHILE)
    assert state(cloud) == "gone"
    assert ask(cloud.url, "GET", f"/v2/{operation['name']}")[1]["error"]["code"] == 1
    cloud.control.mend()
    cloud.wall.advance(A_WHILE)
    assert state(cloud) == "gone"


def test_a_list_of_all_zones_names_those_that_do_not_answer(cloud: TestCloud) -> None:
    create(cloud, "vm-0")
    create(cloud, "vm-1", "us-east1-c")
    cloud.control.fail("unreachable", method="*.nodes.list", zone="us-west4-a")
    answer = ask(cloud.url, "GET", EVERYWHERE)[1]
    assert names(cloud, EVERYWHERE) == ["vm-1"]
    assert answer["unreachable"] == [ZONE]
    assert ask(cloud.url, "GET", NODES)[1] == {"nodes": [], "unreachable": [ZONE]}
    assert "unreachable" not in ask(cloud.url, "GET", "/v2/projects/lab/locations/us-east1-c/nodes")[1]
    assert ask(cloud.url, "GET", f"{NODES}/vm-0")[0] == 200, "a read of one node is no list"
    cloud.control.mend()
    assert names(cloud, EVERYWHERE) == ["vm-1", "vm-0"]


def test_entries_are_missing_by_a_seed_and_the_same_seed_misses_the_same_ones(cloud: TestCloud) -> None:
    for number in range(12):
        create(cloud, f"vm-{number}")
    seen = []
    for _ in range(2):
        cloud.control.fail("missing", method="*.nodes.list", probability=0.5, seed=3, count=2)
        seen.append([names(cloud), names(cloud)])
        assert len(names(cloud)) == 12, "only as many lists as were said"
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[0][1], "each list misses others"
    assert all(0 < len(each) < 12 for each in seen[0])


def test_a_list_lags_behind_a_create(cloud: TestCloud) -> None:
    create(cloud, "old-0")
    cloud.control.advance(60)
    create(cloud, "vm-0")
    cloud.control.fail("lag", method="tpu.*", seconds=30)
    assert names(cloud) == ["old-0"]
    assert ask(cloud.url, "GET", f"{NODES}/vm-0")[0] == 200
    cloud.control.advance(31)
    assert names(cloud) == ["old-0", "vm-0"]


@pytest.mark.parametrize(
    ("path", "key"), [("/storage/v1/b?project=lab", "items"), ("/compute/v1/projects/lab/global/networks", "items")]
)
def test_lists_of_every_service_are_struck(cloud: TestCloud, path: str, key: str) -> None:
    ask(cloud.url, "POST", "/storage/v1/b?project=lab", {"name": "some-bucket"})
    assert len(ask(cloud.url, "GET", path)[1][key]) == 1
    cloud.control.fail("missing")
    assert ask(cloud.url, "GET", path)[1][key] == []


def test_a_rate_refuses_what_is_above_it_until_the_minute_is_over(cloud: TestCloud) -> None:
    cloud.control.fail("rate", per_minute=2, method="tpu.*.get")
    cloud.wall.advance(20)
    answers = [ask(cloud.url, "GET", f"{NODES}/vm-0") for _ in range(4)]
    assert [status for status, _ in answers] == [404, 404, 429, 429]
    error = answers[2][1]["error"]
    assert error["status"] == "RESOURCE_EXHAUSTED"
    details = {each["@type"].rpartition(".")[2]: each for each in error["details"]}
    assert details["ErrorInfo"]["reason"] == "RATE_LIMIT_EXCEEDED"
    assert details["ErrorInfo"]["metadata"]["quota_limit_value"] == "2"
    assert details["RetryInfo"]["retryDelay"] == "40.000s"
    assert "QuotaFailure" not in details, "that is the detail of chips that are used up"
    assert ask(cloud.url, "GET", "/v2/projects/other/locations/us-west4-a/nodes/vm-0")[0] == 404
    cloud.wall.advance(40)
    assert ask(cloud.url, "GET", f"{NODES}/vm-0")[0] == 404


def test_a_rate_of_a_place_counts_each_place_by_itself(cloud: TestCloud) -> None:
    cloud.control.fail("rate", per_minute=1, zone="us-*")
    for zone in ("us-west4-a", "us-east1-c"):
        path = f"/v2/projects/lab/locations/{zone}/nodes"
        assert [ask(cloud.url, "GET", path)[0] for _ in range(2)] == [200, 429]
        refused = ask(cloud.url, "GET", path)[1]["error"]["details"][0]["metadata"]
        assert refused["quota_location"] == zone
    assert ask(cloud.url, "GET", "/v2/projects/lab/locations/europe-west4-a/nodes")[0] == 200


def test_compute_engine_says_a_rate_with_403_in_its_older_words(cloud: TestCloud) -> None:
    cloud.control.fail("rate", per_minute=0)
    status, answer = ask(cloud.url, "GET", "/compute/v1/projects/lab/global/networks")
    assert status == 403
    assert answer["error"]["errors"][0] | {"message": ""} == {
        "message": "",
        "domain": "usageLimits",
        "reason": "rateLimitExceeded",
    }
    assert answer["error"]["details"][0]["reason"] == "RATE_LIMIT_EXCEEDED"


def test_a_quota_of_a_region_counts_all_its_zones(cloud: TestCloud) -> None:
    region = {"project": "lab", "zone": "us-east5", "generation": "v6e", "capacity": "preemptible"}
    cloud.control.limit(**region, chips=8)
    assert "name" in create(cloud, "vm-0", "us-east5-a", "v6e-4")
    assert "name" in create(cloud, "vm-1", "us-east5-b", "v6e-4")
    refused = create(cloud, "vm-2", "us-east5-a", "v6e-4")["error"]
    assert refused["message"] == (
        "Quota limit 'TPUv6ePreemptiblePerProjectPerRegionForTPUAPI' has been exceeded. Limit: 8 in region us-east5."
    )
    assert [each["held"] for each in cloud.control.limits()] == [8]
    cloud.control.lift(**region)
    assert "name" in create(cloud, "vm-2", "us-east5-a", "v6e-4")


def test_a_reservation_is_of_no_region(cloud: TestCloud) -> None:
    with pytest.raises(ControlError, match="A reservation is of a zone"):
        cloud.control.limit(project="lab", zone="us-east5", generation="v6e", chips=4, capacity="reserved")


@pytest.mark.parametrize(("kind", "need"), [("rate", "per_minute"), ("lag", "seconds"), ("preempt", "per_hour")])
def test_a_fault_that_lacks_its_measure_is_refused(cloud: TestCloud, kind: Any, need: str) -> None:
    with pytest.raises(ControlError, match=f"{kind} needs {need}"):
        cloud.control.fail(kind)
