"""GKE clusters: create, read, change and delete, and where their control planes are.

Owns what the service fills in, that networks, subnetworks and secondary ranges exist, versions, and the operations. A
cluster's pools are `gke_pools`'. The Kubernetes API of a cluster is elsewhere: its address and certificate are told to
the cloud (`POST kubernetes` of the control surface), and shown as Google shows them.
Source: cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters, read 2026-11.
"""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from infra.local.cloud.clock import timestamp
from infra.local.cloud.cloud import ApiCall, Cloud, Order, handles, obeys
from infra.local.cloud.errors import ApiError, JsonObject, condition_not_met, invalid
from infra.local.cloud.services import bodies, gke_base, gke_versions, places
from infra.local.cloud.services import compute_base as compute
from infra.local.cloud.services.compute_networks import SUBNETWORKS, usable_network
from infra.local.cloud.services.gke_base import CLUSTER, HIDDEN, POOL, OfGke, Task, begin, changed, check_idle, hidden
from infra.local.cloud.services.gke_pools import POOLS, autoscaled, checked_new, completed, hold_chips, strike
from infra.local.cloud.services.gke_pool_rules import PoolShape
from infra.local.cloud.store import Resource
from infra.model.catalogue import region_of

_CREATE, _DELETE, _CHANGE, _UPGRADE = 300.0, 180.0, 30.0, 600.0
_RUNNING = MappingProxyType({"status": "RUNNING"})
_DEFAULT_POOL = "default-pool"
_ZONES_OF_A_REGION = 3
_COMPONENTS = {"componentConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS"]}}
_DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "addonsConfig": {
            "dnsCacheConfig": {"enabled": True},
            "gcePersistentDiskCsiDriverConfig": {"enabled": True},
            "networkPolicyConfig": {"disabled": True},
        },
        "autopilot": {},
        "databaseEncryption": {"state": "DECRYPTED", "currentState": "CURRENT_STATE_DECRYPTED"},
        "defaultMaxPodsConstraint": {"maxPodsPerNode": "110"},
        "legacyAbac": {},
        "loggingConfig": _COMPONENTS,
        "loggingService": "logging.googleapis.com/kubernetes",
        "monitoringConfig": {
            "componentConfig": {"enableComponents": ["SYSTEM_COMPONENTS"]},
            "managedPrometheusConfig": {"enabled": True},
            "advancedDatapathObservabilityConfig": {},
        },
        "monitoringService": "monitoring.googleapis.com/kubernetes",
        "securityPostureConfig": {"mode": "BASIC", "vulnerabilityMode": "VULNERABILITY_DISABLED"},
        "shieldedNodes": {"enabled": True},
    }
)
_SERVICES_BLOCK = "34.118.224.0/20"
# Where pods are, where nobody says a range: blocks of /14 of 10.0.0.0/8.
_POD_BLOCKS = tuple(ipaddress.IPv4Network("10.0.0.0/8").subnets(new_prefix=14))


