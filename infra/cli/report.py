"""`./tidepool report`: what is known of the whole estate, as one page."""

from __future__ import annotations

from pathlib import Path

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.operations.report import site


@click.command()
@click.option("--out", type=options.A_FOLDER, metavar="DIR", help="Where index.html goes; below the home if not given.")
@click.option("--serve", is_flag=True, help="Serve it on loopback until Ctrl-C.")
@options.each(options.cloud_option, options.json_option)
@called
def command(call: Invocation, *, out: Path | None, serve: bool) -> None:
    """Write what is known of the estate as one page that loads nothing: capacity, limits, days ahead, status, queues,
    workflows, images, results, money, risks and recent changes.

    A source that does not answer is a sentence in its section that names the command which would fill it.
    """
    written = site.write_site(out, call.cloud, call.teller)
    call.end(written)
    call.say(*() if call.as_json else written.lines)
    if serve:
        site.serve(written, call.say)
