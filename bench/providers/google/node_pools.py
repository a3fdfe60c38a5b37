"""The calls of GKE node pools: one for each part that changes.

Their order, and which field of an update stands for which property, is what Google's provider sends (pulumi-gcp 10.2,
seen 2026-11). Of a changed placement it sends nothing: that change is one of the state alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from bench.providers.google.clusters import OfGke, told_taints
from bench.providers.google.differ import compare, tops
from bench.providers.google.fields import JsonObject
from bench.providers.google.rest import ResourceCall, Rest

_GROUP: Final = re.compile(r"projects/([^/]+)/zones/([^/]+)/instanceGroupManagers/([^/]+)")
_TOGETHER: Final = ("machineType", "diskType", "diskSizeGb")
_ALONE: Final = MappingProxyType(
    {"gcfsConfig": "", "resourceLabels": "labels", "taints": "taints", "workloadMetadataConfig": ""}
)
"""What an update of a pool says by itself, and under which name in an object of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePool(OfGke):
    """A node pool. How many nodes it has is what the groups of machines behind it say."""

    def create(self, call: ResourceCall) -> None:
        body = dict(call.body)
        if wanted := body.pop("nodeCount", None):
            body["initialNodeCount"] = wanted
        if "autoscaling" in body:
            body["autoscaling"] = {**body["autoscaling"], "enabled": True}
        self.make(call, "POST", f"{self.base}/{self.collection.format_map(call.values)}", {"nodePool": body})

    def read(self, call: ResourceCall) -> JsonObject | None:
        found = Rest.read(self, call)
        if found is None:
            return None
        if not (found.get("autoscaling") or {}).get("enabled"):
            found["autoscaling"] = None
        managers = _managers(call, found.get("instanceGroupUrls") or ())
        told_taints(found["config"], (call.values.get("nodeConfig") or {}).get("taints"))
        return {
            **found,
            "nodeCount": sum(int(each.get("targetSize", 0)) for each in managers) // max(1, len(managers)),
            "managedInstanceGroupUrls": [each["instanceGroup"] for each in managers],
        }

    def update(self, call: ResourceCall) -> None:
        path, changed, name = self.path(call), call.changed, call.values["name"]
        if "autoscaling" in changed:
            limits = call.body.get("autoscaling")
            wanted = {**limits, "enabled": True} if limits else {"enabled": False}
            update = {"desiredNodePoolId": name, "desiredNodePoolAutoscaling": wanted}
            self.act(call, "PUT", self.cluster_path(call), {"update": update})
        for body in self._updates(call):
            self.act(call, "PUT", path, {"name": name, **body})
        if "nodeCount" in changed and call.values.get("nodeCount") is not None:
            self.act(call, "POST", f"{path}:setSize", {"nodeCount": int(call.values["nodeCount"])})
        if "management" in changed:
            self.act(call, "POST", f"{path}:setManagement", {"management": call.body.get("management", {})})

    def _updates(self, call: ResourceCall) -> Iterator[JsonObject]:
        """One body for each part that changed, of the node configuration first."""
        old, new = (side.get("nodeConfig") or {} for side in (call.old, call.values))
        inside = tops(compare(self.fields["nodeConfig"].inner, old, new)) if "nodeConfig" in call.changed else set()
        config = call.body.get("config", {})
        if inside & {*_TOGETHER}:
            yield {part: str(config[part]) for part in _TOGETHER if part in config}
        for part in sorted(inside & _ALONE.keys()):
            value = config.get(part) or {}
            yield {part: {_ALONE[part]: value} if value and _ALONE[part] else value}
        if "nodeLocations" in call.changed:
            yield {"locations": call.body.get("locations", [])}
        if "upgradeSettings" in call.changed:
            yield {"upgradeSettings": call.body.get("upgradeSettings", {})}


def _managers(call: ResourceCall, links: Any) -> list[JsonObject]:
    """The groups of machines behind a pool, from the lists of their zones."""
    wanted = [hit[0] for link in links if (hit := _GROUP.search(link))]
    found: dict[str, JsonObject] = {}
    for place in sorted({link.rpartition("/")[0] for link in wanted}):
        for each in call.send("GET", f"compute/beta/{place}").get("items", ()):
            found["projects/" + each["selfLink"].split("/projects/")[1]] = each
    return [found[link] for link in wanted if link in found]
