"""GKE clusters: create, read and delete.

Owns what the service fills in, that networks, subnetworks and secondary ranges exist, versions, and the operations. A
cluster's pools are `gke_pools`', its changes `gke_cluster_changes`', and its Kubernetes API is elsewhere.
Source: cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters, read 2026-11.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import JsonObject, invalid
from bench.cloud.services import bodies, places
from bench.cloud.services.compute import base as compute
from bench.cloud.services.compute.networks import SUBNETWORKS, usable_network
from bench.cloud.services.gke import base as gke_base
from bench.cloud.services.gke import versions as gke_versions
from bench.cloud.services.gke.base import CLUSTER, HIDDEN, POOL, OfGke, Task, begin, changed, check_idle, hidden
from bench.cloud.services.gke.chips import hold_chips, strike
from bench.cloud.services.gke.control_plane import control_plane
from bench.cloud.services.gke.pool_rules import PoolShape
from bench.cloud.services.gke.pools import POOLS, checked_new, completed
from bench.cloud.store import Resource
from infra.model.catalogue import region_of

_CREATE, _DELETE, _CHANGE, _UPGRADE = 300.0, 180.0, 30.0, 600.0
_RUNNING = MappingProxyType({"status": "RUNNING"})
DEFAULT_POOL = "default-pool"
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
        told = control_plane(cloud, held.name)
        return {
            **super().shown(cloud, held),
            "createTime": timestamp(held.created),
            "id": f"{held.uid:064x}",
            "etag": held.etag,
            "labelFingerprint": fingerprint(held),
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
    return [{"name": DEFAULT_POOL, "initialNodeCount": sent["initialNodeCount"], **config}]


def _make_pool(call: ApiCall, cluster: Resource, sent: JsonObject) -> None:
    """A pool that comes with its cluster, in the cluster's own operation. Raises 400, 403."""
    cloud, name = call.cloud, f"{cluster.name}/nodePools/{POOLS.checked_id(sent.get('name', ''))}"
    body = completed(cluster, POOLS.kept(sent), name)
    nodes, error = checked_new(call, cluster, name, body)
    error = error or strike(call, name, PoolShape(body), nodes)
    status = "ERROR" if error else "RUNNING"
    body |= {"status": status, **({"statusMessage": error["message"]} if error else {})}
    made = cloud.store.insert(POOL, name, {**body, HIDDEN: {"size": 0 if error else nodes}}, now=cloud.now)
    if error is None:
        hold_chips(cloud, made, PoolShape(body), nodes)


def _completed(cloud: Cloud, name: str, sent: JsonObject) -> JsonObject:
    """A new cluster with what the service fills in. Raises 400."""
    _, _, _, location, _, identity = name.split("/")
    region = location if location in places.REGIONS else region_of(location)
    locations = sent.get("locations") or _usual_zones(location)
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


def _usual_zones(location: str) -> list[str]:
    """Three of a region's zones, none of them one for AI alone, whose suffix is longer (`us-central1-ai1a`)."""
    zones = places.REGIONS.get(location, (location,))
    return [zone for zone in zones if len(zone.rpartition("-")[2]) == 1][:_ZONES_OF_A_REGION]


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
        raise invalid(f'Network "{network.name.rpartition("/")[2]}" requires a subnetwork.', field="subnetwork")
    asked = _in_full(project, f"regions/{region}/subnetworks", asked or network.name.rpartition("/")[2])
    subnetwork = SUBNETWORKS.find(cloud, compute.relative(cloud, name, asked, field="subnetwork"))
    if subnetwork is None or subnetwork.body["network"] != network.name:
        raise invalid(f'Subnetwork "{asked}" does not exist in network "{network.name}".', field="subnetwork")
    return network.name, subnetwork


def _in_full(project: str, place: str, link: str) -> str:
    return link if "/" in link else f"projects/{project}/{place}/{link}"


def _allocated(cloud: Cloud, name: str, subnetwork: Resource, sent: JsonObject) -> JsonObject:
    """The ranges of pods and services: those of the subnetwork that are named, else some of the service's own."""
    ranges = {each["rangeName"]: each["ipCidrRange"] for each in subnetwork.body.get("secondaryIpRanges", [])}
    identity, made = name.rpartition("/")[2], {}
    own = {
        "cluster": ("Pod", str(_POD_BLOCKS[cloud.store.next_number("pods") % len(_POD_BLOCKS)])),
        "services": ("Service", _SERVICES_BLOCK),
    }
    for which, (noun, block) in own.items():
        asked = sent.get(f"{which}SecondaryRangeName")
        if asked and asked not in ranges:
            where = f'network "{subnetwork.body["network"].rpartition("/")[2]}", subnetwork "{subnetwork.name}"'
            raise invalid(f'{noun} secondary range "{asked}" does not exist in {where}.')
        made[f"{which}SecondaryRangeName"] = asked or f"gke-{identity}-{noun.lower()}s"
        wanted = sent.get(f"{which}Ipv4CidrBlock", "")
        found = ranges[asked] if asked else wanted if wanted and not wanted.startswith("/") else block
        made[f"{which}Ipv4CidrBlock"] = made[f"{which}Ipv4Cidr"] = found
    rest = {"useIpAliases": True, "stackType": "IPV4", "podCidrOverprovisionConfig": {}}
    return {**rest, **sent, **made}


def fingerprint(held: Resource) -> str:
    """Of the labels alone: other changes leave it."""
    text = ",".join(f"{key}={value}" for key, value in sorted(held.body.get("resourceLabels", {}).items()))
    return bodies.crc32c_base64(text.encode())
