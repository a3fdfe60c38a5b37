"""Rules of reservations and quotas: where they are, who draws on them, and that they suffice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.model import calendar, ledger
from infra.model.capacity import Reserved
from infra.model.catalogue import nearest_names
from infra.model.errors import Problem, shown
from infra.model.partial import UnsureStack, has
from infra.model.refusals import Subject
from infra.model.rules.common import Rule, zone_without
from infra.model.schema import Pool, Quota, Reservation, Slices, StackConfig
from infra.model.yamlfile import YamlPath

# What makes two declarations speak of the same limit.
_IDENTITY = {
    "reservations": ("project", "zone", "generation"),
    "quotas": ("project", "zone", "generation", "kind"),
}


def _limit_zones(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for key, limits in (("reservations", config.reservations), ("quotas", config.quotas)):
        for index, limit in enumerate(limits):
            if has(limit, "zone", "generation") and limit.generation.standing(limit.zone) is None:
                yield zone_without(limit.generation, limit.zone, subject((key, index, "zone")))


def _limit_projects(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """A limit of a project that no stack is in binds nothing."""
    stacks = (config, *siblings)
    if not all(has(each, "project") for each in stacks):
        return
    known = tuple(sorted({each.project for each in stacks}))
    for key, limits in (("reservations", config.reservations), ("quotas", config.quotas)):
        for index, limit in enumerate(limits):
            if has(limit, "project") and limit.project not in known:
                rule = "no stack is in this project, so the limit would bind nothing"
                fix = f"one of {', '.join(nearest_names(limit.project, known) or known)}"
                yield Problem(subject((key, index, "project")), shown(limit.project), rule, fix)


def _reserved_pools(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    by_name = {each.name: each for each in config.reservations if has(each, "name")}
    for path, pool, zones, capacity in _reserved(config):
        where = subject((*path, "capacity", "reserved"))
        name = capacity.reservation
        if name in by_name:
            yield from _reservation_misfits(config, pool, zones, by_name[name], where)
        else:
            nearest = nearest_names(name, by_name)
            fix = f"one of {', '.join(nearest or by_name)}" if by_name else "declare it under tidepool:reservations"
            yield Problem(where, shown(name), "the stack declares no reservation of this name", fix)


def _reserved(config: StackConfig) -> Iterator[tuple[YamlPath, Pool | Slices, tuple[str, ...], Reserved]]:
    """Every place that draws on a reservation: the path of who says so, its pool, its zones, and the reservation."""
    for index, pool in enumerate(config.pools):
        if has(pool, "capacity") and isinstance(pool.capacity, Reserved):
            yield ("pools", index), pool, tuple(pool.zones) if has(pool, "zones") else (), pool.capacity
        for number, each in enumerate(pool.fallback if has(pool, "fallback") else ()):
            if has(each, "capacity") and isinstance(each.capacity, Reserved):
                zones = (each.zone,) if has(each, "zone") else ()
                yield ("pools", index, "fallback", number), pool, zones, each.capacity
    for index, entry in enumerate(config.slices):
        if has(entry, "capacity") and isinstance(entry.capacity, Reserved):
            yield ("slices", index), entry, (entry.zone,) if has(entry, "zone") else (), entry.capacity


def _one_reservation_a_place(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    rule = "a second reservation for one project, zone and generation: a VM cannot choose"
    yield from _once("reservations", config.reservations, _IDENTITY["reservations"], rule, subject)


def _one_quota_a_kind(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    rule = "a second quota for one project, zone, generation and kind"
    yield from _once("quotas", config.quotas, _IDENTITY["quotas"], rule, subject)


def _stacks_agree(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """A limit is one fact of Google's: stacks that both declare it declare it alike."""
    for key, identity in _IDENTITY.items():
        for index, limit in enumerate(getattr(config, key)):
            for other in siblings:
                for theirs in getattr(other, key):
                    differs = _differences(limit, theirs, identity)
                    if differs:
                        rule = f"stack {other.stack} declares it too, and otherwise: {differs}"
                        yield Problem(subject((key, index)), _said(limit, identity), rule, "the same in both stacks")


