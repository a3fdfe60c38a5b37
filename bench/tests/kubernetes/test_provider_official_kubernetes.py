"""The embedded Kubernetes provider against the official one, on a real control plane.

Of each kind that a training stack renders: both fill in the same, a state of one is unchanged for the other, and an
edit means the same to both. Runs where `pulumi-resource-kubernetes` is on PATH (`./tidepool test --live`).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from bench.cloud.kubernetes.control import kubeconfig
from bench.engine.provider import Cancel
from bench.providers.kubernetes import KubernetesProvider
from bench.providers.kubernetes.reach import ClusterApi
from bench.tests.kubernetes.real_control_plane import real_control_plane
from bench.tests.kubernetes.test_training_on_real_cluster import whole
from bench.tests.kubernetes.training_plane import DEFINITIONS, published_definitions
from bench.tests.provider.official_provider import OfficialProvider
from infra.components.in_cluster import token
from infra.model.dask import dask_objects
from infra.model.group_objects import group_objects
from infra.model.queue_objects import queue_objects
from infra.model.stack import load_stack
from tests.synthetic_lab import lend

pytestmark = pytest.mark.live

KINDS: Final = (
    "ClusterQueue", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "DaskAutoscaler", "DaskCluster", "Deployment",
    "LeaderWorkerSet", "LocalQueue", "Namespace", "NetworkPolicy", "PodDisruptionBudget", "ResourceFlavor", "Role",
    "RoleBinding", "Service", "ServiceAccount", "StatefulSet", "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding", "WorkloadPriorityClass",
)  # fmt: skip
EDITS: Final[tuple[tuple[str, tuple[str | int, ...], Any], ...]] = (
    ("ClusterQueue", ("spec", "resourceGroups", 0, "flavors", 0, "resources", 0, "nominalQuota"), 3),
    ("ClusterQueue", ("spec", "preemption"), None),
    ("ConfigMap", ("data", "another"), "value"),
    ("Deployment", ("spec", "selector", "matchLabels"), {"another": "label"}),
    ("Deployment", ("spec", "template", "spec", "containers", 0, "image"), "another"),
    ("Namespace", ("metadata", "labels", "another"), "label"),
    ("Namespace", ("metadata", "name"), "another"),
    ("NetworkPolicy", ("spec", "policyTypes"), ["Ingress"]),
    ("ResourceFlavor", ("spec", "nodeLabels", "another"), "label"),
    ("Role", ("rules", 0, "verbs"), ["get"]),
    ("RoleBinding", ("roleRef", "name"), "another"),
    ("RoleBinding", ("subjects",), None),
    ("Service", ("spec", "ports", 0, "port"), 1),
    ("Service", ("spec", "clusterIP"), "10.0.0.7"),
    ("StatefulSet", ("spec", "replicas"), 1),
    ("StatefulSet", ("spec", "serviceName"), "another"),
    ("StatefulSet", ("spec", "template", "spec", "terminationGracePeriodSeconds"), 7),
    ("ValidatingAdmissionPolicy", ("spec", "validations", 0, "message"), "another"),
    ("ValidatingAdmissionPolicyBinding", ("spec", "matchResources"), None),
    ("WorkloadPriorityClass", ("value",), 7),
)
"""A kind, where of it something changes, and to what; None takes it away."""


class Both:
    """A real control plane with both providers. bodies: by kind, one object as the stack renders it."""

    def __init__(self, kubeconfig: str, plugin: str, bodies: dict[str, dict[str, Any]]) -> None:
        self.api = ClusterApi(kubeconfig)
        self.official = OfficialProvider.of_kubernetes(plugin, kubeconfig)
        settings = {"kubeconfig": kubeconfig, "enableConfigMapMutable": True}
        self.embedded = KubernetesProvider(settings, stack="tidepool/training")
        self.bodies = bodies

    def gone(self, body: dict[str, Any]) -> None:
        """Nothing stands under its name, where anything did."""
        served = self.api.kind(body["apiVersion"], body["kind"])
        assert served is not None
        path = served.of(body["metadata"].get("namespace", ""), body["metadata"]["name"])
        if self.api.find(path) is not None:
            self.embedded.delete(token(body), "", self.api.find(path) or {}, Cancel())


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Both]]:
    """Starts a control plane with both providers once, by the path of the plugin."""
    with ExitStack() as ends:

        @cache
        def start(plugin: str) -> Both:
            folder = tmp_path_factory.mktemp("both")
            said = json.dumps(kubeconfig(ends.enter_context(real_control_plane(folder))))
            found = Both(said, plugin, rendered(folder / "checkout"))
            ends.callback(found.official.close)
            for each in published_definitions():
                found.api.call("POST", DEFINITIONS, each)
            for name in {each["metadata"].get("namespace") for each in found.bodies.values()} - {None}:
                found.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
            return found

        yield start


@pytest.fixture
def both(tool: Callable[[str], str], started: Callable[[str], Both]) -> Both:
    return started(tool("pulumi-resource-kubernetes"))


def rendered(folder: Path) -> dict[str, dict[str, Any]]:
    """The first object of each kind; a namespace of its own, since that of a team holds the others."""
    root = lend(folder)
    (root / "stacks" / "Pulumi.training.yaml").write_text(whole())
    config = load_stack(root, "training")
    assert config.queues is not None
    objects: list[Mapping[str, Any]] = [
        *queue_objects(config, config.queues),
        *(each for declared in config.batch for each in dask_objects(declared)),
        *(each for group in config.groups for each in group_objects(group)),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "told", "namespace": "rl"}, "data": {"a": "b"}},
    ]
    found: dict[str, dict[str, Any]] = {}
    for each in objects:
        found.setdefault(each["kind"], copy.deepcopy(dict(each)))
    found["Namespace"]["metadata"]["name"] = "alone"
    return found


def test_every_kind_that_a_stack_renders_is_compared(tmp_path: Path) -> None:
    assert sorted(rendered(tmp_path)) == sorted(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_of_one_provider_is_unchanged_for_the_other(both: Both, kind: str) -> None:
    body = both.bodies[kind]
    of = token(body)
    both.gone(body)
    checked, failures = both.official.check(of, body)
    assert failures == []
    embedded = both.embedded.check(of, body).inputs
    assert embedded == checked, "both fill in the same"

    made, outputs = both.official.create(of, checked)
    assert both.embedded.diff(of, made, checked, outputs, embedded).detailed == {}
    read = both.embedded.read(of, made, embedded)
    assert read is not None
    assert read.id == made
    assert not both.official.diff(of, made, read.inputs, read.outputs, checked).changes
    both.gone(body)

    created = both.embedded.create(of, embedded, None, Cancel())
    assert created.id == made
    assert not both.official.diff(of, made, embedded, created.outputs, checked).changes
    inputs, outputs = both.official.read(of, made, embedded, created.outputs)
    assert not both.official.diff(of, made, inputs, outputs, checked).changes
    assert both.embedded.diff(of, made, inputs, outputs, embedded).detailed == {}
    both.gone(body)


@pytest.mark.parametrize(("kind", "place", "value"), EDITS, ids=lambda each: str(each) if isinstance(each, str) else "")
def test_an_edit_means_the_same_to_both(both: Both, kind: str, place: tuple[str | int, ...], value: Any) -> None:
    body = both.bodies[kind]
    of = token(body)
    both.gone(body)
    old, _ = both.official.check(of, body)
    made, outputs = both.official.create(of, old)
    new = copy.deepcopy(old)
    *way, last = place
    inside: Any = new
    for part in way:
        inside = inside[part]
    if value is None:
        del inside[last]
    else:
        inside[last] = value
    ours, theirs = both.embedded.diff(of, made, old, outputs, new), both.official.diff(of, made, old, outputs, new)
    told = {path: f"{each.kind}{'-replace' if each.replaces else ''}" for path, each in ours.detailed.items()}
    assert told == {path: kind.lower().replace("_", "-") for path, kind in theirs.detailed.items()}
    both.gone(body)
