"""Changes of GKE clusters: one part a call, each an operation.

Owns which field of an update stands for what in a cluster, and upgrades of control planes. An update of a pool by way
of its cluster (autoscaling, version, image) is handed to the pool.
Source: cloud.google.com/kubernetes-engine/docs/reference/rest/v1/ClusterUpdate, read 2026-11.
"""

from __future__ import annotations

from types import MappingProxyType

from bench.cloud.cloud import ApiCall, handles
from bench.cloud.errors import JsonObject, condition_not_met, invalid
from bench.cloud.services import bodies
from bench.cloud.services.gke import versions as gke_versions
from bench.cloud.services.gke.clusters import CLUSTERS, DEFAULT_POOL, fingerprint
from bench.cloud.services.gke.pool_changes import autoscaled, upgraded
from bench.cloud.services.gke.pools import POOLS
from bench.cloud.store import Resource

# Field of an update -> where in the cluster it belongs.
_DESIRED = MappingProxyType(
    {
        "desiredAddonsConfig": "addonsConfig",
        "desiredClusterAutoscaling": "autoscaling",
        "desiredControlPlaneEndpointsConfig": "controlPlaneEndpointsConfig",
        "desiredCostManagementConfig": "costManagementConfig",
        "desiredDatabaseEncryption": "databaseEncryption",
        "desiredDnsConfig": "networkConfig.dnsConfig",
        "desiredEnableFqdnNetworkPolicy": "networkConfig.enableFqdnNetworkPolicy",
        "desiredEnableMultiNetworking": "networkConfig.enableMultiNetworking",
        "desiredGcfsConfig": "nodePoolDefaults.nodeConfigDefaults.gcfsConfig",
        "desiredNodeKubeletConfig": "nodePoolDefaults.nodeConfigDefaults.nodeKubeletConfig",
        "desiredNodePoolLoggingConfig": "nodePoolDefaults.nodeConfigDefaults.loggingConfig",
        "desiredGatewayApiConfig": "networkConfig.gatewayApiConfig",
        "desiredIntraNodeVisibilityConfig": "networkConfig.enableIntraNodeVisibility",
        "desiredL4ilbSubsettingConfig": "networkConfig.enableL4ilbSubsetting",
        "desiredDefaultEnablePrivateNodes": "networkConfig.defaultEnablePrivateNodes",
        "desiredLocations": "locations",
        "desiredLoggingConfig": "loggingConfig",
        "desiredLoggingService": "loggingService",
        "desiredMasterAuthorizedNetworksConfig": "masterAuthorizedNetworksConfig",
        "desiredMonitoringConfig": "monitoringConfig",
        "desiredMonitoringService": "monitoringService",
        "desiredNotificationConfig": "notificationConfig",
        "desiredPrivateClusterConfig": "privateClusterConfig",
        "desiredReleaseChannel": "releaseChannel",
        "desiredResourceUsageExportConfig": "resourceUsageExportConfig",
        "desiredSecretManagerConfig": "secretManagerConfig",
        "desiredSecurityPostureConfig": "securityPostureConfig",
        "desiredShieldedNodes": "shieldedNodes",
        "desiredVerticalPodAutoscaling": "verticalPodAutoscaling",
        "desiredWorkloadIdentityConfig": "workloadIdentityConfig",
        "gkeAutoUpgradeConfig": "gkeAutoUpgradeConfig",
    }
)
# Of these a cluster shows the flag alone.
_FLAGS = MappingProxyType({"desiredIntraNodeVisibilityConfig": "enabled", "desiredL4ilbSubsettingConfig": "enabled"})


@handles("container.projects.locations.clusters.update")
def update(call: ApiCall) -> JsonObject:
    """One change a call, as the service has it; a change of a pool's autoscaling or version is the pool's."""
    held, sent = CLUSTERS.found(call), {key: value for key, value in call.body.get("update", {}).items()
                                        if key != "etag"}  # fmt: skip
    pool = f"{held.name}/nodePools/{sent.pop('desiredNodePoolId', DEFAULT_POOL)}"
    if "desiredNodePoolAutoscaling" in sent:
        return autoscaled(call, POOLS.named(call.cloud, pool), sent["desiredNodePoolAutoscaling"])
    if version := sent.get("desiredMasterVersion"):
        return _upgraded(call, held, version)
    if version := sent.get("desiredNodeVersion"):
        return upgraded(call, POOLS.named(call.cloud, pool), version)
    if image := sent.get("desiredImageType"):
        found = POOLS.named(call.cloud, pool)
        return POOLS.change(call, found, {"config": {**found.body["config"], "imageType": image}}, "UPGRADE_NODES")
    unknown = sorted(sent.keys() - _DESIRED.keys())
    if unknown or not sent:
        raise invalid(f"Must specify a field to update that is served here: {', '.join(unknown) or 'none was sent'}.")
    body = held.body
    for field, value in sent.items():
        value = value.get(_FLAGS[field], False) if field in _FLAGS else value
        body = bodies.with_path(
            body, _DESIRED[field], bodies.without_unset(value) if isinstance(value, dict) else value
        )
    public = {key: value for key, value in body.items() if value != held.body.get(key)}
    return CLUSTERS.change(call, held, public)


@handles("container.projects.locations.clusters.updateMaster")
def update_master(call: ApiCall) -> JsonObject:
    return _upgraded(call, CLUSTERS.found(call), call.body.get("masterVersion", ""))


def _upgraded(call: ApiCall, held: Resource, version: str) -> JsonObject:
    current, channel = held.body["currentMasterVersion"], held.body["releaseChannel"]["channel"]
    wanted = gke_versions.resolved(version, gke_versions.default_of(channel))
    gke_versions.check_upgrade(current, wanted)
    return CLUSTERS.change(call, held, {"currentMasterVersion": wanted}, "UPGRADE_MASTER")


@handles("container.projects.locations.clusters.setResourceLabels")
def set_labels(call: ApiCall) -> JsonObject:
    held, labels = CLUSTERS.found(call), call.body.get("resourceLabels", {})
    if call.body.get("labelFingerprint") != fingerprint(held):
        raise condition_not_met("Labels could not be set due to fingerprint mismatch.")
    bodies.check_labels(labels, field="resource_labels")
    return CLUSTERS.change(call, held, {"resourceLabels": labels}, "SET_LABELS")


@handles("container.projects.locations.clusters.setMaintenancePolicy")
def set_maintenance(call: ApiCall) -> JsonObject:
    held, policy = CLUSTERS.found(call), bodies.without_unset(call.body.get("maintenancePolicy", {}))
    before = held.body.get("maintenancePolicy", {}).get("resourceVersion", "")
    if policy.pop("resourceVersion", before) != before:
        raise invalid("The maintenance policy was changed meanwhile: its resourceVersion is another.")
    version = format(bodies.crc32c(repr(sorted(policy.items())).encode()), "08x")
    public = {"maintenancePolicy": {**policy, "resourceVersion": version}}
    return CLUSTERS.change(call, held, public, "SET_MAINTENANCE_POLICY")


@handles("container.projects.locations.clusters.setLocations")
def set_locations(call: ApiCall) -> JsonObject:
    return CLUSTERS.change(call, CLUSTERS.found(call), {"locations": call.body.get("locations", [])})


@handles("container.projects.locations.clusters.setAddons")
def set_addons(call: ApiCall) -> JsonObject:
    held = CLUSTERS.found(call)
    addons = {**held.body["addonsConfig"], **bodies.without_unset(call.body.get("addonsConfig", {}))}
    return CLUSTERS.change(call, held, {"addonsConfig": addons})