def _chips_within_limits(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, held in enumerate(config.reservations):
        if has(held, "project", "zone", "generation", "chips", "held_elsewhere"):
            account = ledger.account(held, [config, *siblings])
            yield from _overdrawn(account, _called(held), subject(("reservations", index, "chips")))
    for index, quota in enumerate(config.quotas):
        if has(quota, "project", "zone", "generation", "chips", "kind"):
            account = ledger.account(quota, [config, *siblings])
            yield from _overdrawn(account, _called(quota), subject(("quotas", index, "chips")))


def _chips_within_limits_of_siblings(
    config: StackConfig, siblings: Sequence[StackConfig], subject: Subject
) -> Iterator[Problem]:
    """Limits that another stack alone declares bind this one too."""
    seen = set()
    for key, identity in _IDENTITY.items():
        seen |= {_said(each, identity) + key for each in getattr(config, key) if has(each, *identity)}
        for other in siblings:
            for limit in getattr(other, key):
                if not has(limit, *type(limit).model_fields) or _said(limit, identity) + key in seen:
                    continue
                seen.add(_said(limit, identity) + key)
                account = ledger.account(limit, [config, *siblings])
                if any(draw.stack == config.stack for draw in (*account.draws, *account.windows)):
                    what = f"{_called(limit)} of stack {other.stack}"
                    yield from _overdrawn(account, what, subject(("pools",)))


def _siblings_known(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """What a file with mistakes draws on limits is not known. That is not nothing, so nothing changes beside it."""
    if not (config.holders or config.reservations or config.quotas):
        return
    near = [each for each in siblings if not (has(config, "project") and _is_of_another(each, config.project))]
    limited = any(each.reservations or each.quotas for each in (config, *near))
    for other in near:
        if isinstance(other, UnsureStack) and (limited or other.hides_limits):
            file = f"stacks/Pulumi.{other.stack}.yaml"
            rule = f"nothing changes beside {file} while it has mistakes: both draw on one project's limits"
            yield Problem(
                subject(()), "", f"{rule} ({other.doubt})", f"what is right in {file}, then change this stack"
            )


def _is_of_another(stack: StackConfig, project: str) -> bool:
    return has(stack, "project") and stack.project != project


def _reservation_misfits(
    config: StackConfig, pool: Pool | Slices, zones: Sequence[str], held: Reservation, where: str
) -> Iterator[Problem]:
    if has(held, "zone") and any(zone != held.zone for zone in zones):
        rule = f"reservation {held.name} is in {held.zone}; the pool is in {', '.join(zones)}"
        yield Problem(where, shown(held.name), rule, "a pool of that zone alone")
    if has(pool, "accelerator") and has(held, "generation") and pool.accelerator.generation is not held.generation:
        rule = f"reservation {held.name} is of {held.generation.name}; the pool is {pool.accelerator}"
        yield Problem(where, shown(held.name), rule, f"a reservation of {pool.accelerator.generation.name}")
    if has(config, "project") and has(held, "project") and held.project != config.project:
        rule = f"reservation {held.name} is held by project {held.project}; the stack is in {config.project}"
        yield Problem(where, shown(held.name), rule, f"a reservation of {config.project}")


def _differences(one: Reservation | Quota, other: Reservation | Quota, identity: tuple[str, ...]) -> str:
    """What `other` says otherwise of the same limit; empty where they agree, are not the same, or are not whole."""
    fields = tuple(type(one).model_fields)
    if not has(one, *fields) or not has(other, *fields) or _said(one, identity) != _said(other, identity):
        return ""
    return ", ".join(
        f"{field} {getattr(other, field)}" for field in fields if getattr(one, field) != getattr(other, field)
    )


def _said(limit: Reservation | Quota, identity: tuple[str, ...]) -> str:
    return " ".join(str(getattr(limit, field)) for field in identity)


def _once(
    key: str, limits: Sequence[Reservation | Quota], identity: tuple[str, ...], rule: str, subject: Subject
) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for index, limit in enumerate(limits):
        if has(limit, *identity):
            this = _said(limit, identity)
            first = seen.setdefault(this, index)
            if first != index:
                yield Problem(subject((key, index)), this, f"{rule}; {key}[{first}] is the first", "one of them")


def _called(limit: Reservation | Quota) -> str:
    return f"{limit.kind} quota" if isinstance(limit, Quota) else "reservation"


def _overdrawn(account: ledger.LimitAccount, what: str, where: str) -> Iterator[Problem]:
    if account.remaining < 0:
        rule = f"the {what} covers all chips that draw on it: {account.sum_shown()}"
        less = "1 chip less" if account.remaining == -1 else f"{-account.remaining} chips less"
        fix = f"counts that take {less}, or the {what}'s true size"
        yield Problem(where, str(account.limit.chips), rule, fix)
    elif at := account.overdrawn(calendar.midnight()):
        when = f"{at.at:%Y-%m-%d %H:%M} UTC"
        rule = f"the {what} covers all chips that draw on it at every minute, and at {when} it is asked for"
        fix = f"windows that do not meet then, fewer VMs in them, or the {what}'s true size"
        yield Problem(where, str(account.limit.chips), f"{rule} {account.sum_shown(at)}", fix)


RULES: tuple[Rule, ...] = (
    _limit_zones,
    _limit_projects,
    _reserved_pools,
    _one_reservation_a_place,
    _one_quota_a_kind,
    _stacks_agree,
    _chips_within_limits,
    _chips_within_limits_of_siblings,
    _siblings_known,
)
