"""How the nodes of a stack's cluster stand beside what is declared: slices by entry, and pools without chips.

Owns the comparison and its JSON (docs/json.md). Leaves asking GKE, the cluster's API and Kueue to the caller. A pool
that the autoscaler keeps at no nodes is as declared: only what always stands can be missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from infra.model.json_shape import JsonShape
from infra.model.queues import flavor_name
from infra.model.schema import Cluster, Slices, StackConfig
from infra.model.slices import SYSTEM_POOL, NodePool, entry_pools

RUNNING: Final = "RUNNING"
MISSING: Final = "MISSING"
"""Said of a declared pool, or a cluster, that GKE does not list; no state of its API."""
UNKNOWN: Final = "UNKNOWN"
"""Said where GKE did not answer."""
ON_THE_WAY: Final = frozenset(("PROVISIONING", "RECONCILING"))
"""States that GKE leaves by itself. https://cloud.google.com/kubernetes-engine/docs/reference/rest, read 2026-11"""
_WITH_ERROR: Final = frozenset(("ERROR", "RUNNING_WITH_ERROR"))
"""States of a pool that has not got its nodes, as in a stockout; only a look shows an engine that they are lacking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSeen:
    """What was answered. pools: GKE's state by name, None where it did not answer. strays: those with our label.

    nodes: how many of a pool's nodes there are and how many are ready, None where the cluster's API did not say.
    free: chips by flavor that no admitted job holds; a flavor that is not there is not known.
    problems: what could not be read, as sentences.
    """

    state: str = UNKNOWN
    pools: Mapping[str, str] | None = None
    strays: tuple[str, ...] = ()
    nodes: Mapping[str, tuple[int, int]] | None = None
    free: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicesNow(JsonShape):
    """least, most: as declared. standing: those whose nodes are all ready. free: those that no admitted job holds, of
    the most that there may be; entries of one type and kind of capacity in several zones share that number."""

    least: int
    most: int
    standing: int | None
    free: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesNow(JsonShape):
    """One entry of `slices:`, or one pool without chips. kind: accelerator or machine type. pools: how many in which
    state. least, most: nodes as declared. there, ready: None where nobody said. slices: None without chips."""

    name: str
    zones: tuple[str, ...]
    kind: str
    pools: Mapping[str, int]
    least: int
    most: int
    there: int | None
    ready: int | None
    slices: SlicesNow | None = None

    JSON = ("name", "zones", "kind", "pools", "nodes", "slices")

    @property
    def nodes(self) -> Mapping[str, int | None]:
        return {"least": self.least, "most": self.most, "there": self.there, "ready": self.ready}

    @property
    def where(self) -> str:
        return f"{self.name} {', '.join(self.zones)}"

    @property
    def known(self) -> bool:
        return UNKNOWN not in self.pools and self.ready is not None

    @property
    def _by_hand(self) -> str:
        """Of nodes below a pool's minimum, which GKE makes once a pod asks for them and not before."""
        if self.pools.get(RUNNING) != 1 or self.least == self.most:
            return ""
        return "; GKE makes them once pods ask, or at `gcloud container clusters resize`"

    @property
    def troubles(self) -> Iterator[str]:
        """What of it is not as declared, as sentences."""
        for state, count in sorted(self.pools.items()):
            if state not in {RUNNING, UNKNOWN, *ON_THE_WAY}:
                again = "; `up --refresh` asks for its nodes again" if state in _WITH_ERROR else ""
                yield f"{self.where}: {count} node {'pool is' if count == 1 else 'pools are'} {state}{again}"
        if self.slices is not None:
            standing, least = self.slices.standing, self.slices.least
            if standing is not None and standing < least:
                yield f"{self.where}: {standing} of {least} slices stand; {least} must always stand{self._by_hand}"
        elif self.ready is not None and self.ready < self.least:
            yield f"{self.where}: {self.ready} of {self.least} nodes are ready; {self.least} must always be"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNow(JsonShape):
    """The cluster of a stack and all of its nodes. strays: node pools with the stack's label that nobody declares."""

    name: str
    region: str
    state: str
    rows: tuple[NodesNow, ...]
    strays: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    JSON = ("name", "region", "state", "rows", "strays", "problems")

    @property
    def troubles(self) -> tuple[str, ...]:
        """What is not as declared; where the cluster itself is not there, that alone."""
        if self.state == MISSING:
            return (f"cluster {self.name} is not there",)
        own = () if self.state in {RUNNING, UNKNOWN, *ON_THE_WAY} else (f"cluster {self.name} is {self.state}",)
        strays = (f"node pool {name} has a label of Tidepool's and is not declared" for name in self.strays)
        return (*own, *(trouble for row in self.rows for trouble in row.troubles), *strays)

    @property
    def known(self) -> bool:
        return self.state != UNKNOWN and not self.problems and all(row.known for row in self.rows)


def cluster_now(config: StackConfig, cluster: Cluster, seen: ClusterSeen) -> ClusterNow:
    """Slices in the order of the file, then the system pool, then those of batch work."""
    return ClusterNow(
        name=cluster.name,
        region=cluster.region,
        state=seen.state,
        rows=(*(_slices(entry, seen) for entry in config.slices), *_plain(cluster, seen)),
        strays=tuple(sorted(set(seen.strays) - {pool.name for entry in config.slices for pool in entry_pools(entry)})),
        problems=seen.problems,
    )


def _slices(entry: Slices, seen: ClusterSeen) -> NodesNow:
    pools = entry_pools(entry)
    free = seen.free.get(flavor_name(entry))
    standing = None if seen.nodes is None else sum(_whole(pool, seen.nodes) for pool in pools)
    counted = _counted([pool.name for pool in pools], seen)
    return NodesNow(
        name=entry.name,
        zones=(entry.zone,),
        kind=entry.accelerator.name,
        least=sum(pool.min_nodes for pool in pools),
        most=sum(pool.max_nodes for pool in pools),
        slices=SlicesNow(
            least=entry.least,
            most=entry.slices,
            standing=standing,
            free=None if free is None else free // entry.accelerator.chips,
        ),
        **counted,
    )


def _whole(pool: NodePool, nodes: Mapping[str, tuple[int, int]]) -> int:
    """Slices of the pool that have every node."""
    return nodes.get(pool.name, (0, 0))[1] // pool.nodes_per_slice


def _plain(cluster: Cluster, seen: ClusterSeen) -> Iterator[NodesNow]:
    system = cluster.system
    declared = [(SYSTEM_POOL, system.machine_type, cluster.zones, system.nodes, system.nodes)]
    declared += [(each.name, each.machine_type, each.zones, each.minimum, each.maximum) for each in cluster.cpu_pools]
    for name, machine, zones, least, most in declared:
        yield NodesNow(
            name=name,
            zones=zones,
            kind=machine,
            least=least * len(zones),
            most=most * len(zones),
            **_counted([name], seen),
        )


def _counted(names: Iterable[str], seen: ClusterSeen) -> dict[str, Any]:
    """States of some pools, and their nodes."""
    names = list(names)
    states = (UNKNOWN if seen.pools is None else seen.pools.get(name, MISSING) for name in names)
    nodes = None if seen.nodes is None else [seen.nodes.get(name, (0, 0)) for name in names]
    return {
        "pools": Counter(states),
        "there": None if nodes is None else sum(there for there, _ in nodes),
        "ready": None if nodes is None else sum(ready for _, ready in nodes),
    }