class _Clusters(OfGke):
    api = "container.projects.locations.clusters"
    kind = CLUSTER
    methods = "create get list delete"
    id_form = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
    id_rule = gke_base.NAME_RULE
    inside = MappingProxyType({"create": "cluster"})

    def asked_id(self, call: ApiCall) -> str:
        return self.sent(call).get("name", "")

    def create(self, call: ApiCall) -> JsonObject:
        cloud, name, sent = call.cloud, self.new_name(call), self.sent(call)
        if self.find(cloud, name):
            raise self.taken(cloud, name)
        pools = _initial_pools(sent)
        body = _completed(cloud, name, {key: value for key, value in self.kept(sent).items() if key != "nodePools"})
        error = gke_base.struck(call, gke_base.target_of(call, name))
        failed = {"status": "ERROR", "statusMessage": error["message"]} if error else None
        cluster = cloud.store.insert(CLUSTER, name, {**body, HIDDEN: {}}, now=cloud.now)
        for each in pools if error is None else ():
            _make_pool(call, cluster, each)
        return begin(call, name, Task(kind="CREATE_CLUSTER", target=name, seconds=_CREATE, after=_RUNNING,
                                      failed=failed, error=error))  # fmt: skip

    def list(self, call: ApiCall) -> JsonObject:
        """`locations/-` lists every place."""
        project, place = call.cloud.project(call.ids["projectsId"]).id, call.ids["locationsId"]
        prefix = f"projects/{project}/locations/" + ("" if place == "-" else f"{place}/clusters/")
        found = [self.shown(call.cloud, held) for held in list(call.cloud.store.each(CLUSTER, prefix))]
        return {"clusters": [gke_base.linked(call, each) for each in found]} if found else {}

    def delete(self, call: ApiCall) -> JsonObject:
        held = self.found(call)
        check_idle(call.cloud, held.name)
        error = gke_base.struck(call, gke_base.target_of(call, held.name))
        changed(call.cloud, held, {"status": "STOPPING"})
        return begin(call, held.name, Task(kind="DELETE_CLUSTER", target=held.name, seconds=_DELETE, after=None,
                                           failed=_RUNNING, error=error))  # fmt: skip

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        found = [POOLS.shown(cloud, pool) for pool in list(cloud.store.each(POOL, f"{held.name}/nodePools/"))]
        sizes = [hidden(pool)["size"] * len(pool.body["locations"]) for pool in _pools(cloud, held.name)]
        told = _control_plane(cloud, held.name)
        return {
            **super().shown(cloud, held),
            "createTime": timestamp(held.created),
            "id": f"{held.uid:064x}",
            "etag": held.etag,
            "labelFingerprint": _fingerprint(held),
            "endpoint": told["endpoint"],
            "masterAuth": {**held.body.get("masterAuth", {}), "clusterCaCertificate": told["ca"]},
            **({"nodePools": found, "nodeConfig": found[0]["config"]} if found else {}),
            "instanceGroupUrls": [url for pool in found for url in pool["instanceGroupUrls"]],
            "currentNodeCount": sum(sizes),
        }

    def change(
        self, call: ApiCall, held: Resource, public: Mapping[str, Any], kind: str = "UPDATE_CLUSTER"
    ) -> JsonObject:
        """Begin the operation that changes a cluster; the change is in force at once. Raises 400."""
        check_idle(call.cloud, held.name)
        error = gke_base.struck(call, gke_base.target_of(call, held.name))
        if error is None:
            changed(call.cloud, held, {**public, "status": "RECONCILING"})
        seconds = _UPGRADE if kind == "UPGRADE_MASTER" else _CHANGE
        return begin(call, held.name, Task(kind=kind, target=held.name, seconds=seconds, after=_RUNNING,
                                           failed=_RUNNING, error=error))  # fmt: skip


CLUSTERS: Final = _Clusters()


def _pools(cloud: Cloud, cluster: str) -> list[Resource]:
    return list(cloud.store.each(POOL, f"{cluster}/nodePools/"))


# What a cluster is made of


def _initial_pools(sent: JsonObject) -> list[JsonObject]:
    """The pools that a new cluster begins with. Raises 400 for none, and for two ways of saying which."""
    if sent.get("autopilot", {}).get("enabled"):
        raise invalid("The local cloud has no Autopilot clusters; declare node pools.", field="cluster.autopilot")
    if pools := sent.get("nodePools"):
        if sent.get("initialNodeCount"):
            raise invalid("Only one of initial_node_count and node_pools may be set.", field="cluster.node_pools")
        return pools
    if not sent.get("initialNodeCount"):
        raise invalid("Cluster.initial_node_count must be greater than zero.", field="cluster.initial_node_count")
    config = {"config": sent["nodeConfig"]} if sent.get("nodeConfig") else {}
    return [{"name": _DEFAULT_POOL, "initialNodeCount": sent["initialNodeCount"], **config}]


def _make_pool(call: ApiCall, cluster: Resource, sent: JsonObject) -> None:
    """A pool that comes with its cluster, in the cluster's own operation. Raises 400, 403."""
    cloud, name = call.cloud, f"{cluster.name}/nodePools/{POOLS.checked_id(sent.get('name', ''))}"
    body = completed(cluster, POOLS.kept(sent), name)
    nodes, error = checked_new(call, cluster, name, body)
    error = error or strike(call, name, PoolShape(body))
    status = "ERROR" if error else "RUNNING"
    body |= {"status": status, **({"statusMessage": error["message"]} if error else {})}
    made = cloud.store.insert(POOL, name, {**body, HIDDEN: {"size": 0 if error else nodes}}, now=cloud.now)
    if error is None:
        hold_chips(cloud, made, PoolShape(body), nodes)


