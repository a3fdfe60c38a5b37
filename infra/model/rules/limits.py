"""Rules of reservations and quotas: where they are, who draws on them, and that they suffice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.model import calendar, ledger
from infra.model.capacity import Reserved
from infra.model.errors import Problem, shown, suggestion
from infra.model.names import PULUMI_PROJECT
from infra.model.refusals import Subject
from infra.model.rules.common import Estate, Items, Rule, zone_without
from infra.model.schema import Pool, Quota, Reservation, Slices, StackConfig
from infra.model.stack_text import stack_source
from infra.model.yamlfile import YamlPath, render


def _limit_zones(reservations: Items[Reservation], quotas: Items[Quota], subject: Subject) -> Iterator[Problem]:
    for path, limit in _limits(reservations, quotas):
        if limit.generation.standing(limit.zone) is None:
            yield zone_without(limit.generation, limit.zone, subject((*path, "zone")))


def _limits(reservations: Items[Reservation], quotas: Items[Quota]) -> Iterator[tuple[YamlPath, Reservation | Quota]]:
    yield from ((("reservations", index), each) for index, each in reservations)
    yield from ((("quotas", index), each) for index, each in quotas)


def _limit_projects(
    reservations: Items[Reservation], quotas: Items[Quota], estate: Estate, subject: Subject
) -> Iterator[Problem]:
    """A limit of a project that no stack is in binds nothing."""
    known = sorted({each.project for each in estate})
    for path, limit in _limits(reservations, quotas):
        if limit.project not in known:
            rule = "no stack is in this project, so the limit would bind nothing"
            fix = suggestion(limit.project, known, "the project of a stack")
            yield Problem(subject((*path, "project")), shown(limit.project), rule, fix)


def _reserved_pools(
    pools: Items[Pool], slices: Items[Slices], reservations: tuple[Reservation, ...], project: str, subject: Subject
) -> Iterator[Problem]:
    by_name = {each.name: each for each in reservations}
    for path, pool, zones, capacity in _reserved(pools, slices):
        where, name = subject((*path, "capacity", "reserved")), capacity.reservation
        if name in by_name:
            yield from _reservation_misfits(project, pool, zones, by_name[name], where)
        else:
            fix = suggestion(name, by_name, "declare it under tidepool:reservations")
            yield Problem(where, shown(name), "the stack declares no reservation of this name", fix)


def _reserved(
    pools: Items[Pool], slices: Items[Slices]
) -> Iterator[tuple[YamlPath, Pool | Slices, tuple[str, ...], Reserved]]:
    """Every place that draws on a reservation: the path of who says so, its pool, its zones, and the reservation."""
    for index, pool in pools:
        if isinstance(pool.capacity, Reserved):
            yield ("pools", index), pool, tuple(pool.zones), pool.capacity
        for number, each in enumerate(pool.fallback):
            if isinstance(each.capacity, Reserved):
                yield ("pools", index, "fallback", number), pool, (each.zone,), each.capacity
    for index, entry in slices:
        if isinstance(entry.capacity, Reserved):
            yield ("slices", index), entry, (entry.zone,), entry.capacity


def _one_limit_a_place(reservations: Items[Reservation], quotas: Items[Quota], subject: Subject) -> Iterator[Problem]:
    rules = {
        "reservations": "a second reservation for one project, zone and generation: a VM cannot choose",
        "quotas": "a second quota for one project, zone, generation and kind",
    }
    seen: dict[str, YamlPath] = {}
    for path, limit in _limits(reservations, quotas):
        first = seen.setdefault(_key(limit), path)
        if first != path:
            rule = f"{rules[str(path[0])]}; {render(first)} is the first"
            yield Problem(subject(path), _identity(limit), rule, "one of them")


def _stacks_agree(
    reservations: Items[Reservation], quotas: Items[Quota], siblings: Sequence[StackConfig], subject: Subject
) -> Iterator[Problem]:
    """A limit is one fact of Google's: stacks that both declare it declare it alike."""
    for path, limit in _limits(reservations, quotas):
        for other in siblings:
            for theirs in (*other.reservations, *other.quotas):
                if _key(theirs) == _key(limit) and theirs != limit:
                    rule = f"stack {other.stack} declares it too, and otherwise: {_differences(limit, theirs)}"
                    yield Problem(subject(path), _identity(limit), rule, "the same in both stacks")


