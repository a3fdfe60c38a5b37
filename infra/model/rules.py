"""Rules between values of one stack, and between stacks of one repository. Each yields every Problem it finds.

Owns what must hold of several values at once. Does not own what a single value may be (schema) nor sums of chips
against limits (ledger). The stack may be partial (see partial), so a rule asks whether a thing `has` what it reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from infra.model import ledger, names
from infra.model.capacity import Reserved
from infra.model.catalogue import Generation, ZoneStanding, nearest_names, region_of
from infra.model.errors import Problem
from infra.model.partial import has
from infra.model.refusals import Subject, shown
from infra.model.schema import DiskMode, Pool, Reservation, StackConfig, Trust

T = TypeVar("T")
Rule = Callable[[StackConfig, Sequence[StackConfig], Subject], Iterator[Problem]]


def broken(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> list[Problem]:
    """Every problem of every rule; siblings of other projects do not matter."""
    project = getattr(config, "project", None)
    near = [other for other in siblings if other.stack != config.stack and has(other, "project")]
    near = [other for other in near if other.project == project]
    return list(chain.from_iterable(rule(config, near, subject) for rule in _RULES))


def _pool_names(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """A pool's name is in its VMs' names, so two pools of one name would claim the same VMs."""
    theirs = {pool.name: other.stack for other in siblings for pool in other.pools if has(pool, "name")}
    seen: dict[str, int] = {}
    for index, pool in enumerate(config.pools):
        if not has(pool, "name"):
            continue
        where, value = subject(("pools", index, "name")), shown(pool.name)
        rule = f"VMs are named {pool.name}-<zone>-<index>, so one project has one pool of a name"
        if pool.name in seen:
            yield Problem(where, value, f"{rule}; pools[{seen[pool.name]}] has it already", "another name")
        elif pool.name in theirs:
            yield Problem(where, value, f"{rule}; stack {theirs[pool.name]} has it already", "another name")
        seen.setdefault(pool.name, index)


def _vm_names(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, pool in enumerate(config.pools):
        if not has(pool, "name", "zones"):
            continue
        for zone, count in pool.zones.items():
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
    regions = {region_of(zone) for pool in config.pools if has(pool, "zones") for zone in pool.zones}
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
            rule = "a pool has at least one zone; a count of 0 keeps a zone declared"
            yield Problem(subject(("pools", index, "zones")), "{}", rule, "such as us-west4-a: 0")
        if not has(pool, "accelerator", "unlisted_zone"):
            continue
        generation = pool.accelerator.generation
        for zone in pool.zones:
            standing = generation.standing(zone)
            where = subject(("pools", index, "zones", zone))
            if standing is None:
                yield _zone_without(generation, zone, where)
            elif standing is ZoneStanding.SEEN and zone not in pool.unlisted_zone:
                rule = f"{zone} is not on Google's list for {generation.name}, it has only been seen to work"
                yield Problem(where, zone, rule, f"unlisted_zone: {{{zone}: why it is used}}, or a listed zone")
        for zone in pool.unlisted_zone:
            where = subject(("pools", index, "unlisted_zone", zone))
            if zone not in pool.zones:
                yield Problem(where, zone, "unlisted_zone speaks of the pool's own zones", "remove the line")
            elif generation.standing(zone) is ZoneStanding.LISTED:
                yield Problem(where, zone, f"{zone} is on Google's list for {generation.name}", "remove the line")


def _zone_without(generation: Generation, zone: str, where: str) -> Problem:
    return Problem(where, zone, f"{zone} has no {generation.name}", f"one of {', '.join(generation.zones)}")


def _limit_zones(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for key, limits in (("reservations", config.reservations), ("quotas", config.quotas)):
        for index, limit in enumerate(limits):
            if has(limit, "zone", "generation") and limit.generation.standing(limit.zone) is None:
                yield _zone_without(limit.generation, limit.zone, subject((key, index, "zone")))


def _runtime_overrides(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, pool in enumerate(config.pools):
        if not has(pool, "accelerator", "runtime_override") or pool.runtime_override is None:
            continue
        if pool.runtime_override.version == pool.accelerator.runtime:
            where = subject(("pools", index, "runtime_override", "version"))
            rule = f"an override differs from the catalogue, which says {pool.accelerator.runtime} too"
            yield Problem(where, shown(pool.runtime_override.version), rule, "remove runtime_override")


def _data_disks(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, pool in enumerate(config.pools):
        if not has(pool, "zones", "data_disks"):
            continue
        for number, disk in _right(pool.data_disks):
            where = ("pools", index, "data_disks", number)
            if any(zone != disk.zone for zone in pool.zones):
                rule = f"a disk attaches in its own zone, {disk.zone}; the pool is in {', '.join(pool.zones)}"
                yield Problem(subject((*where, "source_disk")), disk.source_disk, rule, "a pool of that zone alone")
            if disk.mode is not DiskMode.READ_WRITE:
                continue
            if has(pool, "accelerator") and pool.accelerator.multi_host:
                rule = f"a read-write disk attaches to one host; {pool.accelerator} has {pool.accelerator.hosts}"
                yield Problem(subject((*where, "mode")), disk.mode.value, rule, "mode: read-only")
            elif pool.slices > 1:
                rule = f"a read-write disk attaches to one VM; the pool has {pool.slices}"
                yield Problem(subject((*where, "mode")), disk.mode.value, rule, "mode: read-only, or a pool of one VM")


def _routing_labels(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """GitHub compares labels without case; a job that asks for a routing label must reach that pool alone."""
    named = [(config.stack, index, pool) for index, pool in enumerate(config.pools) if has(pool, "label")]
    others = [(other.stack, index, pool) for other in siblings for index, pool in enumerate(other.pools)]
    owners: dict[str, tuple[str, int, Pool]] = {}
    for stack, index, pool in (*others, *named):
        if not has(pool, "label"):
            continue
        holder = owners.setdefault(pool.label.lower(), (stack, index, pool))
        # Two pools of one name are said once, as that; their labels then only repeat it.
        if stack == config.stack and holder[2] is not pool and pool.label != getattr(pool, "name", None):
            rule = f"a routing label belongs to one pool; {_said(holder, config)} has it already"
            yield Problem(subject(("pools", index, "label")), shown(pool.label), rule, "a label of its own")
    for index, pool in enumerate(config.pools):
        if not has(pool, "labels"):
            continue
        for number, label in _right(pool.labels):
            holder = owners.get(label.lower())
            where = subject(("pools", index, "labels", number))
            if holder and holder[2] is pool:
                yield Problem(where, shown(label), "labels are further ones; this is the routing label", "remove it")
            elif holder:
                rule = f"this is the routing label of {_said(holder, config)}, whose jobs would come here"
                yield Problem(where, shown(label), rule, "a label that no pool has for itself")
        yield from _repeats(pool.labels, subject, ("pools", index, "labels"), "a label stands once")


def _said(holder: tuple[str, int, Pool], config: StackConfig) -> str:
    stack, index, pool = holder
    name = getattr(pool, "name", f"pools[{index}]")
    return f"pool {name}" if stack == config.stack else f"pool {name} of stack {stack}"


def _reserved_pools(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    by_name = {each.name: each for each in config.reservations if has(each, "name")}
    for index, pool in enumerate(config.pools):
        if not has(pool, "capacity") or not isinstance(pool.capacity, Reserved):
            continue
        where = subject(("pools", index, "capacity", "reserved"))
        name = pool.capacity.reservation
        if name in by_name:
            yield from _reservation_misfits(config, pool, by_name[name], where)
        else:
            nearest = nearest_names(name, by_name)
            fix = f"one of {', '.join(nearest or by_name)}" if by_name else "declare it under tidepool:reservations"
            yield Problem(where, shown(name), "a reservation that the stack declares", fix)


def _reservation_misfits(config: StackConfig, pool: Pool, held: Reservation, where: str) -> Iterator[Problem]:
    if has(pool, "zones") and has(held, "zone") and any(zone != held.zone for zone in pool.zones):
        rule = f"reservation {held.name} is in {held.zone}; the pool is in {', '.join(pool.zones)}"
        yield Problem(where, shown(held.name), rule, "a pool of that zone alone")
    if has(pool, "accelerator") and has(held, "generation") and pool.accelerator.generation is not held.generation:
        rule = f"reservation {held.name} is of {held.generation.name}; the pool is {pool.accelerator}"
        yield Problem(where, shown(held.name), rule, f"a reservation of {pool.accelerator.generation.name}")
    if has(config, "project") and has(held, "project") and held.project != config.project:
        rule = f"reservation {held.name} is held by project {held.project}; the stack is in {config.project}"
        yield Problem(where, shown(held.name), rule, f"a reservation of {config.project}")


def _limits_once(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    seen: dict[tuple[object, ...], int] = {}
    for index, each in enumerate(config.reservations):
        if has(each, "project", "zone", "generation"):
            first = seen.setdefault((each.project, each.zone, each.generation.name), index)
            if first != index:
                rule = (
                    "one reservation for a project, zone and generation, since a VM cannot choose; "
                    f"reservations[{first}] is that one"
                )
                where = subject(("reservations", index))
                yield Problem(where, f"{each.project} {each.zone} {each.generation.name}", rule, "one of the two")
    seen.clear()
    for index, each in enumerate(config.quotas):
        if has(each, "project", "zone", "generation", "kind"):
            first = seen.setdefault((each.project, each.zone, each.generation.name, each.kind), index)
            if first != index:
                rule = f"one quota for a project, zone, generation and kind; quotas[{first}] is that one"
                value = f"{each.project} {each.zone} {each.generation.name} {each.kind}"
                yield Problem(subject(("quotas", index)), value, rule, "one of the two")


def _chips_within_limits(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, held in enumerate(config.reservations):
        if has(held, "project", "zone", "generation", "chips", "held_elsewhere"):
            account = ledger.account(held, [config, *siblings])
            yield from _overdrawn(account, "reservation", subject(("reservations", index, "chips")))
    for index, quota in enumerate(config.quotas):
        if has(quota, "project", "zone", "generation", "chips", "kind"):
            account = ledger.account(quota, [config, *siblings])
            yield from _overdrawn(account, f"{quota.kind} quota", subject(("quotas", index, "chips")))


def _overdrawn(account: ledger.Account, what: str, where: str) -> Iterator[Problem]:
    if account.remaining < 0:
        rule = f"the {what} covers all chips that draw on it: {account.sum_shown()}"
        fix = f"{-account.remaining} fewer chips in those pools, or the {what}'s true size"
        yield Problem(where, str(account.limit.chips), rule, fix)


def _registries(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    own = config.registries if has(config, "registries") else None
    if own is not None and has(config, "registry_stack") and config.registry_stack is not None:
        rule = "a stack has registries of its own or reads another's, not both"
        yield Problem(subject(("registry_stack",)), shown(config.registry_stack), rule, "one of the two keys")
    if own is not None:
        yield from _repeats(own.regions, subject, ("registries", "regions"), "a region stands once")
        repositories = [each.name for each in own.repositories]
        path = ("registries", "repositories")
        yield from _repeats(repositories, subject, path, "a repository's name stands once", "name")


def _unique_names(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for key in ("reservations", "mirrors", "secrets"):
        given = [getattr(each, "name", None) for each in getattr(config, key)]
        yield from _repeats(given, subject, (key,), f"a name stands once in {key}", "name")
    for index, pool in enumerate(config.pools):
        if has(pool, "serves"):
            served = [repository and repository.lower() for repository in pool.serves]
            yield from _repeats(served, subject, ("pools", index, "serves"), "a repository stands once")


def _secret_readers(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    pools = {pool.name: pool for pool in config.pools if has(pool, "name")}
    for index, secret in enumerate(config.secrets):
        if not has(secret, "readers"):
            continue
        yield from _repeats(secret.readers, subject, ("secrets", index, "readers"), "a reader stands once")
        for number, reader in _right(secret.readers):
            kind, _slash, name = reader.partition("/")
            where = subject(("secrets", index, "readers", number))
            if kind != "pool":
                continue
            pool = pools.get(name)
            if pool is None:
                nearest = nearest_names(name, pools)
                fix = f"pool/{nearest[0]}" if nearest else "a pool of this stack"
                yield Problem(where, shown(reader), "a reader is an identity of this stack", fix)
            elif has(pool, "trust") and pool.trust is Trust.FORK:
                rule = f"trust fork reads no secret; pool {name} runs any pull request's code"
                yield Problem(where, shown(reader), rule, "remove the reader, or a pool of trust member")


def _right(items: Iterable[T]) -> Iterator[tuple[int, T]]:
    """The items of a list that are right by themselves, with their places in it."""
    return ((number, item) for number, item in enumerate(items) if item is not None)


def _repeats(
    values: Iterable[T], subject: Subject, at: tuple[str | int, ...], rule: str, *below: str
) -> Iterator[Problem]:
    seen: Counter[T] = Counter()
    for number, value in enumerate(values):
        seen[value] += 1
        if value is not None and seen[value] > 1:
            yield Problem(subject((*at, number, *below)), shown(value), rule, "remove one of the two")


_RULES: tuple[Rule, ...] = (
    _pool_names,
    _vm_names,
    _stack_name,
    _pool_zones,
    _limit_zones,
    _runtime_overrides,
    _data_disks,
    _routing_labels,
    _reserved_pools,
    _limits_once,
    _chips_within_limits,
    _registries,
    _unique_names,
    _secret_readers,
)