def _completed(cloud: Cloud, name: str, sent: JsonObject) -> JsonObject:
    """A new cluster with what the service fills in. Raises 400."""
    _, _, _, location, _, identity = name.split("/")
    region = location if location in places.REGIONS else region_of(location)
    locations = sent.get("locations") or list(places.REGIONS.get(location, (location,))[:_ZONES_OF_A_REGION])
    outside = [zone for zone in locations if places.ZONES.get(zone) != region]
    if outside:
        raise invalid(f"Locations {', '.join(outside)} are not zones of {region}.", field="cluster.locations")
    channel = sent.get("releaseChannel", {}).get("channel", gke_versions.DEFAULT_CHANNEL)
    default = gke_versions.default_of(channel)
    version = gke_versions.resolved(sent.get("initialClusterVersion", ""), default)
    network, subnetwork = _places_of(cloud, name, region, sent)
    bodies.check_labels(sent.get("resourceLabels", {}), field="cluster.resource_labels")
    allocation = _allocated(cloud, name, subnetwork, sent.get("ipAllocationPolicy", {}))
    body = _merged(dict(_DEFAULTS), sent)
    body.pop("initialClusterVersion", None)
    private = body.get("privateClusterConfig", {})
    return {
        **body,
        "name": identity,
        "location": location,
        "zone": location,
        "locations": locations,
        "network": network.rpartition("/")[2],
        "subnetwork": subnetwork.name.rpartition("/")[2],
        "releaseChannel": {"channel": channel},
        "networkConfig": {
            "datapathProvider": "LEGACY_DATAPATH",
            "serviceExternalIpsConfig": {},
            "defaultSnatStatus": {},
            **({"defaultEnablePrivateNodes": True} if private.get("enablePrivateNodes") else {}),
            **body.get("networkConfig", {}),
            "network": network,
            "subnetwork": subnetwork.name,
        },
        "ipAllocationPolicy": allocation,
        "clusterIpv4Cidr": allocation["clusterIpv4CidrBlock"],
        "servicesIpv4Cidr": allocation["servicesIpv4CidrBlock"],
        "initialClusterVersion": version,
        "currentMasterVersion": version,
        "currentNodeVersion": version,
        "status": "PROVISIONING",
    }


def _merged(defaults: JsonObject, sent: JsonObject) -> JsonObject:
    """What was sent over the defaults, block by block; a list takes the place of a list."""
    merged = dict(defaults)
    for key, value in sent.items():
        inner = merged.get(key)
        merged[key] = _merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged


def _places_of(cloud: Cloud, name: str, region: str, sent: JsonObject) -> tuple[str, Resource]:
    """The network and the subnetwork of a new cluster. Raises 400 for those that do not exist, or do not belong."""
    project, config = name.split("/")[1], sent.get("networkConfig", {})
    link = _in_full(project, "global/networks", sent.get("network") or config.get("network") or "default")
    network = usable_network(cloud, name, link)
    asked = sent.get("subnetwork") or config.get("subnetwork")
    if not asked and not network.body["autoCreateSubnetworks"]:
        raise invalid(f"Network \"{network.name.rpartition('/')[2]}\" requires a subnetwork.", field="subnetwork")
    asked = _in_full(project, f"regions/{region}/subnetworks", asked or network.name.rpartition("/")[2])
    subnetwork = SUBNETWORKS.find(cloud, compute.relative(cloud, name, asked, field="subnetwork"))
    if subnetwork is None or subnetwork.body["network"] != network.name:
        raise invalid(f"Subnetwork \"{asked}\" does not exist in network \"{network.name}\".", field="subnetwork")
    return network.name, subnetwork


def _in_full(project: str, place: str, link: str) -> str:
    return link if "/" in link else f"projects/{project}/{place}/{link}"


def _allocated(cloud: Cloud, name: str, subnetwork: Resource, sent: JsonObject) -> JsonObject:
    """The ranges of pods and services: those of the subnetwork that are named, else some of the service's own."""
    ranges = {each["rangeName"]: each["ipCidrRange"] for each in subnetwork.body.get("secondaryIpRanges", [])}
    identity, made = name.rpartition("/")[2], {}
    own = {
        "cluster": (f"gke-{identity}-pods", lambda: str(_POD_BLOCKS[cloud.store.next_number("pods") % len(_POD_BLOCKS)])),
        "services": (f"gke-{identity}-services", lambda: _SERVICES_BLOCK),
    }
    for which, (default, block) in own.items():
        asked = sent.get(f"{which}SecondaryRangeName")
        if asked and asked not in ranges:
            noun = "Pod" if which == "cluster" else "Service"
            where = f"network \"{subnetwork.body['network'].rpartition('/')[2]}\", subnetwork \"{subnetwork.name}\""
            raise invalid(f'{noun} secondary range "{asked}" does not exist in {where}.')
        made[f"{which}SecondaryRangeName"] = asked or default
        wanted = sent.get(f"{which}Ipv4CidrBlock", "")
        found = ranges[asked] if asked else wanted if not wanted.startswith("/") and wanted else block()
        made[f"{which}Ipv4CidrBlock"] = made[f"{which}Ipv4Cidr"] = found
    rest = {"useIpAliases": True, "stackType": "IPV4", "podCidrOverprovisionConfig": {}}
    return {**rest, **sent, **made}


