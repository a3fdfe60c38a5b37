"""Memorystore for Redis and databases of Firestore: kept and shown, and nothing is stored in either.

Owns their declarations. Programs that lock use a real server in their place. Sources:
cloud.google.com/memorystore/docs/redis/reference/rest/v1beta1/projects.locations.instances and
cloud.google.com/firestore/docs/reference/rest/v1/projects.databases, read 2026-11.
"""

from __future__ import annotations

import ipaddress
from types import MappingProxyType

from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.services import places
from bench.cloud.services.collection import Collection

_INSTANCE = {
    "redisVersion": "REDIS_7_0", "connectMode": "DIRECT_PEERING", "transitEncryptionMode": "DISABLED",
    "readReplicasMode": "READ_REPLICAS_DISABLED", "persistenceConfig": {"persistenceMode": "DISABLED"},
    # Where an instance is whose range nobody says.
    "reservedIpRange": "10.224.0.0/29",
}  # fmt: skip
_DATABASE = {
    "concurrencyMode": "PESSIMISTIC", "appEngineIntegrationMode": "DISABLED", "databaseEdition": "STANDARD",
    "pointInTimeRecoveryEnablement": "POINT_IN_TIME_RECOVERY_DISABLED", "versionRetentionPeriod": "3600s",
    "deleteProtectionState": "DELETE_PROTECTION_DISABLED",
}  # fmt: skip


class _Instances(Collection):
    api = "redis.projects.locations.instances"
    kind = "redis.instance"
    locations = places.REGIONS
    new_id = "instanceId"
    adds = ("createTime",)
    seconds = MappingProxyType({"create": 240.0, "patch": 60.0, "delete": 60.0})
    message = "type.googleapis.com/google.cloud.redis.v1beta1.Instance"

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        _, project, _, region, *_ = name.split("/")
        zone = f"{region}-{places.REGIONS[region][0][-1]}"
        whole = {"authorizedNetwork": f"projects/{project}/global/networks/default", "locationId": zone, **body}
        host = str(ipaddress.IPv4Network(body.get("reservedIpRange", _INSTANCE["reservedIpRange"]))[3])
        made = {"host": host, "port": 6379, "state": "READY", "currentLocationId": whole["locationId"]}
        return {**_INSTANCE, **whole, **made}


_Instances()


class _Databases(Collection):
    api = "firestore.projects.databases"
    kind = "firestore.database"
    new_id = "databaseId"
    adds = ("createTime", "updateTime", "etag")
    seconds = MappingProxyType({"create": 60.0, "patch": 5.0, "delete": 5.0})
    message = "type.googleapis.com/google.firestore.admin.v1.Database"

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        return {**_DATABASE, **body}


_Databases()
