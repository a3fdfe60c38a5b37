"""Programs with Kubernetes objects, run by the embedded engine against a local cluster."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from bench.engine.provider import UNKNOWN
from bench.engine.run import Options
from bench.providers.kubernetes.provider import KubernetesProvider
from bench.tests.kubernetes.conftest import Program, Run
from bench.tests.kubernetes.test_stored_objects import DEFINITIONS, definition
from infra.model.plan import Plan


def steps(plan: Plan) -> dict[str, str]:
    """What becomes of each resource, by its name; without providers and the stack."""
    return {step.name: step.op.value for step in plan.steps if not step.type.startswith("pulumi:")}


def errors(plan: Plan) -> str:
    return "\n".join(said.message for said in plan.diagnostics if said.severity == "error")


def declared(kind: Any, name: str, /, **said: Any) -> Program:
    return lambda opts: kind(name, **said, opts=opts)


def config_map(data: dict[str, str]) -> Program:
    return declared(kubernetes.core.v1.ConfigMap, "settings", metadata={"name": "settings"}, data=data)


def deployment(replicas: int, selector: str = "a") -> Program:
    labels = {"role": selector}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "m", "image": "one"}]}}
    spec = {"replicas": replicas, "selector": {"match_labels": labels}, "template": template}
    return declared(kubernetes.apps.v1.Deployment, "web", metadata={"name": "web"}, spec=spec)


def queue(spec: dict[str, Any]) -> Program:
    kind = kubernetes.apiextensions.CustomResource
    return declared(kind, "q", api_version="lab.example/v1", kind="Queue", metadata={"name": "q"}, spec=spec)


def test_second_run_is_unchanged_and_an_edit_is_an_update(run: Run) -> None:
    assert steps(run.up(deployment(1))) == {"web": "create"}
    assert steps(run.up(deployment(1))) == {"web": "same"}
    changed = run.up(deployment(3))
    assert (errors(changed), steps(changed)) == ("", {"web": "update"})
    seen = run.cluster.apps.read_namespaced_deployment("web", "default")
    assert seen.spec.replicas == 3
    assert all(each.manager.startswith("pulumi-kubernetes") for each in seen.metadata.managed_fields)


def test_selector_replaces_a_deployment_delete_first(run: Run) -> None:
    run.up(deployment(1))
    plan = run.up(deployment(1, selector="b"))
    assert (errors(plan), steps(plan)["web"]) == ("", "replace")
    seen = run.cluster.apps.read_namespaced_deployment("web", "default")
    assert seen.spec.selector.match_labels == {"role": "b"}


def test_config_map_is_updated_in_place(run: Run) -> None:
    run.up(config_map({"x": "1"}))
    assert steps(run.up(config_map({"x": "2"})))["settings"] == "update"


def test_preview_works_before_the_cluster_is_known(run: Run) -> None:
    provider = KubernetesProvider().configured({"kubeconfig": UNKNOWN})
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}
    assert provider.preview_outputs("kubernetes:core/v1:ConfigMap", inputs, None)["status"] is UNKNOWN


def test_preview_asks_the_cluster_and_changes_nothing(run: Run) -> None:
    run.cluster.ask("POST", DEFINITIONS, definition())

    assert "is not of type 'integer'" in errors(run.engine(queue({"depth": "deep"})).preview())
    plan = run.engine(queue({"depth": 1})).preview()
    assert (errors(plan), steps(plan)) == ("", {"q": "create"})
    assert run.cluster.ask("GET", "/apis/lab.example/v1/queues")["items"] == []


def test_preview_needs_no_namespace_that_the_same_run_makes(run: Run) -> None:
    def program(opts: pulumi.ResourceOptions) -> None:
        team = kubernetes.core.v1.Namespace("team", metadata={"name": "team"}, opts=opts)
        after = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=team))
        place: Any = {"name": "inside", "namespace": "team"}
        kubernetes.core.v1.ConfigMap("inside", metadata=place, data={"x": "1"}, opts=after)

    assert errors(run.engine(program).preview()) == ""
    assert steps(run.up(program)) == {"team": "create", "inside": "create"}
    assert steps(run.up(program)) == {"team": "same", "inside": "same"}
    gone = run.engine(program).destroy(Options())
    assert errors(gone) == ""
    assert "team" not in [each.metadata.name for each in run.cluster.core.list_namespace().items]


def test_kind_that_is_not_served_fails_with_what_to_do(run: Run) -> None:
    provider = KubernetesProvider().configured(run.settings)
    assert provider.locate("kubernetes:lab.example/v1:Queue", {"metadata": {"name": "q"}}) is None
    assert errors(run.engine(queue({})).preview()) == ""


LWS = declared(kubernetes.helm.v3.Release, "lws", name="lws", namespace="default", chart="oci://lab/lws")


@pytest.mark.parametrize(
    ("program", "previews", "refusal"),
    [
        (config_map({"x": "1"}), [False, True], "default/settings already exists in the cluster, as another stack's"),
        (LWS, [False], "default/lws cannot be made: cannot re-use a name that is still in use, by lab/training"),
    ],
    ids=["object", "release"],
)
def test_two_stacks_never_share_an_object_or_a_release(
    run: Run, program: Program, previews: list[bool], refusal: str
) -> None:
    assert errors(run.up(program)) == ""
    run.stack = "second"
    for preview in previews:
        assert refusal in errors(run.engine(program).preview() if preview else run.up(program))
    run.stack = "training"
    assert set(steps(run.up(program)).values()) == {"same"}


def test_field_of_another_manager_is_a_conflict_with_the_way_out(run: Run) -> None:
    run.up(deployment(1))
    apps = run.cluster.apps
    apps.patch_namespaced_deployment("web", "default", {"spec": {"replicas": 5}}, field_manager="autoscaler")
    said = errors(run.up(deployment(2)))
    assert "autoscaler" in said
    assert "Leave them out of the program" in said


def test_what_others_changed_or_deleted_shows_after_a_refresh(run: Run) -> None:
    run.up(deployment(1))
    apps = run.cluster.apps
    apps.patch_namespaced_deployment("web", "default", {"spec": {"replicas": 5}})
    assert steps(run.engine(deployment(1)).preview()) == {"web": "same"}
    run.engine(deployment(1)).refresh(Options())
    assert steps(run.engine(deployment(1)).preview()) == {"web": "update"}
    apps.delete_namespaced_deployment("web", "default")
    run.engine(deployment(1)).refresh(Options())
    assert steps(run.up(deployment(1))) == {"web": "create"}


def release(**values: Any) -> Program:
    return declared(
        kubernetes.helm.v3.Release, "kueue", name="kueue", namespace="kueue-system", create_namespace=True,
        version="0.19.2", values=values, chart="oci://registry.k8s.io/kueue/charts/kueue",
    )  # fmt: skip


def test_helm_release_is_one_recorded_resource_and_brings_its_kinds(run: Run) -> None:
    plan = run.up(release(replicas=1))
    assert (errors(plan), steps(plan)) == ("", {"kueue": "create"})
    assert steps(run.up(release(replicas=1))) == {"kueue": "same"}
    assert steps(run.up(release(replicas=2))) == {"kueue": "update"}
    (secret,) = run.cluster.core.list_namespaced_secret("kueue-system").items
    assert secret.metadata.name == "sh.helm.release.v1.kueue.v1"
    assert secret.type == "helm.sh/release.v1"
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "v4"}}
    assert run.cluster.ask("POST", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues", queue)["kind"] == "ClusterQueue"


def test_what_has_no_name_is_refused(run: Run) -> None:
    refused = KubernetesProvider(run.settings).check("kubernetes:core/v1:ConfigMap", {"data": {}})
    assert [each.path for each in refused.failures] == ["metadata.name"]
