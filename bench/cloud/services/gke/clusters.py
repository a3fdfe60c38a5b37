"""GKE clusters: create, read, change and delete.

Owns what the service fills in, the versions that clusters get, that networks exist, and the
updates that a stack file may ask for. A change of a pool by way of its cluster is handed to the pool. The
versions have the form of GKE's; which patches and builds they name is this cloud's own choice, since Google's list
changes weekly. Sources, read 2026-11: cloud.google.com/kubernetes-engine/versioning and
cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, already_exists, invalid
from bench.cloud.services import bodies, places
from bench.cloud.services.compute import base as compute
from bench.cloud.services.compute.networks import SUBNETWORKS, usable_network
from bench.cloud.services.gke.base import (
    CLUSTER,
    POOL,
    RUNNING,
    OfGke,
    begin,
    changed,
    hidden,
    linked,
    struck,
    target_of,
)
from bench.cloud.services.gke.control_plane import control_plane
from bench.cloud.services.gke.pools import POOLS, make_pool
from bench.cloud.store import Resource
from infra.model.catalogue import region_of

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
# Newest first, as GKE lists them; of each minor version an older and a newer patch.
_VERSIONS = tuple(f"1.{minor}.{patch}-gke.1{patch}00000" for minor in (36, 35, 34, 33, 32) for patch in (4, 2))
_USUAL_VERSION = _VERSIONS[2]


def _version(asked: str) -> str:
    """The version that `1.35` or a whole one means. Raises 400."""
    for each in _VERSIONS:
        if each == asked or each.startswith(f"{asked}."):
            return each
    raise invalid(f'No valid versions with the prefix "{asked}" found.')


class _Clusters(OfGke):
    api = "container.projects.locations.clusters"
    kind = CLUSTER
    inside = MappingProxyType({"create": "cluster"})

    def create(self, call: ApiCall) -> JsonObject:
        cloud, name, sent = call.cloud, self.new_name(call), self.sent(call)
        if self.find(cloud, name):
            raise already_exists(name)
        if not sent.get("initialNodeCount"):
            raise invalid("Cluster.initial_node_count must be greater than zero.")
        error = struck(call, target_of(call, name))
        failed = {"status": "ERROR", "statusMessage": error["message"]} if error else None
        cluster = cloud.store.insert(CLUSTER, name, _completed(cloud, name, self.kept(sent)), now=cloud.now)
        if error is None:
            _make_first_pool(call, cluster, sent)
        return begin(call, "CREATE_CLUSTER", name, 300.0, RUNNING, failed=failed, error=error)

    def list(self, call: ApiCall) -> JsonObject:
        """`locations/-` lists every place."""
        project, place = call.cloud.project(call.ids["projectsId"]).id, call.ids["locationsId"]
        prefix = f"projects/{project}/locations/" + ("" if place == "-" else f"{place}/clusters/")
        found = [self.shown(call.cloud, held) for held in list(call.cloud.store.each(CLUSTER, prefix))]
        return {"clusters": [linked(call, each) for each in found]}

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        pools = list(cloud.store.each(POOL, f"{held.name}/nodePools/"))
        found, told = [POOLS.shown(cloud, pool) for pool in pools], control_plane(cloud, held.name)
        return {
            **super().shown(cloud, held),
            "createTime": timestamp(held.created),
            "id": f"{held.uid:064x}",
            "etag": held.etag,
            "labelFingerprint": held.etag,
            "endpoint": told["endpoint"],
            "masterAuth": {**held.body.get("masterAuth", {}), "clusterCaCertificate": told["ca"]},
            **({"nodePools": found, "nodeConfig": found[0]["config"]} if found else {}),
            "instanceGroupUrls": [url for pool in found for url in pool["instanceGroupUrls"]],
            "currentNodeCount": sum(hidden(pool)["size"] * len(pool.body["locations"]) for pool in pools),
        }


CLUSTERS: Final = _Clusters()


# What a cluster is made of


def _make_first_pool(call: ApiCall, cluster: Resource, sent: JsonObject) -> None:
    """The pool that comes with its cluster, in the cluster's own operation. Raises 400 and 403."""
    pool = {"initialNodeCount": sent["initialNodeCount"], "config": sent.get("nodeConfig") or {}}
    made, error = make_pool(call, cluster, f"{cluster.name}/nodePools/{DEFAULT_POOL}", pool)
    status = {"status": "ERROR", "statusMessage": error["message"]} if error else RUNNING
    changed(call.cloud, made, status, size=0 if error else sent["initialNodeCount"])


