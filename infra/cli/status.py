"""`./tidepool status [STACK]`: how fleets stand now, in a table, or as JSON; with --watch again and again."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import click

from infra.cli import options
from infra.cli.fleet_looks import Fleet, fleets_declared, open_fleet
from infra.cli.grants import policies_of
from infra.cli.render.console import is_live, machines, people, say
from infra.cli.render.status import show_status
from infra.engines.protocol import CloudName
from infra.fleet.google import GoogleError
from infra.fleet.policies import GrantsSeen
from infra.fleet.status.derive import status
from infra.fleet.status.shape import FleetStatus


@click.command(name="status", short_help="Say how pools, VMs, runners and queues stand.")
@click.argument("stack", metavar="[STACK]", required=False)
@options.cloud_option
@click.option("--watch", is_flag=True, help="Look again and again, until interrupted.")
@click.option(
    "--every", type=click.FloatRange(1), default=15.0, show_default=True, help="With --watch: seconds between looks."
)
@options.json_option
def command(*, stack: str | None, cloud: CloudName | None, watch: bool, every: float, as_json: bool) -> None:
    """Say how the fleet of STACK, or of every stack that declares VMs, stands now: pools with what is desired, READY,
    online and busy, jobs that wait for their labels, what is unhealthy and since when, what has no owner on either
    side, the controller's last sweep, and what it does next; and grants in the policies of its registries, buckets,
    accounts and secrets that no stack declares, which --watch reads once.

    It looks for itself, at every zone and at GitHub, and changes nothing. What does not answer is said to be unknown.
    On Google Cloud, GitHub is asked with the token in GITHUB_TOKEN.

    Exit code 0 whatever it finds; --json says `healthy`.
    """
    console = people(as_json=as_json)
    fleets = [open_fleet(name, cloud, console) for name in fleets_declared(stack)]
    grants = {fleet.stack: policies_of(fleet.config, fleet.place.endpoint) for fleet in fleets}
    while True:
        found = [_status(fleet, grants[fleet.stack]) for fleet in fleets]
        if as_json:
            document = {"stacks": [each.to_json() for each in found], "exit": 0}
            _one_line(document) if watch else machines(document)
        else:
            if watch and is_live(console):
                console.clear()
            for each in found:
                say(console, "")
                show_status(console, each)
        if not watch:
            return
        time.sleep(every)


def _status(fleet: Fleet, grants: GrantsSeen) -> FleetStatus:
    """A stack that cannot be looked at hides no other."""
    try:
        found = status(fleet.look(with_jobs=True))
        return replace(found, grants=grants.strange, unread=grants.unread)
    except GoogleError as error:
        return FleetStatus(stack=fleet.stack, at=datetime.now(UTC), problems=(str(error),))


def _one_line(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document))
