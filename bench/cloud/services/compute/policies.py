"""Compute Engine: what machines are placed by and taken from: resource policies, reservations; and static addresses.

Owns their declarations and what refers to them. Nothing is placed. Source: cloud.google.com/compute/docs/reference/rest
of resourcePolicies, reservations and addresses, read 2026-11.
"""

from __future__ import annotations

from types import MappingProxyType

from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, condition_not_met
from bench.cloud.services import bodies
from bench.cloud.services.compute.base import OfCompute, bad_value, in_use
from bench.cloud.services.gke.base import POOL
from bench.cloud.store import Resource

_KINDS = (
    "diskConsistencyGroupPolicy", "groupPlacementPolicy", "instanceSchedulePolicy", "snapshotSchedulePolicy",
    "workloadPolicy",
)  # fmt: skip


class _ResourcePolicies(OfCompute):
    api = "compute.resourcePolicies"
    kind = "compute.resourcePolicy"
    mutable = frozenset({"description", *_KINDS} - {"workloadPolicy", "diskConsistencyGroupPolicy"})

    @property
    def noun(self) -> str:
        return "resourcePolicy"

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        kinds = [kind for kind in _KINDS if body.get(kind)]
        if len(kinds) != 1:
            raise bad_value("policy", ", ".join(kinds), f"Exactly one of {', '.join(_KINDS)} must be given.")
        workload = body.get("workloadPolicy", {})
        if workload and not workload.get("type"):
            raise bad_value("workloadPolicy.type", "", "A workload policy needs a type.")
        return {**super().checked(cloud, name, body), "status": "READY"}

    def clear(self, call: ApiCall, held: Resource) -> None:
        """Raises 400 for one by which a node pool is placed."""
        _, project, *_, identity = held.name.split("/")
        for pool in call.cloud.store.each(POOL, f"projects/{project}/locations/"):
            policy = pool.body.get("placementPolicy", {}).get("policyName", "")
            if policy.rpartition("/")[2] == identity and pool.body["locations"][0].startswith(held.name.split("/")[3]):
                raise in_use(held.name, pool.name)


RESOURCE_POLICIES = _ResourcePolicies()


class _Reservations(OfCompute):
    api = "compute.reservations"
    kind = "compute.reservation"
    methods = "insert get list delete"

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        count = int(body.get("specificReservation", {}).get("count", 0))
        if count < 1:
            raise bad_value("specificReservation.count", count, "Must be at least 1.")
        made = {"zone": name.partition("/reservations/")[0], "status": "READY"}
        return {"specificReservationRequired": False, **super().checked(cloud, name, body), **made}


RESERVATIONS = _Reservations()


class _Addresses(OfCompute):
    api = "compute.addresses"
    kind = "compute.address"
    methods = "insert get list delete"
    defaults = MappingProxyType({"addressType": "EXTERNAL", "networkTier": "PREMIUM", "ipVersion": "IPV4"})

    @property
    def noun(self) -> str:
        return "address"

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        bodies.check_labels(body.get("labels", {}))
        if body["addressType"] == "EXTERNAL" and "address" not in body:
            number = cloud.store.next_number("address") % 2**17
            body["address"] = f"198.{18 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
        return {**super().checked(cloud, name, body), "status": "RESERVED"}

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "labelFingerprint": held.etag}


ADDRESSES = _Addresses()


@handles("compute.addresses.setLabels")
def set_labels(call: ApiCall) -> JsonObject:
    held, labels = call.cloud.store.get(ADDRESSES.kind, _of_labels(call)), call.body.get("labels", {})
    if call.body.get("labelFingerprint") != held.etag:
        raise condition_not_met("Labels fingerprint either invalid or resource labels have changed")
    bodies.check_labels(labels)
    return ADDRESSES.replaced(call, held, {**held.body, "labels": labels})


def _of_labels(call: ApiCall) -> str:
    """The path of this method calls its address a resource."""
    return f"{ADDRESSES.prefix(call)}{call.ids['resource']}"
