"""Rules of a cluster and its slices: where they are, how many, and what GKE takes of each kind of capacity.

GKE refuses such a pool only when it is made, often with an operation that fails minutes later; some it makes, and they
never get a node. Sources: cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus and
.../docs/concepts/dws, read 2026-08.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from infra.model.capacity import FlexStart
from infra.model.catalogue import ZoneStanding, machine_families, region_of
from infra.model.errors import Problem, shown, suggestion
from infra.model.gke_shapes import MULTI_HOST_PODS, gke_shape, gke_shapes
from infra.model.refusals import Subject
from infra.model.rules.common import Items, Rule, repeats, zone_without
from infra.model.schema import Cluster, Pool, Slices, StackConfig
from infra.model.slices import SYSTEM_POOL, entry_pools
from infra.model.yamlfile import YamlPath

_MOST_EXCLUSIONS: Final = 20
_LEAST_HOURS, _OF_DAYS, _WEEK = 48, 32, 7
"""GKE requires this many hours of maintenance within so many days
(cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions, read 2026-11)."""
_PODS_OF_A_NODE: Final = 110
"""GKE's default; a node has a block of twice as many addresses as pods, rounded up to a power of two."""


def _slices_have_a_cluster(slices: Items[Slices], cluster: Cluster | None, subject: Subject) -> Iterator[Problem]:
    if slices and cluster is None:
        rule = "the stack declares slices and no cluster for them"
        yield Problem(subject(("slices",)), "", rule, "tidepool:cluster, or TPU VMs under tidepool:pools")


def _slice_zones(slices: Items[Slices], subject: Subject) -> Iterator[Problem]:
    for index, entry in slices:
        generation, zone, reason = entry.accelerator.generation, entry.zone, entry.unlisted_zone
        where, standing = subject(("slices", index, "zone")), generation.standing(zone)
        if standing is None:
            yield zone_without(generation, zone, where)
        elif standing is ZoneStanding.SEEN and reason is None:
            rule = f"{zone} is not on Google's list for {generation.name}; it is only known to have worked"
            yield Problem(where, shown(zone), rule, "unlisted_zone: why it is used, or a listed zone")
        elif standing is ZoneStanding.LISTED and reason is not None:
            rule = f"Google lists {zone} for {generation.name}, so no reason is needed"
            yield Problem(subject(("slices", index, "unlisted_zone")), shown(reason), rule, "remove the line")


def _slice_regions(slices: Items[Slices], cluster: Cluster, subject: Subject) -> Iterator[Problem]:
    for index, entry in slices:
        if entry.region != cluster.region:
            rule = f"not in the cluster's region, {cluster.region}: {entry.zone} is in {entry.region}"
            fix = "a stack of its own with a cluster there, or a zone of this region"
            yield Problem(subject(("slices", index, "zone")), shown(entry.zone), rule, fix)


def _slice_shapes(slices: Items[Slices], subject: Subject) -> Iterator[Problem]:
    for index, entry in slices:
        if gke_shape(entry.accelerator) is None:
            where, name = subject(("slices", index, "accelerator")), entry.accelerator.name
            others = [each for each, shape in gke_shapes().items() if shape.generation is entry.accelerator.generation]
            fix = suggestion(name, others, "a type that GKE has")
            yield Problem(where, shown(name), f"GKE has no machine type for {name}", fix)


def _slice_counts(slices: Items[Slices], subject: Subject) -> Iterator[Problem]:
    for index, entry in slices:
        where = subject(("slices", index))
        said = {name for name in ("number", "buffer", "maximum") if getattr(entry, name) is not None}
        if said not in ({"number"}, {"buffer", "maximum"}):
            rule = "neither a number that always stands, nor a buffer and a maximum"
            yield Problem(where, ", ".join(sorted(said)), rule, "number: N, or buffer: B and maximum: M")
        elif entry.least > entry.slices:
            rule = "the buffer is larger than the maximum"
            at = subject(("slices", index, "buffer"))
            yield Problem(at, str(entry.least), rule, f"at most {entry.slices}")
        elif isinstance(entry.capacity, FlexStart):
            yield from _flex_start_counts(entry, where)


