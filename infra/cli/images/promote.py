"""`./tidepool images promote IMAGE[@DIGEST] --pool POOL`: give a digest to pools."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import click

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.images.moved import end
from infra.cli.render.console import people
from infra.cli.render.teller import ConsoleTeller
from infra.operations.errors import Refusal
from infra.operations.images.lab import at_work, declared, digest_of
from infra.operations.ports import CloudName


@click.command(name="promote", short_help="Give a digest to pools.")
@click.argument("image", metavar="IMAGE[@DIGEST]")
@click.option(
    "--pool", "pools", multiple=True, required=True, metavar="POOL", help="Who shall run it; may be repeated."
)
@options.cloud_option
@options.yes_option
@options.json_option
def command(*, image: str, pools: tuple[str, ...], cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Make a digest of IMAGE, its current one where none is named, what these pools run.

    Every region is asked for it and keeps it from clean-up; then the record and the pointer name it. Cut off at any
    moment, running it again ends the work. VMs that run take it over one after another, by the controller.
    """
    lab, console = declared(), people(as_json=as_json)
    name, digest = digest_of(lab, image)
    asks = f"Promoting {image} to {', '.join(pools)}"
    with at_work(lab, cloud, ConsoleTeller(console), agree=partial(ask_before_google, asks, yes=yes)) as work:
        if digest is None:
            known = work.store.read().images.get(name)
            if known is None:
                raise Refusal(f"no build of {name} is recorded; `./tidepool images build {name} --trigger` starts one")
            digest = known.current.digest
        moved = work.promotion().promote(tuple(dict.fromkeys(pools)), name, digest, datetime.now(UTC))
    end(console, moved, as_json=as_json)
