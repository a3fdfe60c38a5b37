"""Cloud TPU's nodes as a client sees them: made, read, changed, stopped, deleted, and refused."""

from __future__ import annotations

from typing import Any

import pytest

from bench.tests.cloud.cloud_clients import A_WHILE, NODE, ZONE, Direct

NODES = f"/v2/{ZONE}/nodes"
VM = f"{NODES}/vm-0"
NAMED = "projects/lab/global/networks"
URL = "https://www.googleapis.com/compute/beta/projects/lab"
KILOBYTE = 1024


@pytest.fixture
def direct() -> Direct:
    return Direct()


def create(direct: Direct, name: str = "vm-0", **more: Any) -> Any:
    status, answer = direct.ask("POST", f"{NODES}?nodeId={name}", {**NODE, **more})
    assert status == 200, answer
    return answer


def read(direct: Direct, path: str = VM) -> Any:
    status, answer = direct.ask("GET", path)
    return answer if status == 200 else status


def test_a_node_is_created_by_an_operation_that_ends_and_echoes_what_was_sent(direct: Direct) -> None:
    direct.ask("POST", "/v1/projects/lab/serviceAccounts", {"accountId": "workers"})
    sent: dict[str, Any] = {
        "description": "one of two",
        "labels": {"tidepool-pool": "tpu-ci", "empty": ""},
        "metadata": {"startup-script": "#!/bin/sh\nexit 0\n"},
        "tags": ["tpu"],
        "networkConfig": {"network": "projects/lab/global/networks/default", "queueCount": 1},
        "serviceAccount": {"email": "workers@lab.iam.gserviceaccount.com", "scope": ["cloud-platform"]},
        "shieldedInstanceConfig": {"enableSecureBoot": True},
        "dataDisks": [{"sourceDisk": "projects/lab/zones/us-west4-a/disks/d", "mode": "READ_ONLY"}],
        "cidrBlock": "10.0.0.0/29",
    }
    operation = create(direct, **sent)
    assert (operation["done"], operation["metadata"]["target"]) == (False, f"{ZONE}/nodes/vm-0")
    assert read(direct)["state"] == "CREATING"
    direct.wall.advance(A_WHILE)
    ended, node = read(direct, f"/v2/{operation['name']}"), read(direct)
    assert ended["metadata"]["endTime"] > ended["metadata"]["createTime"]
    assert {key: value for key, value in ended["response"].items() if key != "@type"} == node
    assert {key: node[key] for key in sent} == sent
    assert (node["state"], node["health"], node["apiVersion"]) == ("READY", "HEALTHY", "V2")
    assert node["acceleratorConfig"] == {"type": "V5LITE_POD", "topology": "2x2"}
    assert read(direct, f"/v2alpha1/{ZONE}/nodes/vm-0")["apiVersion"] == "V2_ALPHA1"
    assert direct.ask("POST", f"{NODES}?nodeId=vm-0", NODE)[0] == 409
    create(direct, "by-config", acceleratorType=None, acceleratorConfig={"type": "V5LITE_POD", "topology": "2x4"})
    assert read(direct, f"{NODES}/by-config")["acceleratorType"] == "v5litepod-8"


def test_every_host_has_an_endpoint_and_an_external_address_only_where_asked(direct: Direct) -> None:
    for name, config in (("inside", {}), ("outside", {"networkConfigs": [{"enableExternalIps": True}]})):
        create(direct, name, acceleratorType="v5litepod-32", **config)
    direct.wall.advance(A_WHILE)
    inside, outside = (read(direct, f"{NODES}/{name}")["networkEndpoints"] for name in ("inside", "outside"))
    assert len({each["ipAddress"] for each in (*inside, *outside)}) == 16
    assert [len({each["accessConfig"]["externalIp"] for each in outside}), "accessConfig" in inside[0]] == [8, False]
    assert direct.ask("POST", f"{NODES}/inside:stop", {})[0] == 400, "a slice of several hosts neither stops nor starts"


def test_nodes_are_listed_by_zone_by_project_and_by_page(direct: Direct) -> None:
    for parent, name in (("lab/locations/us-west4-a", "a"), ("lab/locations/us-west4-a", "b"),
                         ("lab/locations/us-east1-c", "c"), ("other/locations/us-west4-a", "d")):  # fmt: skip
        direct.ask("POST", f"/v2/projects/{parent}/nodes?nodeId={name}", NODE)
    assert [node["name"][-1] for node in read(direct, NODES)["nodes"]] == ["a", "b"]
    seen, token = [], ""
    for _ in range(3):
        answer = read(direct, f"/v2/projects/lab/locations/-/nodes?pageSize=1&pageToken={token}")
        seen, token = [*seen, *(node["name"][-1] for node in answer["nodes"])], answer.get("nextPageToken")
    assert (sorted(seen), token) == (["a", "b", "c"], None)
    assert len(read(direct, f"/v2/{ZONE}/operations")["operations"]) == 2


