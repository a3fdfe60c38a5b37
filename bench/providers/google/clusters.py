"""The calls of GKE clusters: one for each part that changes, and one operation after another.

A cluster takes one operation at a time. Calls of one provider wait for each other; where somebody else's operation
runs, the call is sent again until the cluster takes it. Which field of an update stands for which property is what
Google's provider sends (pulumi-gcp 10.2, seen 2026-11); a property without one changes in the state alone, as there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from bench.providers.google.codec import pick
from bench.providers.google.resource import ResourceCall
from bench.providers.google.rest import OperationFailedError, Rest, conflict_with_ourselves, poll
from bench.providers.google.transport import ApiError

_CLUSTER_OF_POOL: Final = re.compile(r"/nodePools/.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfGke(Rest):
    """What clusters and their pools share."""

    def delete(self, call: ResourceCall) -> None:
        self._change(call, "DELETE", self.path(call))

    def _change(self, call: ResourceCall, method: str, path: str, body: Any = None) -> None:
        """Send a call once the cluster is idle, and wait for its operation."""
        answer: dict[str, Any] = {}

        def taken() -> bool:
            nonlocal answer
            try:
                answer = call.send(method, path, body=body)
            except ApiError as error:
                if error.reason != "failedPrecondition":
                    raise
                return False
            return True

        with call.api.turn(self._cluster_path(call)):
            if not taken():
                poll(call.deadline, taken)
            self.ended(call, answer)

    def _made(self, call: ResourceCall, body: Any) -> None:
        """Create it. One whose operation failed may be there all the same."""
        try:
            with conflict_with_ourselves():
                self._change(call, "POST", self.collection_path(call), body)
        except OperationFailedError as error:
            error.gone = call.find(self.path(call)) is None
            raise

    def _cluster_path(self, call: ResourceCall) -> str:
        return _CLUSTER_OF_POOL.sub("", self.path(call))


_DESIRED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "addonsConfig": "desiredAddonsConfig",
        "clusterAutoscaling": "desiredClusterAutoscaling",
        "nodeLocations": "desiredLocations",
        "releaseChannel": "desiredReleaseChannel",
        "secretManagerConfig": "desiredSecretManagerConfig",
        "workloadIdentityConfig": "desiredWorkloadIdentityConfig",
    }
)
_ALWAYS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "autopilot": {"enabled": False},
        "binaryAuthorization": {"enabled": False},
        "networkPolicy": {},
        "notificationConfig": {"pubsub": {}},
    }
)
"""What a create says of parts that the program does not mention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster(OfGke):
    """A cluster. Its default pool goes right after its creation where the program says so."""

    def create(self, call: ResourceCall) -> None:
        self._made(call, {"cluster": {**_ALWAYS, **_sent_cluster(call)}})
        if call.values.get("removeDefaultNodePool"):
            self._change(call, "DELETE", f"{self.path(call)}/nodePools/default-pool")

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        found = Rest.read(self, call)
        return None if found is None else _told_cluster(found)

    def update(self, call: ResourceCall) -> None:
        path, changed, body = self.path(call), call.changed, call.body
        if "maintenancePolicy" in changed:
            held = call.send("GET", path).get("maintenancePolicy") or {}
            policy = {**body.get("maintenancePolicy", {}), "resourceVersion": held.get("resourceVersion", "")}
            self._change(call, "POST", f"{path}:setMaintenancePolicy", {"maintenancePolicy": policy})
        if "resourceLabels" in changed:
            labels = {
                "resourceLabels": body.get("resourceLabels", {}),
                "labelFingerprint": call.send("GET", path).get("labelFingerprint", ""),
            }
            self._change(call, "POST", f"{path}:setResourceLabels", labels)
        if "minMasterVersion" in changed and (version := call.values.get("minMasterVersion")):
            self._change(call, "PUT", path, {"update": {"desiredMasterVersion": version}})
        for name in sorted(changed & _DESIRED.keys()):
            value = pick(body, self.fields[name].wire or name)
            desired = self.fields[name].zero if value is None else value
            self._change(call, "PUT", path, {"update": {_DESIRED[name]: desired}})


def _sent_cluster(call: ResourceCall) -> dict[str, Any]:
    """The body of a cluster as the API takes it: what the program says in one block stands in several there."""
    body = dict(call.body)
    private = body.pop("privateClusterConfig", None) or {}
    if private:
        address = {"enabled": True, "enablePublicEndpoint": True}
        body["controlPlaneEndpointsConfig"] = {"ipEndpointsConfig": address}
    if private.get("enablePrivateNodes"):
        body.setdefault("networkConfig", {})["defaultEnablePrivateNodes"] = True
    mode, allocation = body.pop("networkingMode", None), body.get("ipAllocationPolicy")
    if allocation is not None or mode == "VPC_NATIVE":
        body["ipAllocationPolicy"] = {**(allocation or {}), "useIpAliases": mode != "ROUTES"}
    if "/" not in body.get("network", "default"):
        body["network"] = f"projects/{call.values['project']}/global/networks/{body.get('network', 'default')}"
    return body


def _told_cluster(found: dict[str, Any]) -> dict[str, Any]:
    """The answer with what the program's properties are called by, so that the table can read it."""
    network = found.get("networkConfig") or {}
    address = pick(found, "controlPlaneEndpointsConfig.ipEndpointsConfig") or {}
    if not pick(address, "authorizedNetworksConfig.enabled"):
        address.pop("authorizedNetworksConfig", None)
    private = found.get("privateClusterConfig") or {}
    found["privateClusterConfig"] = {
        "masterIpv4CidrBlock": private.get("masterIpv4CidrBlock", ""),
        "peeringName": private.get("peeringName", ""),
        **{name: address.get(name, "") for name in ("privateEndpoint", "privateEndpointSubnetwork", "publicEndpoint")},
        "enablePrivateNodes": bool(network.get("defaultEnablePrivateNodes")),
        "enablePrivateEndpoint": "enablePublicEndpoint" in address and not address["enablePublicEndpoint"],
        "masterGlobalAccessConfig": {"enabled": bool(address.get("globalAccess"))},
    }
    aliases = pick(found, "ipAllocationPolicy.useIpAliases")
    found["networkingMode"] = "VPC_NATIVE" if aliases else "ROUTES"
    found["network"], found["subnetwork"] = network.get("network"), network.get("subnetwork")
    found["locations"] = [zone for zone in found.get("locations", ()) if zone != found["location"]]
    auth = found.setdefault("masterAuth", {})
    auth["clientCertificateConfig"] = auth.get("clientCertificateConfig") or {"issueClientCertificate": False}
    config = found.get("nodeConfig")
    if config is not None:
        found["nodeConfig"] = told_config(config, None)
    return found


def told_config(config: dict[str, Any], declared: Any) -> dict[str, Any]:
    """A node configuration as a state has it: of the taints those whose key the program declares, and all of them."""
    taints = config.get("taints") or []
    ours = {each.get("key") for each in declared or ()}
    variant = pick(config, "loggingConfig.variantConfig.variant") or "DEFAULT"
    return {
        **config,
        "taints": [each for each in taints if each.get("key") in ours],
        "effectiveTaints": taints,
        "loggingConfig": {"variantConfig": {"variant": variant}},
    }
