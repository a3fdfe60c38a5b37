"""`./tidepool logs` and `ssh`: one VM, by Google's own tools."""

from __future__ import annotations

import os
import shutil
import sys

import click

from infra.cli import options
from infra.cli.call import Invocation, called_aside
from infra.operations.fleet import vm_logs, way_in
from infra.preview.toned import Tone

_vm = click.argument("vm", metavar="VM", type=options.Name("vm"))
_about = options.each(options.stack_option, options.cloud_option, options.json_option)


@click.command()
@_vm
@click.option("--tail", type=click.IntRange(1), default=100, show_default=True, help="How many lines, the last ones.")
@_about
@called_aside
def logs_command(call: Invocation, *, vm: str, tail: int) -> int:
    """Print the last lines of VM, or of a runner's VM: what its supervisor left in the fleet bucket, and what Google
    keeps of its machine in Cloud Logging. The Cloud TPU API gives no serial console. Secrets are masked.

    `why VM` tells the same VM's whole story, with what the controller and the broker did.
    """
    log = vm_logs.vm_log(vm, tail=tail, stack=call.within, cloud=call.cloud, teller=call.teller)
    call.say(*log.notes, tone=Tone.WARNING)
    return call.end(log.to_json(), *vm_logs.log_lines(log))


@click.command()
@_vm
@click.option("--worker", type=click.IntRange(0), default=0, show_default=True, help="Which host of a slice.")
@click.option("--print", "shows", is_flag=True, help="Print the command of gcloud, and run nothing.")
@_about
@called_aside
def ssh_command(call: Invocation, *, vm: str, worker: int, shows: bool) -> int:
    """Open a shell on VM through Google's tunnel, by `gcloud compute tpus tpu-vm ssh`.

    No VM of the fleet has a way in: a person allows it first. Firewall and your roles are looked at, and what lacks is
    said with the command that allows it. Exit code 1 where something lacks, or gcloud is not installed.
    """
    way = way_in.way_in(vm, worker=worker, stack=call.within, cloud=call.cloud, teller=call.teller)
    call.say(*way.notes, *(f"{each.what}; allow it with:\n  {each.allow}" for each in way.lacks), tone=Tone.WARNING)
    if not (shows or call.as_json or way.lacks) and shutil.which("gcloud"):
        sys.stdout.flush()
        os.execvp(way.command[0], way.command)  # noqa: S606 - words, and no shell
    return call.end(way.to_json(), way.line, failed=not shows)
