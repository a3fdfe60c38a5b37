"""Rules of pools: their names, zones, runtimes, disks and labels.

A job that asks for a routing label reaches one pool alone. GitHub compares labels without case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infra.model import names
from infra.model.catalogue import ZoneStanding, region_of
from infra.model.errors import Problem, shown, suggestion
from infra.model.refusals import Subject
from infra.model.rules.common import Items, Rule, repeats, zone_without
from infra.model.schema import DiskMode, Pool, StackConfig, Trust
from infra.model.yamlfile import YamlPath


def _pool_names(
    pools: Items[Pool], project: str, siblings: Sequence[StackConfig], subject: Subject
) -> Iterator[Problem]:
    """A pool's name is in its VMs' names, so two pools of one name would claim the same VMs."""
    near = [other for other in siblings if other.project == project]
    theirs = {pool.name: other.stack for other in near for pool in other.pools}
    seen: dict[str, int] = {}
    for index, pool in pools:
        where, value = subject(("pools", index, "name")), shown(pool.name)
        rule = "two pools of one project have this name, so their VMs would share names"
        if pool.name in seen:
            yield Problem(where, value, f"{rule}; pools[{seen[pool.name]}] has it already", "another name")
        elif pool.name in theirs:
            yield Problem(where, value, f"{rule}; stack {theirs[pool.name]} has it already", "another name")
        seen.setdefault(pool.name, index)


def _vm_names(pools: Items[Pool], subject: Subject) -> Iterator[Problem]:
    for index, pool in pools:
        for zone, standing in pool.zones.items():
            count = standing + pool.added.get(zone, 0)
            longest = names.vm_name(pool.name, zone, max(count - 1, 0))
            excess = len(longest) - names.MAX_RESOURCE_NAME
            if excess > 0:
                rule = f"VM names have at most {names.MAX_RESOURCE_NAME} characters; {longest} has {len(longest)}"
                fix = f"a name of at most {len(pool.name) - excess} characters"
                yield Problem(subject(("pools", index, "name")), shown(pool.name), rule, fix)


def _stack_name(stack: str, pools: Items[Pool], subject: Subject) -> Iterator[Problem]:
    regions = sorted({region_of(zone) for _, pool in pools for zone in pool.reach})
    subnetworks = (names.subnetwork_name(stack, region) for region in regions)
    too_long = next((name for name in subnetworks if len(name) > names.MAX_RESOURCE_NAME), None)
    if too_long:
        rule = f"network names have at most {names.MAX_RESOURCE_NAME} characters; {too_long} has {len(too_long)}"
        yield Problem(subject(()), shown(stack), rule, "a shorter stack name")


def _pool_zones(pools: Items[Pool], subject: Subject) -> Iterator[Problem]:
    for index, pool in pools:
        if not pool.zones:
            rule = "the pool has no zone"
            yield Problem(subject(("pools", index, "zones")), "{}", rule, "such as us-west4-a: 0")
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
    yield from ((zone, ("zones", zone)) for zone in pool.zones)
    yield from ((each.zone, ("fallback", number, "zone")) for number, each in enumerate(pool.fallback))


def _runtime_overrides(pools: Items[Pool], subject: Subject) -> Iterator[Problem]:
    for index, pool in pools:
        if pool.runtime_override is not None and pool.runtime_override.version == pool.accelerator.runtime:
            where = subject(("pools", index, "runtime_override", "version"))
            rule = f"the catalogue says {pool.accelerator.runtime} already"
            yield Problem(where, shown(pool.runtime_override.version), rule, "remove runtime_override")


def _data_disks(pools: Items[Pool], subject: Subject) -> Iterator[Problem]:
    for index, pool in pools:
        path: YamlPath = ("pools", index, "data_disks")
        disks = enumerate(disk.source_disk for disk in pool.data_disks)
        yield from repeats(disks, subject, path, "the disk is attached twice", "source_disk")
        for number, disk in enumerate(pool.data_disks):
            where = (*path, number)
            if others := [zone for zone, _ in _places(pool) if zone != disk.zone]:
                rule = f"the disk is in {disk.zone}, and the pool is in {', '.join(others)} too"
                yield Problem(
                    subject((*where, "source_disk")), shown(disk.source_disk), rule, "a pool of that zone alone"
                )
            if disk.mode is not DiskMode.READ_WRITE:
                continue
            mode = subject((*where, "mode"))
            if pool.trust is Trust.FORK:
                rule = "a pool of trust fork may not write to a disk: any pull request could write what others read"
                yield Problem(mode, shown(disk.mode), rule, "mode: read-only")
            if pool.accelerator.multi_host:
                rule = f"a read-write disk attaches to one host, and {pool.accelerator} has {pool.accelerator.hosts}"
                yield Problem(mode, shown(disk.mode), rule, "mode: read-only")
            elif pool.most > 1:
                rule = f"a read-write disk attaches to one VM, and the pool has {pool.most}"
                yield Problem(mode, shown(disk.mode), rule, "mode: read-only, or a pool of one VM")


def _windows(pools: Items[Pool], subject: Subject) -> Iterator[Problem]:
    for index, pool in pools:
        path: YamlPath = ("pools", index, "windows")
        given = enumerate(each.name for each in pool.windows)
        yield from repeats(given, subject, path, "the pool has two windows of this name", "name")
        for number, window in enumerate(pool.windows):
            where = (*path, number, "adds")
            if not any(window.adds.values()):
                yield Problem(subject(where), "{}", "the window adds no VM", "such as us-central1-b: 1, or no window")
            for zone in window.adds.keys() - pool.zones.keys():
                rule = "the pool has no such zone, so that no network is there outside the window"
                fix = f"{suggestion(zone, pool.zones, 'a zone of the pool')}, or {zone}: 0 under the pool's zones"
                yield Problem(subject((*where, zone)), shown(zone), rule, fix)


RULES: tuple[Rule, ...] = (_windows, _pool_names, _vm_names, _stack_name, _pool_zones, _runtime_overrides, _data_disks)


@dataclass(frozen=True, slots=True)
class _Holder:
    """The first pool that has a routing label; siblings come before this stack."""

    stack: str
    project: str
    pool: Pool

    def said(self, stack: str) -> str:
        return f"pool {self.pool.name}" if self.stack == stack else f"pool {self.pool.name} of stack {self.stack}"


def _holders(config: StackConfig, siblings: Sequence[StackConfig]) -> dict[str, _Holder]:
    holders: dict[str, _Holder] = {}
    for each in (*siblings, config):
        for pool in each.pools:
            holders.setdefault(pool.label.lower(), _Holder(each.stack, each.project, pool))
    return holders


def _routing_labels(
    config: StackConfig, pools: Items[Pool], siblings: Sequence[StackConfig], subject: Subject
) -> Iterator[Problem]:
    holders = _holders(config, siblings)
    for index, pool in pools:
        holder = holders[pool.label.lower()]
        if holder.pool is not pool and not _is_refused_for_its_name(holder, pool, config):
            rule = f"{holder.said(config.stack)} has this routing label already"
            yield Problem(subject(("pools", index, "label")), shown(pool.label), rule, "a label of its own")


def _is_refused_for_its_name(holder: _Holder, pool: Pool, config: StackConfig) -> bool:
    """Two pools of one name in one project are refused for that, and their labels then say nothing new.

    Those of two projects may have one name: GitHub knows no projects, and their jobs would meet.
    """
    return holder.pool.name == pool.name and holder.project == config.project


def _further_labels(
    config: StackConfig, pools: Items[Pool], siblings: Sequence[StackConfig], subject: Subject
) -> Iterator[Problem]:
    holders = _holders(config, siblings)
    for index, pool in pools:
        labels = enumerate(pool.labels)
        yield from repeats(labels, subject, ("pools", index, "labels"), "the label is listed twice", any_case=True)
        for number, label in enumerate(pool.labels):
            holder = holders.get(label.lower())
            where = subject(("pools", index, "labels", number))
            if holder and holder.pool is pool:
                yield Problem(where, shown(label), "this is the routing label of the pool itself", "remove it")
            elif holder:
                rule = f"this is the routing label of {holder.said(config.stack)}, whose jobs would come here"
                yield Problem(where, shown(label), rule, "a label that no pool has for itself")


LABELS: tuple[Rule, ...] = (_routing_labels, _further_labels)
