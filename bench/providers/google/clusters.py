"""The calls of GKE clusters: one for each part that changes, and one operation after another.

A cluster takes one operation at a time. Calls of one provider wait for each other; where somebody else's operation
runs, the call is sent again until the cluster takes it. Which field of an update stands for which property is what
Google's provider sends (pulumi-gcp 10.2, seen 2026-11); a property without one changes in the state alone, as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from bench.providers.google.codec import pick
from bench.providers.google.fields import Given, JsonObject
from bench.providers.google.rest import ResourceCall, Rest, until
from bench.providers.google.transport import ApiError


@dataclass(frozen=True, slots=True, kw_only=True)
class OfGke(Rest):
    """What clusters and their pools share."""

    def make(self, call: ResourceCall, method: str, path: str, body: Any, query: Any = None) -> None:
        with call.api.turn(self.cluster_path(call)):
            Rest.make(self, call, method, path, body, query)

    def act(self, call: ResourceCall, method: str, path: str, body: Any = None, query: Any = None) -> None:
        with call.api.turn(self.cluster_path(call)):
            Rest.act(self, call, method, path, body, query)

    def begin(self, call: ResourceCall, method: str, path: str, body: Any, query: Any) -> JsonObject:
        """Send a call once the cluster is idle."""

        def taken() -> JsonObject | None:
            try:
                return Rest.begin(self, call, method, path, body, query)
            except ApiError as error:
                if error.reason != "failedPrecondition":
                    raise
                return None

        return until(call.deadline, taken)

    def cluster_path(self, call: ResourceCall) -> str:
        return self.path(call).partition("/nodePools/")[0]


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


_ALWAYS: Final[Given] = MappingProxyType(
    {
        "controlPlaneEndpointsConfig": {"ipEndpointsConfig": {"enabled": True, "enablePublicEndpoint": True}},
        "notificationConfig": {"pubsub": {}},
    }
)
"""What a create says of parts that the program does not mention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster(OfGke):
    """A cluster. Its default pool goes right after its creation where the program says so."""

    def create(self, call: ResourceCall) -> None:
        place = f"{self.base}/{self.collection.format_map(call.values)}"
        self.make(call, "POST", place, {"cluster": {**_ALWAYS, **call.body}})
        if call.values.get("removeDefaultNodePool"):
            self.act(call, "DELETE", f"{self.path(call)}/nodePools/default-pool")

    def read(self, call: ResourceCall) -> JsonObject | None:
        """The answer with what the program's properties are called by, so that the table can read it."""
        found = Rest.read(self, call)
        if found is None:
            return None
        network = found.get("networkConfig") or {}
        found["network"], found["subnetwork"] = network.get("network"), network.get("subnetwork")
        found["locations"] = [zone for zone in found.get("locations", ()) if zone != found["location"]]
        if config := found.get("nodeConfig"):
            told_taints(config, None)
        return found

    def update(self, call: ResourceCall) -> None:
        path, changed, body = self.path(call), call.changed, call.body
        if "maintenancePolicy" in changed:
            policy = {"maintenancePolicy": body.get("maintenancePolicy", {})}
            self.act(call, "POST", f"{path}:setMaintenancePolicy", policy)
        if "resourceLabels" in changed:
            fingerprint = {"labelFingerprint": call.old["labelFingerprint"]}
            labels = {"resourceLabels": body.get("resourceLabels", {}), **fingerprint}
            self.act(call, "POST", f"{path}:setResourceLabels", labels)
        if "minMasterVersion" in changed and (version := call.values.get("minMasterVersion")):
            self.act(call, "PUT", path, {"update": {"desiredMasterVersion": version}})
        for name in sorted(changed & _DESIRED.keys()):
            value = pick(body, self.fields[name].wire or name)
            desired = self.fields[name].zero if value is None else value
            self.act(call, "PUT", path, {"update": {_DESIRED[name]: desired}})


def told_taints(config: JsonObject, declared: Any) -> None:
    """Of the taints of a node configuration a state has those whose key the program declares, and all of them."""
    ours = {each.get("key") for each in declared or ()}
    config["effectiveTaints"] = config.get("taints") or []
    config["taints"] = [each for each in config["effectiveTaints"] if each.get("key") in ours]
