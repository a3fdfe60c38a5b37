"""The calls of GKE node pools: one for each part that changes.

Their order, and which field of an update stands for which property, is what Google's provider sends (pulumi-gcp 10.2,
seen 2026-11). Of a changed placement it sends nothing: that change is one of the state alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from bench.providers.google.clusters import OfGke, told_config
from bench.providers.google.differ import compare, tops
from bench.providers.google.resource import ResourceCall
from bench.providers.google.rest import Rest
from bench.providers.google.spellings import last_part

_GROUP: Final = re.compile(r"projects/([^/]+)/zones/([^/]+)/instanceGroupManagers/([^/]+)")
_COMPUTE: Final = "compute/beta"
_TOGETHER: Final = ("machineType", "diskType", "diskSizeGb")
_ALONE: Final = ("gcfsConfig", "resourceLabels", "taints", "workloadMetadataConfig")
_WRAPPED: Final = MappingProxyType({"resourceLabels": "labels", "taints": "taints"})
"""What stands in an object of its own in an update of a pool, and under which name there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePool(OfGke):
    """A node pool. How many nodes it has is what the groups of machines behind it say."""

    def create(self, call: ResourceCall) -> None:
        body = dict(call.body)
        if wanted := body.pop("nodeCount", None):
            body["initialNodeCount"] = wanted
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
        for body in (*self._config_updates(call), *_pool_updates(call)):
            self._change(call, "PUT", path, {"name": call.values["name"], **body})
        if "nodeCount" in changed and call.values.get("nodeCount") is not None:
            self._change(call, "POST", f"{path}:setSize", {"nodeCount": int(call.values["nodeCount"])})
        if "management" in changed:
            management = call.body.get("management", {})
            self._change(call, "POST", f"{path}:setManagement", {"management": management})

    def _config_updates(self, call: ResourceCall) -> list[dict[str, Any]]:
        """What differs in the node configuration."""
        old, new = (side.get("nodeConfig") or {} for side in (call.old, call.values))
        changed = tops(compare(self.fields["nodeConfig"].inner, old, new)) if "nodeConfig" in call.changed else set()
        body, found = call.body.get("config", {}), []
        if changed & {*_TOGETHER}:
            found.append({part: str(body[part]) for part in _TOGETHER if part in body})
        for part in _ALONE:
            if part in changed and part in _WRAPPED:
                found.append({part: {_WRAPPED[part]: body[part]} if part in body else {}})
            elif part in changed:
                found.append({part: body.get(part) or {}})
        return found


def _pool_updates(call: ResourceCall) -> list[dict[str, Any]]:
    """One body for each part that changed. Of a placement nothing is ever sent: its change is one of the state."""
    found = []
    if "nodeLocations" in call.changed:
        found.append({"locations": call.body.get("locations", [])})
    if "upgradeSettings" in call.changed:
        found.append({"upgradeSettings": call.body.get("upgradeSettings", {})})
    if "networkConfig" in call.changed:
        private = (call.values.get("networkConfig") or {}).get("enablePrivateNodes")
        found.append({"nodeNetworkConfig": {"enablePrivateNodes": bool(private)}})
    return found


def _managers(call: ResourceCall, links: Any) -> list[dict[str, Any]]:
    """The groups of machines behind a pool, from the lists of their zones."""
    wanted = [hit for link in links if (hit := _GROUP.search(link))]
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for project, zone in sorted({(hit[1], hit[2]) for hit in wanted}):
        listed = call.send("GET", f"{_COMPUTE}/projects/{project}/zones/{zone}/instanceGroupManagers")
        found |= {(zone, last_part(each["selfLink"])): each for each in listed.get("items", ())}
    return [found[hit[2], hit[3]] for hit in wanted if (hit[2], hit[3]) in found]
