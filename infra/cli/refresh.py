"""`./tidepool refresh STACK`: take over into the state what the cloud says, and show how the pools stand."""

from __future__ import annotations

import click

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.documents import run_document
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say
from infra.cli.render.outcome import drift
from infra.cli.render.pools import show_pools
from infra.cli.render.progress import Progress
from infra.cli.render.teller import ConsoleTeller
from infra.operations.ports import CloudName, EngineName
from infra.operations.session import open_session
from infra.operations.stacks.declared import declared
from infra.operations.stacks.pools import pools_now
from infra.operations.stacks.state import refresh


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

    What differs from the state is told, the state of a VM too (READY -> PREEMPTED), and what is gone. A new etag or
    fingerprint alone is no difference. A preempted VM still exists, so that up alone does not make it again: the line
    below the table of pools says how.
    """
    config = declared(stack).config
    console = people(as_json=as_json)
    session = open_session(
        stack, engine=engine, cloud=cloud, teller=ConsoleTeller(console), parallel=parallel, targets=targets
    )
    ask_before_google(f"Reading every resource of {stack}", session.cloud, yes=yes)
    progress = Progress(console, lines=False)
    run = refresh(session, progress)
    for line in drift(run, progress.seconds):
        say(console, line)
    pools, silent = pools_now(config, session.endpoint)
    say(console, "")
    show_pools(console, stack, pools)
    code = FAILED if run.failed or silent else 0
    if as_json:
        document = run_document(run, seconds=progress.seconds, code=code)
        machines(document | {"pools": [pool.to_json() for pool in pools]})
    ctx.exit(code)
