"""`./tidepool zone lost|found ZONE`: give up a zone for a stack's fleet, or take that back.

Owns the wish. What follows of it is the controller's, from its next sweep on.
"""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.render.console import machines, people
from infra.cli.render.teller import ConsoleTeller
from infra.cli.wish import wish
from infra.fleet import wishes
from infra.fleet.controller import memory as memories
from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Records
from infra.model import names
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.looks import Fleet, fleets_declared, open_fleet
from infra.operations.ports import CloudName
from infra.operations.stacks.stack_file import stack_file

F = TypeVar("F", bound=Callable[..., Any])


@click.group(name="zone", short_help="Give up a zone that does not come back, or take that back.")
def command() -> None:
    """What people know of a zone and the controller cannot: that its VMs are gone though nobody can list them."""


def _about(function: F) -> F:
    """ZONE and the options that both have."""
    for option in (options.json_option, options.yes_option, options.cloud_option, options.stack_option):
        function = option(function)
    return click.argument("zone", metavar="ZONE")(function)


@command.command(name="lost")
@_about
def lost_command(*, zone: str, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Make nothing in ZONE any more; once it was silent for ten minutes its VMs count as gone, and fallbacks serve.

    VMs of a zone that answers stay. If the zone comes back with VMs whose slots were made elsewhere, one of each two
    takes no more jobs, and is deleted once it has none.
    """
    fleet = _fleet(zone, stack, cloud, f"Giving up {zone}", yes=yes, as_json=as_json)
    since = fleet.place.clock()
    wish(fleet, lambda body: wishes.with_lost(body, zone, getpass.getuser(), since))
    _answer(fleet, zone, "lost", as_json=as_json)


@command.command(name="found")
@_about
def found_command(*, zone: str, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Make VMs in ZONE again. Those at fallbacks come home as after a stockout."""
    fleet = _fleet(zone, stack, cloud, f"Taking back that {zone} is lost", yes=yes, as_json=as_json)
    wish(fleet, lambda body: wishes.without_lost(body, zone))
    _answer(fleet, zone, "found", as_json=as_json)


def _fleet(zone: str, stack: str | None, cloud: CloudName | None, what: str, *, yes: bool, as_json: bool) -> Fleet:
    zones = {
        name: {each for pool in stack_file(name).config.pools for each in pool.reach} for name in fleets_declared(stack)
    }
    having = [name for name, each in zones.items() if zone in each]
    if len(having) > 1:
        raise Refusal(f"{' and '.join(having)} have VMs in {zone}; say --stack, once for each")
    if not having and stack is None:
        raise Refusal(f"{_nowhere(zone, zones)}; of a zone that a stack file had once, say --stack")
    fleet = open_fleet(having[0] if having else stack or "", cloud, ConsoleTeller(people(as_json=as_json)))
    if not having and zone not in _remembered(fleet):
        raise Refusal(f"{_nowhere(zone, zones)}, and the controller remembers none there")
    ask_before_google(f"{what} for {fleet.stack}", fleet.session.cloud, yes=yes)
    return fleet


def _nowhere(zone: str, zones: Mapping[str, set[str]]) -> str:
    every = sorted({each for found in zones.values() for each in found})
    return f"no pool may have a VM in {zone}; zones are {', '.join(every) or 'none'}"


def _remembered(fleet: Fleet) -> set[str]:
    """Zones that the controller watches, or that were given up, though nothing is declared there any more."""
    try:
        with clients(fleet.place.project, fleet.place.endpoint) as google:
            records = Records(google=google, bucket=fleet.place.bucket)
            memory = records.read(names.memory_object(fleet.stack))
            wished = records.read(names.wishes_object(fleet.stack))
        lost = wishes.read_wishes(wished.body).lost if wished else {}
        return {*memories.read(memory.body if memory else None).zones, *lost}
    except (GoogleError, memories.UnreadableMemoryError) as error:
        raise Failure(f"nothing was changed: {error}") from None


def _answer(fleet: Fleet, zone: str, what: str, *, as_json: bool) -> None:
    fleet.session.say(f"{zone} is {what} for {fleet.stack}; the controller obeys at its next sweep")
    if as_json:
        machines({"stack": fleet.stack, "zone": zone, "wish": what, "exit": 0})
