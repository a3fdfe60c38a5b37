"""What the discovery documents forbid is refused with the field named, in each API's own shape of error."""

from __future__ import annotations

from typing import Any

import pytest

from bench.cloud import discovery
from bench.cloud.cloud import HANDLERS
from bench.cloud.errors import ApiError
from bench.cloud.router import Router
from bench.cloud.schema import checked_body, checked_query, problems_of_answer
from bench.cloud.testing import TestCloud
from bench.tests.cloud.cloud_clients import NODE, ZONE, Direct, ask

NODES = f"/v2/{ZONE}/nodes"


def method(prefix: str, name: str) -> discovery.Method:
    found = [each for each in discovery.methods(prefix, frozenset({name})) if each.id == name]
    return found[0]


CREATE = "tpu.projects.locations.nodes.create"


def test_every_handler_answers_a_method_of_a_served_document() -> None:
    known = {each.id for prefix in discovery.DOCUMENTS for each in discovery.methods(prefix, frozenset())}
    assert set(HANDLERS) <= known


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"acceleratorTipe": "v4-8"}, "node.acceleratorTipe"),
        ({"networkConfig": {"netwerk": "n"}}, "node.networkConfig.netwerk"),
        ({"labels": {"a": 5}}, "node.labels.a"),
        ({"labels": ["a"]}, "node.labels"),
        ({"tags": "tpu"}, "node.tags"),
        ({"tags": ["tpu", 1]}, "node.tags[1]"),
        ({"schedulingConfig": {"spot": "yes"}}, "node.schedulingConfig.spot"),
        ({"networkConfig": {"queueCount": True}}, "node.networkConfig.queueCount"),
        ({"networkConfig": {"queueCount": "many"}}, "node.networkConfig.queueCount"),
        ({"dataDisks": [{"mode": "WRITE"}]}, "node.dataDisks[0].mode"),
        ({"runtimeVersion": 5}, "node.runtimeVersion"),
    ],
)
def test_a_body_that_breaks_the_schema_is_refused_by_its_field(
    cloud: TestCloud, body: dict[str, Any], field: str
) -> None:
    status, answer = ask(cloud.url, "POST", f"{NODES}?nodeId=vm-0", {**NODE, **body})
    assert status == 400
    error = answer["error"]
    assert error["status"] == "INVALID_ARGUMENT"
    assert [each["field"] for each in error["details"][0]["fieldViolations"]] == [field]
    assert field.rpartition(".")[2].partition("[")[0] in error["message"]


def test_every_offender_is_named_at_once(cloud: TestCloud) -> None:
    body = {**NODE, "wrong": 1, "labels": {"a": 5}, "networkConfig": {"wronger": 2}}
    details = ask(cloud.url, "POST", f"{NODES}?nodeId=vm-0", body)[1]["error"]["details"]
    named = {each["field"] for each in details[0]["fieldViolations"]}
    assert named == {"node.wrong", "node.labels.a", "node.networkConfig.wronger"}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/projects/lab/secrets/s:addVersion", {"payload": {"data": "hunter2!"}}, "payload.data"),
        ("/v1/projects/lab/secrets/s:addVersion", {"payload": "hunter2!"}, "payload"),
        (
            "/v1/projects/lab/locations/us/keyRings/r/cryptoKeys/k:encrypt",
            {"plaintext": "hunter2!"},
            "encryptRequest.plaintext",
        ),
    ],
)
def test_a_refused_secret_is_in_neither_the_answer_nor_the_log(
    cloud: TestCloud, path: str, body: dict[str, Any], field: str
) -> None:
    status, answer = ask(cloud.url, "POST", path, body)
    assert status == 400
    assert field in answer["error"]["message"]
    assert "hunter2" not in f"{answer}{cloud.control.log()}"


@pytest.mark.parametrize("query", ["colour=red", "pageSize=ten", "parent=x", "alt=xml", "prettyPrint=perhaps"])
def test_a_query_that_the_method_does_not_have_is_refused_by_name(cloud: TestCloud, query: str) -> None:
    status, answer = ask(cloud.url, "GET", f"{NODES}?{query}")
    assert (status, query.partition("=")[0] in answer["error"]["message"]) == (400, True)


