"""Objects of a local cluster, as the official Kubernetes client makes, changes, watches and deletes them."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes import watch
from kubernetes.client.exceptions import ApiException

from bench.cloud.control import ControlError
from bench.tests.kubernetes.conftest import CLUSTER, LocalCluster, refusal

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
    assert made.status.replicas is None


def test_generated_names_differ(cluster: LocalCluster) -> None:
    made = [cluster.core.create_namespaced_pod("default", pod(generateName="worker-")) for _ in range(3)]
    names = {each.metadata.name for each in made}
    assert len(names) == 3
    assert all(name.startswith("worker-") and len(name) == 12 for name in names)


@pytest.mark.parametrize(
    ("namespace", "body", "code", "reason"),
    [
        ("nowhere", pod("a"), 404, "NotFound"),
        ("default", pod("Not_A_Name"), 422, "Invalid"),
        ("default", pod("a", namespace="kube-system"), 400, "BadRequest"),
    ],
)
def test_what_cannot_be_is_refused(
    cluster: LocalCluster, namespace: str, body: dict[str, Any], code: int, reason: str
) -> None:
    with pytest.raises(ApiException) as raised:
        cluster.core.create_namespaced_pod(namespace, body)
    assert refusal(raised)[0] == code
    assert reason in refusal(raised)[1]


def test_second_object_of_a_name_is_refused(cluster: LocalCluster) -> None:
    cluster.core.create_namespaced_pod("default", pod("a"))
    with pytest.raises(ApiException) as raised:
        cluster.core.create_namespaced_pod("default", pod("a"))
    assert refusal(raised)[0] == 409
    assert "AlreadyExists" in refusal(raised)[1]


def test_unknown_field_is_dropped_unless_strict(cluster: LocalCluster) -> None:
    body = {**pod("a"), "spec": {**pod()["spec"], "restarts": 1}}
    assert "restarts" not in cluster.ask("POST", PODS, body)["spec"]
    with pytest.raises(ApiException) as raised:
        cluster.ask("POST", f"{PODS}?fieldValidation=Strict", {**body, "metadata": {"name": "b"}})
    assert refusal(raised)[0] == 400
    assert 'unknown field \\"spec.restarts\\"' in refusal(raised)[1]


def test_value_of_another_type_is_refused(cluster: LocalCluster) -> None:
    with pytest.raises(ApiException) as raised:
        cluster.ask("POST", PODS, {"metadata": {"name": "a"}, "spec": {"containers": "none"}})
    assert refusal(raised)[0] == 400
    assert "spec.containers: cannot unmarshal a string" in refusal(raised)[1]


def test_dry_run_writes_nothing(cluster: LocalCluster) -> None:
    made = cluster.core.create_namespaced_pod("default", pod("a"), dry_run="All")
    assert made.metadata.uid
    assert cluster.core.list_namespaced_pod("default").items == []


@pytest.mark.parametrize("content", ["application/vnd.kubernetes.protobuf", "application/cbor"])
def test_body_in_another_format_is_told_which_ones_are_read(cluster: LocalCluster, content: str) -> None:
    with pytest.raises(ApiException) as raised:
        cluster.ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}}, content=content)
    code, text = refusal(raised)
    assert code == 415
    assert "accepted media types include: application/json, application/yaml" in text


def test_stale_version_is_refused(cluster: LocalCluster) -> None:
    first = cluster.core.create_namespaced_config_map("default", {"metadata": {"name": "a"}, "data": {"x": "1"}})
    first.data = {"x": "2"}
    second = cluster.core.replace_namespaced_config_map("a", "default", first)
    assert second.metadata.resource_version != first.metadata.resource_version
    with pytest.raises(ApiException) as raised:
        cluster.core.replace_namespaced_config_map("a", "default", first)
    assert refusal(raised)[0] == 409


def test_write_that_changes_nothing_keeps_the_version(cluster: LocalCluster) -> None:
    first = cluster.core.create_namespaced_config_map("default", {"metadata": {"name": "a"}, "data": {"x": "1"}})
    again = cluster.core.patch_namespaced_config_map("a", "default", {"data": {"x": "1"}})
    assert again.metadata.resource_version == first.metadata.resource_version


def test_lists_choose_by_labels_and_fields(cluster: LocalCluster) -> None:
    for name, role in (("a", "train"), ("b", "rollout"), ("c", "rollout")):
        cluster.core.create_namespaced_pod("default", pod(name, labels={"role": role}))

    def names(**how: str) -> list[str]:
        return [each.metadata.name for each in cluster.core.list_namespaced_pod("default", **how).items]

    assert names(label_selector="role=rollout") == ["b", "c"]
    assert names(label_selector="role!=rollout") == ["a"]
    assert names(label_selector="role in (train, other)") == ["a"]
    assert names(label_selector="role,!team") == ["a", "b", "c"]
    assert names(field_selector="metadata.name=b") == ["b"]
    assert names(field_selector="status.phase!=Pending") == []


def test_long_list_comes_in_pages(cluster: LocalCluster) -> None:
    for name in "abcde":
        cluster.core.create_namespaced_pod("default", pod(name))
    first = cluster.core.list_namespaced_pod("default", limit=2)
    rest = cluster.core.list_namespaced_pod("default", _continue=first.metadata._continue)
    assert [each.metadata.name for each in (*first.items, *rest.items)] == list("abcde")


@pytest.mark.parametrize("query", ["limit=ten", "limit=-1", "watch=true&timeoutSeconds=soon"])
def test_number_of_a_query_that_is_none_is_refused(cluster: LocalCluster, query: str) -> None:
    with pytest.raises(ApiException) as raised:
        cluster.ask("GET", f"/api/v1/pods?{query}")
    assert refusal(raised)[0] == 400


def test_strategic_patch_merges_containers_by_name(cluster: LocalCluster) -> None:
    apps = cluster.apps
    apps.create_namespaced_deployment("default", DEPLOYMENT)
    containers = [{"name": "main", "image": "two"}, {"name": "side", "image": "s"}]
    patched = apps.patch_namespaced_deployment(
        "curriculum", "default", {"spec": {"template": {"spec": {"containers": containers}}}}
    )
    main, side = patched.spec.template.spec.containers
    assert (main.image, main.ports[0].container_port, side.name) == ("two", 8080, "side")
    assert patched.metadata.generation == 2


def test_merge_patch_removes_by_null_and_json_patch_by_path(cluster: LocalCluster) -> None:
    path = "/api/v1/namespaces/default/configmaps/a"
    cluster.core.create_namespaced_config_map("default", {"metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}})
    merged = cluster.ask("PATCH", path, {"data": {"x": None}}, content="application/merge-patch+json")
    assert merged["data"] == {"y": "2"}
    steps = [{"op": "add", "path": "/data/z", "value": "3"}, {"op": "remove", "path": "/data/y"}]
    stepped = cluster.ask("PATCH", path, steps, content="application/json-patch+json")
    assert stepped["data"] == {"z": "3"}


def test_immutable_field_is_refused(cluster: LocalCluster) -> None:
    scheduling = cluster.scheduling
    scheduling.create_priority_class({"metadata": {"name": "urgent"}, "value": 10})
    with pytest.raises(ApiException) as raised:
        scheduling.patch_priority_class("urgent", {"value": 20})
    assert refusal(raised)[0] == 422
    assert "may not be changed in an update" in refusal(raised)[1]


def test_status_is_written_by_its_own_path_alone(cluster: LocalCluster) -> None:
    apps = cluster.apps
    apps.create_namespaced_deployment("default", {**DEPLOYMENT, "status": {"replicas": 9}})
    ignored = apps.patch_namespaced_deployment("curriculum", "default", {"status": {"replicas": 9}})
    assert ignored.status.replicas is None
    apps.patch_namespaced_deployment_status(
        "curriculum", "default", {"status": {"replicas": 2}, "spec": {"replicas": 7}}
    )
    seen = apps.read_namespaced_deployment("curriculum", "default")
    assert (seen.status.replicas, seen.spec.replicas, seen.metadata.generation) == (2, 2, 1)


def test_people_say_statuses_and_conditions(cluster: LocalCluster) -> None:
    cluster.apps.create_namespaced_deployment("default", DEPLOYMENT)
    cluster.control.tell_status("deploy", "curriculum", status={"readyReplicas": 2}, conditions={"Available": "True"})
    seen = cluster.apps.read_namespaced_deployment("curriculum", "default")
    assert seen.status.ready_replicas == 2
    assert [(each.type, each.status) for each in seen.status.conditions] == [("Available", "True")]


def test_finalizer_holds_an_object(cluster: LocalCluster) -> None:
    cluster.core.create_namespaced_pod("default", pod("a", finalizers=["lab/held"]))
    ending = cluster.core.delete_namespaced_pod("a", "default")
    assert ending.metadata.deletion_timestamp
    cluster.core.patch_namespaced_pod("a", "default", {"metadata": {"finalizers": None}})
    assert cluster.core.list_namespaced_pod("default").items == []


@pytest.mark.parametrize(("policy", "left"), [("Background", []), ("Foreground", []), ("Orphan", ["child"])])
def test_dependents_go_with_their_owner(cluster: LocalCluster, policy: str, left: list[str]) -> None:
    owner = cluster.core.create_namespaced_pod("default", pod("owner"))
    reference = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "owner",
        "uid": owner.metadata.uid,
        "blockOwnerDeletion": True,
    }
    cluster.core.create_namespaced_pod("default", pod("child", ownerReferences=[reference]))
    cluster.core.delete_namespaced_pod("owner", "default", propagation_policy=policy)
    assert [each.metadata.name for each in cluster.core.list_namespaced_pod("default").items] == left


def test_namespace_goes_with_all_in_it_once_nothing_holds(cluster: LocalCluster) -> None:
    cluster.core.create_namespace({"metadata": {"name": "team"}})
    cluster.core.create_namespaced_pod("team", pod("free"))
    cluster.core.create_namespaced_pod("team", pod("held", finalizers=["lab/held"]))
    assert cluster.ask("DELETE", "/api/v1/namespaces/team")["status"] == {"phase": "Terminating"}
    assert [each.metadata.name for each in cluster.core.list_namespaced_pod("team").items] == ["held"]
    with pytest.raises(ApiException) as raised:
        cluster.core.create_namespaced_pod("team", pod("late"))
    assert refusal(raised)[0] == 403
    cluster.core.patch_namespaced_pod("held", "team", {"metadata": {"finalizers": None}})
    assert "team" not in [each.metadata.name for each in cluster.core.list_namespace().items]


def test_watch_tells_what_changes_and_what_no_longer_fits(cluster: LocalCluster) -> None:
    since = cluster.core.list_namespaced_pod("default").metadata.resource_version
    cluster.core.create_namespaced_pod("default", pod("a", labels={"role": "train"}))
    cluster.core.create_namespaced_pod("default", pod("other"))
    cluster.core.patch_namespaced_pod("a", "default", {"metadata": {"annotations": {"x": "1"}}})
    cluster.core.patch_namespaced_pod("a", "default", {"metadata": {"labels": {"role": None}}})
    stream = watch.Watch().stream(
        cluster.core.list_namespaced_pod,
        "default",
        label_selector="role=train",
        resource_version=since,
        timeout_seconds=1,
    )
    assert [(each["type"], each["object"].metadata.name) for each in stream] == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
    ]


def test_watch_goes_on_while_others_write(cluster: LocalCluster) -> None:
    cluster.core.create_namespaced_pod("default", pod("a"))
    watching = watch.Watch()
    seen = []
    for event in watching.stream(cluster.core.list_namespaced_pod, "default", timeout_seconds=20):
        seen.append(event["object"].metadata.name)
        if len(seen) == 3:
            watching.stop()
        else:
            cluster.core.create_namespaced_pod("default", pod(f"{seen[-1]}a"))
    assert seen == ["a", "aa", "aaa"]


def test_watch_from_before_a_compaction_is_expired(cluster: LocalCluster) -> None:
    since = cluster.core.list_namespaced_pod("default").metadata.resource_version
    cluster.core.create_namespaced_pod("default", pod("a"))
    cluster.control.compact()
    with pytest.raises(ApiException) as raised:
        cluster.core.list_namespaced_pod("default", watch=True, resource_version=since)
    assert refusal(raised)[0] == 410


def test_watch_ends_where_its_cluster_begins_anew(cluster: LocalCluster) -> None:
    since = cluster.core.list_namespaced_pod("default").metadata.resource_version
    cluster.core.create_namespaced_pod("default", pod("a"))
    told = cluster.core.list_namespaced_pod("default").metadata.resource_version
    stream = watch.Watch().stream(
        cluster.core.list_namespaced_pod, "default", resource_version=since, timeout_seconds=20
    )
    assert next(stream)["object"].metadata.name == "a"
    cluster.control.say_log("a", "of the old cluster")
    cluster.control.end_cluster(CLUSTER)
    with pytest.raises(ApiException) as raised:
        next(stream)
    assert raised.value.status == 410

    cluster.control.begin_cluster(CLUSTER)
    with pytest.raises(ApiException) as raised:
        cluster.core.list_namespaced_pod("default", watch=True, resource_version=told)
    assert refusal(raised)[0] == 410
    cluster.core.create_namespaced_pod("default", pod("a"))
    assert cluster.core.read_namespaced_pod_log("a", "default") == ""


def test_no_token_no_answer(cluster: LocalCluster) -> None:
    cluster.api.configuration.api_key = {}
    with pytest.raises(ApiException) as raised:
        cluster.core.list_namespace()
    assert refusal(raised)[0] == 401


def test_nodes_are_those_of_the_pools_and_go_with_their_pods(cluster: LocalCluster) -> None:
    def node(name: str) -> dict[str, Any]:
        labels = {"cloud.google.com/gke-nodepool": "v4", "cloud.google.com/gke-tpu-topology": "2x2x2"}
        status = {"capacity": {"google.com/tpu": "4"}, "allocatable": {"google.com/tpu": "4"}}
        return {"metadata": {"name": name, "labels": labels}, "status": status}

    cluster.control.set_nodes([node("v4-0"), node("v4-1")])
    cluster.core.create_namespaced_pod("default", {**pod("a"), "spec": {**pod()["spec"], "nodeName": "v4-1"}})
    cluster.control.tell_status("node", "v4-0", conditions={"Ready": "True"})
    cluster.control.set_nodes([node("v4-0")])
    (left,) = cluster.core.list_node().items
    assert (left.metadata.name, left.status.capacity["google.com/tpu"]) == ("v4-0", "4")
    assert left.status.conditions[0].type == "Ready"
    assert cluster.core.list_namespaced_pod("default").items == []


def test_pod_prints_what_it_is_told_to(cluster: LocalCluster) -> None:
    cluster.core.create_namespaced_pod("default", pod("a"))
    cluster.control.say_log("a", "step 1\nstep 2\n")
    assert cluster.core.read_namespaced_pod_log("a", "default", tail_lines=1) == "step 2\n"


def test_a_pod_that_is_not_there_prints_nothing(cluster: LocalCluster) -> None:
    with pytest.raises(ControlError, match="pod nosuch in namespace default"):
        cluster.control.say_log("nosuch", "hi\n")
