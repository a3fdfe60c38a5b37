"""`./tidepool adopt STACK`: take into the state the VMs that stand and that it lacks, and change nothing else."""

from __future__ import annotations

import click

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.documents import run_document
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people
from infra.cli.render.outcome import show_outcome
from infra.cli.render.progress import Progress
from infra.cli.render.teller import ConsoleTeller
from infra.operations.ports import CloudName, EngineName, Tone
from infra.operations.session import open_session
from infra.operations.stacks.declared import declared
from infra.operations.stacks.state import adopt


@click.command(name="adopt", short_help="Take into the state the VMs that stand and that it lacks.")
@options.stack_argument
@options.place_options
@options.yes_option
@options.json_option
@click.pass_context
def command(
    ctx: click.Context, *, stack: str, engine: EngineName | None, cloud: CloudName | None, yes: bool, as_json: bool
) -> None:
    """Take into the state every VM that stands under a declared slot's name with this stack's labels and that the state
    lacks: one that the controller made after a stockout, or that an apply made and was killed before it wrote that
    down. Nothing in the cloud is changed.

    `up` and `preview` do this by themselves. This is for a plain `pulumi up`, which fails with 409 on such a VM. A VM
    with other labels is named and left alone, and the exit code is 1.
    """
    declared(stack)
    console = people(as_json=as_json)
    session = open_session(stack, engine=engine, cloud=cloud, teller=ConsoleTeller(console))
    ask_before_google(f"Writing the state of {stack}", session.cloud, yes=yes)
    progress = Progress(console)
    run = adopt(session, progress)
    if run.steps or run.failed:
        show_outcome(console, run, progress.seconds)
    else:
        session.say(f"{stack}: nothing to adopt, in {progress.seconds:.1f} s", Tone.GOOD)
    code = FAILED if run.failed else 0
    if as_json:
        machines(run_document(run, seconds=progress.seconds, code=code))
    ctx.exit(code)