def test_a_patch_changes_what_its_mask_names_and_nothing_else(direct: Direct) -> None:
    create(direct, labels={"keep_me": "1", "change_me": "1", "drop_me": "1"})
    direct.wall.advance(A_WHILE)
    before = read(direct)
    body = {"labels": {"change_me": "2", "keep_me": "ignored"}, "metadata": {"k": "v"}, "description": "ignored"}
    mask = "labels.change_me,labels.drop_me,metadata"
    assert direct.ask("PATCH", f"{VM}?updateMask={mask}", body)[0] == 200
    changed = {"labels": {"keep_me": "1", "change_me": "2"}, "metadata": {"k": "v"}}
    assert read(direct) == {**before, **changed}
    for wrong in ("acceleratorType", "labels,schedulingConfig", "", "name"):
        assert direct.ask("PATCH", f"{VM}?updateMask={wrong}", body)[0] == 400
    assert direct.ask("PATCH", f"{VM}?updateMask=labels", {})[0] == 200
    assert "labels" not in read(direct)


def test_a_node_stops_starts_and_is_deleted(direct: Direct) -> None:
    create(direct)
    direct.wall.advance(A_WHILE)
    first = read(direct)
    for verb, between, after in (("stop", "STOPPING", "STOPPED"), ("start", "STARTING", "READY")):
        assert direct.ask("POST", f"{VM}:{verb}", {})[0] == 200
        assert read(direct)["state"] == between
        direct.wall.advance(A_WHILE)
        assert read(direct)["state"] == after
        assert direct.ask("POST", f"{VM}:{verb}", {})[0] == 400
    operation = direct.ask("DELETE", VM)[1]
    assert (read(direct)["state"], "health" in read(direct)) == ("DELETING", False)
    assert direct.ask("PATCH", f"{VM}?updateMask=labels", {})[0] == 400
    assert direct.ask("DELETE", VM)[1]["name"] == operation["name"], "a repeat joins the deletion"
    direct.wall.advance(A_WHILE)
    assert read(direct, f"/v2/{operation['name']}")["done"] is True
    assert (read(direct), direct.ask("DELETE", VM)[0]) == (404, 404)
    create(direct)
    assert read(direct)["id"] != first["id"], "another node of the same name is another node"


def test_a_node_on_its_way_out_never_becomes_ready(direct: Direct) -> None:
    begun = [create(direct, f"vm-{index}") for index in range(12)]
    direct.wall.advance(0.08)
    for index in range(12):
        direct.ask("DELETE", f"{NODES}/vm-{index}")
    assert {read(direct, f"/v2/{each['name']}")["error"]["code"] for each in begun} == {1}
    for _ in range(12):
        direct.wall.advance(0.01)
        assert {node["state"] for node in read(direct, NODES)["nodes"]} <= {"DELETING"}


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("v5litepod-4", {"acceleratorType": "v5litepod-5"}),
    ("us-central2-b", {"acceleratorType": "v4-8"}),
    ("''", {"acceleratorType": None}),
    ("''", {"acceleratorType": None, "acceleratorConfig": {"type": "V4", "topology": "3x3x3"}}),
    ("tpu-ubuntu2204-base", {"runtimeVersion": "tpu-ubuntu"}),
    ("tpu-ubuntu2204-base", {"runtimeVersion": None}),
    ("Upper", {"labels": {"Upper": "x"}}),
    ("65", {"labels": {f"k{number}": "" for number in range(65)}}),
    ("k=v", {"labels": {"k": "v" * 64}}),
    ("262144", {"metadata": {"startup-script": "x" * (256 * KILOBYTE + 1)}}),
    ("524288", {"metadata": {f"k{number}": "x" * 200 * KILOBYTE for number in range(3)}}),
    ("gone@lab", {"serviceAccount": {"email": "gone@lab.iam.gserviceaccount.com"}}),
    *(("gone", {"networkConfig": {"network": f"{at}gone"}}) for at in ("", "global/networks/", f"{NAMED}/",
     f"{URL}/global/networks/")),
    ("gone", {"networkConfigs": [{"network": "gone"}]}),
    ("gone", {"networkConfig": {"subnetwork": f"{URL}/regions/us-west4/subnetworks/gone"}}),
]  # fmt: skip
TAKEN: list[dict[str, Any]] = [
    {"metadata": {"k" * 128: "x" * 256 * KILOBYTE}, "labels": {f"k{number}": "" for number in range(64)}},
    *({"networkConfig": {"network": f"{at}default", "subnetwork": "default"}} for at in ("", "global/networks/",
     f"{NAMED}/")),
    {"networkConfig": {"network": "projects/host/global/networks/shared"}},
    {"serviceAccount": {"email": "pool@elsewhere.iam.gserviceaccount.com"}},
]  # fmt: skip


def test_a_node_that_google_would_refuse_is_refused_with_the_reason(direct: Direct) -> None:
    for said, change in REFUSED:
        status, answer = direct.ask("POST", f"{NODES}?nodeId=vm-0", {**NODE, **change})
        assert (status, said in answer["error"]["message"]) == (400, True), (said, answer)
    for name in ("", "Upper", "1st", "ends-", "a" * 64, "under_score"):
        assert direct.ask("POST", f"{NODES}?nodeId={name}", NODE)[0] == 400, name
    for verb, body in (("GET", None), ("POST", NODE)):
        assert direct.ask(verb, "/v2/projects/lab/locations/us-moon1-a/nodes", body)[0] == 400
    assert read(direct, NODES)["nodes"] == []
    for number, change in enumerate(TAKEN):
        assert create(direct, f"vm-{number}", **change)["name"]