def _flex_start_counts(entry: Slices, where: str) -> Iterator[Problem]:
    """Google has no static count of flex-start nodes: they come when pods ask and go when their time is over."""
    if entry.number is not None:
        rule = "flex-start slices have no fixed number: each comes when a pod asks for it, and goes after its time"
        yield Problem(where, f"number {entry.number}", rule, f"buffer: 0 and maximum: {entry.number}")
    elif entry.least:
        rule = "flex-start slices have no buffer: each comes when a pod asks for it"
        yield Problem(where, f"buffer {entry.least}", rule, "buffer: 0")


def _slices_once(slices: Items[Slices], subject: Subject) -> Iterator[Problem]:
    """The three are what node pools are named after."""
    seen: dict[tuple[str, str], int] = {}
    for index, entry in slices:
        first = seen.setdefault((entry.name, entry.zone), index)
        if first != index:
            rule = f"slices[{first}] has the same accelerator, zone and kind of capacity"
            yield Problem(subject(("slices", index)), f"{entry.name} in {entry.zone}", rule, "one entry for both")


def _slice_names(slices: Items[Slices], pools: Items[Pool], subject: Subject) -> Iterator[Problem]:
    """Limits, money and explanations tell both by name, so a pool of TPU VMs has another."""
    names = {pool.name for _, pool in pools}
    for index, entry in slices:
        if entry.name in names:
            rule = f"these slices are listed as {entry.name}, and a pool of TPU VMs has that name"
            yield Problem(subject(("slices", index)), shown(entry.name), rule, "another name for the pool")


def _cluster_zones(cluster: Cluster, subject: Subject) -> Iterator[Problem]:
    for path, zones, machine in _node_zones(cluster):
        at: YamlPath = ("cluster", *path)
        yield from repeats(enumerate(zones), subject, (*at, "zones"), "the zone is listed twice")
        for number, zone in enumerate(zones):
            if region_of(zone) != cluster.region:
                rule = f"not in the cluster's region, {cluster.region}"
                yield Problem(subject((*at, "zones", number)), shown(zone), rule, f"a zone of {cluster.region}")
            families = machine_families(zone)
            if families is not None and machine.partition("-")[0] not in families:
                below = (*at, "system", "machine_type") if not path else (*at, "machine_type")
                rule = f"{zone} has no {machine.partition('-')[0]} machines"
                yield Problem(subject(below), shown(machine), rule, f"one of {', '.join(families)}")


def _node_zones(cluster: Cluster) -> Iterator[tuple[YamlPath, Sequence[str], str]]:
    """Where nodes without chips are: the path of who says so, the zones, and their machine type."""
    yield (), cluster.zones, cluster.system.machine_type
    for number, pool in enumerate(cluster.cpu_pools):
        yield ("cpu_pools", number), pool.zones, pool.machine_type


def _cpu_pools(cluster: Cluster, slices: Items[Slices], subject: Subject) -> Iterator[Problem]:
    at = ("cluster", "cpu_pools")
    names = enumerate(pool.name for pool in cluster.cpu_pools)
    yield from repeats(names, subject, at, "the node pool's name is listed twice", "name")
    made = {pool.name for _, entry in slices for pool in entry_pools(entry)}
    for number, pool in enumerate(cluster.cpu_pools):
        if pool.name == SYSTEM_POOL or pool.name in made:
            rule = "the cluster has a node pool of this name already"
            yield Problem(subject((*at, number, "name")), shown(pool.name), rule, "another name, such as batch")
        if not 1 <= pool.maximum >= pool.minimum:
            rule = "the maximum is 0 or below the minimum"
            yield Problem(subject((*at, number, "maximum")), str(pool.maximum), rule, f"{max(1, pool.minimum)} or more")


