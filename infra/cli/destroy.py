"""`./tidepool destroy STACK`: delete all that a stack has made, after asking."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import click

from infra.cli import options
from infra.cli.documents import run_document
from infra.cli.failures import FAILED, Failure
from infra.cli.leased import leased
from infra.cli.render.console import machines, people
from infra.cli.render.outcome import outcome
from infra.cli.render.progress import Progress
from infra.cli.session import Session, declared, interruptible, open_session
from infra.engines.protocol import CloudName, EngineName
from infra.fleet.controller.lease import Kind
from infra.fleet.google import GoogleError
from infra.fleet.withdraw import declare_again, withdraw
from infra.model.errors import ConfigError
from infra.model.schema import StackConfig
from infra.preview.words import ranges


@click.command(name="destroy", short_help="Delete all that a stack has made.")
@options.stack_argument
@options.place_options
@options.work_options
@click.option("--exclude-protected", is_flag=True, help="Leave protected resources and what they need.")
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
    exclude_protected: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete all that a stack has made. Asks first, on every cloud.

    Registries, secrets and the fleet bucket are protected: while the state has them, nothing is deleted at all, unless
    --exclude-protected leaves them or --target names what shall go.
    """
    session = open_session(
        stack, engine=engine, cloud=cloud, console=people(as_json=as_json), parallel=parallel, targets=targets
    )
    work = session.engine(continue_on_error=True, exclude_protected=exclude_protected)
    vms = _vms(work.outputs())
    if vms and not targets:
        session.say(f"{stack} has {len(vms)} VMs: {', '.join(ranges(vms))}")
    if not targets and (strays := work.strays()):
        session.say(f"and VMs with its labels that its state lacks: {', '.join(ranges(strays))}")
    extent = f"everything of {stack}" + (" that is not protected" if exclude_protected else "")
    what = f"{len(targets)} targets of {stack}" if targets else extent
    session.ask(f"Deleting {what} on {session.choice.cloud_name}", yes=yes)
    config = _config(stack)
    # The bucket stays, and from a manifest that stays in it the controller would make every VM again.
    withdraws = config is not None and exclude_protected and not targets
    with (
        leased(config, session, Kind.DESTROY) if config else nullcontext(),
        _withdrawn(config, session) if config and withdraws else nullcontext(),
        interruptible(stack, "destroy"),
        Progress(session.console) as progress,
    ):
        if config and targets:
            work.adopt(progress)  # a target may be a VM that stands and that the state lacks
        run = work.destroy(progress)
        seconds = progress.seconds
    for line in outcome(run, seconds):
        session.say(line)
    if not exclude_protected and any("is protected" in (step.error or "") for step in run.steps):
        session.say("Nothing was deleted: --exclude-protected deletes all that is not protected.")
    code = FAILED if run.failed else 0
    if as_json:
        machines(run_document(run, seconds=seconds, code=code))
    ctx.exit(code)


def _config(stack: str) -> StackConfig | None:
    """What the stack file says; None where it is wrong, for what it made once can be deleted all the same."""
    try:
        return declared(stack).config
    except ConfigError:
        return None


@contextmanager
def _withdrawn(config: StackConfig, session: Session) -> Generator[None]:
    """The manifest without VMs, for as long as the block lasts; one that then still stands declares them again."""
    try:
        before = withdraw(config, session.endpoint)
    except GoogleError as error:
        raise Failure(f"nothing was deleted: the manifest could not be emptied: {error}") from None
    try:
        yield
    finally:
        if before is not None:
            try:
                if declare_again(config, session.endpoint, before):
                    session.say("the manifest stays, and declares again what it did: not everything was deleted")
            except GoogleError as error:
                again = f"`./tidepool up {config.stack}` writes it again"
                session.say(f"problem: the manifest stays, and declares no VM: {error}; {again}")


def _vms(outputs: Mapping[str, Any]) -> list[str]:
    """The VMs that the stack's outputs name."""
    return [vm for pool in outputs.get("pools", {}).values() for vm in pool["vms"]]
