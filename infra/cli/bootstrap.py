"""`./tidepool bootstrap`: prepare a Google Cloud project, once, for its first deploy."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.text import Text

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.render.console import machines, people
from infra.cli.render.teller import ConsoleTeller
from infra.operations.ports import CloudName
from infra.operations.setup.bootstrap import Bootstrap, apply_bootstrap, plan_bootstrap


@click.command(short_help="Prepare a Google Cloud project for its first deploy.")
@click.argument("stack", metavar="[STACK]", default="ci")
@click.option("--project", metavar="ID", help="The project; the stack file's gcp:project, and refused if another.")
@click.option("--location", metavar="REGION", help="Of state bucket and key; default where the fleet bucket is.")
@click.option("--bucket", metavar="NAME", help="Of the state; default PROJECT-pulumi-state.")
@click.option(
    "--impersonator",
    "impersonators",
    metavar="MEMBER",
    multiple=True,
    help="Who may act as the deploying account, such as user:EMAIL; may be repeated.",
)
@options.cloud_option
@options.yes_option
@options.json_option
def command(
    *,
    stack: str,
    project: str | None,
    location: str | None,
    bucket: str | None,
    impersonators: tuple[str, ...],
    cloud: CloudName | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Make what the project of STACK (default ci) needs before the first deploy: the bucket of Pulumi's state, the key
    that encrypts its secrets, and the account that deploys, with no more roles than it needs and no key file.

    It shows its plan first, may be run again at any time, and deletes nothing. docs/first-deploy.md walks through it.
    """
    console = people(as_json=as_json)
    planned = plan_bootstrap(
        stack,
        project=project,
        location=location,
        bucket=bucket,
        impersonators=impersonators,
        cloud=cloud,
        teller=ConsoleTeller(console),
    )
    _show(console, planned)
    if planned.lacking:
        ask_before_google(f"Preparing {planned.wanted.project}", planned.cloud, yes=yes)
    for step in apply_bootstrap(planned):
        console.print(f"made: {step.what}", soft_wrap=True)
    if planned.pins:
        console.print(
            "\nLet in by name alone; pin by number:",
            *(f"  {line}" for line in planned.pins),
            sep="\n",
            soft_wrap=True,
        )
    console.print("\nNext, in this checkout:", *(f"  {line}" for line in planned.next), sep="\n", soft_wrap=True)
    if as_json:
        machines(_document(planned) | {"pins": list(planned.pins)})


def _show(console: Console, planned: Bootstrap) -> None:
    for step in planned.steps:
        sign, style = ("=", "dim") if step.action is None else ("+", "green")
        console.print(Text.assemble((f"{sign} {step.what}", style), (f"  ({step.why})", "dim")), soft_wrap=True)
    made = planned.lacking
    console.print(Text(f"{made} to make, {len(planned.steps) - made} there already", style="bold"), soft_wrap=True)


def _document(planned: Bootstrap) -> dict[str, Any]:
    wanted = planned.wanted
    return {
        "project": wanted.project,
        "cloud": planned.cloud.value,
        "bucket": wanted.bucket,
        "key": wanted.key,
        "account": wanted.deployer,
        "steps": [{"what": step.what, "why": step.why, "made": step.action is not None} for step in planned.steps],
        "next": list(planned.next),
    }
