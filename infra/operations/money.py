"""What a stack costs in a month, by the records of the VMs that stood: of runs, and of its pools.

Owns which records are read. Does not own the sums (`infra.model.usage`). A run's VM is in the record of its day. How
long a VM of a pool stood is what the controller remembers of it: the latest changes of state, and since when it is
READY; from before the oldest of them nothing is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

from infra.fleet.controller import memory as memories
from infra.fleet.controller.events import EventKind, FleetEvent, Result, Verb
from infra.fleet.controller.keys import NodeKey
from infra.fleet.controller.memory import Memory
from infra.fleet.google import GoogleError
from infra.fleet.records import Records
from infra.model import names
from infra.model.catalogue import CapacityKind
from infra.model.facts import facts
from infra.model.fleet import every_slot
from infra.model.run_records import day_records
from infra.model.schema import StackConfig
from infra.model.usage import MonthCost, Usage, month_bounds, month_cost
from infra.model.week import standing
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.looks import open_fleet
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.stacks.stack_file import known_stacks

_READY: Final = "READY"
_DELETING: Final = (Verb.DELETE, Verb.RECREATE)


def cost(
    stacks: Iterable[str], month: str = "", cloud: CloudName | None = None, teller: Teller = SILENT,
    now: datetime | None = None,
) -> list[MonthCost]:  # fmt: skip
    """What each stack (all, where none is named) cost in a month, this one where none is named.

    now: the moment up to which is counted, this one where none is given.
    """
    at = now or datetime.now(UTC)
    asked = month or f"{at:%Y-%m}"
    try:
        start, end = month_bounds(asked)
    except (ValueError, OverflowError):
        raise Refusal(f"--month {asked!r} is not a month; write it as {at:%Y-%m}") from None
    if start > at:
        raise Refusal(f"--month {asked} has not begun; `./tidepool explain STACK` says what is declared to cost")
    return [_of_stack(stack, asked, end, at, cloud, teller) for stack in stacks or known_stacks()]


def _of_stack(
    stack: str, month: str, end: datetime, now: datetime, cloud: CloudName | None, teller: Teller
) -> MonthCost:
    fleet = open_fleet(stack, cloud, teller)
    config, start = fleet.config, month_bounds(month)[0]
    try:
        with fleet.place.records() as records:
            # One that began at the end of the last month may stand in this one.
            days = _days((start - timedelta(days=2)).date(), min(now, end).date())
            usages = [*run_usages(records, days, now), *_pool_usages(records, config, now)]
    except (GoogleError, ValueError) as error:
        raise Failure(f"what {stack} cost cannot be read: {error}; `./tidepool up {stack}` makes its records") from None
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
    """US dollars of the VMs that pools have from one instant to another, in windows too; slices are not counted."""
    rows = (each for pool in config.pools for each in standing(config, pool, begin, end))
    return sum((each.usd or Decimal(0) for each in rows), Decimal(0)) if begin < end else Decimal(0)


def _days(first: date, last: date) -> Iterator[date]:
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def run_usages(records: Records, days: Iterable[date], now: datetime) -> Iterator[Usage]:
    """The VMs that runs made on these days, for as long as they stood."""
    for day in days:
        for each in day_records(records.body(names.run_day_object(day))):
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


@dataclass(frozen=True, slots=True)
class _Shape:
    pool: str
    accelerator: str


def _pool_usages(records: Records, config: StackConfig, now: datetime) -> Iterator[Usage]:
    found = records.read(names.memory_object(config.stack))
    if found is not None:
        yield from pool_usages(memories.read(found.body), config, now)


def pool_usages(memory: Memory, config: StackConfig, now: datetime) -> Iterator[Usage]:
    """VMs of pools that stand READY, and those that did, as far as changes of their state are remembered.

    The controller remembers VMs of others in its zones too; those cost this stack nothing.
    """
    shapes: Mapping[str, _Shape] = {
        slot.name: _Shape(slot.pool.name, slot.pool.accelerator.name) for slot in every_slot(config)
    }
    capacities = {pool.name: pool.capacity.kind for pool in config.pools}
    changes = [each for each in memory.events if each.kind in (EventKind.LISTED, EventKind.STATE)]
    mine_now = {key: node for key, node in memory.nodes.items() if node.ours}
    keys = {*mine_now, *(NodeKey(each.zone, each.subject) for each in changes)}
    for key in sorted(keys):
        node = mine_now.get(key)
        mine = [each for each in changes if (each.zone, each.subject) == key]
        deletes = [each for each in memory.events if each.subject == key.name and each.verb in _DELETING]
        shape = shapes.get(key.name) or _Shape("(not declared)", node.accelerator if node else "")
        present = [(node.since, now)] if node and node.state == _READY and not node.missing else []
        past = [each for each in _past([*mine, *deletes]) if not present or each[0] < present[0][0]]
        for start, end in [*past, *present]:
            yield Usage(
                vm=key.name,
                pool=shape.pool,
                accelerator=shape.accelerator,
                zone=key.zone,
                capacity=capacities.get(shape.pool) or (node.capacity if node else CapacityKind.ON_DEMAND),
                start=start,
                end=end,
            )


def _past(changes: Iterable[FleetEvent]) -> Iterator[tuple[datetime, datetime]]:
    """The times in which a node was READY and is no more.

    Of one whose window is over no later change of state is remembered: it ends where its deletion was decided, unless
    that came to nothing.
    """
    since: datetime | None = None
    gone: datetime | None = None
    for event in sorted(changes, key=lambda each: each.at):
        if event.verb is not None:
            gone = event.at if event.kind is EventKind.DECIDED or event.result is Result.DEFERRED else None
        elif since is not None and (gone or event.before == _READY):
            yield since, gone or event.at
            since = gone = None
        if event.state == _READY:
            since, gone = event.at, None
    if since is not None and gone is not None:
        yield since, gone
