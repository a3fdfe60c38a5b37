"""Which connections the pods of a team may have: none but these, by network policies of its namespace. Pure.

GKE's dataplane V2 enforces them for pods on the network of pods; jobs are never on the host's. Owns the rules;
`queue_objects` spells their objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any, Final

REDIS_PORT: Final = 6379
GROUP_LABEL: Final = "tidepool/group"
"""On pods of a group, by its name. Each role of a group has a policy that says who may reach it."""
_OWN: Final = {"podSelector": {}}
"""Every pod of the namespace. Hosts of a slice and slices of a job find one another by headless services, on whatever
ports libtpu, JAX and the program take."""
_OF_NO_GROUP: Final = {"matchExpressions": [{"key": GROUP_LABEL, "operator": "DoesNotExist"}]}
"""Policies add up: one of all pods would open those of groups to the namespace."""
_DNS: Final = ("kube-dns", "node-local-dns")
"""GKE's name servers by the label of their pods; with dataplane V2 the cache on each node is a pod like any other
(cloud.google.com/kubernetes-engine/docs/how-to/nodelocal-dns-cache, read 2026-11)."""
_METADATA: Final = "169.254.169.254/32"
"""The server that gives pods the tokens of their own Google account; on dataplane V2 it is reached by this address and
port 80 (cloud.google.com/kubernetes-engine/docs/how-to/network-policy, read 2026-11)."""
_NOT_PUBLIC: Final = ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")
"""Nodes, pods of others, the control plane and whatever is peered: addresses of no service on the internet."""
_DASK: Final = (8786, 8787, 8788)
"""On which the Dask operator asks a scheduler how many workers it wants and which may go
(kubernetes.dask.org/en/latest/operator.html, read 2026-11)."""


def policies(store: IPv4Network | None) -> Mapping[str, Mapping[str, Any]]:
    """Specs by name. Policies add up: each allows something, and the first takes away what none allows.

    store: the addresses of the stack's Redis, None where it has none.
    """
    found = {
        "nothing-else": _policy(),
        "own-pods": _policy(egress=[{"to": [_OWN]}]),
        "from-own-pods": {**_policy(ingress=[{"from": [_OWN]}]), "podSelector": _OF_NO_GROUP},
        "names": _policy(egress=[{"to": [_of_system({"k8s-app": name}) for name in _DNS], "ports": _both(53)}]),
        "metadata": _policy(egress=[{"to": [{"ipBlock": {"cidr": _METADATA}}], "ports": _tcp(80)}]),
        # Of names a network policy knows nothing, so Google's APIs are allowed with all that is public and speaks TLS.
        "internet": _policy(
            egress=[{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": list(_NOT_PUBLIC)}}], "ports": _tcp(443)}]
        ),
        "dask-operator": _policy(ingress=[{"from": [_namespace("dask-operator")], "ports": _tcp(*_DASK)}]),
    }
    if store is not None:
        found["store"] = _policy(egress=[{"to": [{"ipBlock": {"cidr": str(store)}}], "ports": _tcp(REDIS_PORT)}])
    return found


def _policy(*, ingress: list[Any] | None = None, egress: list[Any] | None = None) -> Mapping[str, Any]:
    """Of every pod. One that allows nothing denies both ways."""
    rules = {"ingress": ingress, "egress": egress}
    said = {way: allowed for way, allowed in rules.items() if allowed}
    return {"podSelector": {}, "policyTypes": [way.capitalize() for way in said or rules], **said}


def _namespace(name: str) -> dict[str, Any]:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def _of_system(labels: Mapping[str, str]) -> dict[str, Any]:
    return {**_namespace("kube-system"), "podSelector": {"matchLabels": dict(labels)}}


def _tcp(*ports: int) -> list[dict[str, Any]]:
    return [{"protocol": "TCP", "port": port} for port in ports]


def _both(port: int) -> list[dict[str, Any]]:
    return [{"protocol": protocol, "port": port} for protocol in ("UDP", "TCP")]
