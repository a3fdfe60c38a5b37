"""What the discovery documents forbid is refused with the field named, in each API's own shape of error."""

from __future__ import annotations

from typing import Any

import pytest

from bench.cloud import discovery
from bench.cloud.cloud import HANDLERS
from bench.cloud.errors import ApiError
from bench.cloud.router import match
from bench.cloud.schema import check_answer, checked_body, checked_query
from bench.tests.cloud.cloud_clients import NODE, ZONE, Direct, Row, compared

NODES, MAKE, CREATE = f"v2/{ZONE}/nodes", f"v2/{ZONE}/nodes?nodeId=vm-0", "tpu.projects.locations.nodes.create"
CALLS: dict[str, list[Row]] = {
    "bodies": [
        *(("POST", MAKE, {**NODE, **body}, 400) for body in (
            {"acceleratorTipe": "v4-8"}, {"networkConfig": {"netwerk": "n"}}, {"labels": {"a": 5}}, {"labels": ["a"]},
            {"tags": "tpu"}, {"tags": ["tpu", 1]}, {"runtimeVersion": 5}, {"schedulingConfig": {"spot": "yes"}},
            {"networkConfig": {"queueCount": True}}, {"networkConfig": {"queueCount": "many"}},
            {"dataDisks": [{"mode": "WRITE"}]}, {"wrong": 1, "labels": {"a": 5}})),
        ("GET", NODES, None, 200), ("GET", NODES, {"a": 1}, 400), ("POST", MAKE, ["a"], 400),
    ],
    "queries": [
        *(("GET", f"{NODES}?{query}", None, 400)
          for query in ("colour=red", "pageSize=ten", "parent=x", "alt=xml", "prettyPrint=perhaps")),
        *(("GET", f"{NODES}?{query}", None, 200) for query in (
            "page_size=1", "pageSize=1", "prettyPrint=false&alt=json", "$.xgafv=2", "key=k")),
    ],
    "paths": [
        ("GET", f"v2/{ZONE}/queuedResources", None, 501),
        *(("GET", path, None, 404) for path in (
            "", "v2", "v9/projects", "v2/projects/lab/locations/z/nodes/a/b", "/", "v2//")),
        ("PUT", f"{NODES}/vm-0", None, 405), ("POST", MAKE, "text", 400),
        ("POST", "_tidepool/log", {"limit": 2, "after": 1}, 200), ("POST", "_tidepool/log", {"limit": "x"}, 400),
        ("POST", "_tidepool/nothing", None, 404), ("POST", "_tidepool/clock", [1], 400),
    ],
    "parts of answers": [
        *(("POST", f"{NODES}?nodeId=vm-{index}", {**NODE, "labels": {"a": "b", "c": "d"}}, 200)
          for index in range(2)),
        *(("GET", f"{NODES}?fields={fields}", None, 200) for fields in (
            "nodes/name,nextPageToken", "nodes(name)", "*", "nodes(labels/a,state)", "unreachable")),
    ],
}  # fmt: skip


@pytest.mark.parametrize("calls", CALLS)
def test_a_request_is_held_to_its_document(calls: str, update_goldens: bool) -> None:
    compared(Direct().check(CALLS[calls]), f"checks {calls}", update_goldens)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("secrets/s:addVersion", {"payload": {"data": "hunter2!"}}, "payload.data"),
        ("secrets/s:addVersion", {"payload": "hunter2!"}, "payload"),
        ("locations/us/keyRings/r/cryptoKeys/k:encrypt", {"plaintext": "hunter2!"}, "encryptRequest.plaintext"),
    ],
)
def test_a_refused_secret_is_in_neither_the_answer_nor_the_log(path: str, body: dict[str, Any], field: str) -> None:
    direct = Direct()
    status, answer = direct.ask("POST", f"/v1/projects/lab/{path}", body)
    assert (status, field in answer["error"]["message"]) == (400, True)
    assert "hunter2" not in f"{answer}{direct.control('log')}"


def method(prefix: str, name: str) -> discovery.Method:
    return next(each for each in discovery.methods(prefix) if each.id == name)


