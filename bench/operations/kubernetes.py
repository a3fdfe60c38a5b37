"""Driving the clusters of the local cloud: what people say in place of controllers, or a real API server instead."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from bench.cloud.control import Control
from bench.cloud.kubernetes.control import kubeconfig
from bench.operations.control import running
from infra.operations.errors import Refusal
from infra.preview.toned import columns


def running_clusters() -> Control:
    """The clusters of this checkout's cloud. Raises Failure where it does not run; it raises for what it refuses."""
    return Control(running().url)


def cluster_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [(each["cluster"], str(each["objects"]), f"https://{each['host']}") for each in found]
    return columns(("cluster", "objects", "server"), rows) or ["no clusters"]


def config_of(cluster: str) -> dict[str, Any]:
    """The kubeconfig of a cluster, by its name, or of the only one. Raises Refusal."""
    served = running_clusters().clusters()
    fitting = [each for each in served if not cluster or cluster in (each["cluster"], _bare(each))]
    if len(fitting) != 1:
        known = ", ".join(map(_bare, served)) or "none"
        raise Refusal(f"{cluster or 'no name'} fits {len(fitting)} clusters; there are: {known}")
    return kubeconfig(fitting[0])


def say(kind: str, name: str, cluster: str, namespace: str, sets: Sequence[str], conditions: Sequence[str]) -> Any:
    """Say an object's status. sets: `readyReplicas=2`, `state.phase="Ready"`; conditions: `Ready=True`."""
    status: dict[str, Any] = {}
    for path, value in map(_pair, sets):
        *above, last = path.split(".")
        inside = status
        for part in above:
            inside = inside.setdefault(part, {})
        inside[last] = _value(value)
    return running_clusters().tell_status(
        kind, name, cluster=cluster, namespace=namespace, status=status, conditions=dict(map(_pair, conditions))
    )


def use(config: Path, cluster: str) -> str:
    """Let clusters have the API server of a kubeconfig's first cluster; the answer is its address. Raises Refusal."""
    try:
        (first, *_) = yaml.safe_load(config.read_text(encoding="utf-8"))["clusters"]
        server, certificate = first["cluster"]["server"], first["cluster"]["certificate-authority-data"]
    except (OSError, yaml.YAMLError, LookupError, TypeError, ValueError) as error:
        raise Refusal(
            f"{config} is not a kubeconfig with a server and its certificate-authority-data: {error}"
        ) from error
    if urlsplit(server).scheme != "https":
        raise Refusal(f"{config} names {server}; GKE's clusters are reached by https")
    endpoint = server.removeprefix("https://").rstrip("/")
    running_clusters().tell_control_plane(endpoint, certificate, cluster=cluster)
    return endpoint


def has_api_server(cloud: str, cluster: str) -> bool:
    """Whether a cluster of a local cloud was given an API server (`use`); without one it runs nothing.

    cloud: its root URL. cluster: `projects/P/locations/L/clusters/C`, whether or not it stands.
    """
    return Control(cloud).told_control_plane(cluster) is not None


def _pair(said: str) -> tuple[str, str]:
    name, is_pair, value = said.partition("=")
    if not (is_pair and name):
        raise Refusal(f"{said!r} says no value: write NAME=VALUE")
    return name, value


def _value(said: str) -> Any:
    """A number, true, false or null as such, all else as a text."""
    try:
        return json.loads(said)
    except ValueError:
        return said


def _bare(cluster: Mapping[str, Any]) -> str:
    return str(cluster["cluster"]).rpartition("/")[2]


def as_yaml(body: Mapping[str, Any]) -> str:
    """An object as kubectl reads it."""
    return yaml.safe_dump(dict(body), sort_keys=False).rstrip()
