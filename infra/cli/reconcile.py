"""`./tidepool reconcile` and `broker`: by hand what `infra.fleet.service` does on Cloud Run.

Owns what is asked before the first sweep. How many sweeps there are is `infra.operations.reconcile`, what is told of
them `infra.operations.sweep_words`; where they happen, `infra.operations.fleet.looks`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click

from infra.cli import options
from infra.cli.call import Invocation, called, called_aside
from infra.cli.echo import echo, machines, works_on
from infra.cli.failures import FAILED
from infra.operations import broker, sweep_words
from infra.operations import reconcile as reconciling
from infra.operations.errors import Failure, Interruption
from infra.operations.fleet import looks
from infra.operations.ports import SWEEP_SECONDS, CloudName
from infra.preview.toned import Tone


@click.command()
@options.each(options.stack_argument, options.cloud_option)
@click.option("--watch", is_flag=True, help="Sweep again and again, until interrupted.")
@click.option(
    "--until-settled", is_flag=True,
    help="Sweep until nothing is left to do, and say what changes. On the local cloud its clock is moved.",
)  # fmt: skip
@click.option(
    "--retry", is_flag=True,
    help="In the first sweep that can begin, make again what could not be made, though it has to wait.",
)  # fmt: skip
@click.option(
    "--every",
    type=click.FloatRange(1),
    default=SWEEP_SECONDS,
    show_default=True,
    help="Seconds between two sweeps; a VM that is lost, or gone at last, begins one at once.",
)
@options.each(options.yes_option, options.json_option)
@click.option(
    "--log",
    type=click.Choice(["json"]),
    help="Print lines for Cloud Logging, one JSON object each, as on Cloud Run: docs/controller.md has their events.",
)
@called
def reconcile_command(
    call: Invocation, *, watch: bool, until_settled: bool, retry: bool, every: float, log: str | None
) -> int:
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
    stack, as_json = call.stack, call.as_json
    if as_json and log:
        raise click.UsageError("--json and --log are two forms of the same; say one")
    call = replace(call, aside=log is not None)
    agree = partial(call.ask_before_google, f"Reconciling the fleet of {stack}")
    place, guests = looks.swept_place(stack, call.cloud, call.teller, agree)
    works_on(CloudName.GOOGLE if place.endpoint is None else CloudName.LOCAL)
    last, news = None, sweep_words.SweepNews(only_changes=until_settled)
    try:
        for last in reconciling.reconcile(
            stack, place, watch=watch, until_settled=until_settled, retry=retry, every=every, guests=guests,
            log=echo if log else None,
        ):  # fmt: skip
            if isinstance(last, reconciling.Unswept):
                if watch:
                    call.say(last.reason, tone=Tone.WARNING)
            elif as_json:
                machines(last.to_json())
            elif not log:
                call.say(*news.of(last))
    except reconciling.UnsettledError as error:
        raise Failure(sweep_words.unsettled(error)) from None
    except KeyboardInterrupt as error:
        raise Interruption(str(error) or "Interrupted between two sweeps: nothing is half done.") from None
    if last is None or isinstance(last, reconciling.Unswept):
        return FAILED
    if until_settled and not (as_json or log):
        call.say(news.settled(last))
    return FAILED if last.failed else 0


@click.group(cls=options.Group)
def broker_command() -> None:
    """The token broker gives TPU VMs their runner registrations, so that no VM holds a credential of GitHub."""


@broker_command.command()
@options.each(options.stack_argument, options.cloud_option)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; 0.0.0.0 in a container.")
@click.option("--port", type=click.IntRange(1, 65535), default=8080, show_default=True, envvar="PORT", show_envvar=True)
@click.option("--json", "as_json", is_flag=True, help="Print each decision on stdout as one line of JSON.")
@called_aside
def serve(call: Invocation, *, host: str, port: int) -> None:
    """Serve the broker of STACK until it is interrupted, and print every decision.

    Its settings are environment variables (docs/broker.md). With --cloud local, or where TIDEPOOL_BROKER_AUDIENCE
    is not set, they are made up for the local cloud, whose GitHub gets an app for it.
    """
    ready = broker.broker(call.stack, port, call.cloud, call.teller)
    at = f"http://{host}:{port}, audience {ready.settings.audience}"
    call.say(f"the broker of {call.stack} on {ready.cloud.said} listens at {at}")
    told = broker.line if call.as_json else broker.said
    ready.serve(lambda facts: echo(told(facts)), host=host, port=port)
