"""The calls of GKE clusters: one for each part that changes, and one operation after another.

A cluster takes one operation at a time. Calls of one provider wait for each other; where somebody else's operation
runs, the call is sent again until the cluster takes it. Which field of an update stands for which property is what
Google's provider sends (pulumi-gcp 10.2, seen 2026-11); a property without one changes in the state alone, as there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from bench.providers.google.codec import pick
from bench.providers.google.differ import compare, tops
from bench.providers.google.resource import ResourceCall
from bench.providers.google.rest import OperationFailedError, Rest, poll
from bench.providers.google.spellings import link_path
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
            self._change(call, "POST", self.collection_path(call), body)
        except ApiError as error:
            if not (error.doubtful and error.code == HTTPStatus.CONFLICT):
                raise
        except OperationFailedError as error:
            error.gone = call.find(self.path(call)) is None
            raise

    def _cluster_path(self, call: ResourceCall) -> str:
        return _CLUSTER_OF_POOL.sub("", self.path(call))


# Clusters

_DESIRED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "addonsConfig": "desiredAddonsConfig",
        "clusterAutoscaling": "desiredClusterAutoscaling",
        "costManagementConfig": "desiredCostManagementConfig",
        "databaseEncryption": "desiredDatabaseEncryption",
        "dnsConfig": "desiredDnsConfig",
        "enableFqdnNetworkPolicy": "desiredEnableFqdnNetworkPolicy",
        "enableMultiNetworking": "desiredEnableMultiNetworking",
        "gatewayApiConfig": "desiredGatewayApiConfig",
        "gkeAutoUpgradeConfig": "gkeAutoUpgradeConfig",
        "loggingConfig": "desiredLoggingConfig",
        "loggingService": "desiredLoggingService",
        "monitoringConfig": "desiredMonitoringConfig",
        "monitoringService": "desiredMonitoringService",
        "nodeLocations": "desiredLocations",
        "notificationConfig": "desiredNotificationConfig",
        "releaseChannel": "desiredReleaseChannel",
        "secretManagerConfig": "desiredSecretManagerConfig",
        "securityPostureConfig": "desiredSecurityPostureConfig",
        "verticalPodAutoscaling": "desiredVerticalPodAutoscaling",
        "workloadIdentityConfig": "desiredWorkloadIdentityConfig",
    }
)
_FLAGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "enableIntranodeVisibility": "desiredIntraNodeVisibilityConfig",
        "enableL4IlbSubsetting": "desiredL4ilbSubsettingConfig",
        "enableShieldedNodes": "desiredShieldedNodes",
    }
)
"""What is an object with a flag in an update."""
_ALWAYS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "autopilot": {"enabled": False},
        "binaryAuthorization": {"enabled": False},
        "networkPolicy": {},
        "notificationConfig": {"pubsub": {}},
    }
)
"""What a create says of parts that the program does not mention."""
_DEFAULTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "gcfsConfig": ("desiredGcfsConfig", "gcfsConfig"),
        "insecureKubeletReadonlyPortEnabled": ("desiredNodeKubeletConfig", "nodeKubeletConfig"),
        "loggingVariant": ("desiredNodePoolLoggingConfig", "loggingConfig"),
    }
)
"""Of the defaults of node pools: the field of an update, and where its value stands in a cluster."""
_ENDPOINTS: Final = frozenset({"controlPlaneEndpointsConfig", "masterAuthorizedNetworksConfig"})
_IP: Final = "ipEndpointsConfig"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster(OfGke):
    """A cluster. Its default pool goes right after its creation where the program says so."""

    def create(self, call: ResourceCall) -> None:
        body = _sent_cluster(call)
        self._made(call, {"cluster": {**_ALWAYS, **body}})
        if call.values.get("removeDefaultNodePool"):
            self._change(call, "DELETE", f"{self.path(call)}/nodePools/default-pool")

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        found = Rest.read(self, call)
        return None if found is None else _told_cluster(found)

    def update(self, call: ResourceCall) -> None:
        path, changed, body = self.path(call), call.changed, _sent_cluster(call)
        if "maintenancePolicy" in changed:
            held = call.send("GET", path).get("maintenancePolicy") or {}
            # Where the program has no policy any more the exclusions stay: only the windows are taken away.
            kept = {"window": {"maintenanceExclusions": pick(held, "window.maintenanceExclusions") or {}}}
            policy = {**body.get("maintenancePolicy", kept), "resourceVersion": held.get("resourceVersion", "")}
            self._change(call, "POST", f"{path}:setMaintenancePolicy", {"maintenancePolicy": policy})
        if "resourceLabels" in changed:
            labels = {
                "resourceLabels": body.get("resourceLabels", {}),
                "labelFingerprint": call.send("GET", path).get("labelFingerprint", ""),
            }
            self._change(call, "POST", f"{path}:setResourceLabels", labels)
        for desired in _cluster_updates(self, call, body):
            self._change(call, "PUT", path, {"update": desired})
        if "removeDefaultNodePool" in changed and call.values.get("removeDefaultNodePool"):
            default = f"{path}/nodePools/default-pool"
            if call.find(default) is not None:
                self._change(call, "DELETE", default)


def _cluster_updates(calls: Rest, call: ResourceCall, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Versions first: nodes are never newer than the control plane."""
    changed, found = call.changed, []
    if "minMasterVersion" in changed and (version := call.values.get("minMasterVersion")):
        found.append({"desiredMasterVersion": version})
    if "nodeVersion" in changed and (version := call.values.get("nodeVersion")):
        found.append({"desiredNodePoolId": "default-pool", "desiredNodeVersion": version})
    for name in sorted(changed & _DESIRED.keys()):
        value = pick(body, calls.fields[name].wire or name)
        found.append({_DESIRED[name]: calls.fields[name].zero if value is None else value})
    flags = sorted(changed & _FLAGS.keys())
    found += [{_FLAGS[name]: {"enabled": bool(call.values.get(name))}} for name in flags]
    private = changed_parts(calls, call, "privateClusterConfig")
    if "enablePrivateNodes" in private:
        wanted = call.values.get("privateClusterConfig") or {}
        found.append({"desiredDefaultEnablePrivateNodes": bool(wanted.get("enablePrivateNodes"))})
    if changed & _ENDPOINTS or private - {"enablePrivateNodes"}:
        found.append({"desiredControlPlaneEndpointsConfig": body.get("controlPlaneEndpointsConfig", {})})
    defaults = pick(body, "nodePoolDefaults.nodeConfigDefaults") or {}
    for part in sorted(changed_parts(calls, call, "nodePoolDefaults", "nodeConfigDefaults") & _DEFAULTS.keys()):
        desired, name = _DEFAULTS[part]
        found.append({desired: defaults.get(name, {})})
    return found


