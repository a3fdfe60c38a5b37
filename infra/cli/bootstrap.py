"""`./tidepool bootstrap`: prepare a Google Cloud project, once, for its first deploy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from infra.cli import options
from infra.cli.asking import ask
from infra.cli.render.console import machines, people
from infra.cli.render.teller import ConsoleTeller
from infra.cli.where import works_on
from infra.fleet.bootstrap import Step, Wanted, actions, next_commands, plan
from infra.fleet.bootstrap_calls import Project
from infra.fleet.google import GoogleError, clients
from infra.model import names
from infra.model.errors import ConfigError, Problem
from infra.model.schema import StackConfig
from infra.model.stack import load_stack, stack_names
from infra.operations.errors import Failure
from infra.operations.ports import CloudName
from infra.operations.session import cloud_without_engine, reached
from infra.operations.workspace import workspace


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
    config = load_stack(workspace().root, stack)
    _require_same(stack, config, project)
    wanted = Wanted(
        project=config.project,
        location=location or config.bucket.location,
        bucket=bucket or f"{config.project}-pulumi-state",
        fleet_buckets=_fleet_buckets(config.project),
        impersonators=impersonators,
    )
    console = people(as_json=as_json)
    where = cloud_without_engine(cloud).cloud
    works_on(where)
    console.print(Text(f"project {config.project} on {where.value} cloud", style="dim"), soft_wrap=True)
    endpoint = reached(where, ConsoleTeller(console))
    try:
        with clients(config.project, endpoint) as google:
            there = Project(google=google, wanted=wanted)
            steps = plan(there.observe(), wanted)
            _show(console, steps)
            todo = actions(steps)
            if todo and where is CloudName.GOOGLE:
                ask(f"Preparing {config.project} on Google Cloud", yes=yes)
            for step in steps:
                if step.action is not None:
                    there.apply(step.action)
                    console.print(f"made: {step.what}", soft_wrap=True)
    except GoogleError as error:
        raise Failure(f"{error}\nRun the same command again: it goes on where it stopped.") from None
    commands = next_commands(wanted, stack)
    console.print("\nNext, in this checkout:", *(f"  {line}" for line in commands), sep="\n", soft_wrap=True)
    if as_json:
        machines(_document(wanted, where, steps, commands))


def _require_same(stack: str, config: StackConfig, project: str | None) -> None:
    if project is not None and project != config.project:
        subject = f"--project, and gcp:project in stacks/Pulumi.{stack}.yaml"
        rule = f"must be the same, and the stack file says {config.project}"
        raise ConfigError(
            [Problem(subject, project, rule, f"{config.project}, or {project} as gcp:project in the file")]
        )


def _fleet_buckets(project: str) -> tuple[str, ...]:
    """The buckets of every stack of the project, which one deploying account serves: fleet records and build logs."""
    root = workspace().root
    stacks = (load_stack(root, name) for name in stack_names(root))
    return tuple(sorted(chain.from_iterable(_buckets(each) for each in stacks if each.project == project)))


def _buckets(config: StackConfig) -> Iterator[str]:
    yield config.bucket.name
    if config.builds is not None:
        yield names.build_log_bucket(config.bucket.name)


def _show(console: Console, steps: tuple[Step, ...]) -> None:
    for step in steps:
        sign, style = ("=", "dim") if step.action is None else ("+", "green")
        console.print(Text.assemble((f"{sign} {step.what}", style), (f"  ({step.why})", "dim")), soft_wrap=True)
    made = len(actions(steps))
    console.print(Text(f"{made} to make, {len(steps) - made} there already", style="bold"), soft_wrap=True)


def _document(wanted: Wanted, cloud: CloudName, steps: tuple[Step, ...], commands: tuple[str, ...]) -> dict[str, Any]:
    return {
        "project": wanted.project,
        "cloud": cloud.value,
        "bucket": wanted.bucket,
        "key": wanted.key,
        "account": wanted.deployer,
        "steps": [{"what": step.what, "why": step.why, "made": step.action is not None} for step in steps],
        "next": list(commands),
    }
