"""`./tidepool run-on`: one command on a TPU VM that is made for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.cli.echo import host_log
from infra.operations import run_on as runs
from infra.operations.ports import RUN_SECONDS
from infra.preview.toned import Tone


def _listed(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in value.split(",") if each.strip())


@click.command()
@click.argument("accelerator", metavar="ACCELERATOR")
@click.argument("argv", metavar="-- COMMAND [ARGUMENT]...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--stack", default="", metavar="STACK", help="Whose runs it is one of; the one that may have such a VM.")
@click.option(
    "--zones", default="", metavar="ZONE,...", callback=_listed, help="Zones in the order in which they are tried."
)
@click.option(
    "--capacity", "kinds", default="", metavar="KIND,...", callback=_listed,
    help="spot, preemptible, on-demand: each in all zones, then the next. The pool's own if not given.",
)  # fmt: skip
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True, help="How often each is tried.")
@click.option("--image", default="", metavar="IMAGE@sha256:...", help="Run in this image; else on the VM itself.")
@click.option("--env", metavar="NAME=VALUE", multiple=True, callback=options.pairs, help="A variable; may be repeated.")
@click.option(
    "--tree", type=click.Path(path_type=Path), default=Path(), show_default="this folder",
    help="The folder that is copied: what git tracks or would track of it.",
)  # fmt: skip
@click.option("--no-tree", is_flag=True, help="Copy nothing.")
@click.option(
    "--result", "results", multiple=True, metavar="PATH", help="What comes back, as in out/*.xml; repeatable."
)
@click.option(
    "--into", type=click.Path(path_type=Path), default=Path("run-results"), show_default=True, help="Where to."
)
@click.option("--limit", type=options.Duration(), default=f"{RUN_SECONDS}s", show_default=True, help="Of the command.")
@click.option("--suite", default="", metavar="NAME", help="What it is counted as in the record of runs.")
@options.each(options.cloud_option, options.yes_option, options.json_option)
@called
def command(call: Invocation, *, no_tree: bool, tree: Path, limit: float, argv: tuple[str, ...], **given: Any) -> int:
    """Make a TPU VM, run COMMAND on it in a copy of this folder, bring back results, and delete the VM.

    The VM is deleted whatever happens: when the command ends or fails, on Ctrl-C and TERM; and where this process is
    killed, by the controller once the VM's time to live is over. Which VMs may be made, where and how many a day is
    tidepool:runs of the stack file. On the local cloud the command runs on this machine.

    Exit code 0 when the command ended well and no VM is left, else 1: `reason` of --json says why (docs/runs.md).
    """
    order = runs.RunOrder(**given, command=argv, tree=None if no_tree else tree, limit=int(limit), stack=call.stack)

    ended = runs.run_on(
        order, cloud=call.cloud, teller=call.teller, log=host_log(call.as_json), agree=call.ask_before_google
    )
    if not call.as_json:
        call.say(*runs.ended_lines(ended), tone=Tone.PLAIN if ended.done else Tone.PROBLEM)
    sys.stdout.flush()
    return call.end(ended, failed=not ended.done)