def changed_parts(calls: Rest, call: ResourceCall, *path: str) -> set[str]:
    """Which properties of a block differ."""
    fields, old, new = calls.fields, call.old, call.values
    for name in path:
        fields, old, new = fields[name].inner, old.get(name) or {}, new.get(name) or {}
    return tops(compare(fields, old, new))


def _sent_cluster(call: ResourceCall) -> dict[str, Any]:
    """The body of a cluster as the API takes it: what the program says in one block stands in several there."""
    body = dict(call.body)
    private = body.pop("privateClusterConfig", None) or {}
    network = body.setdefault("networkConfig", {})
    if private.get("enablePrivateNodes"):
        network["defaultEnablePrivateNodes"] = True
    if cidr := private.get("masterIpv4CidrBlock"):
        body["privateClusterConfig"] = {"masterIpv4CidrBlock": cidr}
    _send_endpoints(body, private)
    mode = body.pop("networkingMode", None)
    allocation = body.get("ipAllocationPolicy")
    if allocation is not None or mode == "VPC_NATIVE":
        body["ipAllocationPolicy"] = {**(allocation or {}), "useIpAliases": mode != "ROUTES"}
    fill_kubelet(body.get("nodeConfig"))
    project = call.values["project"]
    region = "-".join(call.values["location"].split("-")[:2])
    body["network"] = _in_full(body.get("network", "default"), f"projects/{project}/global/networks")
    if subnetwork := body.get("subnetwork"):
        body["subnetwork"] = _in_full(subnetwork, f"projects/{project}/regions/{region}/subnetworks")
    if body.get("nodeVersion"):
        body.setdefault("initialClusterVersion", body.pop("nodeVersion"))
    if not network:
        del body["networkConfig"]
    return body


