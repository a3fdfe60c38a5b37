"""What pods of a team reach and who reaches them, as an evaluation of the rendered policies says."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import kubernetes_validate
import pytest

from tests.model.queued import of, stack

Peer = Mapping[str, Any]
"""A pod by its namespace and labels, or something else by its address."""

REDIS = {"redis": {"region": "us-central1"}}
OWN = {"namespace": "rl", "labels": {"app": "worker"}}
OTHER = {"namespace": "pretraining", "labels": {"app": "worker"}}
DNS = {"namespace": "kube-system", "labels": {"k8s-app": "kube-dns"}}
CACHE = {"namespace": "kube-system", "labels": {"k8s-app": "node-local-dns"}}
SYSTEM = {"namespace": "kube-system", "labels": {"k8s-app": "metrics-server"}}
DASK = {"namespace": "dask-operator", "labels": {}}
METADATA, GOOGLE, REDIS_HOST = ({"address": each} for each in ("169.254.169.254", "142.250.74.106", "10.33.0.3"))
NODE, CONTROL_PLANE, PEERED, CARRIER = (
    {"address": each} for each in ("10.0.0.7", "172.16.0.2", "192.168.9.9", "100.64.0.9")
)


def policies(team: str, **more: Any) -> list[Mapping[str, Any]]:
    found = of(stack(**more), "NetworkPolicy")
    return [each["spec"] for name, each in found.items() if name.startswith(f"{team}/")]


def allowed(specs: list[Mapping[str, Any]], way: str, peer: Peer, port: int, protocol: str = "TCP") -> bool:
    """Whether a pod of the team may have the connection: by Kubernetes, where a policy that selects it allows it.

    https://kubernetes.io/docs/concepts/services-networking/network-policies, 2026-11.
    """
    outside = {"matchExpressions": [{"key": "tidepool/group", "operator": "DoesNotExist"}]}
    assert all(spec["podSelector"] in ({}, outside) for spec in specs), "every pod of the namespace, or of no group"
    if not any(way in spec["policyTypes"] for spec in specs):
        return True
    rules = [rule for spec in specs if way in spec["policyTypes"] for rule in spec.get(way.lower(), [])]
    sides = "from" if way == "Ingress" else "to"
    return any(
        any(_is(each, peer) for each in rule[sides])
        and ("ports" not in rule or {"protocol": protocol, "port": port} in rule["ports"])
        for rule in rules
    )


def _is(selected: Mapping[str, Any], peer: Peer) -> bool:
    if "ipBlock" in selected:
        address = IPv4Address(peer.get("address", "10.64.0.9"))
        block = selected["ipBlock"]
        return address in IPv4Network(block["cidr"]) and not any(
            address in IPv4Network(each) for each in block.get("except", [])
        )
    if "namespace" not in peer:
        return False
    namespace = selected.get("namespaceSelector", {}).get("matchLabels", {"kubernetes.io/metadata.name": "rl"})
    pod = selected.get("podSelector", {}).get("matchLabels", {})
    return namespace == {"kubernetes.io/metadata.name": peer["namespace"]} and pod.items() <= peer["labels"].items()


@pytest.mark.parametrize(
    ("peer", "port"),
    [(OWN, 8471), (OWN, 8081), (OWN, 50051), (DNS, 53), (CACHE, 53), (METADATA, 80), (GOOGLE, 443)],
)
def test_what_a_pod_of_a_team_reaches(peer: Peer, port: int) -> None:
    """Hosts of its slice and parts of its group, names, its own Google account's tokens, and what is public by TLS."""
    assert allowed(policies("rl"), "Egress", peer, port)


@pytest.mark.parametrize(
    ("peer", "port"),
    [
        (OTHER, 443), (SYSTEM, 443), (DASK, 443), (GOOGLE, 80), (GOOGLE, 22), (METADATA, 443), (METADATA, 988),
        (NODE, 443), (NODE, 10250), (CONTROL_PLANE, 443), (PEERED, 443), (CARRIER, 443), (REDIS_HOST, 6379), (DNS, 443),
    ],
)  # fmt: skip
def test_what_a_pod_of_a_team_does_not_reach(peer: Peer, port: int) -> None:
    assert not allowed(policies("rl"), "Egress", peer, port)


@pytest.mark.parametrize("peer", [OTHER, SYSTEM, GOOGLE, NODE, METADATA])
def test_nobody_else_reaches_a_pod_of_a_team(peer: Peer) -> None:
    assert not any(allowed(policies("rl"), "Ingress", peer, port) for port in (80, 443, 8471, 8786, 50051))


def test_the_dask_operator_reaches_schedulers_and_nothing_else() -> None:
    assert [port for port in (22, 8471, 8786, 8787, 8788) if allowed(policies("rl"), "Ingress", DASK, port)] == [
        8786, 8787, 8788,
    ]  # fmt: skip
    assert allowed(policies("rl"), "Ingress", OWN, 8471)


def test_a_redis_is_reached_by_pods_of_teams_on_its_port_alone() -> None:
    with_store = policies("rl", store=REDIS)
    assert allowed(with_store, "Egress", REDIS_HOST, 6379)
    assert not allowed(with_store, "Egress", REDIS_HOST, 22)
    assert not allowed(with_store, "Egress", NODE, 6379)


def test_each_team_has_the_same_policies_and_each_is_valid() -> None:
    assert policies("rl", store=REDIS) == policies("pretraining", store=REDIS)
    for body in of(stack(store=REDIS), "NetworkPolicy").values():
        kubernetes_validate.validate(body, "1.36", strict=True)
