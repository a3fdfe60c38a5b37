"""`./tidepool reconcile STACK`: one sweep of the controller, or with --watch one after another.

Owns how a sweep is printed. What a sweep does is `infra.fleet.controller`; where it happens, `infra.cli.fleet_place`;
its lines for a log are `infra.cli.sweep_log`'s.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from typing import Final

import click
from rich.console import Console
from rich.text import Text

from infra.cli import options
from infra.cli.failures import FAILED, Failure
from infra.cli.fleet_place import Place, declared_place, told_place
from infra.cli.local_guests import local_guests
from infra.cli.render.console import machines, people, say
from infra.cli.session import declared, open_session
from infra.cli.sweep_log import SweepLog
from infra.engines.protocol import CloudName
from infra.fleet.controller.act import Actor
from infra.fleet.controller.actions import subject
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.lease import LeaseTakenError
from infra.fleet.controller.outcomes import Result
from infra.fleet.controller.sweep import Sweeper, SweepError, Swept, summary
from infra.fleet.google import Clients, GoogleError, clients
from infra.fleet.records import Records

MOST_SWEEPS: Final = 500
"""After so many on the local cloud, something never ends."""


@click.command(name="reconcile", short_help="Bring the fleet to what its manifest says, as the controller does.")
@options.stack_argument
@options.cloud_option
@click.option("--watch", is_flag=True, help="Sweep again and again, until interrupted.")
@click.option(
    "--until-settled",
    is_flag=True,
    help="Sweep until nothing is left to do. On the local cloud its clock is moved in place of waiting.",
)
@click.option("--every", type=click.FloatRange(1), default=120.0, show_default=True, help="Seconds between two sweeps.")
@options.yes_option
@options.json_option
@click.option(
    "--log",
    type=click.Choice(["json"]),
    help="Print lines for Cloud Logging, one JSON object each, as on Cloud Run: docs/controller.md has their events.",
)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    stack: str,
    cloud: CloudName | None,
    watch: bool,
    until_settled: bool,
    every: float,
    yes: bool,
    as_json: bool,
    log: str | None,
) -> None:
    """Look at every zone and at GitHub, decide by the rules of docs/controller.md, and act within its limits.

    It works from the manifest in the fleet bucket, which `./tidepool up` publishes, and holds the lease that `up`
    holds. On Google Cloud, GitHub is asked through the broker, or by hand with the token in GITHUB_TOKEN; without
    either, nothing that needs GitHub's word is done. Where TIDEPOOL_PROJECT and TIDEPOOL_BUCKET are set, as on Cloud
    Run, no stack file is read.

    Exit code 0 when the sweep did all that it decided, 1 when something of it failed or it could not begin.
    """
    if as_json and log:
        raise click.UsageError("--json and --log are two forms of the same; say one")
    console = people(as_json=as_json or log is not None)
    place = None if cloud is CloudName.LOCAL else told_place(stack, os.environ)
    if place is None:
        config = declared(stack).config
        session = open_session(stack, engine=None, cloud=cloud, console=console)
        session.ask_before_google(f"Reconciling the fleet of {stack}", yes=yes)
        place = declared_place(config, session.endpoint)
    guests = local_guests(place.endpoint)
    pause = guests.advance if guests and until_settled else time.sleep
    with clients(place.project, place.endpoint) as google:
        sweeper = _sweeper(stack, place, google, pause)
        lines = SweepLog(stack=stack, place=place, google=google) if log else None
        for number in itertools.count(1):
            if guests:
                guests.settle()
            swept = _one(sweeper, console, as_json=as_json, lines=lines, goes_on=watch)
            if not (watch or until_settled) or (until_settled and swept is not None and swept.settled):
                break
            if guests and until_settled and number >= MOST_SWEEPS:
                raise Failure(f"after {number} sweeps there is still something to do or to wait for")
            pause(every)
    ctx.exit(FAILED if swept is None or _failed(swept) else 0)


def _one(sweeper: Sweeper, console: Console, *, as_json: bool, lines: SweepLog | None, goes_on: bool) -> Swept | None:
    """One sweep, printed. Where others follow, one that cannot begin ends nothing: it is None."""
    try:
        swept = sweeper.sweep()
    except (LeaseTakenError, SweepError, GoogleError) as error:
        if lines:
            lines.unswept(str(error))
        if not goes_on:
            raise Failure(str(error)) from None
        say(console, Text(str(error), style="yellow"))
        return None
    if lines:
        lines.swept(swept)
    elif as_json:
        machines(swept.to_json())
    else:
        _show(console, swept)
    return swept


def _failed(swept: Swept) -> bool:
    return any(outcome.result is Result.FAILED for outcome in swept.outcomes)


def _show(console: Console, swept: Swept) -> None:
    say(console, f"{swept.at:%Y-%m-%d %H:%M:%S} {summary(swept)}")
    for outcome in swept.outcomes:
        kind = type(outcome.action).__name__.lower()
        result = "" if outcome.result is Result.DONE else f" {outcome.result.value}: {outcome.text}"
        say(console, f"  {kind} {subject(outcome.action)}: {outcome.action.reason}{result}")
    for held in swept.decision.held:
        say(console, Text(f"  held {subject(held.action)}: {held.why}", style="yellow"))
    for waiting in swept.decision.waiting:
        until = f" (until {waiting.until:%H:%M})" if waiting.until else ""
        say(console, Text(f"  waiting {waiting.subject}: {waiting.reason}{until}", style="dim"))
    for finding in swept.decision.findings:
        say(console, Text(f"  stands {finding.subject}: {finding.reason} (since {finding.since:%H:%M})", style="dim"))


def _sweeper(stack: str, place: Place, google: Clients, pause: Callable[[float], None]) -> Sweeper:
    records = Records(google=google, bucket=place.bucket)

    def actor(desired: Desired) -> Actor:
        return Actor(google=google, records=records, github=place.github, desired=desired, sleep=pause)

    return Sweeper(stack=stack, records=records, observer=place.observer, actor=actor, clock=place.clock)
