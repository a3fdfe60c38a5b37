"""The GKE cluster of a stack and its node pools, and what the stack's outputs say of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

import pulumi

from infra.components.cluster import ClusterArgs, ExclusionArgs, GkeCluster, MaintenanceArgs
from infra.components.identities import Identities
from infra.components.node_pools import PlainPool, PlainPools, PlainPoolsArgs, PoolHome, SlicePools, SlicePoolsArgs
from infra.model import names
from infra.model.fields.gke import WEEKDAYS
from infra.model.schema import Cluster, Exclusion, Maintenance, Slices, StackConfig
from infra.model.slices import SYSTEM_POOL, Extent, entry_pools, least_by, most_by
from infra.program.shared import NODES, labels

_A_MONDAY: Final = date(2026, 1, 5)
"""Windows are counted from the week of this day; GKE wants a first one, whenever it was."""


def declare_cluster(
    config: StackConfig, cluster: Cluster, identities: Identities, ready: pulumi.ResourceOptions
) -> tuple[GkeCluster, list[pulumi.Resource], Mapping[str, Any]]:
    """The cluster, what must stand before anything runs in it, and what the stack's outputs say of it.

    Those are its nodes without chips: operators run there, and slices that Google has no room for keep no queue back.
    """
    made = GkeCluster("cluster", cluster_args(config, cluster, identities), ready)
    home = PoolHome(
        project=config.project,
        region=cluster.region,
        cluster=made.cluster_name,
        account=identities.accounts[NODES].email,
        labels=labels(config),
        after=made.before_pools,
    )
    plain = PlainPools("plain-pools", PlainPoolsArgs(home=home, pools=plain_pools(cluster)), ready)
    for entry in config.slices:
        SlicePools(f"{entry.name}-{entry.zone}", slice_pools_args(home, cluster, entry), ready)
    told = {
        "name": cluster.name,
        "location": cluster.region,
        "endpoint": made.endpoint,
        "ca_certificate": made.ca_certificate,
        "pools": [pool.name for pool in plain_pools(cluster)],
        "slices": [_entry_output(entry) for entry in config.slices],
    }
    return made, [plain], told


def cluster_args(config: StackConfig, cluster: Cluster, identities: Identities) -> ClusterArgs:
    return ClusterArgs(
        project=config.project,
        name=cluster.name,
        region=cluster.region,
        zones=cluster.zones,
        network=names.cluster_network_name(config.stack),
        nodes=str(cluster.ranges.nodes),
        pods=str(cluster.ranges.pods),
        services=str(cluster.ranges.services),
        channel=cluster.release_channel.upper(),
        version=cluster.minimum_version,
        maintenance=_maintenance(cluster.maintenance),
        first_machine=cluster.system.machine_type,
        account=identities.accounts[NODES],
        labels=labels(config),
        deletion_protection=cluster.deletion_protection,
    )


def plain_pools(cluster: Cluster) -> tuple[PlainPool, ...]:
    """The system pool, then those of batch work."""
    system = PlainPool(
        name=SYSTEM_POOL,
        machine_type=cluster.system.machine_type,
        zones=cluster.zones,
        minimum=cluster.system.nodes,
        maximum=cluster.system.nodes,
        spot=False,
        batch=False,
    )
    return (
        system,
        *(
            PlainPool(
                name=pool.name,
                machine_type=pool.machine_type,
                zones=pool.zones,
                minimum=pool.minimum,
                maximum=pool.maximum,
                spot=pool.spot,
                batch=True,
            )
            for pool in cluster.cpu_pools
        ),
    )


def slice_pools_args(home: PoolHome, cluster: Cluster, entry: Slices) -> SlicePoolsArgs:
    pools = entry_pools(entry)
    policy = names.workload_policy_name(cluster.name, pools[0].family) if pools else ""
    return SlicePoolsArgs(home=home, pools=pools, policy=policy)


def _entry_output(entry: Slices) -> Mapping[str, Any]:
    pools = entry_pools(entry)
    least, most = (each.get(entry.name, Extent()) for each in (least_by(pools, _entry), most_by(pools, _entry)))
    return {
        "accelerator": entry.accelerator.name,
        "zone": entry.zone,
        "capacity": str(entry.capacity),
        "pools": [pool.name for pool in pools],
        "slices": {"least": least.slices, "most": most.slices},
        "chips": {"least": least.chips, "most": most.chips},
    }


def _entry(pool: Any) -> str:
    return pool.slices


def _maintenance(declared: Maintenance) -> MaintenanceArgs:
    days = sorted(declared.days, key=WEEKDAYS.index)
    first = datetime.combine(
        _A_MONDAY + timedelta(days=WEEKDAYS.index(days[0])), time.fromisoformat(declared.start), tzinfo=UTC
    )
    return MaintenanceArgs(
        start=_rfc3339(first),
        end=_rfc3339(first + timedelta(hours=declared.hours)),
        recurrence=f"FREQ=WEEKLY;BYDAY={','.join(days)}",
        exclusions=tuple(map(_exclusion, declared.exclusions)),
    )


def _exclusion(declared: Exclusion) -> ExclusionArgs:
    """Days are whole: the last one of an exclusion is in it."""
    end = declared.end if isinstance(declared.end, datetime) else declared.end + timedelta(days=1)
    return ExclusionArgs(
        name=declared.name,
        start=_rfc3339(declared.start),
        end=_rfc3339(end),
        scope=declared.scope.replace("-", "_").upper(),
    )


def _rfc3339(moment: date | datetime) -> str:
    whole = moment if isinstance(moment, datetime) else datetime.combine(moment, time(), tzinfo=UTC)
    return whole.strftime("%Y-%m-%dT%H:%M:%SZ")
