"""`./tidepool status [STACK]`: how fleets stand now, in a table, or as JSON; with --watch again and again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import click
from rich.console import Console

from infra.cli import options
from infra.cli.render.console import is_live, machines, people, say
from infra.cli.render.status import show_status
from infra.cli.render.teller import ConsoleTeller
from infra.fleet.google import GoogleError
from infra.fleet.policies import GrantsSeen
from infra.fleet.status.derive import status
from infra.fleet.status.shape import FleetStatus
from infra.model.errors import ConfigError
from infra.model.fleet import slots
from infra.operations.fleet.looks import Fleet, open_fleet
from infra.operations.ports import CloudName
from infra.operations.session import cloud_without_engine
from infra.operations.stacks.grants import policies_of
from infra.operations.stacks.stack_file import known_stacks
from infra.operations.workspace import workspace


@click.command(name="status", short_help="Say how pools, VMs, runners and queues stand.")
@click.argument("stack", metavar="[STACK]", required=False)
@options.cloud_option
@click.option("--watch", is_flag=True, help="Look again and again, until interrupted.")
@click.option(
    "--every", type=click.FloatRange(1), default=15.0, show_default=True, help="With --watch: seconds between looks."
)
@options.json_option
def command(*, stack: str | None, cloud: CloudName | None, watch: bool, every: float, as_json: bool) -> None:
    """Say how the fleet of STACK, or of every stack that declares or has VMs, stands now: pools with what is desired,
    READY, online and busy, what of the stack file is not applied, jobs that wait for their labels, what is unhealthy
    and since when, what has no owner on either side, the controller's last sweep, and what it does next; and grants in
    the policies of its registries, buckets, accounts and secrets that no stack declares, which --watch reads once.

    It looks for itself, at every zone and at GitHub, and changes nothing. What does not answer is said to be unknown.
    On Google Cloud, GitHub is asked with the token in GITHUB_TOKEN.

    Exit code 0 whatever it finds; --json says `healthy`.
    """
    console = people(as_json=as_json)
    if stack is not None:
        open_fleet(stack, cloud, ConsoleTeller(console))
    grants: dict[str, GrantsSeen] = {}
    while True:
        # Stack files are read for each look: whoever watches may wait for their own edit to be applied.
        fleets = list(_fleets(known_stacks() if stack is None else (stack,), cloud, console))
        if not fleets:
            say(console, f"there is no stack: {workspace().root / 'stacks'} has no Pulumi.STACK.yaml")
        grants |= {fleet.stack: _grants(fleet) for fleet in fleets if fleet.stack not in grants}
        looks = [_look(fleet, grants[fleet.stack]) for fleet in fleets]
        found = [look.status for look in looks if stack is not None or look.is_told]
        if as_json:
            machines({"stacks": [each.to_json() for each in found], "exit": 0}, indent=None if watch else 2)
        else:
            if watch and is_live(console):
                console.clear()
            for each in found:
                say(console, "")
                show_status(console, each, cloud_without_engine(cloud).cloud.said)
        if not watch:
            return
        time.sleep(every)


@dataclass(frozen=True, slots=True)
class _Look:
    """How one stack stands. is_told: whether also where nobody has named it.

    It then declares VMs, or has some, or that is not known.
    """

    status: FleetStatus
    is_told: bool = True


def _fleets(stacks: Iterable[str], cloud: CloudName | None, console: Console) -> Iterator[Fleet | FleetStatus]:
    """Of every stack the fleet, or how it stands where its file does not say where it is; that hides no other."""
    for name in stacks:
        try:
            yield open_fleet(name, cloud, ConsoleTeller(console))
        except ConfigError as error:
            problem = str(error.problems[0]).replace("\n ", ";")
            yield FleetStatus(stack=name, at=datetime.now(UTC), problems=(problem,))


def _grants(fleet: Fleet | FleetStatus) -> GrantsSeen:
    """What no stack declares; nothing is said of it where the stack file does not say all that is declared."""
    if isinstance(fleet, FleetStatus) or fleet.trouble:
        return GrantsSeen()
    return policies_of(fleet.config, fleet.place.endpoint)


def _look(fleet: Fleet | FleetStatus, grants: GrantsSeen) -> _Look:
    """A stack that cannot be looked at hides no other, and is not hidden either."""
    if isinstance(fleet, FleetStatus):
        return _Look(fleet)
    try:
        found = status(fleet.look(with_jobs=True), None if fleet.trouble else fleet.config)
    except GoogleError as error:
        problems = (str(error), fleet.trouble) if fleet.trouble else (str(error),)
        return _Look(FleetStatus(stack=fleet.stack, at=datetime.now(UTC), problems=problems))
    found = replace(found, grants=grants.strange, unread=grants.unread)
    if fleet.trouble:
        return _Look(replace(found, problems=(*found.problems, fleet.trouble)))
    has_vms = found.orphan_vms or any(pool.desired for pool in found.pools)
    return _Look(found, is_told=bool(has_vms or slots(fleet.config)))
