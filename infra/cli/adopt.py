"""`./tidepool adopt STACK`: take into the state the VMs that stand and that it lacks, and change nothing else."""

from __future__ import annotations

import click
from rich.text import Text

from infra.cli import options
from infra.cli.documents import run_document
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people
from infra.cli.render.outcome import outcome
from infra.cli.render.progress import Progress
from infra.cli.session import declared, interruptible, open_session
from infra.engines.protocol import CloudName, EngineName


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
    session = open_session(stack, engine=engine, cloud=cloud, console=people(as_json=as_json))
    session.ask_before_google(f"Writing the state of {stack}", yes=yes)
    with interruptible(stack, "adopt"), Progress(session.console) as progress:
        run = session.engine().adopt(progress)
        seconds = progress.seconds
    if run.steps or run.failed:
        for line in outcome(run, seconds):
            session.say(line)
    else:
        session.say(Text(f"{stack}: nothing to adopt, in {seconds:.1f} s", style="green"))
    code = FAILED if run.failed else 0
    if as_json:
        machines(run_document(run, seconds=seconds, code=code))
    ctx.exit(code)
