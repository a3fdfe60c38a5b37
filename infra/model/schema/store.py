"""The section of the store that jobs share: locks and statuses, on one of two services of Google's."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Annotated

from infra.model.fields.common import WRITTEN
from infra.model.fields.gke import Flag, Range, Region
from infra.model.fields.queues import FirestoreLocation, StoreMemory
from infra.model.schema.base import Section


class RedisDecl(Section):
    """A Redis of Memorystore, in the cluster's network. memory_gb: GB of 2^30 bytes. replicated: with a standby.

    range: its addresses, eight of them, which the cluster uses for nothing else.
    """

    region: Region
    memory_gb: StoreMemory = 1
    replicated: Flag = True
    range: Range = IPv4Network("10.33.0.0/29")


class FirestoreDecl(Section):
    """A database of Firestore. location: a region, or a multi-region such as nam5."""

    location: FirestoreLocation


class LockStore(Section):
    """Where jobs keep locks and statuses: on one of both.

    deletion_protection: nobody deletes or replaces it until false is applied.
    """

    redis: Annotated[RedisDecl | None, WRITTEN] = None
    firestore: Annotated[FirestoreDecl | None, WRITTEN] = None
    deletion_protection: Flag = True

    @property
    def identity(self) -> Mapping[str, str]:
        """What Google cannot change of it: with another value of one, it is another store."""
        if (redis := self.redis) is not None:
            said = {"region": redis.region, "range": str(redis.range), "replicated": str(redis.replicated).lower()}
            return {"service": "redis", **said}
        return {"service": "firestore", "location": self.firestore.location} if self.firestore is not None else {}
