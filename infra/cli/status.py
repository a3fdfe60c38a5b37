"""`./tidepool status`, `why` and `manifest show`: how fleets stand, and one VM's story. They change nothing."""

from __future__ import annotations

import json
import time

import click
from rich.console import Console
from rich.text import Text

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.echo import echo
from infra.cli.render.console import is_live, machines, people, say
from infra.cli.render.status import show_status
from infra.cli.render.teller import ConsoleTeller
from infra.cli.render.times import ago, due
from infra.operations.fleet.looks import published_manifest
from infra.operations.fleet.status import Statuses
from infra.operations.fleet.why import Story, why
from infra.operations.ports import CloudName
from infra.operations.session import cloud_without_engine, open_cloud
from infra.operations.stacks.stack_file import stack_file

_STYLES = {"controller": "cyan", "vm": "green", "broker": "magenta", "tpu api": "blue"}


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
    statuses = Statuses(stack=stack, cloud=cloud, teller=ConsoleTeller(console))
    while True:
        found = statuses.look()
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


@click.command(name="why", short_help="Tell one VM's story: made, booted, registered, jobs, healed.")
@click.argument("vm", metavar="VM")
@options.stack_option
@options.cloud_option
@options.json_option
def why_command(*, vm: str, stack: str | None, cloud: CloudName | None, as_json: bool) -> None:
    """Tell the story of VM, or of a runner's VM, in order: created, booted step by step, registered, jobs, taken away,
    healed; with how it stands now and what the controller does next. Times are UTC.

    It reads what the controller remembers, the VM's own report and the broker's record, and changes nothing.
    """
    console = people(as_json=as_json)
    story = why(vm, stack=stack, cloud=cloud, teller=ConsoleTeller(console))
    if as_json:
        machines(story.to_json() | {"exit": 0})
    else:
        _show(console, story, cloud_without_engine(cloud).cloud.said)


@click.group(name="manifest", short_help="Show the desired fleet in the fleet bucket.")
def manifest_command() -> None:
    """Show the manifest: the desired fleet of a stack as one JSON document in its fleet bucket.

    The program declares it, so that every apply publishes it.
    """


@manifest_command.command(name="show")
@options.stack_argument
@options.cloud_option
@options.yes_option
@options.json_option
def show_command(*, stack: str, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Print the manifest as it is in the bucket, which is JSON with and without --json."""
    config = stack_file(stack).config
    session = open_cloud(cloud, ConsoleTeller(people(as_json=True)))
    ask_before_google(f"Reading the manifest of {stack}", session.cloud, yes=yes)
    record = published_manifest(config, session.endpoint)
    if as_json:
        machines({"generation": record.generation, "manifest": record.body})
    else:
        echo(json.dumps(record.body, indent=2))


def _show(console: Console, told: Story, cloud: str) -> None:
    say(console, Text.assemble((told.vm, "bold"), f"  of {told.stack} on {cloud}, at {told.at:%Y-%m-%d %H:%M:%S} UTC"))
    for line in told.now:
        say(console, f"  now: {line}")
    for step in told.next:
        when = f" at {due(step.at, told.at)}, {ago(step.at, told.at)}" if step.at else ""
        say(console, f"  next{when}: {step.what}")
    if not told.lines:
        say(console, "no story is known: it was never made, or nobody remembers")
    width = max((len(ago(line.at, told.at)) for line in told.lines), default=0)
    for line in told.lines:
        when = f"{line.at:%m-%d %H:%M:%S}  {ago(line.at, told.at):>{width}}  "
        say(console, Text.assemble(when, (f"{line.source:<10}", _STYLES[line.source]), f"  {line.what}"))