def _maintenance(cluster: Cluster, subject: Subject) -> Iterator[Problem]:
    given, at = cluster.maintenance, ("cluster", "maintenance")
    yield from repeats(enumerate(given.days), subject, (*at, "days"), "the day is listed twice")
    hours = len(set(given.days)) * given.hours * _OF_DAYS / _WEEK
    if hours < _LEAST_HOURS:
        rule = f"too little: {hours:.0f} hours in {_OF_DAYS} days, and GKE requires {_LEAST_HOURS}"
        yield Problem(subject(at), f"{len(given.days)} x {given.hours} h a week", rule, "more days, or more hours")
    names = enumerate(each.name for each in given.exclusions)
    yield from repeats(names, subject, (*at, "exclusions"), "the exclusion's name is listed twice", "name")
    if len(given.exclusions) > _MOST_EXCLUSIONS:
        rule = f"more than the {_MOST_EXCLUSIONS} exclusions that GKE allows"
        yield Problem(subject((*at, "exclusions")), f"{len(given.exclusions)}", rule, "remove those that are over")
    for number, each in enumerate(given.exclusions):
        if str(each.end) < str(each.start):
            where = subject((*at, "exclusions", number, "to"))
            yield Problem(where, str(each.end), f"the exclusion ends before it begins, on {each.start}", "a later day")


def _of_one_stack(
    cluster: Cluster, project: str, siblings: Sequence[StackConfig], subject: Subject
) -> Iterator[Problem]:
    """Two states of one cluster would take turns in changing it."""
    mine = project, cluster.region, cluster.name
    for other in siblings:
        if other.cluster is not None and (other.project, other.cluster.region, other.cluster.name) == mine:
            rule = f"stack {other.stack} declares cluster {cluster.name} of project {project} in {cluster.region}"
            yield Problem(
                subject(("cluster", "name")), cluster.name, rule, "another name, or slices in that stack's file"
            )


def _ranges(cluster: Cluster, slices: Items[Slices], subject: Subject) -> Iterator[Problem]:
    ranges = {name: getattr(cluster.ranges, name) for name in ("nodes", "pods", "services")}
    for one, other in combinations(ranges, 2):
        if ranges[one].overlaps(ranges[other]):
            rule = f"the range overlaps with that of {one}, {ranges[one]}"
            yield Problem(subject(("cluster", "ranges", other)), str(ranges[other]), rule, "another range")
    nodes, addresses = _demand(cluster, slices)
    for name, needed in (("nodes", nodes), ("pods", addresses)):
        if needed > ranges[name].num_addresses:
            rule = f"too small: up to {nodes:,} nodes need {needed:,} addresses for {name}"
            fix = f"such as {ranges[name].network_address}/{32 - (needed - 1).bit_length()}"
            yield Problem(subject(("cluster", "ranges", name)), str(ranges[name]), rule, fix)


def _demand(cluster: Cluster, slices: Items[Slices]) -> tuple[int, int]:
    """The most nodes that the cluster may have, and the addresses that their pods take."""
    plain = cluster.system.nodes * len(cluster.zones)
    plain += sum(pool.maximum * len(pool.zones) for pool in cluster.cpu_pools)
    nodes, addresses = plain, plain * _block(_PODS_OF_A_NODE)
    for _, entry in slices:
        for pool in entry_pools(entry):
            nodes += pool.max_nodes
            addresses += pool.max_nodes * _block(MULTI_HOST_PODS if pool.shape.multi_host else _PODS_OF_A_NODE)
    return nodes, addresses


def _block(pods: int) -> int:
    return 1 << (2 * pods - 1).bit_length()


RULES: tuple[Rule, ...] = (
    _slices_have_a_cluster,
    _slice_zones,
    _slice_regions,
    _slice_shapes,
    _slice_counts,
    _slices_once,
    _slice_names,
    _cluster_zones,
    _cpu_pools,
    _maintenance,
    _of_one_stack,
    _ranges,
)
