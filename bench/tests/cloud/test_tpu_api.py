"""Every TPU method that is served, asked by Google's own client from its shipped discovery documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from googleapiclient.errors import HttpError

from bench.cloud.testing import TestCloud
from bench.tests.cloud.cloud_clients import A_WHILE, NODE, ZONE, ask

VM = f"{ZONE}/nodes/vm-0"


@pytest.fixture(params=["v2", "v2alpha1"])
def version(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def locations(cloud: TestCloud, google: Callable[..., Any], version: str) -> Any:
    return google(cloud.url, "tpu", version).projects().locations()


@pytest.fixture
def made(cloud: TestCloud, locations: Any) -> dict[str, Any]:
    """A READY node, as it is answered."""
    locations.nodes().create(parent=ZONE, nodeId="vm-0", body=NODE).execute()
    cloud.wall.advance(A_WHILE)
    return locations.nodes().get(name=VM).execute()


@pytest.mark.parametrize(
    "reference",
    [
        {"networkConfig": {"network": "projects/lab/global/networks/gone"}},
        {"serviceAccount": {"email": "gone@lab.iam.gserviceaccount.com"}},
    ],
)
def test_a_node_that_refers_to_nothing_is_refused_and_not_made(locations: Any, reference: dict[str, Any]) -> None:
    with pytest.raises(HttpError, match="gone") as refused:
        locations.nodes().create(parent=ZONE, nodeId="vm-0", body={**NODE, **reference}).execute()
    assert refused.value.status_code == 400
    assert not locations.nodes().list(parent=ZONE).execute()["nodes"]


def test_a_node_is_created_by_an_operation_that_ends(cloud: TestCloud, locations: Any) -> None:
    operation = locations.nodes().create(parent=ZONE, nodeId="vm-0", body=NODE).execute()
    assert operation["done"] is False
    assert operation["metadata"]["target"] == VM
    assert locations.nodes().get(name=VM).execute()["state"] == "CREATING"
    cloud.wall.advance(A_WHILE)
    ended = locations.operations().get(name=operation["name"]).execute()
    assert ended["done"] is True
    assert ended["metadata"]["endTime"] > ended["metadata"]["createTime"]
    node = locations.nodes().get(name=VM).execute()
    assert (node["state"], node["health"]) == ("READY", "HEALTHY")
    assert {key: value for key, value in ended["response"].items() if key != "@type"} == node


def test_what_was_sent_is_echoed_as_it_was_sent(cloud: TestCloud, locations: Any) -> None:
    network = {"name": "n", "autoCreateSubnetworks": True}
    assert ask(cloud.url, "POST", "/compute/v1/projects/lab/global/networks", network)[0] == 200
    assert ask(cloud.url, "POST", "/v1/projects/lab/serviceAccounts", {"accountId": "workers"})[0] == 200
    disk = {"name": "d", "sizeGb": "100"}
    assert ask(cloud.url, "POST", "/compute/v1/projects/lab/zones/us-west4-a/disks", disk)[0] == 200
    body = {
        **NODE,
        "description": "one of two",
        "labels": {"tidepool-pool": "tpu-ci", "empty": ""},
        "metadata": {"startup-script": "#!/bin/sh\nexit 0\n"},
        "tags": ["tpu"],
        "networkConfig": {"network": "projects/lab/global/networks/n", "enableExternalIps": False, "queueCount": 1},
        "serviceAccount": {"email": "workers@lab.iam.gserviceaccount.com", "scope": ["cloud-platform"]},
        "shieldedInstanceConfig": {"enableSecureBoot": True},
        "dataDisks": [{"sourceDisk": "projects/lab/zones/us-west4-a/disks/d", "mode": "READ_ONLY"}],
        "cidrBlock": "10.0.0.0/29",
    }
    locations.nodes().create(parent=ZONE, nodeId="vm-0", body=body).execute()
    cloud.wall.advance(A_WHILE)
    node = locations.nodes().get(name=VM).execute()
    assert {key: node[key] for key in body} == body


def test_a_configuration_stands_beside_the_type_that_was_sent_and_the_reverse(locations: Any) -> None:
    config = {"type": "V5LITE_POD", "topology": "2x4"}
    body = {"acceleratorConfig": config, "runtimeVersion": "v2-alpha-tpuv5-lite"}
    locations.nodes().create(parent=ZONE, nodeId="by-config", body=body).execute()
    locations.nodes().create(parent=ZONE, nodeId="by-type", body={**NODE, "acceleratorType": "v5litepod-8"}).execute()
    for name in ("by-config", "by-type"):
        node = locations.nodes().get(name=f"{ZONE}/nodes/{name}").execute()
        assert (node["acceleratorType"], node["acceleratorConfig"]) == ("v5litepod-8", config)


def test_every_host_has_an_endpoint_and_an_external_address_only_where_asked(cloud: TestCloud, locations: Any) -> None:
    inside = {**NODE, "acceleratorType": "v5litepod-32"}
    outside = {**inside, "networkConfig": {"enableExternalIps": True}}
    for name, body in (("inside", inside), ("outside", outside)):
        locations.nodes().create(parent=ZONE, nodeId=name, body=body).execute()
    cloud.wall.advance(A_WHILE)
    nodes = {node["name"].rpartition("/")[2]: node for node in cloud.control.nodes()}
    assert len(nodes["inside"]["networkEndpoints"]) == len(nodes["outside"]["networkEndpoints"]) == 8
    assert not any("accessConfig" in each for each in nodes["inside"]["networkEndpoints"])
    addresses = [each["ipAddress"] for node in nodes.values() for each in node["networkEndpoints"]]
    assert len(set(addresses)) == 16
    assert len({each["accessConfig"]["externalIp"] for each in nodes["outside"]["networkEndpoints"]}) == 8


def test_the_node_says_which_api_made_it(made: dict[str, Any], version: str) -> None:
    assert made["apiVersion"] == {"v2": "V2", "v2alpha1": "V2_ALPHA1"}[version]


def test_nodes_are_listed_by_zone_by_project_and_by_page(locations: Any) -> None:
    other = "projects/lab/locations/us-east1-c"
    for parent, name in ((ZONE, "a"), (ZONE, "b"), (other, "c"), ("projects/other/locations/us-west4-a", "d")):
        locations.nodes().create(parent=parent, nodeId=name, body=NODE).execute()
    in_zone = locations.nodes().list(parent=ZONE).execute()["nodes"]
    assert [node["name"] for node in in_zone] == [f"{ZONE}/nodes/a", f"{ZONE}/nodes/b"]
    request, seen = locations.nodes().list(parent="projects/lab/locations/-", pageSize=1), []
    while request is not None:
        answer = request.execute()
        assert len(answer["nodes"]) == 1
        seen += [node["name"].rpartition("/")[2] for node in answer["nodes"]]
        request = locations.nodes().list_next(request, answer)
    assert sorted(seen) == ["a", "b", "c"]


def test_a_patch_changes_what_its_mask_names_and_nothing_else(
    cloud: TestCloud, locations: Any, made: dict[str, Any]
) -> None:
    body = {"labels": {"a": "b"}, "metadata": {"k": "v"}, "description": "ignored"}
    operation = locations.nodes().patch(name=VM, updateMask="labels,metadata", body=body).execute()
    cloud.wall.advance(A_WHILE)
    assert locations.operations().get(name=operation["name"]).execute()["done"] is True
    assert locations.nodes().get(name=VM).execute() == {**made, "labels": {"a": "b"}, "metadata": {"k": "v"}}
    locations.nodes().patch(name=VM, updateMask="labels", body={}).execute()
    assert "labels" not in locations.nodes().get(name=VM).execute()


@pytest.mark.parametrize("mask", ["acceleratorType", "labels,schedulingConfig", "", "name"])
@pytest.mark.usefixtures("made")
def test_a_patch_of_what_cannot_change_is_refused(locations: Any, mask: str) -> None:
    with pytest.raises(HttpError) as refused:
        locations.nodes().patch(name=VM, updateMask=mask, body={"labels": {"a": "b"}}).execute()
    assert refused.value.status_code == 400
    assert "labels" not in locations.nodes().get(name=VM).execute()


@pytest.mark.usefixtures("made")
def test_a_deleted_node_is_listed_as_deleting_and_then_gone(cloud: TestCloud, locations: Any) -> None:
    operation = locations.nodes().delete(name=VM).execute()
    assert locations.nodes().get(name=VM).execute()["state"] == "DELETING"
    assert locations.nodes().delete(name=VM).execute()["name"] == operation["name"], "a repeat joins the deletion"
    cloud.wall.advance(A_WHILE)
    assert locations.operations().get(name=operation["name"]).execute()["done"] is True
    assert locations.nodes().list(parent=ZONE).execute().get("nodes", []) == []
    with pytest.raises(HttpError) as gone:
        locations.nodes().delete(name=VM).execute()
    assert gone.value.status_code == 404


def test_a_node_deleted_while_it_is_created_ends_its_create_operation(cloud: TestCloud, locations: Any) -> None:
    creating = locations.nodes().create(parent=ZONE, nodeId="vm-0", body=NODE).execute()
    locations.nodes().delete(name=VM).execute()
    assert locations.operations().get(name=creating["name"]).execute()["error"]["code"] == 1
    cloud.wall.advance(A_WHILE)
    assert cloud.control.nodes() == []


def test_a_node_on_its_way_out_never_becomes_ready(cloud: TestCloud) -> None:
    for index in range(12):
        ask(cloud.url, "POST", f"/v2/{ZONE}/nodes?nodeId=vm-{index}", NODE)
    cloud.wall.advance(0.08)
    for index in range(12):
        ask(cloud.url, "DELETE", f"/v2/{ZONE}/nodes/vm-{index}")
    for _ in range(12):
        cloud.wall.advance(0.01)
        assert cloud.control.status()["nodes"].keys() <= {"DELETING"}


@pytest.mark.usefixtures("made")
def test_a_node_stops_and_starts(cloud: TestCloud, locations: Any) -> None:
    def state() -> str:
        return locations.nodes().get(name=VM).execute()["state"]

    locations.nodes().stop(name=VM, body={}).execute()
    assert state() == "STOPPING"
    cloud.wall.advance(A_WHILE)
    assert state() == "STOPPED"
    with pytest.raises(HttpError) as again:
        locations.nodes().stop(name=VM, body={}).execute()
    assert again.value.status_code == 400
    locations.nodes().start(name=VM, body={}).execute()
    assert state() == "STARTING"
    cloud.wall.advance(A_WHILE)
    assert state() == "READY"


def test_a_slice_of_several_hosts_neither_stops_nor_starts(cloud: TestCloud, locations: Any) -> None:
    locations.nodes().create(parent=ZONE, nodeId="vm-0", body={**NODE, "acceleratorType": "v5litepod-16"}).execute()
    cloud.wall.advance(A_WHILE)
    with pytest.raises(HttpError, match="4 hosts"):
        locations.nodes().stop(name=VM, body={}).execute()


def test_operations_are_listed_deleted_when_done_and_cancelled_while_they_run(cloud: TestCloud, locations: Any) -> None:
    first = locations.nodes().create(parent=ZONE, nodeId="vm-0", body=NODE).execute()["name"]
    with pytest.raises(HttpError) as running:
        locations.operations().delete(name=first).execute()
    assert running.value.status_code == 400
    cloud.wall.advance(A_WHILE)
    second = locations.nodes().create(parent=ZONE, nodeId="vm-1", body=NODE).execute()["name"]
    listed = locations.operations().list(name=ZONE).execute()["operations"]
    assert [each["name"] for each in listed] == [first, second]
    page = locations.operations().list(name=ZONE, pageSize=1).execute()
    assert [each["name"] for each in page["operations"]] == [first]
    page = locations.operations().list(name=ZONE, pageSize=1, pageToken=page["nextPageToken"]).execute()
    assert ([each["name"] for each in page["operations"]], "nextPageToken" in page) == ([second], False)
    locations.operations().cancel(name=second).execute()
    assert locations.operations().get(name=second).execute()["error"]["code"] == 1
    assert [node["name"] for node in cloud.control.nodes()] == [VM]
    locations.operations().delete(name=first).execute()
    with pytest.raises(HttpError) as gone:
        locations.operations().get(name=first).execute()
    assert gone.value.status_code == 404


def test_locations_accelerators_and_runtimes_are_the_catalogues(locations: Any) -> None:
    zones = [each["locationId"] for each in locations.list(name="projects/lab").execute()["locations"]]
    assert {"us-west4-a", "us-central2-b", "us-central1-ai1a"} <= set(zones)
    assert locations.get(name="projects/lab/locations/us-central1-ai1a").execute()["labels"] == {
        "cloud.googleapis.com/region": "us-central1"
    }
    only_v4 = locations.acceleratorTypes().list(parent="projects/lab/locations/us-central2-b").execute()
    assert {each["acceleratorConfigs"][0]["type"] for each in only_v4["acceleratorTypes"]} == {"V4"}
    one = locations.acceleratorTypes().get(name=f"{ZONE}/acceleratorTypes/v5litepod-4").execute()
    assert one["acceleratorConfigs"] == [{"type": "V5LITE_POD", "topology": "2x2"}]
    versions = locations.runtimeVersions().list(parent=ZONE).execute()["runtimeVersions"]
    assert "tpu-ubuntu2204-base" in {each["version"] for each in versions}
    assert locations.runtimeVersions().get(name=versions[0]["name"]).execute() == versions[0]
    for missing in (
        locations.get(name="projects/lab/locations/nowhere"),
        locations.acceleratorTypes().get(name=f"{ZONE}/acceleratorTypes/v4-8"),
        locations.runtimeVersions().get(name=f"{ZONE}/runtimeVersions/none"),
    ):
        with pytest.raises(HttpError):
            missing.execute()


def test_version_one_is_served_for_accelerator_types_alone(cloud: TestCloud) -> None:
    status, answer = ask(cloud.url, "GET", f"/v1/{ZONE}/acceleratorTypes")
    assert status == 200
    assert {"name": f"{ZONE}/acceleratorTypes/v5litepod-4", "type": "v5litepod-4"} in answer["acceleratorTypes"]
    assert ask(cloud.url, "GET", f"/v1/{ZONE}/nodes")[0] == 404


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"acceleratorType": "v5litepod-5"}, "v5litepod-4"),
        ({"acceleratorType": "v4-8"}, "us-central2-b"),
        ({"acceleratorType": None}, "required"),
        ({"runtimeVersion": "tpu-ubuntu"}, "tpu-ubuntu2204-base"),
        ({"runtimeVersion": None}, "required"),
        ({"labels": {"Upper": "x"}}, "Upper"),
        ({"schedulingConfig": {"reserved": True, "spot": True}}, "reserved"),
        ({"description": "x" * 513}, "512"),
        ({"acceleratorConfig": {"type": "V5LITE_POD", "topology": "2x2"}}, "both"),
        ({"acceleratorType": None, "acceleratorConfig": {"type": "V4", "topology": "3x3x3"}}, "3x3x3"),
        ({"networkConfig": {}, "networkConfigs": [{}]}, "exclude"),
    ],
)
def test_a_node_that_google_would_refuse_is_refused_with_the_reason(
    cloud: TestCloud, change: dict[str, Any], said: str
) -> None:
    status, answer = ask(cloud.url, "POST", f"/v2/{ZONE}/nodes?nodeId=vm-0", {**NODE, **change})
    assert status == 400
    assert answer["error"]["status"] == "INVALID_ARGUMENT"
    assert said in answer["error"]["message"]
    assert cloud.control.nodes() == []


@pytest.mark.parametrize("name", ["", "Upper", "1st", "ends-", "a" * 64, "under_score"])
def test_a_malformed_node_name_is_refused(cloud: TestCloud, name: str) -> None:
    assert ask(cloud.url, "POST", f"/v2/{ZONE}/nodes?nodeId={name}", NODE)[0] == 400


def test_an_unknown_zone_is_refused(cloud: TestCloud) -> None:
    for verb, body in (("GET", None), ("POST", NODE)):
        status, answer = ask(cloud.url, verb, "/v2/projects/lab/locations/us-moon1-a/nodes", body)
        assert (status, "us-moon1-a" in answer["error"]["message"]) == (400, True)


@pytest.mark.usefixtures("made")
def test_a_name_is_taken_until_its_node_is_gone(cloud: TestCloud, locations: Any) -> None:
    with pytest.raises(HttpError) as taken:
        locations.nodes().create(parent=ZONE, nodeId="vm-0", body=NODE).execute()
    assert (taken.value.status_code, "already exists" in str(taken.value)) == (409, True)
    first = cloud.control.nodes()[0]
    locations.nodes().delete(name=VM).execute()
    cloud.wall.advance(A_WHILE)
    locations.nodes().create(parent=ZONE, nodeId="vm-0", body=NODE).execute()
    assert cloud.control.nodes()[0]["id"] != first["id"], "another node of the same name is another node"


def test_a_request_sent_twice_with_one_request_id_begins_one_operation(cloud: TestCloud) -> None:
    create = f"/v2alpha1/{ZONE}/nodes?nodeId=vm-0&requestId=5b0c3b7e-6b1d-4d86-9a0e-2f6d6f6f0001"
    first = ask(cloud.url, "POST", create, NODE)
    assert first[0] == 200
    assert ask(cloud.url, "POST", create, NODE) == first
    cloud.wall.advance(A_WHILE)
    again = ask(cloud.url, "POST", create, NODE)
    assert (again[0], again[1]["name"], again[1]["done"]) == (200, first[1]["name"], True)
    assert ask(cloud.url, "POST", create.replace("0001", "0002"), NODE)[0] == 409, "another id is another request"

    delete = f"/v2alpha1/{ZONE}/nodes/vm-0?requestId=5b0c3b7e-6b1d-4d86-9a0e-2f6d6f6f0001"
    gone = ask(cloud.url, "DELETE", delete)
    cloud.wall.advance(A_WHILE)
    assert ask(cloud.url, "DELETE", delete)[1]["name"] == gone[1]["name"] != first[1]["name"]
    assert cloud.control.nodes() == []


def test_a_request_that_was_refused_may_come_again_with_its_request_id(cloud: TestCloud) -> None:
    create = f"/v2alpha1/{ZONE}/nodes?nodeId=vm-0&requestId=5b0c3b7e-6b1d-4d86-9a0e-2f6d6f6f0001"
    cloud.control.fail("error", code=503, count=1)
    assert ask(cloud.url, "POST", create, NODE)[0] == 503
    assert ask(cloud.url, "POST", create, NODE)[0] == 200
    status, answer = ask(cloud.url, "POST", f"/v2alpha1/{ZONE}/nodes?nodeId=vm-1&requestId=twice", NODE)
    assert (status, "UUID" in answer["error"]["message"]) == (400, True)


@pytest.mark.parametrize("path", ["/v1/projects/lab/locations", "/v1/projects/lab/locations/us-west4-a"])
def test_the_shared_locations_are_tpu_zones_for_gclouds_tpu_commands(cloud: TestCloud, path: str) -> None:
    agent = "google-cloud-sdk gcloud/500.0.0 command/gcloud.compute.tpus.locations.list"
    status, answer = ask(cloud.url, "GET", path, **{"user-agent": agent})
    zones = {each["locationId"] for each in answer.get("locations", [answer])}
    assert (status, "us-west4-a" in zones, "us-west4" in zones) == (200, True, False)
