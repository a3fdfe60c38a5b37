"""Memorystore for Redis and databases of Firestore: kept and shown, and nothing is stored in either.

Owns their declarations. Programs that lock use a real server in their place. Sources:
cloud.google.com/memorystore/docs/redis/reference/rest/v1beta1/projects.locations.instances and
cloud.google.com/firestore/docs/reference/rest/v1/projects.databases, read 2026-11.
"""

from __future__ import annotations

import ipaddress
import re
import uuid
from types import MappingProxyType

from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import JsonObject, failed_precondition, invalid
from bench.cloud.services import bodies, places
from bench.cloud.services.collection import Collection
from bench.cloud.services.compute.networks import usable_network
from bench.cloud.store import Resource

_INSTANCE_TYPE = "type.googleapis.com/google.cloud.redis.v1beta1.Instance"
_DATABASE_TYPE = "type.googleapis.com/google.firestore.admin.v1.Database"
_PORT = 6379
_MEMORY = range(1, 301)
_DEFAULT = "projects/{}/global/networks/default"
_MULTI_REGIONS = frozenset({"nam5", "nam7", "eur3"})
_FREE = "10.224.0.0/29"
"""Where an instance is whose range nobody says."""


class _Instances(Collection):
    api = "redis.projects.locations.instances"
    kind = "redis.instance"
    locations = places.REGIONS
    new_id = "instanceId"
    id_form = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
    id_rule = "at most 40 lowercase letters, digits and dashes, a letter first, no dash last"
    mutable = frozenset(
        {"displayName", "labels", "memorySizeGb", "redisConfigs", "replicaCount", "readReplicasMode",
         "persistenceConfig", "maintenancePolicy", "secondaryIpRange"}
    )  # fmt: skip
    fixed = None
    mask = "refused"
    adds = ("createTime",)
    seconds = MappingProxyType({"create": 240.0, "patch": 60.0, "delete": 60.0})
    message = _INSTANCE_TYPE

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        _, project, _, region, *_ = name.split("/")
        bodies.check_labels(body.get("labels", {}), field="instance.labels")
        if body.get("memorySizeGb") not in _MEMORY:
            raise invalid("memorySizeGb is 1 to 300.", field="instance.memory_size_gb")
        if body.get("tier") not in ("BASIC", "STANDARD_HA"):
            raise invalid("A tier is required: BASIC or STANDARD_HA.", field="instance.tier")
        network = usable_network(cloud, name, body.get("authorizedNetwork") or _DEFAULT.format(project))
        addresses = _range(body.get("reservedIpRange") or _FREE)
        whole = {
            "redisVersion": "REDIS_7_0", "connectMode": "DIRECT_PEERING", "transitEncryptionMode": "DISABLED",
            "readReplicasMode": "READ_REPLICAS_DISABLED", "locationId": f"{region}-{places.REGIONS[region][0][-1]}",
            "persistenceConfig": {"persistenceMode": "DISABLED"},
        }  # fmt: skip
        own = {"authorizedNetwork": network.name, "reservedIpRange": str(addresses), "host": str(addresses[3])}
        place = body.get("locationId") or whole["locationId"]
        return {**whole, **body, **own, "port": _PORT, "currentLocationId": place, "state": "READY"}


_Instances()


class _Databases(Collection):
    api = "firestore.projects.databases"
    kind = "firestore.database"
    new_id = "databaseId"
    id_form = re.compile(r"\(default\)|[a-z][-a-z0-9]{2,61}[a-z0-9]")
    id_rule = "4 to 63 lowercase letters, digits and dashes, a letter first, no dash last; or (default)"
    mutable = frozenset(
        {"type", "concurrencyMode", "appEngineIntegrationMode", "pointInTimeRecoveryEnablement",
         "deleteProtectionState", "tags"}
    )  # fmt: skip
    fixed = frozenset({"locationId", "databaseEdition", "cmekConfig"})
    adds = ("createTime", "updateTime", "etag")
    seconds = MappingProxyType({"create": 60.0, "patch": 5.0, "delete": 5.0})
    message = _DATABASE_TYPE

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        place = body.get("locationId", "")
        if place not in places.REGIONS and place not in _MULTI_REGIONS:
            raise invalid(f"Invalid location: '{place}'.", field="database.location_id")
        if body.get("type") not in ("FIRESTORE_NATIVE", "DATASTORE_MODE"):
            raise invalid("A type is required.", field="database.type")
        whole = {
            "concurrencyMode": "PESSIMISTIC", "appEngineIntegrationMode": "DISABLED", "databaseEdition": "STANDARD",
            "pointInTimeRecoveryEnablement": "POINT_IN_TIME_RECOVERY_DISABLED", "versionRetentionPeriod": "3600s",
            "deleteProtectionState": "DELETE_PROTECTION_DISABLED",
        }  # fmt: skip
        return {**whole, **body}

    def clear(self, call: ApiCall, held: Resource) -> None:
        """Raises 400 for one that is protected."""
        if held.body["deleteProtectionState"] == "DELETE_PROTECTION_ENABLED":
            raise failed_precondition("Delete protection is enabled for the database.")

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        return {**super().shown(cloud, held), "uid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{held.name} {held.created}"))}


_Databases()


def _range(said: str) -> ipaddress.IPv4Network:
    """Eight addresses, as instances without read replicas take. Raises 400."""
    try:
        found = ipaddress.IPv4Network(said)
    except ValueError:
        raise invalid(f"'{said}' is no range.", field="instance.reserved_ip_range") from None
    if found.prefixlen != 29:
        raise invalid("An instance of this tier takes a /29 range.", field="instance.reserved_ip_range")
    return found
