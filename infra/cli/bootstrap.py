"""`./tidepool bootstrap`: what a project needs before its first deploy, planned, asked about and made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.cli.render import console as consoles
from infra.operations.setup import bootstrap

if TYPE_CHECKING:
    from rich.text import Text


@click.command()
@click.argument("stack", metavar="[STACK]", default="ci")
@click.option("--project", metavar="ID", help="The project; the stack file's gcp:project, and refused if another.")
@click.option("--location", metavar="REGION", help="Of state bucket and key; default where the fleet bucket is.")
@click.option("--bucket", metavar="NAME", help="Of the state; default PROJECT-pulumi-state.")
@click.option(
    "--impersonator", "impersonators", metavar="MEMBER", multiple=True,
    help="Who may act as the deploying account, such as user:EMAIL; may be repeated.",
)  # fmt: skip
@options.each(options.cloud_option, options.yes_option, options.json_option)
@called
def bootstrap_command(call: Invocation, **wanted: Any) -> None:
    """Make what the project of STACK (default ci) needs before the first deploy: the bucket of Pulumi's state, the key
    that encrypts its secrets, and the account that deploys, with no more roles than it needs and no key file.

    It shows its plan first, may be run again at any time, and deletes nothing. docs/first-deploy.md walks through it.
    """
    planned = bootstrap.plan_bootstrap(call.stack, **wanted, cloud=call.cloud, teller=call.teller)
    _print(call, *map(consoles.drawn, bootstrap.plan_lines(planned)))
    if planned.lacking:
        call.ask_before_google(f"Preparing {planned.wanted.project}", planned.cloud)
    for step in bootstrap.apply_bootstrap(planned):
        _print(call, f"made: {step.what}")
    if planned.pins:
        _print(call, "\nLet in by name alone; pin by number:", *(f"  {line}" for line in planned.pins))
    _print(call, "\nNext, in this checkout:", *(f"  {line}" for line in planned.next))
    call.tell(planned)


def _print(call: Invocation, *lines: str | Text) -> None:
    """Lines whole, also on a terminal: most are commands to copy."""
    call.console.print(*lines, sep="\n", soft_wrap=True)