@pytest.mark.parametrize("query", ["page_size=1", "pageSize=1", "prettyPrint=false&alt=json", "$.xgafv=2", "key=k"])
def test_snake_case_and_the_names_of_every_method_are_taken(cloud: TestCloud, query: str) -> None:
    assert ask(cloud.url, "GET", f"{NODES}?{query}")[0] == 200


def test_a_body_in_snake_case_becomes_camel_case_and_read_only_fields_are_dropped() -> None:
    create = method("v2", CREATE)
    sent = {"accelerator_type": "v4-8", "network_config": {"can_ip_forward": True}, "state": "READY", "id": "7"}
    assert checked_body(create, sent) == {"acceleratorType": "v4-8", "networkConfig": {"canIpForward": True}}
    assert checked_body(create, {"labels": {"snake_case": "kept_as_it_is"}})["labels"] == {
        "snake_case": "kept_as_it_is"
    }


def test_a_null_means_not_set_except_where_it_removes() -> None:
    assert checked_body(method("v2", CREATE), {"labels": None}) == {}
    patch = method("storage/v1", "storage.buckets.patch")
    assert checked_body(patch, {"labels": {"a": None}, "lifecycle": None}) == {"labels": {"a": None}, "lifecycle": None}


def test_whole_numbers_may_come_as_text_and_long_ones_go_as_text() -> None:
    assert checked_body(method("v2", CREATE), {"networkConfig": {"queueCount": "2"}})["networkConfig"] == {
        "queueCount": 2
    }
    patch = method("storage/v1", "storage.buckets.patch")
    policy = {"retentionPeriod": 60}
    assert checked_body(patch, {"retentionPolicy": policy})["retentionPolicy"] == {"retentionPeriod": "60"}


def test_what_only_the_provider_knows_is_dropped_and_not_refused() -> None:
    routing = {"routingMode": "REGIONAL", "deleteBgpAlwaysCompareMed": False}
    insert = method("compute/beta", "compute.networks.insert")
    assert checked_body(insert, {"routingConfig": routing}) == {"routingConfig": {"routingMode": "REGIONAL"}}
    with pytest.raises(ApiError, match="otherField"):
        checked_body(insert, {"routingConfig": {"otherField": 1}})


def test_a_body_where_none_belongs_is_refused() -> None:
    with pytest.raises(ApiError, match="no body"):
        checked_body(method("v2", "tpu.projects.locations.nodes.get"), {"a": 1})
    with pytest.raises(ApiError, match="object"):
        checked_body(method("v2", CREATE), ["a"])


def test_a_missing_required_query_is_named() -> None:
    with pytest.raises(ApiError, match="project"):
        checked_query(method("storage/v1", "storage.buckets.insert"), [])


def test_repeated_queries_are_lists_and_numbers_are_numbers() -> None:
    listed = method("v2", "tpu.projects.locations.list")
    assert checked_query(listed, [("extraLocationTypes", "a"), ("extraLocationTypes", "b"), ("pageSize", "5")]) == {
        "extraLocationTypes": ["a", "b"],
        "pageSize": 5,
    }


def test_answers_are_held_to_the_documents_too() -> None:
    read = method("v2", "tpu.projects.locations.nodes.get")
    assert problems_of_answer(read, {"name": "n", "state": "READY"}) == []
    assert len(problems_of_answer(read, {"nome": "n", "state": "SLEEPY", "labels": {"a": 1}})) == 3


# Routing


@pytest.fixture(scope="module")
def router() -> Router:
    return Router(frozenset({CREATE, "tpu.projects.locations.nodes.start", "storage.objects.get", "iam.roles.get"}))


def test_a_custom_verb_is_part_of_the_method_and_not_of_the_name(router: Router) -> None:
    match = router.match("POST", f"/v2/{ZONE}/nodes/vm-0:start")
    assert match.method.id == "tpu.projects.locations.nodes.start"
    assert match.params == {"name": f"{ZONE}/nodes/vm-0"}
    assert match.ids == {"projectsId": "lab", "locationsId": "us-west4-a", "nodesId": "vm-0"}


