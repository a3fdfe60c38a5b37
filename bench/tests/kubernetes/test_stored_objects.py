"""Objects of a local cluster, call by call, and a watch by the official Kubernetes client."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes import watch

from bench.tests.cloud.cloud_clients import Direct, Row, compared
from bench.tests.kubernetes.conftest import CLUSTER, LocalCluster

SECRETS, CLASSES = "api/v1/namespaces/default/secrets", "apis/scheduling.k8s.io/v1/priorityclasses"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUEUES = "/apis/lab.example/v1/namespaces/default/queues"
APPLY, MERGE = "PATCH application/apply-patch+yaml", "PATCH application/merge-patch+json"
STRATEGIC = "PATCH application/strategic-merge-patch+json"
HERE = f"kubernetes/{CLUSTER}"
PODS, MAPS = f"{HERE}/api/v1/namespaces/default/pods", f"{HERE}/api/v1/namespaces/default/configmaps"
WEB, QUEUE = f"{HERE}/apis/apps/v1/namespaces/default/deployments", f"{HERE}{QUEUES}"
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "curriculum", "labels": {"role": "curriculum"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"role": "curriculum"}},
        "template": {
            "metadata": {"labels": {"role": "curriculum"}},
            "spec": {"containers": [{"name": "main", "image": "one", "ports": [{"containerPort": 8080}]}]},
        },
    },
}


def pod(name: str = "", node: str = "v4-0", **more: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "one"}], "nodeName": node}
    return {"metadata": {"name": name, **more}, "spec": spec}


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def deployment(**container: Any) -> dict[str, Any]:
    template = DEPLOYMENT["spec"]["template"]
    inside = {"template": {**template, "spec": {"containers": [container]}}}
    return {**DEPLOYMENT, "spec": {"selector": DEPLOYMENT["spec"]["selector"], **inside}}


def definition() -> dict[str, Any]:
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
        },
    }  # fmt: skip
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
    }  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "queues.lab.example"},
        "spec": {
            "group": "lab.example", "scope": "Namespaced", "names": {"kind": "Queue", "plural": "queues"},
            "versions": [version],
        },
    }  # fmt: skip


def queue(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "lab.example/v1", "kind": "Queue", "metadata": {"name": "q"}, "spec": spec}


def containers(**spec: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": spec}}}


def told(kind: str, name: str, code: int, **more: Any) -> Row:
    return ("POST", "_tidepool/tell_status", {"kind": kind, "name": name, **more}, code)


CALLS: dict[str, list[Row]] = {
    "objects": [
        ("POST", WEB, {**DEPLOYMENT, "status": {"replicas": 9}}, 201),
        ("POST", f"{HERE}/{SECRETS}", {"metadata": {"name": "s"}, "stringData": {"x": "y"}}, 201),
        ("POST", PODS, {**pod("a", labels={"role": "train"}), "specs": 1}, 201),
        ("POST", f"{PODS}?dryRun=All", pod("b"), 201), (MERGE, f"{PODS}/a", {"spec": {"restartPolicy": None}}, 200),
        ("POST", PODS, pod("c"), 201),
        *(("GET", f"{PODS}?{selector}", None, 200) for selector in (
            "labelSelector=role%3Dtrain", "labelSelector=role!%3Dtrain", "labelSelector=role",
            "fieldSelector=metadata.name%3Dc", "fieldSelector=status.phase!%3DPending",
        )),
        told("deploy", "curriculum", 200, status={"readyReplicas": 2}, conditions={"Available": "True"}),
        (MERGE, f"{WEB}/curriculum", {"status": {"replicas": 9}}, 200),
        told("deploy", "absent", 404), told("thing", "a", 404),
        ("POST", "_tidepool/say_log", {"pod": "c", "text": "one\ntwo\n"}, 200),
        ("GET", f"{PODS}/c/log?tailLines=1", None, 200),
        ("POST", "_tidepool/say_log", {"pod": "absent", "text": "one"}, 404),
        ("POST", f"{HERE}/api/v1/nodes", {"metadata": {"name": "v4-1"}}, 201), ("POST", PODS, pod("d", "v4-1"), 201),
        ("POST", "_tidepool/remove_kube_node", {"name": "v4-1"}, 200), ("GET", f"{HERE}/api/v1/nodes", None, 200),
        ("DELETE", f"{PODS}/a", None, 200), ("GET", PODS, None, 200),
        ("POST", f"{HERE}/api/v1/namespaces", {"metadata": {"name": "team"}}, 201),
        ("POST", f"{HERE}/api/v1/namespaces/team/pods", pod("a"), 201),
        ("DELETE", f"{HERE}/api/v1/namespaces/team", None, 200), ("GET", f"{HERE}/api/v1/pods", None, 200),
        ("POST", "_tidepool/end_cluster", {"cluster": "training"}, 200), ("GET", PODS, None, 503),
    ],
    "refusals": [
        ("POST", PODS, pod("stands"), 201), ("POST", PODS, pod("stands"), 409),
        ("POST", f"{HERE}/api/v1/namespaces/nowhere/pods", pod("a"), 404), ("POST", PODS, pod("Not_A_Name"), 422),
        ("POST", PODS, pod("a", namespace="kube-system"), 400), ("POST", PODS, {**pod("a"), "kind": "Node"}, 400),
        ("POST", f"{PODS}?fieldValidation=Strict", {**pod("b"), "specs": 1}, 400),
        ("POST", PODS, {"metadata": {"name": "a"}, "spec": {"containers": "none"}}, 422),
        ("PUT", f"{PODS}/stands", pod("stands", resourceVersion="1"), 409), ("PUT", f"{PODS}/stands", pod("b"), 400),
        ("DELETE", f"{PODS}/stands", {"preconditions": {"uid": "another"}}, 409),
        ("PATCH text/plain", f"{PODS}/stands", {}, 415), ("POST", f"{PODS}/stands", pod("stands"), 405),
        ("GET", f"{PODS}/absent", None, 404), ("GET", QUEUE, None, 404),
        ("GET", f"{PODS}?labelSelector=a%20in%20(b)", None, 400),
        ("POST", f"{HERE}/{CLASSES}", {"metadata": {"name": "urgent"}, "value": 10}, 201),
        (MERGE, f"{HERE}/{CLASSES}/urgent", {"value": 20}, 422),
    ],
    "patches": [
        ("POST", WEB, DEPLOYMENT, 201),
        (STRATEGIC, f"{WEB}/curriculum", containers(containers=[{"name": "main", "image": "two"}, {"name": "b"}]), 200),
        (STRATEGIC, f"{WEB}/curriculum?fieldValidation=Strict", containers(**{
            "$setElementOrder/containers": [{"name": "main"}], "containers": [{"name": "b", "$patch": "delete"}],
        }), 200),
        ("POST", MAPS, config_map(x="1", y="2"), 201), (MERGE, f"{MAPS}/a", {"data": {"x": None}}, 200),
    ],
    "applies": [
        (APPLY, f"{MAPS}/a?fieldManager=one", config_map(x="1", y="2"), 200),
        (APPLY, f"{MAPS}/a?fieldManager=one", config_map(x="1", y="2"), 200),
        (APPLY, f"{MAPS}/a?fieldManager=two", config_map(x="1"), 200),
        (APPLY, f"{MAPS}/a?fieldManager=one", config_map(y="2"), 200),
        (APPLY, f"{MAPS}/a?fieldManager=two", config_map(), 200),
        (APPLY, f"{MAPS}/a?fieldManager=one&dryRun=All", config_map(y="3"), 200), ("GET", f"{MAPS}/a", None, 200),
        (MERGE, f"{MAPS}/a?fieldManager=kubectl-edit", {"data": {"y": "9"}}, 200),
        (APPLY, f"{WEB}/curriculum?fieldManager=one", deployment(name="main", image="one"), 200),
        (APPLY, f"{WEB}/curriculum?fieldManager=two", deployment(name="main", image="two"), 409),
        (APPLY, f"{WEB}/curriculum?fieldManager=two&force=true", deployment(name="main", image="two"), 200),
        (APPLY, f"{WEB}/curriculum?fieldManager=one", deployment(name="main", image="one"), 409),
        (APPLY, f"{WEB}/curriculum?fieldManager=three", deployment(name="side", image="two"), 200),
        (APPLY, f"{WEB}/curriculum?fieldManager=three", deployment(name="other", image="three"), 200),
    ],
    "custom kinds": [
        ("POST", f"{HERE}{DEFINITIONS}", definition(), 201),
        ("POST", QUEUE, queue(depth=3, dept=2, port="http", more={"any": {"thing": 1}}), 201),
        ("GET", f"{HERE}/apis", None, 200), ("GET", f"{HERE}/apis/lab.example/v1", None, 200),
        ("GET", f"{HERE}/openapi/v3/apis/lab.example/v1", None, 200),
        (APPLY, f"{QUEUE}/q?fieldManager=one&force=true", queue(depth=3, users=[{"name": "ann", "weight": 1}]), 200),
        (APPLY, f"{QUEUE}/q?fieldManager=two", queue(depth=3, users=[{"name": "bob"}]), 200),
        *(("PUT", f"{QUEUE}/q", queue(**spec), 422) for spec in (
            {}, {"depth": "deep"}, {"depth": 0}, {"depth": 1, "policy": "random"}
        )),
        ("DELETE", f"{HERE}{DEFINITIONS}/queues.lab.example", None, 200), ("GET", QUEUE, None, 404),
    ],
}  # fmt: skip


@pytest.mark.parametrize("calls", CALLS)
def test_store_answers_each_call(calls: str, update_goldens: bool) -> None:
    begin: Row = ("POST", "_tidepool/begin_cluster", {"cluster": CLUSTER}, 200)
    compared(Direct().check([begin, *CALLS[calls]]), f"store {calls}", update_goldens)


def test_watch_tells_what_changes_and_what_no_longer_fits(cluster: LocalCluster) -> None:
    core = cluster.core
    core.create_namespaced_pod("default", pod("first", labels={"role": "train"}))
    changes = [
        lambda: core.create_namespaced_pod("default", pod("a", labels={"role": "train"})),
        lambda: core.create_namespaced_pod("default", pod("other")),
        lambda: core.patch_namespaced_pod("a", "default", {"metadata": {"annotations": {"x": "1"}}}),
        lambda: core.patch_namespaced_pod("a", "default", {"metadata": {"labels": {"role": None}}}),
        lambda: core.delete_namespaced_pod("first", "default"),
    ]
    watching, seen = watch.Watch(), []
    for event in watching.stream(core.list_namespaced_pod, "default", label_selector="role=train", timeout_seconds=20):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 1:
            for change in changes:
                change()
        elif len(seen) == 5:
            watching.stop()
    assert seen == [("ADDED", "first"), ("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("DELETED", "first")]
