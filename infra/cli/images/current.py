"""`./tidepool images current IMAGE`: the digest that the record names, for the steps of a build and for scripts."""

from __future__ import annotations

import click

from infra.cli import options
from infra.cli.echo import echo
from infra.cli.render.console import machines, people
from infra.cli.render.teller import ConsoleTeller
from infra.operations.errors import Refusal
from infra.operations.images.lab import at_work, declared
from infra.operations.ports import CloudName


@click.command(name="current", short_help="Print the digest that the record names as current.")
@click.argument("image")
@options.cloud_option
@options.json_option
def command(*, image: str, cloud: CloudName | None, as_json: bool) -> None:
    """Print the digest of IMAGE's current build, and nothing else on stdout. With --json the whole build."""
    lab = declared()
    name = lab.image(image).name
    with at_work(lab, cloud, ConsoleTeller(people(as_json=True))) as work:
        known = work.store.read().images.get(name)
    if known is None:
        raise Refusal(f"no build of {name} is recorded; `./tidepool images build {name} --trigger` starts one")
    if as_json:
        machines({"image": name, "build": known.current.model_dump(mode="json")})
    else:
        echo(known.current.digest)
