"""`./tidepool refresh STACK`: take over into the state what the cloud says, and show how the pools stand."""

from __future__ import annotations

import click
from rich.text import Text

from infra.cli import options
from infra.cli.documents import run_document
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, show
from infra.cli.render.outcome import drift
from infra.cli.render.pools import pools_table
from infra.cli.render.progress import Progress
from infra.cli.session import declared, interruptible, open_session
from infra.engines.protocol import CloudName, EngineName
from infra.engines.states import list_nodes, pool_states
from infra.model.fleet import capacity


@click.command(name="refresh", short_help="Take over into the state what the cloud says.")
@options.stack_argument
@options.place_options
@options.work_options
@options.yes_option
@options.json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    stack: str,
    engine: EngineName | None,
    cloud: CloudName | None,
    targets: tuple[str, ...],
    parallel: int,
    yes: bool,
    as_json: bool,
) -> None:
    """Read every resource of the state from its cloud and record what it says. Nothing in the cloud is changed.

    A preempted VM is no difference here, it still exists: the table of pools shows it.
    """
    config = declared(stack).config
    session = open_session(
        stack, engine=engine, cloud=cloud, console=people(as_json=as_json), parallel=parallel, targets=targets
    )
    session.ask_before_google(f"Reading every resource of {stack}", yes=yes)
    with interruptible(stack, "refresh"), Progress(session.console, lines=False) as progress:
        run = session.engine().refresh(progress)
        seconds = progress.seconds
    for line in drift(run, seconds):
        session.say(line)
    listing = list_nodes(config, session.endpoint)
    pools = pool_states(capacity(config), listing)
    session.say(Text())
    show(session.console, pools_table(pools))
    code = FAILED if run.failed or listing.silent else 0
    if as_json:
        machines(run_document(run, seconds=seconds, code=code) | {"pools": [pool.to_json() for pool in pools]})
    ctx.exit(code)
