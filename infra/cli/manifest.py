"""`./tidepool manifest ...`: the desired fleet in the fleet bucket, which the controller and the VMs read."""

from __future__ import annotations

import json

import click

from infra.cli import options
from infra.cli.aftermath import manifest_json, manifest_line
from infra.cli.failures import Failure
from infra.cli.render.console import machines, people
from infra.cli.session import declared, open_session
from infra.engines.protocol import CloudName, EngineName
from infra.fleet.google import GoogleError, clients
from infra.fleet.publish import publish
from infra.fleet.records import Records
from infra.model import names


@click.group(name="manifest", short_help="Publish or show the desired fleet in the fleet bucket.")
def command() -> None:
    """Publish or show the manifest: the desired fleet of a stack as one JSON document in its fleet bucket.

    `./tidepool up` publishes it by itself; a plain `pulumi up` does not.
    """


@command.command(name="publish")
@options.stack_argument
@options.place_options
@options.yes_option
@options.json_option
def publish_command(
    *, stack: str, engine: EngineName | None, cloud: CloudName | None, yes: bool, as_json: bool
) -> None:
    """Write the manifest and the start-up bundle that the stack file asks for, where they differ from what is there."""
    wanted = declared(stack)
    session = open_session(stack, engine=engine, cloud=cloud, console=people(as_json=as_json))
    session.ask_before_google(f"Publishing the manifest of {stack}", yes=yes)
    try:
        published = publish(wanted.config, session.endpoint, registry=wanted.registry, siblings=wanted.siblings)
    except GoogleError as error:
        raise Failure(f"the manifest was not published: {error}") from None
    session.say(manifest_line(published))
    if as_json:
        machines(manifest_json(published))


@command.command(name="show")
@options.stack_argument
@options.place_options
@options.yes_option
@options.json_option
def show_command(*, stack: str, engine: EngineName | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Print the manifest as it is in the bucket, which is JSON with and without --json."""
    config = declared(stack).config
    session = open_session(stack, engine=engine, cloud=cloud, console=people(as_json=True))
    session.ask_before_google(f"Reading the manifest of {stack}", yes=yes)
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
        click.echo(json.dumps(record.body, indent=2))
