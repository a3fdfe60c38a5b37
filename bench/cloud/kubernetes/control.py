"""A client of what only the local cloud can do to a cluster: begin it, say statuses, take nodes away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from bench.cloud.control import Control, JsonObject


class KubernetesControl(Control):
    """The control surface, with the calls of clusters. cluster: a full name, a bare one, or empty for the only one."""

    def clusters(self) -> list[JsonObject]:
        """cluster (full name), host (what follows `https://`), certificate (its authority's, PEM, base64), objects."""
        return self._ask("GET", "k8s")["clusters"]

    def begin_cluster(self, cluster: str) -> JsonObject:
        """Serve `projects/P/locations/L/clusters/C` without the GKE API; the answer is one of `clusters`."""
        return self._ask("POST", "k8s/clusters", {"cluster": cluster})

    def end_cluster(self, cluster: str) -> None:
        self._ask("DELETE", "k8s/clusters", {"cluster": cluster})

    def tell_status(
        self,
        kind: str,
        name: str,
        *,
        namespace: str = "",
        cluster: str = "",
        status: Mapping[str, Any] | None = None,
        conditions: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Say what a controller would: `status` is merged, conditions are `{"Ready": "True"}`."""
        said = {"kind": kind, "name": name, "namespace": namespace, "cluster": cluster}
        return self._ask("POST", "k8s/status", {**said, "set": status or {}, "conditions": conditions or {}})

    def remove_kube_node(self, name: str, *, cluster: str = "") -> None:
        """Take a node away with the pods on it, as a preemption does."""
        self._ask("DELETE", "k8s/nodes", {"name": name, "cluster": cluster})

    def say_log(self, pod: str, text: str, *, namespace: str = "default", cluster: str = "") -> None:
        """Let a pod print a text."""
        self._ask("POST", "k8s/log", {"pod": pod, "text": text, "namespace": namespace, "cluster": cluster})

    def tell_control_plane(self, endpoint: str, certificate: str, *, cluster: str = "") -> None:
        """Let a GKE cluster, or each, have the API server at this address (`HOST:PORT`); its authority in base64."""
        self._ask("POST", "kubernetes", {"endpoint": endpoint, "ca": certificate, "cluster": cluster})

    def told_control_plane(self, cluster: str) -> str | None:
        """Address of the API server that a cluster was told to have; None where its API is this cloud's own."""
        return self._ask("GET", f"kubernetes?{urlencode({'cluster': cluster})}")["endpoint"]


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
