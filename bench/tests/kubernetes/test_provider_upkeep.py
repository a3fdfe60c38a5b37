"""What a second run, a slow end and a kill mean to the embedded provider."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from bench.engine.run import Options
from bench.providers.kubernetes import differ
from bench.providers.kubernetes.objects import ClusterObjects
from bench.providers.kubernetes.provider import KubernetesProvider
from bench.providers.kubernetes.reach import ApiRefusedError, ClusterApi, ServedKind
from bench.tests.kubernetes.conftest import Run
from bench.tests.kubernetes.test_kubernetes_provider import steps
from bench.tests.kubernetes.test_stored_objects import DEFINITIONS, definition
from bench.tests.provider.virtual_time import VirtualTime


def hidden_setting(opts: pulumi.ResourceOptions) -> None:
    hidden = pulumi.Output.secret("do-not-show")
    kubernetes.core.v1.ConfigMap("settings", metadata={"name": "settings"}, data={"x": hidden}, opts=opts)
    kubernetes.helm.v3.Release("lws", name="lws", chart="oci://lab/lws", values={"x": hidden}, opts=opts)


def test_what_the_program_says_in_secret_stands_nowhere_in_the_state_in_clear(run: Run, tmp_path: Path) -> None:
    """The state keeps it twice: as the object is, and as the program said it."""
    for _ in range(2):
        run.up(hidden_setting)
        run.engine(hidden_setting).refresh(Options())
    assert steps(run.up(hidden_setting)) == {"settings": "same", "lws": "same"}
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"__inputs" in kept
    assert b"do-not-show" not in kept


@pytest.mark.parametrize("empty", [False, 0, "", {}, []])
def test_field_that_the_server_leaves_out_since_it_is_empty_is_no_difference(empty: Any) -> None:
    said = {"metadata": {"name": "one"}, "spec": {"hostNetwork": empty, "nodeName": "n"}}
    live = {"metadata": {"name": "one"}, "spec": {"nodeName": "n"}}
    assert not differ.compare("kubernetes:core/v1:Pod", said, live, said).detailed
    fresh = {**said, "spec": {"hostNetwork": True, "nodeName": "n"}}
    assert list(differ.compare("kubernetes:core/v1:Pod", said, live, fresh).detailed) == ["spec.hostNetwork"]


class EndingNamespace(ClusterApi):
    """A cluster that refuses to delete a namespace again while it ends, and shows it a few times more."""

    def __init__(self, uids: list[str]) -> None:
        self.uids = uids

    def kind(self, api_version: str, kind: str) -> ServedKind | None:
        return ServedKind("/api/v1", "namespaces", False)

    def call(self, verb: str, *args: Any, **more: Any) -> dict[str, Any]:
        assert verb == "DELETE"
        raise ApiRefusedError(409, "The system is ensuring all content is removed from this namespace")

    def find(self, path: str) -> dict[str, Any] | None:
        return {"metadata": {"name": "rl", "uid": self.uids.pop(0)}} if self.uids else None


@pytest.mark.parametrize("seen", [["u1", "u1"], ["u1", "another", "another"]])
def test_namespace_that_is_ending_already_is_awaited_until_it_or_its_name_is_free(seen: list[str]) -> None:
    cluster = EndingNamespace(list(seen))
    gone = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "rl", "uid": "u1"}}
    ClusterObjects(cluster, "lab/training").delete("kubernetes:core/v1:Namespace", gone, VirtualTime())
    assert "u1" not in cluster.uids


def test_create_that_was_cut_short_adopts_no_object_of_others(run: Run) -> None:
    token, provider = "kubernetes:core/v1:ConfigMap", KubernetesProvider(run.settings)

    def located(name: str) -> str | None:
        return provider.locate(token, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})

    run.cluster.core.create_namespaced_config_map("default", {"metadata": {"name": "theirs"}})
    ours = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ours"}, "data": {"a": "1"}}
    provider.create(token, ours, None, VirtualTime())
    assert (located("theirs"), located("ours"), located("none")) == (None, "default/ours", "default/none")


def test_definition_that_serves_no_version_ends_and_so_does_its_kind(run: Run) -> None:
    body = definition()
    body["spec"]["versions"] = [{**each, "served": False} for each in body["spec"]["versions"]]
    run.cluster.ask("POST", DEFINITIONS, body)
    token, queue = "kubernetes:lab.example/v1:Queue", {"metadata": {"name": "q", "uid": "u"}}
    assert KubernetesProvider(run.settings).read(token, "q", queue) is None
    KubernetesProvider(run.settings).delete(token, "q", queue, VirtualTime())
    run.cluster.ask("DELETE", f"{DEFINITIONS}/{body['metadata']['name']}")
    assert run.cluster.ask("GET", DEFINITIONS)["items"] == []
