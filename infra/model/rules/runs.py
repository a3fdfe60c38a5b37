"""Rules of VMs that are made for one run each: as a pool of the stack, in zones that have what is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from infra.model.catalogue import nearest_names
from infra.model.errors import Problem
from infra.model.partial import has
from infra.model.refusals import Subject, shown
from infra.model.rules.common import Rule, repeats, right, zone_without
from infra.model.schema import DiskMode, Runs, StackConfig, Trust

_LABEL: Final = 16
"""Letters of the label of a file system of ext4 (https://man7.org/linux/man-pages/man8/mke2fs.8.html, read 2026-11)."""


def _runs(config: StackConfig) -> Runs | None:
    return config.runs if has(config, "runs") else None


def _pool(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    runs = _runs(config)
    if runs is None or not has(runs, "pool"):
        return
    pools = {pool.name: pool for pool in config.pools if has(pool, "name")}
    if runs.pool not in pools:
        fix = f"one of {', '.join(nearest_names(runs.pool, pools) or sorted(pools))}" if pools else "declare the pool"
        yield Problem(subject(("runs", "pool")), shown(runs.pool), "the stack declares no pool of this name", fix)
        return
    pool = pools[runs.pool]
    if not has(pool, "trust", "accelerator") or not has(runs, "accelerators"):
        return
    for index, each in right(runs.accelerators):
        where = subject(("runs", "accelerators", index))
        if each.multi_host and pool.trust is not Trust.PROTECTED:
            rule = f"it has {each.hosts} hosts, and runs of a pool of trust {pool.trust} are kept to one"
            yield Problem(where, each.name, rule, "a type of one host, or a pool of trust protected")
        elif each.multi_host and not pool.accelerator.multi_host:
            rule = f"it has {each.hosts} hosts, which pool {pool.name} has no way between"
            yield Problem(where, each.name, rule, "a pool whose slices have several hosts")


def _zones(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    runs = _runs(config)
    if runs is None:
        return
    for key, noun in (("accelerators", "accelerator type"), ("zones", "zone")):
        if has(runs, key) and not getattr(runs, key):
            yield Problem(subject(("runs", key)), "[]", f"no {noun} is named, so no VM can be made", "name one")
    if has(runs, "accelerators"):
        given = [each.name if each else None for each in runs.accelerators]
        yield from repeats(given, subject, ("runs", "accelerators"), "the type is listed twice")
    if not has(runs, "zones"):
        return
    yield from repeats(runs.zones, subject, ("runs", "zones"), "the zone is listed twice")
    generations = {each.generation for _, each in right(runs.accelerators)} if has(runs, "accelerators") else set()
    for index, zone in right(runs.zones):
        if generations and not any(zone in generation.zones for generation in generations):
            generation = min(generations, key=lambda each: each.name)
            yield zone_without(generation, zone, subject(("runs", "zones", index)))


def _ceilings(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    runs = _runs(config)
    if runs is not None and has(runs, "per_day", "at_once") and runs.at_once > runs.per_day:
        rule = f"more at once than the {runs.per_day} of a day"
        yield Problem(subject(("runs", "at_once")), str(runs.at_once), rule, f"at most {runs.per_day}")


def _disks(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """Runs find a disk by the label of its file system, which holds no more of the name (`infra.fleet.runs.guest`)."""
    runs = _runs(config)
    for index, pool in right(config.pools):
        if runs is None or not has(runs, "pool") or not has(pool, "name", "data_disks") or pool.name != runs.pool:
            continue
        read = [(at, disk) for at, disk in right(pool.data_disks) if disk.mode is DiskMode.READ_ONLY]
        first: dict[str, str] = {}
        for at, disk in read:
            name = disk.source_disk.rpartition("/")[2]
            other = first.setdefault(name[:_LABEL], name)
            if other != name:
                rule = f"runs know a disk by the first {_LABEL} letters of its name, and {other} begins with the same"
                where = subject(("pools", index, "data_disks", at, "source_disk"))
                yield Problem(where, shown(disk.source_disk), rule, f"a disk whose name differs in its first {_LABEL}")


RULES: Final[tuple[Rule, ...]] = (_pool, _zones, _ceilings, _disks)