def _chips_within_limits(
    config: StackConfig,
    pools: Items[Pool],
    slices: Items[Slices],
    reservations: Items[Reservation],
    quotas: Items[Quota],
    siblings: Sequence[StackConfig],
    subject: Subject,
) -> Iterator[Problem]:
    """Limits of this stack, and those that another stack alone declares, which bind this one too."""
    own = {_key(limit): (limit, subject((*path, "chips"))) for path, limit in _limits(reservations, quotas)}
    theirs = {
        _key(limit): (limit, f"{stack_source(other.stack)} {PULUMI_PROJECT}:{section}")
        for other in siblings
        for section in ("reservations", "quotas")
        for limit in getattr(other, section)
    }
    for key, (limit, declared) in (theirs | own).items():
        account = ledger.account(limit, [config, *siblings])
        draws = [each for each in (*account.windows, *account.draws) if each.stack == config.stack]
        largest = max(draws, key=lambda each: each.chips, default=None)
        if largest is not None:
            yield from _overdrawn(account, declared, subject(_line(largest, limit, pools, slices)))
        elif key in own:
            yield from _overdrawn(account, declared, declared)


def _line(
    draw: ledger.Draw | ledger.WindowDraw, limit: Reservation | Quota, pools: Items[Pool], slices: Items[Slices]
) -> YamlPath:
    """Where the stack says how many slices draw on a limit."""
    if isinstance(draw, ledger.Draw) and draw.of_runs:
        return ("runs", "at_once")
    for index, entry in slices:
        if entry.name == draw.pool:
            return ("slices", index, "number" if entry.number is not None else "maximum")
    place, pool = next((("pools", index), each) for index, each in pools if each.name == draw.pool)
    if isinstance(draw, ledger.WindowDraw):
        adds = draw.window.adds
        zone = limit.zone if limit.zone in adds else max(adds, key=lambda each: adds[each])
        return (*place, "windows", pool.windows.index(draw.window), "adds", zone)
    return (*place, "zones", limit.zone) if draw.slices else (*place, "fallback")


def _reservation_misfits(
    project: str, pool: Pool | Slices, zones: Sequence[str], held: Reservation, where: str
) -> Iterator[Problem]:
    if any(zone != held.zone for zone in zones):
        rule = f"reservation {held.name} is in {held.zone}; the pool is in {', '.join(zones)}"
        yield Problem(where, shown(held.name), rule, "a pool of that zone alone")
    if pool.accelerator.generation is not held.generation:
        rule = f"reservation {held.name} is of {held.generation.name}; the pool is {pool.accelerator}"
        yield Problem(where, shown(held.name), rule, f"a reservation of {pool.accelerator.generation.name}")
    if held.project != project:
        rule = f"reservation {held.name} is held by project {held.project}; the stack is in {project}"
        yield Problem(where, shown(held.name), rule, f"a reservation of {project}")


def _identity(limit: Reservation | Quota) -> str:
    """What makes two declarations speak of the same limit, for people."""
    kind = f" {limit.kind}" if isinstance(limit, Quota) else ""
    return f"{limit.project} {limit.zone} {limit.generation}{kind}"


def _key(limit: Reservation | Quota) -> str:
    return f"{_identity(limit)} {type(limit).__name__}"


def _differences(one: Reservation | Quota, other: Reservation | Quota) -> str:
    fields = (field for field in type(one).model_fields if getattr(one, field) != getattr(other, field))
    return ", ".join(f"{field} {getattr(other, field)}" for field in fields)


def _overdrawn(account: ledger.LimitAccount, declared: str, where: str) -> Iterator[Problem]:
    """declared: where the limit stands. where: the largest number that draws on it."""
    limit = account.limit
    what = f"{limit.kind} quota" if isinstance(limit, Quota) else "reservation"
    exceeded = f"{limit.generation} {what} exceeded in {limit.zone}"
    at = None if account.remaining < 0 else account.overdrawn(calendar.midnight())
    if account.remaining < 0:
        less = "1 chip less" if account.remaining == -1 else f"{-account.remaining} chips less"
        fix = f"counts that take {less}, or the {what}'s true size"
    elif at:
        exceeded += f" at {at.at:%Y-%m-%d %H:%M} UTC"
        fix = f"windows that do not meet then, fewer VMs in them, or the {what}'s true size"
    else:
        return
    said = "" if declared == where else f"; the {what} is declared at {declared}"
    yield Problem(where, "", f"{exceeded}: {account.sum_shown(at)}{said}", fix)


RULES: tuple[Rule, ...] = (
    _limit_zones,
    _limit_projects,
    _reserved_pools,
    _one_limit_a_place,
    _stacks_agree,
    _chips_within_limits,
)
