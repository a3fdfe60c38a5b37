"""What a stack costs in a month, by the records of the VMs that stood: of runs, and of its pools.

Owns which records are read. Does not own the sums (`infra.model.usage`). A run's VM is in the record of its day, which
its client writes; one of a pool in those of the days on which it stood, which the controller's sweeps write
(`infra.model.stood`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Any, TypeVar

from infra.fleet.google import GoogleError
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model.facts import facts
from infra.model.run_records import day_records, of_stack
from infra.model.schema import StackConfig
from infra.model.stood import read_day, together
from infra.model.usage import MonthCost, Usage, month_bounds, month_cost
from infra.model.week import standing
from infra.operations.declared.stack_file import known_stacks
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.looks import Fleet, open_fleet
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.session import clock_without_cloud

T = TypeVar("T")


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
            usages = [*run_usages(records, stack, days, now), *pool_usages(records, stack, days)]
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
        budget=config.budget.usd_per_month if config.budget else None,
        standing=declared_cost(config, now, end),
    )


def declared_cost(config: StackConfig, begin: datetime, end: datetime) -> Decimal:
    """US dollars of the VMs that pools have from one instant to another, in windows too; slices are not counted.

    Those of a window stand on until a sweep sees that it is over, and for the grace time; what jobs then run on for is
    not known before.
    """
    if begin >= end:
        return Decimal(0)
    kept = config.controller
    drained = Decimal(kept.every_minutes + kept.grace_minutes) / 60
    rows = [each for pool in config.pools for each in standing(config, pool, begin, end)]
    after = [(each.usd or Decimal(0)) / each.hours * drained for each in rows if each.window and each.hours]
    return sum((each.usd or Decimal(0) for each in rows), Decimal(0)) + sum(after, Decimal(0))


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


def pool_usages(records: Records, stack: str, days: Iterable[date]) -> Iterator[Usage]:
    """The VMs of pools that stood READY on these days, each for as long as it stood."""
    found = (_read(records, bucket_names.stood_day_object(stack, day), read_day) for day in days)
    for each in together(day for day in found if day is not None):
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
