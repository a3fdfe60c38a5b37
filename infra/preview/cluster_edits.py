"""What an edit does to a cluster beside its capacity: buffers, quotas of queues, teams, nodes without chips, versions.

Slices that come and go are places (vms) and have sums of their own. What Google does with each edit: docs/cluster.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from infra.model.cost import HOURS_PER_MONTH, slices_cost
from infra.model.queues import FlavorQuota, shared_queues
from infra.model.schema import Cluster, ClusterRanges, Slices, StackConfig
from infra.model.slices import SYSTEM_POOL
from infra.preview.meaning import Counts, QuotaChange, Risk, RiskKind
from infra.preview.vms import PlaceChange


def quota_changes(base: StackConfig, head: StackConfig) -> tuple[QuotaChange, ...]:
    """Every quota of a queue that differs, those that come and go too; sorted by queue and flavor."""
    before, after = _quotas(base), _quotas(head)

    def change(key: tuple[str, str]) -> QuotaChange:
        was, becomes = before.get(key), after.get(key)
        chips, cpus, memory = (
            Counts(*(getattr(each, part) if each else 0 for each in (was, becomes)))
            for part in ("chips", "cpus", "memory_gb")
        )
        return QuotaChange(queue=key[0], flavor=key[1], chips=chips, cpus=cpus, memory_gb=memory)

    return tuple(change(key) for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key))


def cluster_risks(base: StackConfig, head: StackConfig) -> Iterator[Risk]:
    """Nothing of a cluster that is new, moves or goes: that is told of the cluster itself."""
    was, becomes = base.cluster, head.cluster
    if was is None or becomes is None or (was.name, was.region) != (becomes.name, becomes.region):
        return
    yield from _teams(base, head)
    yield from _nodes(was, becomes)
    yield from _cluster(was, becomes)


def buffer_risks(places: Sequence[PlaceChange]) -> Iterator[Risk]:
    """Slices that come to stand always, or no longer do: limits count the maximum, which is the same."""
    for place in places:
        if not (isinstance(place.before, Slices) and isinstance(place.after, Slices)):
            continue
        before, after = place.before.least, place.after.least
        if before != after:
            chips = place.after.accelerator.chips
            says = f"{before} -> {after} slices of {place.pool} in {place.zone} always stand, {before * chips:,} -> "
            says += f"{after * chips:,} chips{_standing_cost(place.before, place.after)}; the others come when pods ask"
            if after > before and not place.after.accelerator.multi_host:
                says += "; GKE makes nodes for a larger buffer once pods ask, or at `gcloud container clusters resize`"
            yield Risk(kind=RiskKind.IN_PLACE, subject=f"{place.pool} in {place.zone}", says=says)


def _quotas(config: StackConfig) -> Mapping[tuple[str, str], FlavorQuota]:
    queues = shared_queues(config, config.queues) if config.queues and config.cluster else ()
    return {(queue.name, quota.flavor): quota for queue in queues for quota in queue.quotas}


def _teams(base: StackConfig, head: StackConfig) -> Iterator[Risk]:
    before, after = ({team.name for team in each.queues.teams} if each.queues else set() for each in (base, head))
    for team in sorted(before - after):
        says = f"team {team} leaves: its namespace is deleted, with every job, volume and secret in it"
        yield Risk(kind=RiskKind.DELETE, subject=f"team {team}", says=says)


def _nodes(was: Cluster, becomes: Cluster) -> Iterator[Risk]:
    """Node pools without chips, by their counts; what they cost is in no price list here."""
    before, after = _plain_pools(was), _plain_pools(becomes)
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        subject = f"node pool {name}"
        if old is None and new is not None:
            yield Risk(kind=RiskKind.IN_PLACE, subject=subject, says=f"{subject} is made: {new}")
        elif new is None:
            yield Risk(kind=RiskKind.DELETE, subject=subject, says=f"{subject} is deleted, and pods on it end: {old}")
        elif old is not None and old != new:
            kind, says = _changed(old, new)
            yield Risk(kind=kind, subject=subject, says=f"{subject}{says}: {old} -> {new}")


def _changed(old: PlainNodes, new: PlainNodes) -> tuple[RiskKind, str]:
    if old.spot != new.spot:
        return RiskKind.REPLACE, " is replaced, and pods on it end"
    if old.machine_type != new.machine_type:
        return RiskKind.REPLACE, ": GKE makes every node anew, and pods on them restart"
    return RiskKind.IN_PLACE, ""


@dataclass(frozen=True, slots=True)
class PlainNodes:
    """Nodes without chips as they are declared. count: in each zone, `2` or `0 to 40`."""

    count: str
    machine_type: str
    spot: bool
    zones: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.count} x {self.machine_type}{' spot' if self.spot else ''} in {' and '.join(self.zones)}"


def _plain_pools(cluster: Cluster) -> Mapping[str, PlainNodes]:
    system = cluster.system
    pools = {SYSTEM_POOL: PlainNodes(str(system.nodes), system.machine_type, spot=False, zones=cluster.zones)}
    for pool in cluster.cpu_pools:
        count = " to ".join(dict.fromkeys((str(pool.minimum), str(pool.maximum))))
        pools[pool.name] = PlainNodes(count, pool.machine_type, spot=pool.spot, zones=pool.zones)
    return pools


def _cluster(was: Cluster, becomes: Cluster) -> Iterator[Risk]:
    subject = f"cluster {was.name}"
    if was.deletion_protection and not becomes.deletion_protection:
        says = f"{subject} loses its protection: a later edit or `destroy` deletes it with every job in it"
        yield Risk(kind=RiskKind.PROTECTION, subject=subject, says=says)
    asked = [
        f"{what} {before or 'as the channel has it'} -> {after or 'as the channel has it'}"
        for what, before, after in (
            ("release channel", was.release_channel, becomes.release_channel),
            ("control plane at least", was.minimum_version, becomes.minimum_version),
        )
        if before != after
    ]
    if asked:
        says = f"{subject}: {', '.join(asked)}; nodes follow in its maintenance windows, and jobs on them restart"
        yield Risk(kind=RiskKind.IN_PLACE, subject=subject, says=says)
    if fixed := _fixed_ranges(was.ranges, becomes.ranges):
        says = f"addresses of {' and '.join(fixed)} cannot change while {subject} stands: Google refuses"
        yield Risk(kind=RiskKind.UNAPPLIABLE, subject=f"ranges of {subject}", says=says)


def _fixed_ranges(was: ClusterRanges, becomes: ClusterRanges) -> list[str]:
    """Google widens the range of nodes where it stands, and changes nothing else that is in use
    (cloud.google.com/vpc/docs/create-modify-vpc-networks, read 2026-11)."""
    fixed = [] if becomes.nodes.supernet_of(was.nodes) else ["nodes"]
    return fixed + [name for name in ("pods", "services") if getattr(was, name) != getattr(becomes, name)]


def _standing_cost(before: Slices, after: Slices) -> str:
    hours = Decimal(HOURS_PER_MONTH)
    costs = [
        slices_cost(each.accelerator, each.zone, each.capacity, each.least, hours=hours) for each in (before, after)
    ]
    return ", {} -> {} a month".format(*(cost.month for cost in costs))
