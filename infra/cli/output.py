"""`./tidepool output STACK [NAME]`: the stack's outputs as last recorded."""

from __future__ import annotations

import json

import click

from infra.cli import options
from infra.cli.echo import echo
from infra.cli.render.console import people
from infra.cli.render.teller import ConsoleTeller
from infra.operations.errors import Failure
from infra.operations.ports import CloudName, EngineName
from infra.operations.session import open_session


@click.command(name="output", short_help="Print a stack's outputs.")
@options.stack_argument
@click.argument("name", required=False)
@options.place_options
@options.json_option
def command(*, stack: str, name: str | None, engine: EngineName | None, cloud: CloudName | None, as_json: bool) -> None:
    """Print the outputs of a stack as last recorded (pools, registries, identities, manifest), or the one named NAME.

    With --json all are one object. Secrets stay masked.
    """
    session = open_session(
        stack, engine=engine, cloud=cloud, teller=ConsoleTeller(people(as_json=True)), starts_cloud=False
    )
    found = session.engine().outputs()
    if name is not None:
        if name not in found:
            raise Failure(f"{stack} has no output {name}; it has {', '.join(sorted(found)) or 'none: run up first'}")
        found = {name: found[name]}
    if as_json:
        echo(json.dumps(found if name is None else found[name], indent=2))
        return
    for key, value in sorted(found.items()):
        echo(f"{key}: {value if isinstance(value, str) else json.dumps(value, indent=2)}")
    if not found:
        session.say(f"{stack} has no outputs; `./tidepool up {stack}` records them")
