"""Objects of a local cluster, as the official Kubernetes client makes, changes, watches and deletes them."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes import watch
from kubernetes.client.exceptions import ApiException

from bench.cloud.control import ControlError
from bench.tests.kubernetes.conftest import LocalCluster, refusal

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


PODS = "/api/v1/namespaces/default/pods"


def pod(name: str = "", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **more}, "spec": {"containers": [{"name": "main", "image": "one"}]}}


def test_object_has_what_a_server_gives_it(cluster: LocalCluster) -> None:
    made = cluster.apps.create_namespaced_deployment("default", DEPLOYMENT)
    assert made.metadata.uid
    assert made.metadata.creation_timestamp
    assert made.metadata.generation == 1
    assert int(made.metadata.resource_version) > 0
    assert made.status is None
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"x": "hello"}}
    stored = cluster.ask("POST", "/api/v1/namespaces/default/secrets", secret)
    assert (stored["data"], stored["type"], "stringData" in stored) == ({"x": "aGVsbG8="}, "Opaque", False)


MERGE = "application/merge-patch+json"
REFUSED: tuple[tuple[str, str, Any, str, int, str], ...] = (
    ("POST", "/api/v1/namespaces/nowhere/pods", pod("a"), "", 404, "NotFound"),
    ("POST", PODS, pod("Not_A_Name"), "", 422, "Invalid"),
    ("POST", PODS, pod(""), "", 422, "Invalid"),
    ("POST", PODS, pod("a", namespace="kube-system"), "", 400, "BadRequest"),
    ("POST", PODS, pod("stands"), "", 409, "AlreadyExists"),
    ("POST", PODS, {**pod("a"), "kind": "Node"}, "", 400, "Kind=Pod, which is served"),
    ("POST", f"{PODS}?fieldValidation=Strict", {**pod("b"), "specs": 1}, "", 400, "unknown field specs"),
    (
        "POST",
        PODS,
        {"metadata": {"name": "a"}, "spec": {"containers": "none"}},
        "",
        422,
        "spec.containers: 'none' is not of type",
    ),
    ("PUT", f"{PODS}/stands", pod("stands", resourceVersion="1"), "", 409, "Conflict"),
    ("PUT", f"{PODS}/stands", pod("another"), "", 400, "does not match the name on the URL"),
    ("DELETE", f"{PODS}/stands", {"preconditions": {"uid": "another"}}, "", 409, "Precondition failed"),
    ("PATCH", f"{PODS}/stands", {}, "text/plain", 415, "application/merge-patch+json"),
    ("GET", f"{PODS}/absent", None, "", 404, "NotFound"),
    ("GET", "/apis/lab.example/v1/queues", None, "", 404, "NotFound"),
    ("POST", f"{PODS}/stands", pod("stands"), "", 405, "MethodNotAllowed"),
    ("GET", f"{PODS}?labelSelector=a%20in%20(b)", None, "", 400, "KEY!=VALUE are served"),
    ("PATCH", "/apis/scheduling.k8s.io/v1/priorityclasses/urgent", {"value": 20}, MERGE, 422, "not be changed in an"),
)


def test_what_cannot_be_is_refused(cluster: LocalCluster) -> None:
    cluster.core.create_namespaced_pod("default", pod("stands"))
    cluster.scheduling.create_priority_class({"metadata": {"name": "urgent"}, "value": 10})
    for verb, path, body, content, code, words in REFUSED:
        with pytest.raises(ApiException) as raised:
            cluster.ask(verb, path, body, content=content or "application/json")
        assert refusal(raised)[0] == code, (verb, path)
        assert words in refusal(raised)[1]
    cluster.api.configuration.api_key = {}
    with pytest.raises(ApiException) as raised:
        cluster.core.list_namespace()
    assert refusal(raised)[0] == 401


def test_writes_that_keep_nothing(cluster: LocalCluster) -> None:
    assert "restarts" not in cluster.ask("POST", PODS, {**pod("a"), "spec": {**pod()["spec"], "restarts": 1}})["spec"]
    assert cluster.core.create_namespaced_pod("default", pod("b"), dry_run="All").metadata.uid
    assert [each.metadata.name for each in cluster.core.list_namespaced_pod("default").items] == ["a"]
    first = cluster.core.read_namespaced_pod("a", "default")
    again = cluster.core.patch_namespaced_pod("a", "default", {"spec": {"restartPolicy": None}})
    assert again.metadata.resource_version == first.metadata.resource_version


def test_lists_choose_by_labels_and_fields(cluster: LocalCluster) -> None:
    for name, role in (("a", "train"), ("b", "rollout"), ("c", "rollout")):
        cluster.core.create_namespaced_pod("default", pod(name, labels={"role": role}))
    for how, names in (
        ({"label_selector": "role=rollout"}, ["b", "c"]),
        ({"label_selector": "role!=rollout"}, ["a"]),
        ({"field_selector": "metadata.name=b"}, ["b"]),
        ({"field_selector": "status.phase!=Pending"}, []),
    ):
        found = cluster.core.list_namespaced_pod("default", **how).items
        assert [each.metadata.name for each in found] == names, how


def test_patches_merge_and_remove(cluster: LocalCluster) -> None:
    apps = cluster.apps
    apps.create_namespaced_deployment("default", DEPLOYMENT)
    containers = [{"name": "main", "image": "two"}, {"name": "side", "image": "s"}]
    patched = apps.patch_namespaced_deployment(
        "curriculum", "default", {"spec": {"template": {"spec": {"containers": containers}}}}
    )
    main, side = patched.spec.template.spec.containers
    assert (main.image, main.ports[0].container_port, side.name) == ("two", 8080, "side")
    assert patched.metadata.generation == 2
    away = [{"name": "side", "$patch": "delete"}]
    directives = {"$setElementOrder/containers": [{"name": "main"}], "containers": away}
    patched = apps.patch_namespaced_deployment("curriculum", "default", {"spec": {"template": {"spec": directives}}},
                                               field_validation="Strict")  # fmt: skip
    assert [each.name for each in patched.spec.template.spec.containers] == ["main"]
    path = "/api/v1/namespaces/default/configmaps/a"
    cluster.core.create_namespaced_config_map("default", {"metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}})
    assert cluster.ask("PATCH", path, {"data": {"x": None}}, content=MERGE)["data"] == {"y": "2"}


def test_status_is_what_people_say(cluster: LocalCluster) -> None:
    apps = cluster.apps
    apps.create_namespaced_deployment("default", {**DEPLOYMENT, "status": {"replicas": 9}})
    cluster.control.tell_status("deploy", "curriculum", status={"readyReplicas": 2}, conditions={"Available": "True"})
    seen = apps.patch_namespaced_deployment("curriculum", "default", {"status": {"replicas": 9}})
    assert (seen.status.replicas, seen.metadata.generation) == (None, 1)
    assert (seen.status.ready_replicas, seen.status.conditions[0].type) == (2, "Available")
    for kind, name, words in (("deploy", "absent", "not found"), ("thing", "a", "kind thing")):
        with pytest.raises(ControlError, match=words):
            cluster.control.tell_status(kind, name)


def test_namespace_goes_with_all_in_it(cluster: LocalCluster) -> None:
    cluster.core.create_namespace({"metadata": {"name": "team"}})
    for namespace in ("team", "default"):
        cluster.core.create_namespaced_pod(namespace, pod("a"))
    assert cluster.ask("DELETE", "/api/v1/namespaces/team")["status"] == "Success"
    assert [each.metadata.namespace for each in cluster.core.list_pod_for_all_namespaces().items] == ["default"]
    assert "team" not in [each.metadata.name for each in cluster.core.list_namespace().items]


def test_watch_tells_what_changes_and_what_no_longer_fits(cluster: LocalCluster) -> None:
    cluster.core.create_namespaced_pod("default", pod("first", labels={"role": "train"}))
    changes = [
        lambda: cluster.core.create_namespaced_pod("default", pod("a", labels={"role": "train"})),
        lambda: cluster.core.create_namespaced_pod("default", pod("other")),
        lambda: cluster.core.patch_namespaced_pod("a", "default", {"metadata": {"annotations": {"x": "1"}}}),
        lambda: cluster.core.patch_namespaced_pod("a", "default", {"metadata": {"labels": {"role": None}}}),
        lambda: cluster.core.delete_namespaced_pod("first", "default"),
    ]
    watching, seen = watch.Watch(), []
    stream = watching.stream(
        cluster.core.list_namespaced_pod, "default", label_selector="role=train", timeout_seconds=20
    )
    for event in stream:
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 1:
            for change in changes:
                change()
        elif len(seen) == 5:
            watching.stop()
    assert seen == [("ADDED", "first"), ("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("DELETED", "first")]


def test_a_node_that_is_preempted_goes_with_its_pods(cluster: LocalCluster) -> None:
    for name in ("v4-0", "v4-1"):
        cluster.core.create_node({"metadata": {"name": name}})
        cluster.core.create_namespaced_pod("default", {**pod(name), "spec": {**pod()["spec"], "nodeName": name}})
    cluster.control.remove_kube_node("v4-1")
    for left in (cluster.core.list_node(), cluster.core.list_namespaced_pod("default")):
        assert [each.metadata.name for each in left.items] == ["v4-0"]


def test_pod_prints_what_it_is_told_to(cluster: LocalCluster) -> None:
    cluster.core.create_namespaced_pod("default", pod("a"))
    cluster.control.say_log("a", "step 1\nstep 2\n")
    assert cluster.core.read_namespaced_pod_log("a", "default", tail_lines=1) == "step 2\n"
    with pytest.raises(ControlError, match="pod nosuch in namespace default"):
        cluster.control.say_log("nosuch", "hi\n")
