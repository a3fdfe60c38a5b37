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


def managers(entity: dict[str, Any]) -> list[str]:
    return [each["manager"] for each in entity["metadata"]["managedFields"]]


def test_apply_makes_what_is_not_there_and_owns_it(cluster: LocalCluster) -> None:
    made = cluster.apply(config_map(x="1"))
    (owned,) = made["metadata"]["managedFields"]
    assert (owned["manager"], owned["operation"]) == ("me", "Apply")
    assert owned["fieldsV1"] == {"f:data": {"f:x": {}}}


def test_field_that_is_no_longer_applied_goes(cluster: LocalCluster) -> None:
    cluster.apply(config_map(x="1", y="2"))
    assert cluster.apply(config_map(y="2"))["data"] == {"y": "2"}


def test_field_of_two_appliers_stays_while_one_says_it(cluster: LocalCluster) -> None:
    cluster.apply(config_map(x="1", y="2"), by="one")
    cluster.apply(config_map(x="1"), by="two")
    assert cluster.apply(config_map(y="2"), by="one")["data"] == {"x": "1", "y": "2"}


def test_field_of_another_is_a_conflict_until_forced(cluster: LocalCluster) -> None:
    cluster.apply(deployment(name="main", image="one"), by="one")
    with pytest.raises(ApiException) as raised:
        cluster.apply(deployment(name="main", image="two"), by="two")
    assert refusal(raised)[0] == 409
    assert 'conflict with \\"one\\" using apps/v1' in refusal(raised)[1]
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
    patched = cluster.ask(
        "PATCH", "/api/v1/namespaces/default/configmaps/a?fieldManager=kubectl-edit", {"data": {"x": "9"}},
        content="application/merge-patch+json",
    )  # fmt: skip
    assert managers(patched) == ["me", "kubectl-edit"]
    assert patched["metadata"]["managedFields"][0]["fieldsV1"] == {"f:data": {"f:y": {}}}
    with pytest.raises(ApiException) as raised:
        cluster.apply(config_map(x="1", y="2"))
    assert "kubectl-edit" in refusal(raised)[1]


def test_same_apply_again_changes_nothing(cluster: LocalCluster) -> None:
    first = cluster.apply(deployment(name="main", image="one"))
    assert cluster.apply(deployment(name="main", image="one")) == first


def test_applied_status_is_a_manager_of_its_own(cluster: LocalCluster) -> None:
    cluster.apply(deployment(name="main", image="one"))
    told = {**DEPLOYMENT, "spec": None, "status": {"readyReplicas": 1}}
    done = cluster.apply({key: value for key, value in told.items() if value}, by="controller", below="/status")
    assert done["status"] == {"readyReplicas": 1}
    assert [each.get("subresource") for each in done["metadata"]["managedFields"]] == [None, "status"]


def test_apply_refuses_unknown_fields(cluster: LocalCluster) -> None:
    with pytest.raises(ApiException) as raised:
        cluster.apply(deployment(name="main", images="one"))
    assert refusal(raised)[0] == 500
    assert ".spec.template.spec.containers[0].images: field not declared in schema" in refusal(raised)[1]


def test_dry_run_of_an_apply_answers_and_writes_nothing(cluster: LocalCluster) -> None:
    cluster.apply(config_map(x="1"))
    assert cluster.apply(config_map(x="2"), dryRun="All")["data"] == {"x": "2"}
    assert cluster.ask("GET", "/api/v1/namespaces/default/configmaps/a")["data"] == {"x": "1"}


def test_definition_brings_a_kind_at_once(cluster: LocalCluster) -> None:
    made = cluster.ask("POST", DEFINITIONS, definition())
    assert [each["type"] for each in made["status"]["conditions"]] == ["NamesAccepted", "Established"]
    assert cluster.ask("POST", QUEUES, queue(depth=3))["spec"] == {"depth": 3, "policy": "fifo"}
    (served,) = [each for each in cluster.ask("GET", "/apis")["groups"] if each["name"] == "lab.example"]
    assert served["preferredVersion"]["groupVersion"] == "lab.example/v1"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "spec.depth: Required value"),
        ({"depth": "deep"}, "spec.depth in body must be of type integer"),
        ({"depth": 0}, "spec.depth should match minimum: 1"),
        ({"depth": 1, "policy": "random"}, "supported values"),
    ],
)
def test_schema_of_a_custom_kind_is_enforced(cluster: LocalCluster, spec: dict[str, Any], said: str) -> None:
    cluster.ask("POST", DEFINITIONS, definition())
    with pytest.raises(ApiException) as raised:
        cluster.ask("POST", QUEUES, queue(**spec))
    assert refusal(raised)[0] == 422
    assert said in refusal(raised)[1]


def test_unknown_field_of_a_custom_kind_is_dropped_on_create_and_refused_by_apply(cluster: LocalCluster) -> None:
    cluster.ask("POST", DEFINITIONS, definition())
    made = cluster.ask("POST", QUEUES, queue(depth=1, dept=2, port="http", more={"any": {"thing": 1}}))
    assert made["spec"] == {"depth": 1, "policy": "fifo", "port": "http", "more": {"any": {"thing": 1}}}
    with pytest.raises(ApiException) as raised:
        cluster.apply(queue(depth=1, dept=2))
    assert ".spec.dept: field not declared in schema" in refusal(raised)[1]


def test_lists_of_a_custom_kind_merge_by_their_keys(cluster: LocalCluster) -> None:
    cluster.ask("POST", DEFINITIONS, definition())
    cluster.apply(queue(depth=1, users=[{"name": "ann", "weight": 1}]), by="one")
    both = cluster.apply(queue(depth=1, users=[{"name": "bob"}]), by="two")
    assert both["spec"]["users"] == [{"name": "ann", "weight": 1}, {"name": "bob"}]


def test_objects_go_with_their_definition(cluster: LocalCluster) -> None:
    cluster.ask("POST", DEFINITIONS, definition())
    cluster.ask("POST", QUEUES, queue(depth=1))
    cluster.ask("DELETE", f"{DEFINITIONS}/queues.lab.example")
    with pytest.raises(ApiException) as raised:
        cluster.ask("GET", QUEUES)
    assert refusal(raised)[0] == 404


def test_plain_texts_of_a_secret_are_stored_encoded(cluster: LocalCluster) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"x": "hello"}}
    made = cluster.ask("POST", "/api/v1/namespaces/default/secrets", secret)
    assert (made["data"], made["type"], "stringData" in made) == ({"x": "aGVsbG8="}, "Opaque", False)
