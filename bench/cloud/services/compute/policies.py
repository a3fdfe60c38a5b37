"""Compute Engine's resource policies, by which machines are placed: their declarations and what refers to them.

Nothing is placed. Source: cloud.google.com/compute/docs/reference/rest of resourcePolicies, read 2026-11.
"""

from __future__ import annotations

from types import MappingProxyType

from bench.cloud.cloud import ApiCall
from bench.cloud.services.compute.base import OfCompute, in_use
from bench.cloud.services.gke.base import POOL
from bench.cloud.store import Resource


class _ResourcePolicies(OfCompute):
    api = "compute.resourcePolicies"
    kind = "compute.resourcePolicy"
    mutable = frozenset({"description", "groupPlacementPolicy", "instanceSchedulePolicy", "snapshotSchedulePolicy"})
    defaults = MappingProxyType({"status": "READY"})
    noun = "resourcePolicy"

    def clear(self, call: ApiCall, held: Resource) -> None:
        """Raises 400 for one by which a node pool is placed."""
        _, project, _, region, _, identity = held.name.split("/")
        for pool in call.cloud.store.each(POOL, f"projects/{project}/locations/"):
            policy = pool.body.get("placementPolicy", {}).get("policyName", "")
            if policy.rpartition("/")[2] == identity and pool.body["locations"][0].startswith(region):
                raise in_use(held.name, pool.name)


RESOURCE_POLICIES = _ResourcePolicies()
