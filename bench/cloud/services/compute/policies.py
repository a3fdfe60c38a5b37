"""Compute Engine: what machines are placed by and taken from: resource policies, reservations; and static addresses.

Owns their declarations and what refers to them. Nothing is placed. Source: cloud.google.com/compute/docs/reference/rest
of resourcePolicies, reservations and addresses, read 2026-11.
"""

from __future__ import annotations

from types import MappingProxyType

from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject
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


class _Reservations(OfCompute):
    api = "compute.reservations"
    kind = "compute.reservation"
    methods = "insert get list delete"
    defaults = MappingProxyType({"specificReservationRequired": False, "status": "READY"})


RESERVATIONS = _Reservations()


class _Addresses(OfCompute):
    api = "compute.addresses"
    kind = "compute.address"
    methods = "insert get list delete"
    defaults = MappingProxyType(
        {"addressType": "EXTERNAL", "networkTier": "PREMIUM", "ipVersion": "IPV4", "status": "RESERVED"}
    )
    noun = "address"

    def made(self, cloud: Cloud, name: str, body: JsonObject) -> Resource:
        number = cloud.store.next_number("address") % 2**17
        free = f"198.{18 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
        return super().made(cloud, name, {"address": free, **body})

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "labelFingerprint": held.etag}


ADDRESSES = _Addresses()


@handles("compute.addresses.setLabels")
def set_labels(call: ApiCall) -> JsonObject:
    return ADDRESSES.replaced(call, {"labels": call.body.get("labels", {})})
