"""`./tidepool status`, `why`, `logs`, `ssh` and `manifest show`: how fleets stand, and why. They change nothing."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from infra.cli import options
from infra.cli.call import Invocation, called, called_aside
from infra.cli.echo import echo, machines
from infra.cli.render import console as consoles
from infra.cli.render import watch as screens
from infra.operations import session as sessions
from infra.operations.declared import stack_file as stack_files
from infra.operations.fleet import looks, status_words, vm_logs, watch_words, way_in
from infra.operations.fleet import status as fleet_status
from infra.operations.why import answer, why_words
from infra.preview.toned import Tone
from infra.tools import collector

if TYPE_CHECKING:
    from infra.operations.fleet.status import FleetStatus


@click.command()
@click.argument("within", metavar="[STACK]", required=False, type=options.StackName())
@options.cloud_option
@click.option("--watch", is_flag=True, help="Look again and again, until interrupted.")
@click.option(
    "--every", type=click.FloatRange(1), default=15.0, show_default=True, help="With --watch: seconds between looks."
)
@options.json_option
@called
def status_command(call: Invocation, *, watch: bool, every: float) -> None:
    """Say how the fleet of STACK, or of every stack that declares or has VMs, stands now: pools with what is desired,
    READY, online and busy, what of the stack file is not applied, jobs that wait for their labels, what is unhealthy
    and since when, what has no owner on either side, the controller's last sweep, and what it does next; and grants in
    the policies of its registries, buckets, accounts and secrets that no stack declares, which --watch reads once.

    It looks for itself, at every zone and at GitHub, and changes nothing. What does not answer is said to be unknown.
    On Google Cloud, GitHub is asked with the token in GITHUB_TOKEN.

    With --watch a terminal has one screen: counts, then what is worst. What is no terminal gets all of it each time.

    Exit code 0 whatever it finds; --json says `healthy`.
    """
    statuses = fleet_status.Statuses(stack=call.within, cloud=call.cloud, teller=call.teller)
    if not watch:
        _tell(call, statuses.look(), indent=2)
        return
    collector.as_usual()
    with suppress(KeyboardInterrupt):
        if consoles.is_live(call.console) and not call.as_json:
            shown = statuses.look()
            with screens.screen(call.console, lambda size: watch_words.watched(shown, **size, every=every)):
                while True:
                    time.sleep(every)
                    shown = statuses.look()
        while True:
            _tell(call, statuses.look(), indent=None)
            time.sleep(every)


def _tell(call: Invocation, found: tuple[FleetStatus, ...], indent: int | None) -> None:
    if call.as_json:
        machines({"stacks": [each.to_json() for each in found], "exit": 0}, indent=indent)
        return
    for each in found:
        call.say("", *status_words.status_shown(each, sessions.cloud_without_engine(call.cloud).cloud.said))


@click.command()
@click.argument("name", metavar="[KIND/]NAME", type=options.Name("pool", "zone", "vm", "dask", "group", "queue"))
@options.each(options.stack_option, options.cloud_option, options.json_option)
@called
def why_command(call: Invocation, *, name: str) -> None:
    """Say why what has this NAME is as it is, and what comes next. Times are UTC.

    A pool or a zone: declared VMs, those that serve, why each other does not, what waits; of a zone limits and
    stockouts too. A VM or its runner: its timeline. A run of run-on: where it is or how it ended, and its cost. A
    workflow's job that waits: for which pools. A training job, a Dask class, a group, a queue: what it waits for.

    What is several things is asked for as KIND/NAME: pool, zone, vm, run, job, training, dask, group, queue. Nothing is
    changed.
    """
    told = answer.why(name, stack=call.within, cloud=call.cloud, teller=call.teller)
    call.end(told)
    where = sessions.cloud_without_engine(call.cloud).cloud.said
    call.say(*() if call.as_json else why_words.why_shown(told, where))


@click.command()
@click.argument("vm", metavar="VM", type=options.Name("vm"))
@click.option("--tail", type=click.IntRange(1), default=100, show_default=True, help="How many lines, the last ones.")
@options.each(options.stack_option, options.cloud_option, options.json_option)
@called_aside
def logs_command(call: Invocation, *, vm: str, tail: int) -> int:
    """Print the last lines of VM, or of a runner's VM: what its supervisor left in the fleet bucket, and what Google
    keeps of its machine in Cloud Logging. The Cloud TPU API gives no serial console. Secrets are masked.

    Exit code 1 where VM is declared, does not stand and left nothing; 2 where it is neither declared nor there.
    """
    log = vm_logs.vm_log(vm, tail=tail, stack=call.within, cloud=call.cloud, teller=call.teller)
    call.say(*log.notes, tone=Tone.WARNING)
    return call.end(log, *vm_logs.log_lines(log))


@click.command()
@click.argument("vm", metavar="VM", type=options.Name("vm"))
@click.option("--worker", type=click.IntRange(0), default=0, show_default=True, help="Which host of a slice.")
@click.option("--print", "shows", is_flag=True, help="Print the command of gcloud, and run nothing.")
@options.each(options.stack_option, options.cloud_option, options.json_option)
@called_aside
def ssh_command(call: Invocation, *, vm: str, worker: int, shows: bool) -> int:
    """Open a shell on VM through Google's tunnel, by `gcloud compute tpus tpu-vm ssh`.

    No VM of the fleet has a way in: a person allows it first. Firewall and your roles are looked at, and what lacks is
    said with the command that allows it. Exit code 1 where something lacks, or nothing was run: without gcloud, or on
    the local cloud, whose guests are simulated.
    """
    way = way_in.way_in(vm, worker=worker, stack=call.within, cloud=call.cloud, teller=call.teller)
    call.say(*way.notes, *(f"{each.what}; allow it with:\n  {each.allow}" for each in way.lacks), tone=Tone.WARNING)
    runs = not (shows or call.as_json)
    if runs and not way.simulated:
        if shutil.which(way.command[0]) is None:
            call.say("gcloud is not installed: https://docs.cloud.google.com/sdk/docs/install", tone=Tone.WARNING)
        elif not way.lacks:
            os.execvp(way.command[0], way.command)  # noqa: S606 - words, and no shell
    return call.end(way, way.line, failed=bool(way.lacks) or runs)


@click.group(cls=options.Group)
def manifest_command() -> None:
    """Show the manifest: the desired fleet of a stack as one JSON document in its fleet bucket.

    The program declares it, so that every apply publishes it.
    """


@manifest_command.command()
@options.each(options.stack_argument, options.cloud_option, options.yes_option, options.json_option)
@called_aside
def show(call: Invocation) -> None:
    """Print the manifest as it is in the bucket, which is JSON with and without --json."""
    config = stack_files.stack_file(call.stack).config
    session = call.cloud_session()
    call.ask_before_google(f"Reading the manifest of {call.stack}", session.cloud)
    record = looks.published_manifest(config, session.endpoint)
    if call.as_json:
        machines({"generation": record.generation, "manifest": record.body})
    else:
        echo(json.dumps(record.body, indent=2))
