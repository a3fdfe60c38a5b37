"""The store of jobs' locks and statuses: a Redis of Memorystore in the cluster's network, or a database of Firestore.

Owns the one that the stack declares, and who may use a Firestore. A Redis knows no identities: whom the network lets
through may do everything there. Neither is asked for a password, for the provider would keep it in the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from infra.model.grants import USES_FIRESTORE, only_in_database

_VERSION = "REDIS_7_2"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisArgs:
    """network: its path, where pods reach it. range: eight addresses in CIDR form. memory: in GB.

    deletion_protection: of the engine and of the provider.
    """

    region: str
    network: pulumi.Input[str]
    range: str
    memory: int
    replicated: bool
    labels: Mapping[str, str]
    deletion_protection: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FirestoreArgs:
    """users: IAM members that read and write it, by the name that says who.

    deletion_protection: of the engine and of Google.
    """

    location: str
    users: Mapping[str, str]
    deletion_protection: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStoreArgs:
    """name: of the instance or the database."""

    project: str
    name: str
    on: RedisArgs | FirestoreArgs


class JobStore(pulumi.ComponentResource):
    """url: what `infra.jobs.store.opened` opens it by."""

    url: pulumi.Output[str]

    def __init__(self, name: str, args: JobStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:store:JobStore", name, None, opts)
        on = args.on
        self.url = self._redis(args, on) if isinstance(on, RedisArgs) else self._firestore(args, on)
        self.register_outputs({"url": self.url})

    def _redis(self, args: JobStoreArgs, on: RedisArgs) -> pulumi.Output[str]:
        made = gcp.redis.Instance(
            args.name,
            project=args.project,
            name=args.name,
            region=on.region,
            tier="STANDARD_HA" if on.replicated else "BASIC",
            memory_size_gb=on.memory,
            redis_version=_VERSION,
            authorized_network=on.network,
            reserved_ip_range=on.range,
            connect_mode="DIRECT_PEERING",
            # Full, it refuses a write; the usual policy would drop locks that are held.
            redis_configs={"maxmemory-policy": "noeviction"},
            persistence_config=gcp.redis.InstancePersistenceConfigArgs(
                persistence_mode="RDB", rdb_snapshot_period="ONE_HOUR"
            ),
            labels=dict(on.labels),
            deletion_protection=on.deletion_protection,
            opts=pulumi.ResourceOptions(parent=self, protect=on.deletion_protection),
        )
        return pulumi.Output.format("redis://{0}:{1}", made.host, made.port)

    def _firestore(self, args: JobStoreArgs, on: FirestoreArgs) -> pulumi.Output[str]:
        made = gcp.firestore.Database(
            args.name,
            project=args.project,
            name=args.name,
            location_id=on.location,
            type="FIRESTORE_NATIVE",
            # The provider's own choice leaves a database behind that the next create then conflicts with.
            deletion_policy="DELETE",
            delete_protection_state=f"DELETE_PROTECTION_{'ENABLED' if on.deletion_protection else 'DISABLED'}",
            opts=pulumi.ResourceOptions(parent=self, protect=on.deletion_protection),
        )
        for who, member in on.users.items():
            gcp.projects.IAMMember(
                f"{who}-uses-{args.name}",
                project=args.project,
                role=USES_FIRESTORE,
                member=member,
                condition=gcp.projects.IAMMemberConditionArgs(
                    title=f"only {args.name}", expression=only_in_database(args.project, args.name)
                ),
                opts=pulumi.ResourceOptions(parent=self),
            )
        return pulumi.Output.format("firestore://{0}/{1}", args.project, made.name)
