"""The embedded Kubernetes provider and the local store, held against a real control plane of Kubernetes 1.36."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulumi_kubernetes as kubernetes
import pytest
from kubernetes import client

from bench.tests.kubernetes.conftest import LocalCluster, Run, connected
from bench.tests.kubernetes.real_control_plane import real_control_plane, until
from bench.tests.kubernetes.test_kubernetes_provider import declared, errors
from bench.tests.kubernetes.test_stored_objects import DEFINITIONS, QUEUES, config_map, definition, deployment, queue

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    real = real_control_plane(tmp_path_factory.mktemp("real"))
    with real as reached, connected(reached) as found:
        yield found


def test_the_server_knows_which_version_it_is(real: LocalCluster) -> None:
    """Kueue does not start beside one that says none."""
    assert client.VersionApi(real.core.api_client).get_code().git_version.startswith("v1.36.")


@pytest.fixture
def both(real: LocalCluster, cluster: LocalCluster) -> list[LocalCluster]:
    """The real cluster, then the local store."""
    for each in (real, cluster):
        for path in (f"{DEFINITIONS}/queues.lab.example", "/api/v1/namespaces/default/configmaps/a",
                     "/apis/apps/v1/namespaces/default/deployments/curriculum"):  # fmt: skip
            outcome(each, "DELETE", path)
    until(lambda: outcome(real, "GET", QUEUES)[0] == 404)
    return [real, cluster]


def outcome(cluster: LocalCluster, verb: str, path: str, body: Any = None, **more: str) -> tuple[int, Any]:
    """Code and answer, whatever it is."""
    try:
        return 200, cluster.ask(verb, path, body, **more)
    except client.exceptions.ApiException as error:
        text = str(error.body)
        return error.status or 0, json.loads(text) if text.startswith("{") else {}


def said(answer: tuple[int, Any]) -> tuple[int, str]:
    """What a client decides by: code and reason."""
    code, body = answer
    return code, body.get("reason", "") if code >= 400 else ""


APPLY = "application/apply-patch+yaml"
MAP = "/api/v1/namespaces/default/configmaps/a"
WEB = "/apis/apps/v1/namespaces/default/deployments/curriculum"

CASES: dict[str, list[tuple[str, str, Any, str]]] = {
    "a conflict of two appliers": [
        ("PATCH", f"{WEB}?fieldManager=one", deployment(name="main", image="one"), APPLY),
        ("PATCH", f"{WEB}?fieldManager=two", deployment(name="main", image="two"), APPLY),
        ("PATCH", f"{WEB}?fieldManager=two&force=true", deployment(name="main", image="two"), APPLY),
        ("PATCH", f"{WEB}?fieldManager=one", deployment(name="main", image="one"), APPLY),
    ],
    "a selector that changes": [
        ("POST", WEB.rpartition("/")[0], deployment(name="main", image="one"), "application/json"),
        ("PATCH", WEB, {"spec": {"selector": {"matchLabels": {"x": "y"}}}}, "application/merge-patch+json"),
    ],
    "an unknown field": [
        ("POST", f"{WEB.rpartition('/')[0]}?fieldValidation=Strict", deployment(name="main", images="1"),
         "application/json"),
    ],
    "a custom kind's schema": [
        ("POST", DEFINITIONS, definition(), "application/json"),
        ("POST", QUEUES, queue(), "application/json"),
        ("POST", QUEUES, queue(depth="deep"), "application/json"),
        ("POST", QUEUES, queue(depth=0), "application/json"),
        ("POST", QUEUES, queue(depth=1, policy="random"), "application/json"),
        ("POST", QUEUES, queue(depth=1, dept=2), "application/json"),
        ("POST", QUEUES, queue(depth=1), "application/json"),
    ],
    "versions of an object": [
        ("POST", MAP.rpartition("/")[0], config_map(x="1"), "application/json"),
        ("PUT", MAP, {**config_map(x="2"), "metadata": {"name": "a", "resourceVersion": "1"}}, "application/json"),
        ("DELETE", MAP, {"preconditions": {"uid": "another"}}, "application/json"),
        ("GET", "/api/v1/namespaces/nowhere/pods/a", None, "application/json"),
        ("POST", "/api/v1/namespaces/nowhere/configmaps", config_map(), "application/json"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_store_answers_as_the_real_server(both: list[LocalCluster], case: str) -> None:
    for verb, path, body, content in CASES[case]:
        if path == QUEUES:
            until(lambda: outcome(both[0], "GET", QUEUES)[0] == 200)
        real, local = (outcome(each, verb, path, body, content=content) for each in both)
        assert said(local) == said(real), f"{verb} {path}"


def test_fields_have_the_owners_that_the_real_server_gives_them(both: list[LocalCluster]) -> None:
    told = []
    for each in both:
        main = deployment(name="main", image="one", ports=[{"containerPort": 80, "protocol": "TCP"}])
        each.ask("PATCH", f"{WEB}?fieldManager=one", main, content=APPLY)
        each.ask("PATCH", f"{WEB}?fieldManager=two", deployment(name="side", image="two"), content=APPLY)
        done = each.ask("PATCH", WEB, {"metadata": {"labels": {"x": "1"}}}, content="application/merge-patch+json")
        owned = done["metadata"]["managedFields"]
        told.append({
            entry["manager"]: entry["fieldsV1"] for entry in owned if entry["manager"] in ("one", "two")
        })  # fmt: skip
    assert told[1] == told[0]


@pytest.fixture
def run(real: LocalCluster, tmp_path: Path) -> Run:
    return Run(real, tmp_path)


def test_helm_release_is_refused_with_the_engine_that_has_helm(run: Run) -> None:
    release = declared(kubernetes.helm.v3.Release, "kueue", name="kueue", chart="kueue")
    assert "use --engine pulumi" in errors(run.up(release))
