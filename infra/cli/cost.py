"""`./tidepool cost`: what a month costs, by run, suite and pool, and what it will have cost at its end."""

from __future__ import annotations

from collections.abc import Iterator

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.model import usage
from infra.operations import money
from infra.preview.toned import columns

_SHOWN = 15
_VERDICT = {True: "; over it", False: "", None: "; whether it suffices is not known"}


@click.command()
@options.stacks_argument
@click.option("--month", default="", metavar="YYYY-MM", help="Which month, in UTC; this one if not given.")
@options.cloud_option
@options.json_option
@called
def command(call: Invocation, *, stacks: tuple[str, ...], month: str) -> int:
    """Say what a month costs by list prices: the VMs that stood, by run, suite and pool, and the forecast.

    VMs of runs and of pools are those in the records of their days. Exit code 1
    where a budget is spent, or will be by the forecast, and where what a stack cost cannot be read.
    """
    found = money.costs(stacks, month, call.cloud, call.teller)
    body = {
        "stacks": [each.to_json() for each in found.months],
        "notUp": list(found.absent),
        "problems": list(found.problems),
    }
    lines = [line for each in found.months for line in _lines(each)]
    lines += [f"{stack}: not deployed, so it cost nothing. Run `./tidepool up {stack}`." for stack in found.absent]
    lines += [f"not known: {why}" for why in found.problems]
    return call.end(body, *lines, failed=bool(found.problems) or any(each.over_budget for each in found.months))


def _lines(each: usage.MonthCost) -> Iterator[str]:
    total = each.total
    until = f"{each.until:%d %b %H:%M} UTC"
    yield f"{each.stack} in {each.month}: {total.usd} until {until}, {total.vms} VMs on record"
    if each.forecast is not None:
        yield f"  forecast to its end: {each.forecast}"
    if each.worst is not None and each.worst != each.forecast:
        yield f"  in the worst case: {each.worst}"
    if each.budget is not None:
        yield f"  budget: ${each.budget:,.2f} a month{_VERDICT[each.over_budget]}"
    yield from (f"  not known: {why}" for why in each.unknown)
    for title, found in (("POOL", each.pools), ("SUITE", each.suites), ("RUN", each.runs)):
        yield from (
            f"  {line}" for line in columns((title, "VMS", "HOURS", "USD"), [_row(one) for one in found[:_SHOWN]])
        )
        if len(found) > _SHOWN:
            yield f"  ... and {len(found) - _SHOWN} more; --json has all"
    yield f"  by list prices of {each.priced}; disks, traffic and discounts are not counted"


def _row(line: usage.Line) -> tuple[str, ...]:
    return line.key, str(line.vms), f"{line.rounded_hours:.2f}", f"{line.rounded:,.4f}"
