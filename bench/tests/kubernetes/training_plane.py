"""A training stack brought up on the local cloud, whose cluster has a real control plane as its API server."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cloud import daemon
from bench.cloud.kubernetes.control import kubeconfig
from bench.providers.kubernetes.reach import ClusterApi
from bench.providers.kubernetes.releases import definitions
from bench.tests.kubernetes.real_control_plane import real_control_plane
from tests.cli.conftest import Checkout
from tests.jobs.crds import FOLDERS, published
from tests.lacking import lacking
from tests.synthetic_lab import lend

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True, slots=True)
class TrainingPlane:
    """api: of the real control plane. kubeconfig: of it, as a file."""

    checkout: Checkout
    api: ClusterApi
    kubeconfig: Path

    def up(self) -> dict[str, Any]:
        return self.checkout.json("up", "training", "--kube", str(self.kubeconfig))

    def find(self, name: str, version: str) -> dict[str, Any] | None:
        """The object that is called `KIND/NAMESPACE/NAME` in a plan."""
        kind, *namespace, last = name.split("/")
        served = self.api.kind(version, kind)
        return self.api.find(served.of("".join(namespace), last)) if served else None


@contextmanager
def training_plane(folder: Path, training: str) -> Generator[TrainingPlane]:
    """training: text of the stack. The `ci` stack, whose registries it reads, stands already."""
    with real_control_plane(folder) as reached:
        config = folder / "training.kubeconfig"
        config.write_text(json.dumps(kubeconfig(reached)))
        api = ClusterApi(config.read_text())
        for each in published_definitions():
            api.call("POST", DEFINITIONS, each)
        checkout = Checkout(lend(folder / "checkout"))
        checkout.path("training").write_text(training)
        try:
            with checkout.start("cloud", "start", "--json") as process:
                _, problems = process.communicate(timeout=60)
            assert process.returncode == 0, problems
            checkout.ok("up", "ci")
            yield TrainingPlane(checkout, api, config)
        finally:
            daemon.stop(checkout.home)


def published_definitions() -> list[dict[str, Any]]:
    """Of JobSet, Kueue and LeaderWorkerSet as they are published, and of the Dask operator, where need be open ones."""
    found = {each["metadata"]["name"]: each for each in published()}
    if not found:
        lacking(f"{FOLDERS} names no folder of custom resource definitions")
    dask = {each["metadata"]["name"]: each for each in definitions("dask-kubernetes-operator")}
    return list((dask | found).values())


def everything_is_taken(plane: TrainingPlane) -> None:
    """Bring the stack up twice: each object that it renders then stands on the real API server, by strict validation
    (which refuses unknown fields), and the second run finds nothing to do."""
    first, second = plane.up(), plane.up()
    inside = {each["name"]: each["type"] for each in first["steps"] if each["type"].startswith("kubernetes:")}
    objects = {name: version_of(token) for name, token in inside.items() if "/" in name}
    assert {"Namespace", "ResourceFlavor", "ClusterQueue", "LocalQueue"} <= {name.partition("/")[0] for name in objects}
    for name, version in objects.items():
        found: Mapping[str, Any] | None = plane.find(name, version)
        assert found is not None, name
    assert {each["op"] for each in first["steps"] if each["name"] in inside} == {"create"}
    assert {each["op"] for each in second["steps"]} == {"same"}


def version_of(token: str) -> str:
    """`kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue` to the version that the API knows."""
    return token.split(":")[1].removeprefix("core/")
