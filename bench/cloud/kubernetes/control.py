"""What clients of a cluster in the local cloud are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.cloud.control import JsonObject


def kubeconfig(cluster: Mapping[str, Any], *, token: str = "local") -> JsonObject:  # noqa: S107 - any token will do
    """What kubectl and client libraries are given to reach one of `clusters`."""
    name = str(cluster["cluster"]).rpartition("/")[2]
    reached = {"server": f"https://{cluster['host']}", "certificate-authority-data": cluster["certificate"]}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": reached}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "users": [{"name": name, "user": {"token": token}}],
    }
