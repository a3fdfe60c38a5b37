"""`./tidepool images undo --pool POOL`: go back to what a pool ran before its last promotion."""

from __future__ import annotations

from functools import partial

import click

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.images.moved import end
from infra.cli.render.console import people
from infra.cli.render.teller import ConsoleTeller
from infra.operations.images.lab import at_work, declared
from infra.operations.ports import CloudName


@click.command(name="undo", short_help="Go back to what a pool ran before.")
@click.option("--pool", required=True, metavar="POOL", help="Whose last promotion is taken back.")
@options.cloud_option
@options.yes_option
@options.json_option
def command(*, pool: str, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Take a pool's last promotion back; again, the one before, up to four.

    Where an earlier promotion or undo was cut off, that one is finished and nothing else is done.
    """
    lab, console = declared(), people(as_json=as_json)
    with at_work(
        lab, cloud, ConsoleTeller(console), agree=partial(ask_before_google, f"Going back in {pool}", yes=yes)
    ) as work:
        moved = work.promotion().undo(pool)
    end(console, (moved,), as_json=as_json)