def test_an_encoded_slash_belongs_to_the_name(router: Router) -> None:
    match = router.match("GET", "/storage/v1/b/bucket/o/folder%2Ffile%3A1")
    assert match.params == {"bucket": "bucket", "object": "folder/file:1"}


def test_a_method_that_is_not_served_is_refused_by_its_name(cloud: TestCloud) -> None:
    status, answer = ask(cloud.url, "GET", f"/v2/{ZONE}/queuedResources")
    assert (status, answer["error"]["status"]) == (501, "UNIMPLEMENTED")
    assert "tpu.projects.locations.queuedResources.list (v2)" in answer["error"]["message"]


@pytest.mark.parametrize("path", ["/", "/v2", "/v9/projects", "/v2/projects/lab/locations/z/nodes/a/b", "//", "/v2//"])
def test_a_path_of_no_api_is_not_found(cloud: TestCloud, path: str) -> None:
    status, answer = ask(cloud.url, "GET", path)
    assert (status, answer["error"]["status"]) == (404, "NOT_FOUND")


def test_a_verb_that_a_path_does_not_have_is_refused(cloud: TestCloud) -> None:
    assert ask(cloud.url, "PUT", f"{NODES}/vm-0")[0] == 405


# Shapes of errors


def test_compute_and_storage_have_the_older_shape() -> None:
    refusal = ApiError(404, "gone")
    assert refusal.rendered("tpu") == {"error": {"code": 404, "message": "gone", "status": "NOT_FOUND"}}
    older = {"code": 404, "message": "gone", "errors": [{"message": "gone", "domain": "global", "reason": "notFound"}]}
    assert refusal.rendered("compute") == refusal.rendered("storage") == {"error": older}


def test_broken_json_is_a_400(cloud: TestCloud) -> None:
    direct = Direct()
    assert direct.ask("POST", f"{NODES}?nodeId=a", "text")[0] == 400
    import http.client

    connection = http.client.HTTPConnection(cloud.url.removeprefix("http://"))
    connection.request("POST", f"{NODES}?nodeId=a", b"{")
    assert connection.getresponse().status == 400
    connection.close()


def test_a_defect_of_a_handler_is_no_500(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> dict[str, Any]:
        raise KeyError("defect")

    monkeypatch.setitem(HANDLERS, "tpu.projects.locations.nodes.list", broken)
    direct = Direct()
    status, answer = direct.ask("GET", NODES)
    assert (status, "defect" in answer["error"]["message"]) == (501, True)
    assert direct.ask("GET", f"/v2/{ZONE}/operations")[0] == 200, "and the next request is answered"


def test_a_refused_request_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    direct = Direct()

    def half(call: Any) -> dict[str, Any]:
        call.cloud.store.insert("thing", "half", {}, now=call.cloud.now)
        raise ApiError(409, "no")

    monkeypatch.setitem(HANDLERS, "tpu.projects.locations.nodes.list", half)
    assert direct.ask("GET", NODES)[0] == 409
    assert direct.store.find("thing", "half") is None


# Partial answers


def test_fields_cut_an_answer(cloud: TestCloud) -> None:
    for index in range(2):
        ask(cloud.url, "POST", f"{NODES}?nodeId=vm-{index}", {**NODE, "labels": {"a": "b", "c": "d"}})

    def seen(fields: str) -> Any:
        return ask(cloud.url, "GET", f"{NODES}?fields={fields}")[1]

    names = [{"name": f"{ZONE}/nodes/vm-{index}"} for index in range(2)]
    assert seen("nodes/name,nextPageToken") == {"nodes": names}
    assert seen("nodes(name)") == {"nodes": names}
    assert seen("nodes(labels/a,state)") == {"nodes": [{"labels": {"a": "b"}, "state": "CREATING"}] * 2}
    assert seen("*") == ask(cloud.url, "GET", NODES)[1]
    assert seen("unreachable") == {}
    for wrong in ("nodes(", "nodes)", "nodes//name", ","):
        assert ask(cloud.url, "GET", f"{NODES}?fields={wrong}")[0] == 400
