"""What the official Kubernetes provider writes into a state is unchanged for the embedded one."""

from __future__ import annotations

from typing import Any

import pytest

from bench.providers.kubernetes import releases
from bench.providers.kubernetes.provider import KubernetesProvider
from bench.providers.kubernetes.quantities import canonical
from bench.tests.kubernetes.conftest import Run
from bench.tests.kubernetes.test_stored_objects import config_map

RELEASE: dict[str, Any] = {
    "name": "kueue", "namespace": "kueue-system", "createNamespace": True, "version": "0.19.2", "atomic": True,
    "chart": "oci://registry.k8s.io/kueue/charts/kueue", "repositoryOpts": {"repo": "https://lab.example"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("8000M", "8G"), ("2000m", "2"), ("0.5", "500m"), ("1024Mi", "1Gi"), ("1.5Gi", "1536Mi"), (4, "4"), ("0", "0"),
        ("1000Ki", "1000Ki"), ("1023", "1023"), ("100Ki", "100Ki"), ("1e3", "1e3"), ("all", "all"), (True, True),
    ],
)  # fmt: skip
def test_quantities_are_written_as_the_api_server_writes_them(said: Any, written: Any) -> None:
    assert canonical(said) == written


def test_only_kinds_of_kubernetes_itself_have_their_quantities_written_anew() -> None:
    def checked(token: str, spec: dict[str, Any]) -> Any:
        inputs = {"metadata": {"name": "one"}, "spec": spec}
        return KubernetesProvider().check(token, inputs).inputs["spec"]

    spec = {"containers": [{"resources": {"limits": {"memory": "8000M", "google.com/tpu": 4}}}]}
    told = {"containers": [{"resources": {"limits": {"memory": "8G", "google.com/tpu": "4"}}}]}
    assert checked("kubernetes:core/v1:Pod", spec) == told
    assert checked("kubernetes:kubernetes.dask.org/v1:DaskCluster", spec) == spec
    assert checked("kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet", spec) == spec


def test_a_release_whose_state_has_what_helm_takes_of_the_unsaid_is_unchanged() -> None:
    filled = releases.checked(RELEASE | {"compat": "true"}).inputs
    assert filled.items() >= {**RELEASE, "repositoryOpts": filled["repositoryOpts"]}.items()
    assert (filled["waitForJobs"], filled["keyring"], filled["timeout"]) == (False, "", 300)
    assert filled["repositoryOpts"] == {
        "repo": "https://lab.example", "caFile": "", "certFile": "", "keyFile": "", "password": "", "username": "",
    }  # fmt: skip
    assert "compat" not in filled, "the SDK says it of itself"
    assert releases.compare(RELEASE | {"timeout": 300}, filled).detailed == {}
    assert list(releases.compare(RELEASE | {"timeout": 300}, filled | {"lint": True}).detailed) == ["lint"]


def test_a_refresh_keeps_the_name_under_which_an_object_was_applied(run: Run) -> None:
    inputs = config_map(x="1")
    path = "/api/v1/namespaces/default/configmaps/a?fieldManager=pulumi-kubernetes-0badcafe"
    run.cluster.ask("PATCH", path, inputs, content="application/apply-patch+yaml")
    run.cluster.core.patch_namespaced_config_map("a", "default", {"data": {"y": "2"}})
    provider = KubernetesProvider(run.settings, stack="lab/training")
    read = provider.read("kubernetes:core/v1:ConfigMap", "default/a", inputs)
    assert read is not None
    assert read.outputs["__fieldManager"] == "pulumi-kubernetes-0badcafe"
