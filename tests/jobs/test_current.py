"""Which backend jobs go to."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from infra.jobs.current import RAY_SERVER, current_client
from infra.jobs.gke import GkeClient
from infra.jobs.local import LocalClient
from infra.jobs.ray import RayClient
from infra.model.errors import ConfigError
from tests.jobs.test_kube import kubeconfig as written


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("HOME", str(tmp_path))
    return {"TIDEPOOL_HOME": str(tmp_path)}


@pytest.fixture
def kubeconfig(tmp_path: Path, nothing: dict[str, str]) -> dict[str, str]:
    return nothing | written(tmp_path, {}, namespace="team-a")


def test_a_kubeconfig_means_its_cluster_and_namespace(kubeconfig: dict[str, str]) -> None:
    client, said = current_client(environ=kubeconfig)
    assert isinstance(client, GkeClient)
    assert client.namespace == "team-a"
    assert "context lab" in said
    other, _ = current_client(environ=kubeconfig, namespace="team-b")
    assert isinstance(other, GkeClient)
    assert other.namespace == "team-b"


def test_a_cluster_comes_before_ray_unless_the_backend_is_said(kubeconfig: dict[str, str]) -> None:
    both = kubeconfig | {RAY_SERVER: "http://ray:8265"}
    assert isinstance(current_client(environ=both)[0], GkeClient)
    assert isinstance(current_client("ray", environ=both)[0], RayClient)
    assert isinstance(current_client("local", environ=both)[0], LocalClient)


def test_ray_is_taken_where_it_is_initialised_and_never_started(
    nothing: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = SimpleNamespace(get_dashboard_url=lambda: "127.0.0.1:8265")
    ray = SimpleNamespace(is_initialized=lambda: True, worker=worker)
    monkeypatch.setitem(sys.modules, "ray", ray)
    client, _ = current_client(environ=nothing)
    assert isinstance(client, RayClient)
    assert client.address == "http://127.0.0.1:8265"
    ray.is_initialized = lambda: False
    assert isinstance(current_client(environ=nothing)[0], LocalClient)


@pytest.mark.parametrize("backend", ["gke", "ray"])
def test_a_backend_that_is_not_there_is_refused_with_the_way_to_it(nothing: dict[str, str], backend: str) -> None:
    with pytest.raises(ConfigError, match="--backend"):
        current_client(backend, environ=nothing)


def test_a_context_without_a_kubeconfig_is_refused_and_never_means_this_machine(nothing: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="--context"):
        current_client(context="lab", environ=nothing)