# Changes

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
        "desiredSecurityPostureConfig": "securityPostureConfig",
        "desiredShieldedNodes": "shieldedNodes",
        "desiredVerticalPodAutoscaling": "verticalPodAutoscaling",
        "desiredWorkloadIdentityConfig": "workloadIdentityConfig",
        "gkeAutoUpgradeConfig": "gkeAutoUpgradeConfig",
    }
)
# Of these a cluster shows the flag alone.
_FLAGS = MappingProxyType(
    {"desiredIntraNodeVisibilityConfig": "enabled", "desiredL4ilbSubsettingConfig": "enabled"}
)


@handles("container.projects.locations.clusters.update")
def update(call: ApiCall) -> JsonObject:
    """One change a call, as the service has it; a change of a pool's autoscaling or version is the pool's."""
    held, sent = CLUSTERS.found(call), {key: value for key, value in call.body.get("update", {}).items()
                                        if key != "etag"}  # fmt: skip
    pool = f"{held.name}/nodePools/{sent.pop('desiredNodePoolId', _DEFAULT_POOL)}"
    if "desiredNodePoolAutoscaling" in sent:
        return autoscaled(call, POOLS.named(call.cloud, pool), sent["desiredNodePoolAutoscaling"])
    if version := sent.get("desiredMasterVersion"):
        return _upgraded(call, held, version)
    if version := sent.get("desiredNodeVersion"):
        found = POOLS.named(call.cloud, pool)
        version = gke_versions.resolved(version, held.body["currentMasterVersion"])
        gke_versions.check_node_version(version, held.body["currentMasterVersion"])
        return POOLS.change(call, found, {"version": version}, "UPGRADE_NODES")
    if image := sent.get("desiredImageType"):
        found = POOLS.named(call.cloud, pool)
        return POOLS.change(call, found, {"config": {**found.body["config"], "imageType": image}}, "UPGRADE_NODES")
    unknown = sorted(sent.keys() - _DESIRED.keys())
    if unknown or not sent:
        raise invalid(f"Must specify a field to update that is served here: {', '.join(unknown) or 'none was sent'}.")
    public: JsonObject = {}
    for field, value in sent.items():
        top, _, inner = _DESIRED[field].partition(".")
        value = value.get(_FLAGS[field], False) if field in _FLAGS else value
        value = bodies.without_unset(value) if isinstance(value, dict) else value
        public[top] = {**public.get(top, held.body.get(top, {})), inner: value} if inner else value
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
    if call.body.get("labelFingerprint") != _fingerprint(held):
        raise condition_not_met("Labels could not be set due to fingerprint mismatch.")
    bodies.check_labels(labels, field="resource_labels")
    return CLUSTERS.change(call, held, {"resourceLabels": labels}, "SET_LABELS")


def _fingerprint(held: Resource) -> str:
    """Of the labels alone: other changes leave it."""
    text = ",".join(f"{key}={value}" for key, value in sorted(held.body.get("resourceLabels", {}).items()))
    return bodies.crc32c_base64(text.encode())


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


# The Kubernetes API of a cluster

_NAME = re.compile(r"projects/[^/]+/locations/[^/]+/clusters/[^/]+")
# RFC 5737: an address that nobody has.
_NOWHERE = {"endpoint": "192.0.2.1", "ca": base64.b64encode(b"no control plane was told to this cloud\n").decode()}


def _control_plane(cloud: Cloud, name: str) -> JsonObject:
    return cloud.store.setting(f"kubernetes/{name}") or cloud.store.setting("kubernetes") or _NOWHERE


@obeys("POST kubernetes")
def tell_control_plane(order: Order) -> JsonObject:
    """Say where a cluster's Kubernetes API is, or with no cluster that of every other one.

    endpoint: what Google shows as such, an address with or without a port. ca: its certificate, PEM in base64.
    """
    cluster, endpoint, ca = order.body.get("cluster", ""), order.body.text("endpoint"), order.body.get("ca", "")
    if cluster and not _NAME.fullmatch(cluster):
        raise invalid(f"{cluster!r} is no full name: projects/P/locations/L/clusters/C.", field="cluster")
    told = {"endpoint": endpoint, "ca": ca}
    order.cloud.store.set_setting(f"kubernetes/{cluster}" if cluster else "kubernetes", told)
    return told
