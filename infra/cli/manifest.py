"""`./tidepool manifest ...`: the desired fleet in the fleet bucket, which the controller and the VMs read."""

from __future__ import annotations

import json

import click

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.echo import echo
from infra.cli.render.console import machines, people
from infra.cli.render.teller import ConsoleTeller
from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Records
from infra.model import names
from infra.operations.errors import Failure
from infra.operations.ports import CloudName
from infra.operations.session import open_cloud
from infra.operations.stacks.stack_file import stack_file


@click.group(name="manifest", short_help="Show the desired fleet in the fleet bucket.")
def command() -> None:
    """Show the manifest: the desired fleet of a stack as one JSON document in its fleet bucket.

    The program declares it, so that every apply publishes it.
    """


@command.command(name="show")
@options.stack_argument
@options.cloud_option
@options.yes_option
@options.json_option
def show_command(*, stack: str, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Print the manifest as it is in the bucket, which is JSON with and without --json."""
    config = stack_file(stack).config
    session = open_cloud(cloud, ConsoleTeller(people(as_json=True)))
    ask_before_google(f"Reading the manifest of {stack}", session.cloud, yes=yes)
    try:
        with clients(config.project, session.endpoint) as google:
            record = Records(google=google, bucket=config.bucket.name).read(names.manifest_object(stack))
    except GoogleError as error:
        raise Failure(f"the manifest was not read: {error}") from None
    if record is None:
        raise Failure(f"gs://{config.bucket.name} has no manifest of {stack}; `./tidepool up {stack}` publishes it")
    if as_json:
        machines({"generation": record.generation, "manifest": record.body})
    else:
        echo(json.dumps(record.body, indent=2))
