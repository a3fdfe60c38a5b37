"""`./tidepool reconcile STACK`: one sweep of the controller, or with --watch one after another.

Owns what is asked before the first sweep, and how each is told. How many there are is `infra.operations.reconcile`;
where they happen, `infra.operations.fleet.place`; what is said of them, `infra.cli.render.sweeps`. On Cloud Run
`infra.fleet.service` sweeps.
"""

from __future__ import annotations

import os
from typing import Final

import click
from rich.text import Text

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.echo import echo
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say
from infra.cli.render.sweeps import SweepTeller, left
from infra.cli.render.teller import ConsoleTeller
from infra.cli.where import works_on
from infra.operations.errors import Failure, Interruption
from infra.operations.fleet.place import declared_place, guests_at, told_place
from infra.operations.ports import CloudName
from infra.operations.reconcile import EVERY, UnsettledError, Unswept, reconcile
from infra.operations.session import open_cloud
from infra.operations.stacks.stack_file import stack_file

_SHOWN: Final = 10
"""Lines of what is left, so that a fleet that is held as a whole still fits a screen."""


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
@click.option("--every", type=click.FloatRange(1), default=EVERY, show_default=True, help="Seconds between two sweeps.")
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
    guests = None
    if place is None:
        config = stack_file(stack).config
        session = open_cloud(cloud, ConsoleTeller(console))
        ask_before_google(f"Reconciling the fleet of {stack}", session.cloud, yes=yes)
        place = declared_place(config, session.endpoint)
        guests = guests_at(session.endpoint)
    else:
        works_on(CloudName.GOOGLE)
    last = None
    teller = SweepTeller(console=console, only_changes=until_settled)
    try:
        for last in reconcile(
            stack, place, watch=watch, until_settled=until_settled, retry=retry, every=every, guests=guests,
            log=echo if log else None,
        ):  # fmt: skip
            if isinstance(last, Unswept):
                if watch:
                    say(console, Text(last.reason, style="yellow"))
            elif as_json:
                machines(last.to_json())
            elif not log:
                teller.tell(last)
    except UnsettledError as error:
        raise Failure(_unsettled(error)) from None
    except KeyboardInterrupt as error:
        raise Interruption(str(error) or "Interrupted between two sweeps: nothing is half done.") from None
    if last is None or isinstance(last, Unswept):
        ctx.exit(FAILED)
    if until_settled and not (as_json or log):
        teller.settled(last)
    ctx.exit(FAILED if last.failed else 0)


def _unsettled(error: UnsettledError) -> str:
    """Why it ends, and all that is left."""
    if error.swept is None:
        return str(error)
    lines = left(error.swept)
    more = [f"and {len(lines) - _SHOWN} more (--json has all)"] if len(lines) > _SHOWN else []
    return "\n  ".join([f"{error}; what is left:", *lines[:_SHOWN], *more])
