"""Server-side apply with its owners, and kinds that a CustomResourceDefinition brings."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes.client.exceptions import ApiException

from bench.tests.kubernetes.conftest import LocalCluster, refusal
from bench.tests.kubernetes.test_objects import DEPLOYMENT

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUEUES = "/apis/lab.example/v1/namespaces/default/queues"


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def deployment(**container: Any) -> dict[str, Any]:
    template = DEPLOYMENT["spec"]["template"]
    inside = {"template": {**template, "spec": {"containers": [container]}}}
    return {**DEPLOYMENT, "spec": {"selector": DEPLOYMENT["spec"]["selector"], **inside}}


def definition(**schema: Any) -> dict[str, Any]:
    spec = {
        "type": "object",
        "required": ["depth"],
        "properties": {
            "depth": {"type": "integer", "minimum": 1},
            "policy": {"type": "string", "enum": ["fifo", "fair"], "default": "fifo"},
            "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "users": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object", "required": ["name"],
                    "properties": {"name": {"type": "string"}, "weight": {"type": "integer"}},
                },
            },
            "more": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            **schema,
        },
    }  # fmt: skip
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
    }  # fmt: skip
    names = {"kind": "Queue", "plural": "queues"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "queues.lab.example"},
        "spec": {"group": "lab.example", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def queue(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "lab.example/v1", "kind": "Queue", "metadata": {"name": "q"}, "spec": spec}


def test_applied_fields_have_owners_until_they_are_left_out(cluster: LocalCluster) -> None:
    made = cluster.apply(config_map(x="1", y="2"), by="one")
    (owned,) = made["metadata"]["managedFields"]
    assert (owned["manager"], owned["operation"]) == ("one", "Apply")
    assert owned["fieldsV1"] == {"f:data": {"f:x": {}, "f:y": {}}}
    assert cluster.apply(config_map(x="1", y="2"), by="one") == made, "the same again changes nothing"
    cluster.apply(config_map(x="1"), by="two")
    assert cluster.apply(config_map(y="2"), by="one")["data"] == {"x": "1", "y": "2"}, "two has said x as well"
    assert cluster.apply(config_map(), by="two")["data"] == {"y": "2"}


def test_field_of_another_is_a_conflict_until_forced(cluster: LocalCluster) -> None:
    cluster.apply(deployment(name="main", image="one"), by="one")
    with pytest.raises(ApiException) as raised:
        cluster.apply(deployment(name="main", image="two"), by="two")
    assert refusal(raised)[0] == 409
    assert '\\"one\\"' in refusal(raised)[1]
    forced = cluster.apply(deployment(name="main", image="two"), by="two", force=True)
    assert forced["spec"]["template"]["spec"]["containers"][0]["image"] == "two"
    with pytest.raises(ApiException):
        cluster.apply(deployment(name="main", image="one"), by="one")


def test_containers_of_two_appliers_stand_side_by_side(cluster: LocalCluster) -> None:
    cluster.apply(deployment(name="main", image="one"), by="one")
    both = cluster.apply(deployment(name="side", image="two"), by="two")
    assert [each["name"] for each in both["spec"]["template"]["spec"]["containers"]] == ["main", "side"]
    again = cluster.apply(deployment(name="other", image="three"), by="two")
    assert [each["name"] for each in again["spec"]["template"]["spec"]["containers"]] == ["main", "other"]


def test_update_takes_over_what_it_changes(cluster: LocalCluster) -> None:
    cluster.apply(config_map(x="1", y="2"))
    path = "/api/v1/namespaces/default/configmaps/a?fieldManager=kubectl-edit"
    patched = cluster.ask("PATCH", path, {"data": {"x": "9"}}, content="application/merge-patch+json")
    assert [each["manager"] for each in patched["metadata"]["managedFields"]] == ["me", "kubectl-edit"]
    assert patched["metadata"]["managedFields"][0]["fieldsV1"] == {"f:data": {"f:y": {}}}


def test_dry_run_of_an_apply_answers_and_writes_nothing(cluster: LocalCluster) -> None:
    cluster.apply(config_map(x="1"))
    assert cluster.apply(config_map(x="2"), dryRun="All")["data"] == {"x": "2"}
    assert cluster.ask("GET", "/api/v1/namespaces/default/configmaps/a")["data"] == {"x": "1"}


def test_definition_brings_a_kind_that_lasts_as_long(cluster: LocalCluster) -> None:
    made = cluster.ask("POST", DEFINITIONS, definition())
    assert [each["type"] for each in made["status"]["conditions"]] == ["NamesAccepted", "Established"]
    sent = queue(depth=3, dept=2, port="http", more={"any": {"thing": 1}})
    assert cluster.ask("POST", QUEUES, sent)["spec"] == {
        "depth": 3, "policy": "fifo", "port": "http", "more": {"any": {"thing": 1}}
    }  # fmt: skip
    (served,) = [each for each in cluster.ask("GET", "/apis")["groups"] if each["name"] == "lab.example"]
    assert served["preferredVersion"]["groupVersion"] == "lab.example/v1"
    cluster.apply(queue(depth=3, users=[{"name": "ann", "weight": 1}]), by="one", force=True)
    both = cluster.apply(queue(depth=3, users=[{"name": "bob"}]), by="two")
    assert both["spec"]["users"] == [{"name": "ann", "weight": 1}, {"name": "bob"}], "merged by their keys"
    cluster.ask("DELETE", f"{DEFINITIONS}/queues.lab.example")
    with pytest.raises(ApiException) as raised:
        cluster.ask("GET", QUEUES)
    assert refusal(raised)[0] == 404


def test_what_no_schema_takes_is_refused(cluster: LocalCluster) -> None:
    cluster.ask("POST", DEFINITIONS, definition())
    for spec, words in (
        ({}, "spec: 'depth' is a required property"),
        ({"depth": "deep"}, "spec.depth: 'deep' is not of type 'integer'"),
        ({"depth": 0}, "spec.depth: 0 is less than the minimum of 1"),
        ({"depth": 1, "policy": "random"}, "spec.policy: 'random' is not one of"),
    ):
        with pytest.raises(ApiException) as raised:
            cluster.ask("POST", QUEUES, queue(**spec))
        assert refusal(raised)[0] == 422
        assert words in refusal(raised)[1]
