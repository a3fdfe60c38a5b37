"""Rules of VMs that are made for one run each: as a pool of the stack, in zones that have what is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from infra.model.errors import Problem, suggestion
from infra.model.refusals import Subject, shown
from infra.model.rules.common import Items, Rule, repeats, zone_without
from infra.model.schema import DiskMode, Pool, Runs, Trust

_LABEL: Final = 16
"""Letters of the label of a file system of ext4 (https://man7.org/linux/man-pages/man8/mke2fs.8.html, read 2026-11)."""


def _pool(runs: Runs, pools: tuple[Pool, ...], subject: Subject) -> Iterator[Problem]:
    """A run of a stranger's pull request shares no account with runs of others: it could read them and write how they
    ended, were it to break out of its container."""
    named = {pool.name: pool for pool in pools}
    for key, name in (("pool", runs.pool), ("fork_pool", runs.fork_pool)):
        if name is not None and name not in named:
            fix = suggestion(name, named, "declare the pool")
            yield Problem(subject(("runs", key)), shown(name), "the stack declares no pool of this name", fix)
    where, forks = subject(("runs", "fork_pool")), named.get(runs.fork_pool or "")
    if runs.fork_pool == runs.pool:
        rule = "runs of strangers' pull requests would share the account of all others"
        yield Problem(where, shown(runs.pool), rule, "a pool of their own, with trust: fork")
    elif forks is not None and forks.trust is not Trust.FORK:
        rule = f"runs of strangers' pull requests would be made as a pool whose trust is {forks.trust}"
        yield Problem(where, shown(forks.name), rule, "a pool with trust: fork")
    for pool in (named[name] for name in dict.fromkeys(runs.pools) if name in named):
        yield from _of_one_host(runs, pool, subject)


def _of_one_host(runs: Runs, pool: Pool, subject: Subject) -> Iterator[Problem]:
    for index, each in enumerate(runs.accelerators):
        where = subject(("runs", "accelerators", index))
        if each.multi_host and pool.trust is not Trust.PROTECTED:
            rule = f"it has {each.hosts} hosts, and runs of a pool of trust {pool.trust} are kept to one"
            yield Problem(where, each.name, rule, "a type of one host, or a pool of trust protected")
        elif each.multi_host and not pool.accelerator.multi_host:
            rule = f"it has {each.hosts} hosts, which pool {pool.name} has no way between"
            yield Problem(where, each.name, rule, "a pool whose slices have several hosts")


def _zones(runs: Runs, subject: Subject) -> Iterator[Problem]:
    given = enumerate(each.name for each in runs.accelerators)
    yield from repeats(given, subject, ("runs", "accelerators"), "the type is listed twice")
    yield from repeats(enumerate(runs.zones), subject, ("runs", "zones"), "the zone is listed twice")
    generations = {each.generation for each in runs.accelerators}
    for index, zone in enumerate(runs.zones):
        if not any(zone in generation.zones for generation in generations):
            generation = min(generations, key=lambda each: each.name)
            yield zone_without(generation, zone, subject(("runs", "zones", index)))


def _ceilings(runs: Runs, subject: Subject) -> Iterator[Problem]:
    if runs.at_once > runs.per_day:
        rule = f"more at once than the {runs.per_day} of a day"
        yield Problem(subject(("runs", "at_once")), str(runs.at_once), rule, f"at most {runs.per_day}")


def _disks(runs: Runs, pools: Items[Pool], subject: Subject) -> Iterator[Problem]:
    """Runs find a disk by the label of its file system, which holds no more of the name (`infra.fleet.runs.guest`)."""
    for index, pool in pools:
        if pool.name not in runs.pools:
            continue
        first: dict[str, str] = {}
        for at, disk in enumerate(pool.data_disks):
            name = disk.source_disk.rpartition("/")[2]
            if disk.mode is DiskMode.READ_ONLY and (other := first.setdefault(name[:_LABEL], name)) != name:
                rule = f"runs know a disk by the first {_LABEL} letters of its name, and {other} begins with the same"
                where = subject(("pools", index, "data_disks", at, "source_disk"))
                yield Problem(where, shown(disk.source_disk), rule, f"a disk whose name differs in its first {_LABEL}")


RULES: Final[tuple[Rule, ...]] = (_pool, _zones, _ceilings, _disks)