def _send_endpoints(body: dict[str, Any], private: Mapping[str, Any]) -> None:
    allowed = pick(body, f"controlPlaneEndpointsConfig.{_IP}.authorizedNetworksConfig")
    if not private and allowed is None and "controlPlaneEndpointsConfig" not in body:
        return
    address = body.setdefault("controlPlaneEndpointsConfig", {}).setdefault(_IP, {})
    address.setdefault("enabled", True)
    address["enablePublicEndpoint"] = not private.get("enablePrivateEndpoint")
    if allowed is not None:
        address["authorizedNetworksConfig"] = {**allowed, "enabled": True}
    if private.get("masterGlobalAccessConfig"):
        address["globalAccess"] = bool(private["masterGlobalAccessConfig"].get("enabled"))
    if subnetwork := private.get("privateEndpointSubnetwork"):
        address["privateEndpointSubnetwork"] = subnetwork


def _in_full(link: str, place: str) -> str:
    return link_path(link) if "/" in link else f"{place}/{link}"


def _told_cluster(found: dict[str, Any]) -> dict[str, Any]:
    """The answer with what the program's properties are called by, so that the table can read it."""
    network = found.get("networkConfig") or {}
    address = pick(found, f"controlPlaneEndpointsConfig.{_IP}") or {}
    allowed = address.get("authorizedNetworksConfig") or {}
    if not allowed.get("enabled"):
        address.pop("authorizedNetworksConfig", None)
    private = found.get("privateClusterConfig") or {}
    found["privateClusterConfig"] = {
        "enablePrivateNodes": bool(network.get("defaultEnablePrivateNodes")),
        "enablePrivateEndpoint": "enablePublicEndpoint" in address and not address["enablePublicEndpoint"],
        "masterIpv4CidrBlock": private.get("masterIpv4CidrBlock", ""),
        "masterGlobalAccessConfig": {"enabled": bool(address.get("globalAccess"))},
        "peeringName": private.get("peeringName", ""),
        "privateEndpoint": address.get("privateEndpoint", ""),
        "privateEndpointSubnetwork": address.get("privateEndpointSubnetwork", ""),
        "publicEndpoint": address.get("publicEndpoint", ""),
    }
    aliases = (found.get("ipAllocationPolicy") or {}).get("useIpAliases")
    found["networkingMode"] = "VPC_NATIVE" if aliases else "ROUTES"
    found["network"], found["subnetwork"] = network.get("network"), network.get("subnetwork")
    found["locations"] = [zone for zone in found.get("locations", ()) if zone != found["location"]]
    auth = found.setdefault("masterAuth", {})
    auth["clientCertificateConfig"] = auth.get("clientCertificateConfig") or {"issueClientCertificate": False}
    defaults = pick(found, "nodePoolDefaults.nodeConfigDefaults")
    if defaults is not None:
        defaults.setdefault("nodeKubeletConfig", {}).setdefault("insecureKubeletReadonlyPortEnabled", False)
        defaults.setdefault("loggingConfig", {}).setdefault("variantConfig", {}).setdefault("variant", "DEFAULT")
    config = found.get("nodeConfig")
    if config is not None:
        found["nodeConfig"] = told_config(config, None)
    return found


def fill_kubelet(config: dict[str, Any] | None) -> None:
    """Whoever configures the kubelet at all says these two as well."""
    if config and "kubeletConfig" in config:
        config["kubeletConfig"] = {
            "cpuCfsQuota": True, "insecureKubeletReadonlyPortEnabled": False, **config["kubeletConfig"]
        }  # fmt: skip


def told_config(config: dict[str, Any], declared: Any) -> dict[str, Any]:
    """A node configuration as a state has it: of the taints those whose key the program declares, and all of them."""
    taints = config.get("taints") or []
    ours = {each.get("key") for each in declared or ()}
    kept = [each for each in taints if each.get("key") in ours]
    variant = pick(config, "loggingConfig.variantConfig.variant") or "DEFAULT"
    if config.get("kubeletConfig"):
        config["kubeletConfig"].setdefault("insecureKubeletReadonlyPortEnabled", False)
    return {
        **config,
        "taints": kept,
        "effectiveTaints": taints,
        "loggingConfig": {"variantConfig": {"variant": variant}},
    }
