"""Rules of pools: their names, zones, runtimes, disks and labels.

A job that asks for a routing label reaches one pool alone. GitHub compares labels without case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infra.model import names
from infra.model.catalogue import ZoneStanding, nearest_names, region_of
from infra.model.errors import Problem, shown
from infra.model.partial import has
from infra.model.refusals import Subject
from infra.model.rules.common import Rule, repeats, right, zone_without
from infra.model.schema import DiskMode, Pool, StackConfig, Trust
from infra.model.yamlfile import YamlPath


def _pool_names(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """A pool's name is in its VMs' names, so two pools of one name would claim the same VMs."""
    project = config.project if has(config, "project") else None
    near = [other for other in siblings if has(other, "project") and other.project == project]
    theirs = {pool.name: other.stack for other in near for pool in other.pools if has(pool, "name")}
    seen: dict[str, int] = {}
    for index, pool in enumerate(config.pools):
        if not has(pool, "name"):
            continue
        where, value = subject(("pools", index, "name")), shown(pool.name)
        rule = "two pools of one project have this name, so their VMs would share names"
        if pool.name in seen:
            yield Problem(where, value, f"{rule}; pools[{seen[pool.name]}] has it already", "another name")
        elif pool.name in theirs:
            yield Problem(where, value, f"{rule}; stack {theirs[pool.name]} has it already", "another name")
        seen.setdefault(pool.name, index)


def _vm_names(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, pool in enumerate(config.pools):
        if not has(pool, "name", "zones"):
            continue
        added = pool.added if has(pool, "windows") and all(has(each, "adds") for each in pool.windows) else {}
        for zone, standing in pool.zones.items():
            count = standing + added.get(zone, 0)
            longest = names.vm_name(pool.name, zone, max(count - 1, 0))
            excess = len(longest) - names.MAX_RESOURCE_NAME
            if excess > 0:
                rule = f"VM names have at most {names.MAX_RESOURCE_NAME} characters; {longest} has {len(longest)}"
                yield Problem(
                    subject(("pools", index, "name")),
                    shown(pool.name),
                    rule,
                    f"a name of at most {len(pool.name) - excess} characters",
                )


def _stack_name(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    if not has(config, "stack"):
        return
    regions = {region_of(zone) for pool in config.pools if has(pool, "zones") for zone, _ in _places(pool)}
    too_long = [
        name
        for region in sorted(regions)
        if len(name := names.subnetwork_name(config.stack, region)) > names.MAX_RESOURCE_NAME
    ]
    if too_long:
        rule = f"network names have at most {names.MAX_RESOURCE_NAME} characters; {too_long[0]} has {len(too_long[0])}"
        yield Problem(subject(()), shown(config.stack), rule, "a shorter stack name")


def _pool_zones(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, pool in enumerate(config.pools):
        if not has(pool, "zones"):
            continue
        if not pool.zones:
            rule = "the pool has no zone"
            yield Problem(subject(("pools", index, "zones")), "{}", rule, "such as us-west4-a: 0")
        if not has(pool, "accelerator", "unlisted_zone"):
            continue
        generation = pool.accelerator.generation
        for zone, path in _places(pool):
            standing = generation.standing(zone)
            where = subject(("pools", index, *path))
            if standing is None:
                yield zone_without(generation, zone, where)
            elif standing is ZoneStanding.SEEN and zone not in pool.unlisted_zone:
                rule = f"{zone} is not on Google's list for {generation.name}, it has only been seen to work"
                yield Problem(where, shown(zone), rule, f"unlisted_zone: {{{zone}: why it is used}}, or a listed zone")
        # A reason may outlive its zone's line: taking a zone out, and back in later, is one edit and not two.
        for zone in pool.unlisted_zone:
            if generation.standing(zone) is not ZoneStanding.SEEN:
                where = subject(("pools", index, "unlisted_zone", zone))
                rule = f"this reason is for a zone that Google does not list for {generation.name}; {zone} is not one"
                yield Problem(where, shown(zone), rule, "remove the line")


def _places(pool: Pool) -> Iterator[tuple[str, YamlPath]]:
    """Every zone in which the pool may have a VM, and where that is written below it."""
    for zone in pool.zones:
        yield zone, ("zones", zone)
    for number, each in enumerate(pool.fallback if has(pool, "fallback") else ()):
        if has(each, "zone"):
            yield each.zone, ("fallback", number, "zone")


def _runtime_overrides(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, pool in enumerate(config.pools):
        if not has(pool, "accelerator", "runtime_override") or pool.runtime_override is None:
            continue
        if pool.runtime_override.version == pool.accelerator.runtime:
            where = subject(("pools", index, "runtime_override", "version"))
            rule = f"the catalogue says {pool.accelerator.runtime} already"
            yield Problem(where, shown(pool.runtime_override.version), rule, "remove runtime_override")


def _data_disks(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, pool in enumerate(config.pools):
        if not has(pool, "zones", "data_disks"):
            continue
        path = ("pools", index, "data_disks")
        disks = [getattr(disk, "source_disk", None) for disk in pool.data_disks]
        yield from repeats(disks, subject, path, "the disk is attached twice", "source_disk")
        for number, disk in right(pool.data_disks):
            where = (*path, number)
            if others := [zone for zone, _ in _places(pool) if zone != disk.zone]:
                rule = f"the disk is in {disk.zone}, and the pool is in {', '.join(others)} too"
                yield Problem(
                    subject((*where, "source_disk")), shown(disk.source_disk), rule, "a pool of that zone alone"
                )
            if disk.mode is not DiskMode.READ_WRITE:
                continue
            if has(pool, "trust") and pool.trust is Trust.FORK:
                rule = "a pool of trust fork may not write to a disk: any pull request could write what others read"
                yield Problem(subject((*where, "mode")), shown(disk.mode), rule, "mode: read-only")
            if has(pool, "accelerator") and pool.accelerator.multi_host:
                rule = f"a read-write disk attaches to one host, and {pool.accelerator} has {pool.accelerator.hosts}"
                yield Problem(subject((*where, "mode")), shown(disk.mode), rule, "mode: read-only")
            elif has(pool, "windows") and all(has(each, "adds") for each in pool.windows) and pool.most > 1:
                rule = f"a read-write disk attaches to one VM, and the pool has {pool.most}"
                yield Problem(subject((*where, "mode")), shown(disk.mode), rule, "mode: read-only, or a pool of one VM")


def _windows(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, pool in enumerate(config.pools):
        if not has(pool, "windows"):
            continue
        path: YamlPath = ("pools", index, "windows")
        given = [getattr(each, "name", None) for each in pool.windows]
        yield from repeats(given, subject, path, "the pool has two windows of this name", "name")
        for number, window in enumerate(pool.windows):
            adds = window.adds if has(window, "adds") else None
            where = (*path, number, "adds")
            if adds is not None and not any(adds.values()):
                yield Problem(subject(where), "{}", "the window adds no VM", "such as us-central1-b: 1, or no window")
            for zone in adds or ():
                if has(pool, "zones") and zone not in pool.zones:
                    near = nearest_names(zone, pool.zones) or tuple(pool.zones)
                    rule = "the pool has no such zone, so that no network is there outside the window"
                    fix = f"one of {', '.join(near)}, or {zone}: 0 under the pool's zones"
                    yield Problem(subject((*where, zone)), shown(zone), rule, fix)


RULES: tuple[Rule, ...] = (_windows, _pool_names, _vm_names, _stack_name, _pool_zones, _runtime_overrides, _data_disks)


@dataclass(frozen=True, slots=True)
class _Holder:
    """The first pool that has a routing label; siblings come before this stack."""

    stack: str
    project: str | None
    index: int
    pool: Pool

    def said(self, config: StackConfig) -> str:
        name = self.pool.name if has(self.pool, "name") else f"pools[{self.index}]"
        return f"pool {name}" if self.stack == config.stack else f"pool {name} of stack {self.stack}"


def _holders(config: StackConfig, siblings: Sequence[StackConfig]) -> dict[str, _Holder]:
    holders: dict[str, _Holder] = {}
    for each in (*siblings, config):
        for index, pool in enumerate(each.pools):
            if has(pool, "label"):
                holders.setdefault(pool.label.lower(), _Holder(each.stack, _project(each), index, pool))
    return holders


def _routing_labels(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    holders = _holders(config, siblings)
    for index, pool in enumerate(config.pools):
        if not has(pool, "label"):
            continue
        holder = holders[pool.label.lower()]
        if holder.pool is not pool and not _is_refused_for_its_name(holder, pool, config):
            rule = f"{holder.said(config)} has this routing label already"
            yield Problem(subject(("pools", index, "label")), shown(pool.label), rule, "a label of its own")


def _is_refused_for_its_name(holder: _Holder, pool: Pool, config: StackConfig) -> bool:
    """Two pools of one name in one project are refused for that, and their labels then say nothing new.

    Those of two projects may have one name: GitHub knows no projects, and their jobs would meet.
    """
    if not (has(holder.pool, "name") and has(pool, "name") and holder.pool.name == pool.name):
        return False
    return holder.stack == config.stack or (holder.project is not None and holder.project == _project(config))


def _project(config: StackConfig) -> str | None:
    return config.project if has(config, "project") else None


def _further_labels(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    holders = _holders(config, siblings)
    for index, pool in enumerate(config.pools):
        if not has(pool, "labels"):
            continue
        yield from repeats(pool.labels, subject, ("pools", index, "labels"), "the label is listed twice", any_case=True)
        for number, label in right(pool.labels):
            holder = holders.get(label.lower())
            where = subject(("pools", index, "labels", number))
            if holder and holder.pool is pool:
                yield Problem(where, shown(label), "this is the routing label of the pool itself", "remove it")
            elif holder:
                rule = f"this is the routing label of {holder.said(config)}, whose jobs would come here"
                yield Problem(where, shown(label), rule, "a label that no pool has for itself")


LABELS: tuple[Rule, ...] = (_routing_labels, _further_labels)
