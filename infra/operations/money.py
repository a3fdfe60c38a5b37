"""What a stack costs in a month, by the records of the VMs that stood: of runs, and of its pools.

Owns which records are read. Does not own the sums (`infra.model.usage`). A run's VM is in the record of its day, which
its client writes; one of a pool in those of the days on which it stood, which the controller's sweeps write
(`infra.model.stood`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Any, TypeVar

from infra.fleet.google import GoogleError
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model.dollars import NOTHING, Dollars
from infra.model.facts import facts
from infra.model.run_records import day_records, of_stack
from infra.model.schema import StackConfig
from infra.model.stood import HEARTBEAT, StoodDay, read_day, together
from infra.model.usage import MonthCost, Usage, month_bounds, month_cost
from infra.model.week import WHEN_ASKED, Standing, runs_worst, standing
from infra.operations.declared.stack_file import known_stacks
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.looks import Fleet, open_fleet
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.session import clock_without_cloud

T = TypeVar("T")
_LATE = 2 * HEARTBEAT
"""After the last sweep that wrote down which VMs are READY: from then on nobody measures."""


class NotUp(Failure):
    """A stack whose bucket does not exist: nothing of it was made, so that it has cost nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What stacks cost in a month. absent: those that are not up. problems: of stacks that cannot be read, why."""

    months: tuple[MonthCost, ...]
    absent: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def costs(stacks: Iterable[str], month: str = "", cloud: CloudName | None = None, teller: Teller = SILENT) -> Costs:
    """What each stack (all, where none is named) cost in a month; one that is not up or not known hides no other."""
    now = clock_without_cloud(cloud)()
    months, absent, problems = list[MonthCost](), list[str](), list[str]()
    for stack in stacks or known_stacks():
        try:
            months.append(cost(stack, month, cloud, teller, now))
        except Refusal:
            raise
        except NotUp:
            absent.append(stack)
        except (Failure, GoogleError) as error:
            problems.append(str(error))
    return Costs(months=tuple(months), absent=tuple(absent), problems=tuple(dict.fromkeys(problems)))


def cost(
    stack: str, month: str = "", cloud: CloudName | None = None, teller: Teller = SILENT, now: datetime | None = None
) -> MonthCost:
    """What a stack cost in a month, this one where none is named. NotUp where its bucket does not exist.

    now: the moment up to which is counted, the cloud's own time where none is given.
    """
    if month:
        _bounds(month)
    fleet = open_fleet(stack, cloud, teller)
    at = now or fleet.place.clock()
    asked = month or f"{at:%Y-%m}"
    start, _ = _bounds(asked)
    if start > at:
        raise Refusal(f"--month {asked} has not begun; `./tidepool explain STACK` says what is declared to cost")
    return _of_fleet(fleet, asked, at)


def _bounds(month: str) -> tuple[datetime, datetime]:
    try:
        return month_bounds(month)
    except (ValueError, OverflowError):
        raise Refusal(f"--month {month!r} is not a month; write it as YYYY-MM") from None


def _of_fleet(fleet: Fleet, month: str, now: datetime) -> MonthCost:
    stack, config = fleet.stack, fleet.config
    start, end = _bounds(month)
    try:
        with fleet.place.records() as records:
            # One that began at the end of the last month may stand in this one.
            days = list(_days((start - timedelta(days=2)).date(), min(now, end).date()))
            seen = list(stood(records, stack, days))
            usages = [*run_usages(records, stack, days, now), *pool_usages(seen)]
    except GoogleError as error:
        makes = f"`./tidepool up {stack}` makes its records"
        if error.status == HTTPStatus.NOT_FOUND:
            raise NotUp(f"{stack}: not deployed. Run `./tidepool up {stack}`") from None
        raise Failure(f"what {stack} cost cannot be read: {error}; {makes}") from None
    except ValueError as error:
        raise Failure(f"what {stack} cost cannot be read: {error}") from None
    return month_cost(
        stack,
        month,
        usages,
        now,
        priced=str(facts("prices")["as_of"]),
        unmeasured=unmeasured(config, seen, start, min(now, end)),
        budget=config.budget.usd_per_month if config.budget else None,
        standing=declared_cost(config, now, end),
        worst=worst_cost(config, now, end),
    )


def unmeasured(config: StackConfig, seen: Sequence[StoodDay], start: datetime, until: datetime) -> Dollars:
    """What a stack may have spent from `start` to `until` that no record has: slices of its cluster, which no sweep
    counts, and VMs of pools after the last sweep.
    """
    missing = NOTHING
    if config.slices:
        missing += Dollars.missing(
            f"how long slices of cluster {config.cluster.name if config.cluster else ''} existed"
        )
    if config.pools:
        last = max((each.seen for each in seen if each.seen >= start), default=None)
        if last is None:
            missing += Dollars.missing("VMs of pools: no sweep of the controller has recorded them")
        elif until - last > _LATE:
            missing += Dollars.missing(f"VMs of pools since the last sweep, at {last:%Y-%m-%d %H:%M} UTC")
    return missing


def declared_cost(config: StackConfig, begin: datetime, end: datetime) -> Dollars:
    """What VMs and slices cost that are declared from one instant to another.

    VMs of a window exist until a sweep sees that it is over, and for the grace time; what jobs then run on for is not
    known before.
    """
    return _ahead(config, begin, end, lambda each: each.usd)


def worst_cost(config: StackConfig, begin: datetime, end: datetime) -> Dollars:
    """The same at the dearest of their places, with all slices and all VMs that runs may make."""
    runs = runs_worst(config, begin, end) if begin < end else NOTHING
    return _ahead(config, begin, end, lambda each: each.worst) + runs


def _ahead(config: StackConfig, begin: datetime, end: datetime, cost: Callable[[Standing], Dollars]) -> Dollars:
    if begin >= end:
        return NOTHING
    kept = config.controller
    drained = Decimal(kept.every_minutes + kept.grace_minutes) / 60
    rows = list(standing(config, begin, end))
    late = [cost(each) / each.hours * drained for each in rows if each.window not in (None, WHEN_ASKED) and each.hours]
    return sum((*map(cost, rows), *late), NOTHING)


def _days(first: date, last: date) -> Iterator[date]:
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def run_usages(records: Records, stack: str, days: Iterable[date], now: datetime) -> Iterator[Usage]:
    """The VMs that runs of a stack made on these days, for as long as they stood.

    Stacks may share a bucket, and with it the record of a day.
    """
    for day in days:
        for each in of_stack(_read(records, bucket_names.run_day_object(day), day_records), stack):
            seconds = each.vm_seconds(int(now.timestamp()))
            if each.start is not None and seconds:
                began = datetime.fromtimestamp(each.start, UTC)
                yield Usage(
                    vm=each.vm,
                    pool=each.pool,
                    accelerator=each.accelerator,
                    zone=each.zone,
                    capacity=each.capacity,
                    start=began,
                    end=began + timedelta(seconds=seconds),
                    run=each.run,
                    suite=each.suite,
                )


def stood(records: Records, stack: str, days: Iterable[date]) -> Iterator[StoodDay]:
    """What sweeps wrote of these days."""
    found = (_read(records, bucket_names.stood_day_object(stack, day), read_day) for day in days)
    yield from (day for day in found if day is not None)


def pool_usages(days: Iterable[StoodDay]) -> Iterator[Usage]:
    """The VMs of pools that were READY on these days, each for as long as it was."""
    for each in together(days):
        yield Usage(
            vm=each.vm,
            pool=each.pool or "(not declared)",
            accelerator=each.accelerator,
            zone=each.zone,
            capacity=each.capacity,
            start=each.start,
            end=each.end or each.start,
        )


def _read(records: Records, name: str, read: Callable[[Mapping[str, Any] | None], T]) -> T:
    try:
        return read(records.body(name))
    except ValueError as error:
        raise ValueError(f"gs://{records.bucket}/{name}: {error}; mend it, or delete it with what it counts") from None
