"""The calls of GKE node pools: one for each part that changes.

Their order, and which field of an update stands for which property, is what Google's provider sends (pulumi-gcp 10.2,
seen 2026-11). Of a changed placement it sends nothing: that change is one of the state alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from bench.engine.provider import ProviderError
from bench.providers.google.clusters import OfGke, changed_parts, fill_kubelet, told_config
from bench.providers.google.resource import ResourceCall
from bench.providers.google.rest import Rest
from bench.providers.google.spellings import last_part

_GROUP: Final = re.compile(r"projects/([^/]+)/zones/([^/]+)/instanceGroupManagers/([^/]+)")
_COMPUTE: Final = "compute/beta"
_WRAPPED: Final = MappingProxyType({"labels": "labels", "taints": "taints", "tags": "tags", "resourceLabels": "labels"})
"""What stands in an object of its own in an update of a pool, and under which name there."""
_TOGETHER: Final = ("machineType", "diskType", "diskSizeGb")
_ALONE: Final = frozenset(
    {
        "gcfsConfig", "gvnic", "kubeletConfig", "labels", "linuxNodeConfig", "loggingVariant", "resourceLabels",
        "resourceManagerTags", "tags", "taints", "workloadMetadataConfig",
    }
)  # fmt: skip
_FIELDS: Final = MappingProxyType({"loggingVariant": "loggingConfig"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePool(OfGke):
    """A node pool. How many nodes it has is what the groups of machines behind it say."""

    def create(self, call: ResourceCall) -> None:
        body = dict(call.body)
        wanted = body.pop("nodeCount", None)
        if wanted and body.get("initialNodeCount"):
            raise ProviderError(f"Cannot set both initial_node_count and node_count on node pool {body['name']}")
        if wanted:
            body["initialNodeCount"] = wanted
        fill_kubelet(body.get("config"))
        if "autoscaling" in body:
            body["autoscaling"] = {**body["autoscaling"], "enabled": True}
        self._made(call, {"nodePool": body})

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        found = Rest.read(self, call)
        if found is None:
            return None
        managers = _managers(call, found.get("instanceGroupUrls") or ())
        declared = (call.values.get("nodeConfig") or {}).get("taints")
        found["config"] = told_config(found.get("config") or {}, declared)
        if not (found.get("autoscaling") or {}).get("enabled"):
            found.pop("autoscaling", None)
        return {
            **found,
            "nodeCount": sum(int(each.get("targetSize", 0)) for each in managers) // max(1, len(managers)),
            "managedInstanceGroupUrls": [each["instanceGroup"] for each in managers],
        }

    def update(self, call: ResourceCall) -> None:
        path, changed = self.path(call), call.changed
        if "autoscaling" in changed:
            limits = call.body.get("autoscaling")
            wanted = {**limits, "enabled": True} if limits else {"enabled": False}
            update = {"desiredNodePoolId": call.values["name"], "desiredNodePoolAutoscaling": wanted}
            self._change(call, "PUT", self._cluster_path(call), {"update": update})
        parts = changed_parts(self, call, "nodeConfig") if "nodeConfig" in changed else set()
        if "imageType" in parts:
            image = {"desiredNodePoolId": call.values["name"], "desiredImageType": call.body["config"]["imageType"]}
            self._change(call, "PUT", self._cluster_path(call), {"update": image})
        for body in (*_config_updates(call, parts), *_pool_updates(call)):
            self._change(call, "PUT", path, {"name": call.values["name"], **body})
        if "nodeCount" in changed and call.values.get("nodeCount") is not None:
            self._change(call, "POST", f"{path}:setSize", {"nodeCount": int(call.values["nodeCount"])})
        if "management" in changed:
            management = call.body.get("management", {})
            self._change(call, "POST", f"{path}:setManagement", {"management": management})


def _pool_updates(call: ResourceCall) -> list[dict[str, Any]]:
    """One body for each part that changed. Of a placement nothing is ever sent: its change is one of the state."""
    found = []
    if "nodeLocations" in call.changed:
        found.append({"locations": call.body.get("locations", [])})
    if "version" in call.changed and (version := call.values.get("version")):
        found.append({"nodeVersion": version})
    if "upgradeSettings" in call.changed:
        found.append({"upgradeSettings": call.body.get("upgradeSettings", {})})
    if "networkConfig" in call.changed:
        private = (call.values.get("networkConfig") or {}).get("enablePrivateNodes")
        found.append({"nodeNetworkConfig": {"enablePrivateNodes": bool(private)}})
    return found


def _config_updates(call: ResourceCall, changed: set[str]) -> list[dict[str, Any]]:
    """changed: properties of the node configuration."""
    body, found = call.body.get("config", {}), []
    if changed & {*_TOGETHER}:
        found.append({part: str(body[part]) for part in _TOGETHER if part in body})
    for part in sorted(changed & _ALONE):
        if part in _WRAPPED:
            found.append({part: {_WRAPPED[part]: body[part]} if part in body else {}})
        else:
            found.append({_FIELDS.get(part, part): body.get(_FIELDS.get(part, part)) or {}})
    return found


def _managers(call: ResourceCall, links: Any) -> list[dict[str, Any]]:
    """The groups of machines behind a pool, from the lists of their zones."""
    wanted = [hit for link in links if (hit := _GROUP.search(link))]
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for project, zone in sorted({(hit[1], hit[2]) for hit in wanted}):
        listed = call.send("GET", f"{_COMPUTE}/projects/{project}/zones/{zone}/instanceGroupManagers")
        found |= {(zone, last_part(each["selfLink"])): each for each in listed.get("items", ())}
    return [found[hit[2], hit[3]] for hit in wanted if (hit[2], hit[3]) in found]