def test_every_handler_answers_a_method_of_a_served_document() -> None:
    known = {each.id for prefix in discovery.DOCUMENTS for each in discovery.methods(prefix)}
    assert set(HANDLERS) <= known


PATCH, INSERT = "storage.buckets.patch", "compute.networks.insert"
SENT: list[tuple[str, str, Any, Any]] = [
    ("v2", CREATE, {"accelerator_type": "v4-8", "network_config": {"can_ip_forward": True}, "state": "READY"},
     {"acceleratorType": "v4-8", "networkConfig": {"canIpForward": True}}),
    ("v2", CREATE, {"labels": {"snake_case": "as_it_is"}}, {"labels": {"snake_case": "as_it_is"}}),
    ("v2", CREATE, {"labels": None}, {}),
    ("storage/v1", PATCH, {"labels": {"a": None}, "lifecycle": None}, {"labels": {"a": None}, "lifecycle": None}),
    ("v2", CREATE, {"networkConfig": {"queueCount": "2"}}, {"networkConfig": {"queueCount": 2}}),
    ("storage/v1", PATCH, {"retentionPolicy": {"retentionPeriod": 60}}, {"retentionPolicy": {"retentionPeriod": "60"}}),
    ("compute/beta", INSERT, {"routingConfig": {"routingMode": "REGIONAL", "deleteBgpAlwaysCompareMed": False}},
     {"routingConfig": {"routingMode": "REGIONAL"}}),
    ("compute/beta", INSERT, {"routingConfig": {"otherField": 1}}, "otherField"),
    ("v2", "tpu.projects.locations.nodes.get", {"a": 1}, "no body"), ("v2", CREATE, ["a"], "object"),
]  # fmt: skip


def test_a_body_is_what_the_service_sees_of_it() -> None:
    for prefix, name, sent, expected in SENT:
        if isinstance(expected, dict):
            assert checked_body(method(prefix, name), sent) == expected
        else:
            with pytest.raises(ApiError, match=expected):
                checked_body(method(prefix, name), sent)


def test_queries_have_their_kinds_and_what_is_required_is_named() -> None:
    listed = method("v2", "tpu.projects.locations.list")
    pairs = [("extraLocationTypes", "a"), ("extraLocationTypes", "b"), ("pageSize", "5")]
    assert checked_query(listed, pairs) == {"extraLocationTypes": ["a", "b"], "pageSize": 5}
    with pytest.raises(ApiError, match="project"):
        checked_query(method("storage/v1", "storage.buckets.insert"), [])


def test_answers_are_held_to_the_documents_too() -> None:
    read = method("v2", "tpu.projects.locations.nodes.get")
    check_answer(read, {"name": "n", "state": "READY"})
    for wrong in ({"nome": "n"}, {"state": "SLEEPY"}, {"labels": {"a": 1}}):
        with pytest.raises(AssertionError):
            check_answer(read, wrong)


def test_a_custom_verb_is_no_part_of_a_name_and_an_encoded_slash_is() -> None:
    found = match("POST", f"/v2/{ZONE}/nodes/vm-0:start")
    assert found.params == {"name": f"{ZONE}/nodes/vm-0"}
    assert found.ids == {"projectsId": "lab", "locationsId": "us-west4-a", "nodesId": "vm-0"}
    found = match("GET", "/storage/v1/b/bucket/o/folder%2Ffile%3A1")
    assert found.params == {"bucket": "bucket", "object": "folder/file:1"}


@pytest.mark.parametrize(
    ("failure", "status", "words"), [(KeyError("defect"), 501, "defect"), (ApiError(409, "no"), 409, "no")]
)
def test_a_handler_that_fails_is_no_500_and_leaves_no_trace(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, status: int, words: str
) -> None:
    direct = Direct()

    def half(call: Any) -> dict[str, Any]:
        call.cloud.store.insert("thing", "half", {}, now=call.cloud.now)
        raise failure

    monkeypatch.setitem(HANDLERS, "tpu.projects.locations.nodes.list", half)
    answered, found = direct.ask("GET", f"/{NODES}")
    assert (answered, words in found["error"]["message"]) == (status, True)
    direct.check([("GET", f"v2/{ZONE}/operations", None, 200)])
    assert direct.store.find("thing", "half") is None
