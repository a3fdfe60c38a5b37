"""`./tidepool reconcile STACK`: one sweep of the controller, or with --watch one after another.

Owns how many sweeps there are, and when they end. What a sweep does is `infra.fleet.controller`; where it happens,
`infra.operations.fleet.place`; what is said of it, `infra.cli.render.sweeps`; its lines for a log,
`infra.fleet.sweep_log`.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import click
from rich.console import Console
from rich.text import Text

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.echo import echo
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say
from infra.cli.render.sweeps import SweepTeller, left
from infra.cli.render.teller import ConsoleTeller
from infra.cli.where import works_on
from infra.fleet.controller.act import CALL_SECONDS
from infra.fleet.controller.lease import LeaseTakenError
from infra.fleet.controller.outcomes import Result
from infra.fleet.controller.sweep import Sweeper, SweepError, Swept
from infra.fleet.google import GoogleError, clients
from infra.fleet.place import told_place
from infra.fleet.sweep_log import SweepLog
from infra.operations.errors import Failure, Interruption
from infra.operations.fleet.place import declared_place, guests_at
from infra.operations.ports import CloudName
from infra.operations.session import open_cloud
from infra.operations.stacks.stack_file import stack_file

MOST_SWEEPS: Final = 500
"""After so many on the local cloud, something never ends."""

_SHOWN: Final = 10
"""Lines of what is left, so that a fleet that is held as a whole still fits a screen."""

_CUT_OFF: Final = (
    "Interrupted in a sweep: what it had asked of Google and GitHub goes on there, and the rest was not done. "
    "The next sweep looks at all of it anew."
)


@click.command(name="reconcile", short_help="Bring the fleet to what its manifest says, as the controller does.")
@options.stack_argument
@options.cloud_option
@click.option("--watch", is_flag=True, help="Sweep again and again, until interrupted.")
@click.option(
    "--until-settled",
    is_flag=True,
    help="Sweep until nothing is left to do, and say what changes. On the local cloud its clock is moved.",
)
@click.option(
    "--retry",
    is_flag=True,
    help="In the first sweep that can begin, make again what could not be made, though it has to wait.",
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
    retry: bool,
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

    --until-settled ends with exit code 1 once all that is left stands: what a person paused, what a freeze window holds
    for more than an hour yet, what needs chips that others have, what would take away a pool's one serving runner, and
    what hangs on a source that could not be asked for an hour.

    Exit code 0 when the sweep did all that it decided, 1 when something of it failed or it could not begin.
    """
    if as_json and log:
        raise click.UsageError("--json and --log are two forms of the same; say one")
    console = people(as_json=as_json or log is not None)
    place = None if cloud is CloudName.LOCAL else told_place(stack, os.environ)
    if place is None:
        config = stack_file(stack).config
        session = open_cloud(cloud, ConsoleTeller(console))
        ask_before_google(f"Reconciling the fleet of {stack}", session.cloud, yes=yes)
        place = declared_place(config, session.endpoint)
    else:
        works_on(CloudName.GOOGLE)
    guests = guests_at(place.endpoint)
    pause = guests.advance if guests and until_settled else time.sleep
    with clients(place.project, place.endpoint, hurried=True, seconds=CALL_SECONDS) as google, _between_sweeps():
        sweeper = place.sweeper(stack, google, pause=pause)
        lines = SweepLog.told(stack, place, google, os.environ, echo) if log else None
        teller = SweepTeller(console=console, only_changes=until_settled)
        tell = lines.swept if lines else _as_json if as_json else teller.tell
        for number in itertools.count(1):
            if guests:
                guests.settle()
            swept = _one(sweeper, console, lines=lines, goes_on=watch, retry=retry)
            retry = retry and swept is None
            if swept is not None:
                tell(swept)
            if not (watch or until_settled):
                break
            if until_settled and swept is not None and swept.settled:
                if tell == teller.tell:
                    teller.settled(swept)
                break
            if until_settled and swept is not None and swept.decision.at_rest:
                raise Failure(_unsettled("more sweeps change nothing, a person or time does", swept))
            if guests and until_settled and number >= MOST_SWEEPS:
                said = f"after {number} sweeps there is still something to do or to wait for"
                raise Failure(_unsettled(said, swept) if swept else said)
            pause(every)
    ctx.exit(FAILED if swept is None or _failed(swept) else 0)


@contextmanager
def _between_sweeps() -> Generator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Interruption("Interrupted between two sweeps: nothing is half done.") from None


def _one(sweeper: Sweeper, console: Console, *, lines: SweepLog | None, goes_on: bool, retry: bool) -> Swept | None:
    """One sweep. Where others follow, one that cannot begin ends nothing: it is None."""
    try:
        return sweeper.sweep(retry=retry)
    except KeyboardInterrupt:
        raise Interruption(_CUT_OFF) from None
    except (LeaseTakenError, SweepError, GoogleError) as error:
        if lines:
            lines.unswept(str(error))
        if not goes_on:
            raise Failure(str(error)) from None
        say(console, Text(str(error), style="yellow"))
        return None


def _as_json(swept: Swept) -> None:
    machines(swept.to_json())


def _unsettled(said: str, swept: Swept) -> str:
    """Why it ends, and all that is left."""
    lines = left(swept)
    more = [f"and {len(lines) - _SHOWN} more (--json has all)"] if len(lines) > _SHOWN else []
    return "\n  ".join([f"{said}; what is left:", *lines[:_SHOWN], *more])


def _failed(swept: Swept) -> bool:
    return any(outcome.result is Result.FAILED for outcome in swept.outcomes)
