"""Which backend jobs go to: a cluster from inside or by a kubeconfig, Ray where it is initialised, else here."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from infra.jobs.client import Client
from infra.jobs.gke import GkeClient
from infra.jobs.kube import Kube, kubeconfig_place, pod_place
from infra.jobs.local import LocalClient
from infra.jobs.ray import RayClient
from infra.model.errors import ConfigError, Problem

RAY_SERVER: Final = "RAY_API_SERVER_ADDRESS"
"""Ray's own variable for its job server."""


def current_client(
    backend: str = "auto",
    *,
    folder: Path | None = None,
    namespace: str = "",
    context: str = "",
    environ: Mapping[str, str] = os.environ,
) -> tuple[Client, str]:
    """The client, and what was chosen and why, as a line.

    folder: where jobs of this machine leave records. namespace, context: of a cluster, where not the kubeconfig's own.
    ConfigError for a backend that cannot be had here.
    """
    place = None if backend in ("ray", "local") else pod_place(environ=environ) or kubeconfig_place(environ, context)
    if context and place is None and backend in ("auto", "gke"):
        rule, fix = (
            "no kubeconfig is found, so there are no contexts",
            "KUBECONFIG=PATH, or run `gcloud container clusters get-credentials`",
        )
        raise ConfigError([Problem("--context", context, rule, fix)])
    if place is not None:
        place = replace(place, namespace=namespace) if namespace else place
        return GkeClient(Kube(place)), f"jobs go to {place.said}, namespace {place.namespace}"
    address = None if backend in ("gke", "local") else ray_server(environ)
    if address:
        return RayClient(address), f"jobs go to Ray at {address}"
    if backend in ("auto", "local"):
        why = "neither a cluster nor Ray is known" if backend == "auto" else "as --backend says"
        records = folder or Path(environ.get("TIDEPOOL_HOME", ".tidepool")) / "jobs"
        return LocalClient(records), f"jobs run on this machine: {why}"
    rule, fix = {
        "gke": (
            "this process is not in a cluster, and there is no kubeconfig",
            "run `gcloud container clusters get-credentials`",
        ),
        "ray": ("Ray is not initialised in this process, and no job server is named", f"{RAY_SERVER}=http://HOST:8265"),
    }[backend]
    raise ConfigError([Problem("--backend", backend, rule, fix)])


def ray_server(environ: Mapping[str, str]) -> str | None:
    """The job server of Ray, which is asked only where it is loaded already: it starts nothing."""
    if address := environ.get(RAY_SERVER):
        return address
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return None
    dashboard = ray.worker.get_dashboard_url()
    return f"http://{dashboard}" if dashboard else None