def _completed(cloud: Cloud, name: str, sent: JsonObject) -> JsonObject:
    """A new cluster with what the service fills in. Raises 400."""
    _, _, _, location, _, identity = name.split("/")
    region = location if location in places.REGIONS else region_of(location)
    # None of those for AI alone, whose suffix is longer (`us-central1-ai1a`).
    usual = [zone for zone in places.REGIONS.get(location, (location,)) if len(zone.rpartition("-")[2]) == 1]
    version = _version(sent["initialClusterVersion"]) if "initialClusterVersion" in sent else _USUAL_VERSION
    network, subnetwork = _places_of(cloud, name, region, sent)
    bodies.check_labels(sent.get("resourceLabels", {}))
    allocation = _allocated(cloud, name, subnetwork, sent.get("ipAllocationPolicy", {}))
    private = sent.get("privateClusterConfig", {})
    return {
        **bodies.merged(_DEFAULTS, sent),
        "name": identity,
        "location": location,
        "locations": sent.get("locations") or usual[:_ZONES_OF_A_REGION],
        "network": network.rpartition("/")[2],
        "subnetwork": subnetwork.name.rpartition("/")[2],
        "releaseChannel": sent.get("releaseChannel", {"channel": "REGULAR"}),
        "networkConfig": {
            "datapathProvider": "LEGACY_DATAPATH",
            "serviceExternalIpsConfig": {},
            "defaultSnatStatus": {},
            **({"defaultEnablePrivateNodes": True} if private.get("enablePrivateNodes") else {}),
            **sent.get("networkConfig", {}),
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


def _places_of(cloud: Cloud, name: str, region: str, sent: JsonObject) -> tuple[str, Resource]:
    """The network and the subnetwork of a new cluster. Raises 404 and 400 for those that do not exist."""
    asked = sent.get("network", "default")
    network = usable_network(cloud, name, asked if "/" in asked else f"global/networks/{asked}").name
    asked = sent.get("subnetwork") or network.rpartition("/")[2]
    link = compute.relative(name, asked if "/" in asked else f"regions/{region}/subnetworks/{asked}")
    subnetwork = SUBNETWORKS.find(cloud, link)
    if subnetwork is None or subnetwork.body["network"] != network:
        raise invalid(f'Subnetwork "{asked}" does not exist in network "{network}".')
    return network, subnetwork


def _allocated(cloud: Cloud, name: str, subnetwork: Resource, sent: JsonObject) -> JsonObject:
    """The ranges of pods and services: those of the subnetwork that are named, else some of the service's own."""
    ranges = {each["rangeName"]: each["ipCidrRange"] for each in subnetwork.body.get("secondaryIpRanges", [])}
    own = {
        "cluster": str(_POD_BLOCKS[cloud.store.next_number("pods") % len(_POD_BLOCKS)]),
        "services": _SERVICES_BLOCK,
    }
    made = {}
    for which, block in own.items():
        asked = sent.get(f"{which}SecondaryRangeName")
        made[f"{which}SecondaryRangeName"] = asked or f"gke-{name.rpartition('/')[2]}-{which}"
        made[f"{which}Ipv4CidrBlock"] = made[f"{which}Ipv4Cidr"] = ranges.get(asked, block)
    return {"useIpAliases": True, "stackType": "IPV4", "podCidrOverprovisionConfig": {}, **sent, **made}


# Changes


@handles("container.projects.locations.clusters.update")
def update(call: ApiCall) -> JsonObject:
    """One change a call, as the service has it."""
    held, sent = CLUSTERS.found(call), dict(call.body.get("update", {}))
    pool = f"{held.name}/nodePools/{sent.pop('desiredNodePoolId', DEFAULT_POOL)}"
    if not sent:
        raise invalid("Must specify a field to update.")
    field, value = next(iter(sent.items()))
    if field == "desiredMasterVersion":
        return CLUSTERS.change(call, held, {"currentMasterVersion": _version(value)}, "UPGRADE_MASTER")
    if field == "desiredNodePoolAutoscaling":
        return POOLS.change(call, POOLS.named(call.cloud, pool), {"autoscaling": bodies.without_unset(value)})
    name = "autoscaling" if field == "desiredClusterAutoscaling" else field.removeprefix("desired")
    plain = bodies.without_unset(value) if isinstance(value, dict) else value
    return CLUSTERS.change(call, held, {name[:1].lower() + name[1:]: plain})


@handles("container.projects.locations.clusters.setResourceLabels")
def set_labels(call: ApiCall) -> JsonObject:
    labels = call.body.get("resourceLabels", {})
    bodies.check_labels(labels)
    return CLUSTERS.change(call, CLUSTERS.found(call), {"resourceLabels": labels}, "SET_LABELS")


@handles("container.projects.locations.clusters.setMaintenancePolicy")
def set_maintenance(call: ApiCall) -> JsonObject:
    public = {"maintenancePolicy": bodies.without_unset(call.body["maintenancePolicy"])}
    return CLUSTERS.change(call, CLUSTERS.found(call), public, "SET_MAINTENANCE_POLICY")
