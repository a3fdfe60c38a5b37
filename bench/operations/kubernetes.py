"""Driving the clusters of the local cloud: what people say in place of controllers, or a real API server instead."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bench.cloud.kubernetes.control import kubeconfig
from bench.operations.control import running
from infra.operations.errors import Refusal


def config_of(cluster: str) -> str:
    """The kubeconfig of a cluster, by its name, or of the only one. Raises Refusal."""
    served = {each["cluster"].rpartition("/")[2]: each for each in running().clusters()}
    fitting = [name for name in served if cluster in ("", name)]
    if len(fitting) != 1:
        there = f"name one of {', '.join(served)}" if served else "create a cluster first"
        raise Refusal(f"{cluster or 'no name'} fits {len(fitting)} clusters. Fix: {there}")
    return yaml.safe_dump(kubeconfig(served[fitting[0]]), sort_keys=False).rstrip()


def say(kind: str, name: str, sets: Mapping[str, str], conditions: Mapping[str, str], **where: str) -> Any:
    """Say an object's status. sets: `readyReplicas` to `2`, `state.phase` to `Ready`; conditions: `Ready` to `True`."""
    status: dict[str, Any] = {}
    for path, value in sets.items():
        *above, last = path.split(".")
        inside = status
        for part in above:
            inside = inside.setdefault(part, {})
        inside[last] = yaml.safe_load(value)
    return running().tell_status(kind, name, status=status, conditions=conditions, **where)


def use(config: Path, cluster: str) -> str:
    """Let clusters have the API server of a kubeconfig's first cluster; the answer is its address. Raises Refusal."""
    try:
        first = yaml.safe_load(config.read_text(encoding="utf-8"))["clusters"][0]["cluster"]
        server, certificate = first["server"], first["certificate-authority-data"]
    except (OSError, yaml.YAMLError, LookupError, TypeError, ValueError) as error:
        raise Refusal(
            f"{config} is not a kubeconfig with a server and its certificate-authority-data: {error}"
        ) from error
    if not server.startswith("https://"):
        raise Refusal(f"{config} names {server}; GKE's clusters are reached by https")
    endpoint = server.removeprefix("https://").rstrip("/")
    running().tell_control_plane(endpoint, certificate, cluster=cluster)
    return endpoint
