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
from infra.model.errors import Problem, shown
from infra.model.gke_shapes import MULTI_HOST_PODS, gke_shape, gke_shapes
from infra.model.partial import has
from infra.model.refusals import Subject
from infra.model.rules.common import Rule, repeats, right, zone_without
from infra.model.schema import Cluster, Slices, StackConfig
from infra.model.slices import SYSTEM_POOL, entry_pools
from infra.model.yamlfile import YamlPath

_MOST_EXCLUSIONS: Final = 20
_LEAST_HOURS, _OF_DAYS, _WEEK = 48, 32, 7
"""GKE requires this many hours of maintenance within so many days
(cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions, read 2026-11)."""
_PODS_OF_A_NODE: Final = 110
"""GKE's default; a node has a block of twice as many addresses as pods, rounded up to a power of two."""


def _slices_have_a_cluster(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    if config.slices and has(config, "cluster") and config.cluster is None:
        rule = "the stack declares slices and no cluster for them"
        yield Problem(subject(("slices",)), "", rule, "tidepool:cluster, or TPU VMs under tidepool:pools")


def _slice_places(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    cluster = _cluster(config)
    region = cluster.region if cluster is not None and has(cluster, "region") else None
    for index, entry in enumerate(config.slices):
        if not has(entry, "accelerator", "zone"):
            continue
        generation, zone, where = entry.accelerator.generation, entry.zone, subject(("slices", index, "zone"))
        standing = generation.standing(zone)
        reason = entry.unlisted_zone if has(entry, "unlisted_zone") else None
        if standing is None:
            yield zone_without(generation, zone, where)
        elif standing is ZoneStanding.SEEN and reason is None and has(entry, "unlisted_zone"):
            rule = f"{zone} is not on Google's list for {generation.name}; it is only known to have worked"
            yield Problem(where, shown(zone), rule, "unlisted_zone: why it is used, or a listed zone")
        elif standing is ZoneStanding.LISTED and reason is not None:
            rule = f"Google lists {zone} for {generation.name}, so no reason is needed"
            yield Problem(subject(("slices", index, "unlisted_zone")), shown(reason), rule, "remove the line")
        if region and region_of(zone) != region:
            rule = f"not in the cluster's region, {region}: {zone} is in {region_of(zone)}"
            yield Problem(where, shown(zone), rule, "a stack of its own with a cluster there, or a zone of this region")


def _slice_shapes(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, entry in enumerate(config.slices):
        if has(entry, "accelerator") and gke_shape(entry.accelerator) is None:
            where = subject(("slices", index, "accelerator"))
            others = [name for name, shape in gke_shapes().items() if shape.generation is entry.accelerator.generation]
            rule = f"GKE has no machine type for {entry.accelerator}"
            yield Problem(where, shown(entry.accelerator.name), rule, f"one of {', '.join(others)}")


def _slice_counts(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, entry in enumerate(config.slices):
        if not has(entry, "number", "buffer", "maximum"):
            continue
        where = subject(("slices", index))
        said = {name for name in ("number", "buffer", "maximum") if getattr(entry, name) is not None}
        if said not in ({"number"}, {"buffer", "maximum"}):
            rule = "neither a number that always stands, nor a buffer and a maximum"
            yield Problem(where, ", ".join(sorted(said)), rule, "number: N, or buffer: B and maximum: M")
        elif entry.least > entry.slices:
            rule = "the buffer is larger than the maximum"
            at = subject(("slices", index, "buffer"))
            yield Problem(at, str(entry.least), rule, f"at most {entry.slices}")
        elif has(entry, "capacity") and isinstance(entry.capacity, FlexStart):
            yield from _flex_start_counts(entry, where)


def _flex_start_counts(entry: Slices, where: str) -> Iterator[Problem]:
    """Google has no static count of flex-start nodes: they come when pods ask and go when their time is over."""
    if entry.number is not None:
        rule = "flex-start slices have no fixed number: each comes when a pod asks for it, and goes after its time"
        yield Problem(where, f"number {entry.number}", rule, f"buffer: 0 and maximum: {entry.number}")
    elif entry.least:
        rule = "flex-start slices have no buffer: each comes when a pod asks for it"
        yield Problem(where, f"buffer {entry.least}", rule, "buffer: 0")


def _slices_once(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """The three are what node pools are named after."""
    seen: dict[tuple[str, str], int] = {}
    for index, entry in enumerate(config.slices):
        if has(entry, "accelerator", "zone", "capacity"):
            first = seen.setdefault((entry.name, entry.zone), index)
            if first != index:
                rule = f"slices[{first}] has the same accelerator, zone and kind of capacity"
                yield Problem(subject(("slices", index)), f"{entry.name} in {entry.zone}", rule, "one entry for both")


def _slice_names(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """Limits, money and explanations tell both by name, so a pool of TPU VMs has another."""
    pools = {pool.name for pool in config.pools if has(pool, "name")}
    for index, entry in enumerate(config.slices):
        if has(entry, "accelerator", "capacity") and entry.name in pools:
            rule = f"these slices are listed as {entry.name}, and a pool of TPU VMs has that name"
            yield Problem(subject(("slices", index)), shown(entry.name), rule, "another name for the pool")


def _cluster_zones(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    cluster = _cluster(config)
    if cluster is None:
        return
    for path, zones, machine in _node_zones(cluster):
        at: YamlPath = ("cluster", *path)
        if not zones:
            yield Problem(subject((*at, "zones")), "[]", "no zone is named", "such as [us-central2-b]")
        yield from repeats(zones, subject, (*at, "zones"), "the zone is listed twice")
        for number, zone in right(zones):
            where = subject((*at, "zones", number))
            if has(cluster, "region") and region_of(zone) != cluster.region:
                rule = f"not in the cluster's region, {cluster.region}"
                yield Problem(where, shown(zone), rule, f"a zone of {cluster.region}")
            families = machine_families(zone)
            if machine and families is not None and machine.partition("-")[0] not in families:
                below = (*at, "system", "machine_type") if not path else (*at, "machine_type")
                rule = f"{zone} has no {machine.partition('-')[0]} machines"
                yield Problem(subject(below), shown(machine), rule, f"one of {', '.join(families)}")


def _node_zones(cluster: Cluster) -> Iterator[tuple[YamlPath, Sequence[str], str]]:
    """Where nodes without chips are: the path of who says so, the zones, and their machine type where that is right."""
    if has(cluster, "zones"):
        yield (), cluster.zones, cluster.system.machine_type if has(cluster, "system") else ""
    for number, pool in right(cluster.cpu_pools if has(cluster, "cpu_pools") else ()):
        if has(pool, "zones"):
            yield ("cpu_pools", number), pool.zones, pool.machine_type if has(pool, "machine_type") else ""


def _cpu_pools(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    cluster = _cluster(config)
    if cluster is None or not has(cluster, "cpu_pools"):
        return
    at = ("cluster", "cpu_pools")
    names = [pool.name if has(pool, "name") else None for pool in cluster.cpu_pools]
    yield from repeats(names, subject, at, "the node pool's name is listed twice", "name")
    made = {pool.name for entry in config.slices if has(entry, *Slices.model_fields) for pool in entry_pools(entry)}
    for number, pool in enumerate(cluster.cpu_pools):
        if has(pool, "name") and (pool.name == SYSTEM_POOL or pool.name in made):
            rule = "the cluster has a node pool of this name already"
            yield Problem(subject((*at, number, "name")), shown(pool.name), rule, "another name, such as batch")
        if has(pool, "minimum", "maximum") and not 1 <= pool.maximum >= pool.minimum:
            rule = "the maximum is 0 or below the minimum"
            yield Problem(subject((*at, number, "maximum")), str(pool.maximum), rule, f"{max(1, pool.minimum)} or more")


def _maintenance(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    cluster = _cluster(config)
    if cluster is None or not has(cluster, "maintenance"):
        return
    given, at = cluster.maintenance, ("cluster", "maintenance")
    if has(given, "days", "hours"):
        yield from repeats(given.days, subject, (*at, "days"), "the day is listed twice")
        hours = len(set(given.days)) * given.hours * _OF_DAYS / _WEEK
        if hours < _LEAST_HOURS:
            rule = f"too little: {hours:.0f} hours in {_OF_DAYS} days, and GKE requires {_LEAST_HOURS}"
            yield Problem(subject(at), f"{len(given.days)} x {given.hours} h a week", rule, "more days, or more hours")
    exclusions = given.exclusions if has(given, "exclusions") else ()
    names = [each.name if has(each, "name") else None for each in exclusions]
    yield from repeats(names, subject, (*at, "exclusions"), "the exclusion's name is listed twice", "name")
    if len(exclusions) > _MOST_EXCLUSIONS:
        rule = f"more than the {_MOST_EXCLUSIONS} exclusions that GKE allows"
        yield Problem(subject((*at, "exclusions")), f"{len(exclusions)}", rule, "remove those that are over")
    for number, each in enumerate(exclusions):
        if has(each, "from", "to") and str(each.end) < str(each.start):
            where = subject((*at, "exclusions", number, "to"))
            yield Problem(where, str(each.end), f"the exclusion ends before it begins, on {each.start}", "a later day")


def _of_one_stack(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """Two states of one cluster would take turns in changing it."""
    mine = _identity(config)
    if mine is None:
        return
    for other in siblings:
        if _identity(other) == mine:
            project, region, name = mine
            rule = f"stack {other.stack} declares cluster {name} of project {project} in {region}"
            yield Problem(subject(("cluster", "name")), name, rule, "another name, or slices in that stack's file")


def _identity(config: StackConfig) -> tuple[str, str, str] | None:
    """Project, region and name of the cluster, by which Google knows it; None without one."""
    cluster = _cluster(config)
    if cluster is None or not has(config, "project") or not has(cluster, "region", "name"):
        return None
    return config.project, cluster.region, cluster.name


def _ranges(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    cluster = _cluster(config)
    if cluster is None or not has(cluster, "ranges"):
        return
    ranges = {name: getattr(cluster.ranges, name) for name in ("nodes", "pods", "services")}
    for one, other in combinations(ranges, 2):
        if ranges[one].overlaps(ranges[other]):
            rule = f"the range overlaps with that of {one}, {ranges[one]}"
            yield Problem(subject(("cluster", "ranges", other)), str(ranges[other]), rule, "another range")
    nodes, addresses = _demand(config, cluster)
    for name, needed in (("nodes", nodes), ("pods", addresses)):
        if needed > ranges[name].num_addresses:
            rule = f"too small: up to {nodes:,} nodes need {needed:,} addresses for {name}"
            fix = f"such as {ranges[name].network_address}/{32 - (needed - 1).bit_length()}"
            yield Problem(subject(("cluster", "ranges", name)), str(ranges[name]), rule, fix)


def _demand(config: StackConfig, cluster: Cluster) -> tuple[int, int]:
    """The most nodes that the cluster may have, and the addresses that their pods take."""
    plain = cluster.system.nodes * len(cluster.zones) if has(cluster, "system", "zones") else 0
    for _, pool in right(cluster.cpu_pools if has(cluster, "cpu_pools") else ()):
        plain += pool.maximum * len(pool.zones) if has(pool, "maximum", "zones") else 0
    nodes, addresses = plain, plain * _block(_PODS_OF_A_NODE)
    for entry in config.slices:
        for pool in entry_pools(entry) if has(entry, *Slices.model_fields) else ():
            nodes += pool.max_nodes
            addresses += pool.max_nodes * _block(MULTI_HOST_PODS if pool.shape.multi_host else _PODS_OF_A_NODE)
    return nodes, addresses


def _block(pods: int) -> int:
    return 1 << (2 * pods - 1).bit_length()


def _cluster(config: StackConfig) -> Cluster | None:
    return config.cluster if has(config, "cluster") else None


RULES: tuple[Rule, ...] = (
    _slices_have_a_cluster,
    _slice_places,
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
