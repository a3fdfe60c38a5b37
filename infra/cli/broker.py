"""`./tidepool broker ...`: serve the token broker of a stack, by hand or beside the local cloud.

Owns how its decisions are printed. What it decides is `infra.fleet.broker`; on Cloud Run `infra.fleet.service` serves
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from infra.cli import options
from infra.cli.echo import echo
from infra.cli.render.console import people, say
from infra.cli.render.teller import ConsoleTeller
from infra.operations import broker
from infra.operations.ports import CloudName


@click.group(name="broker", short_help="Serve the token broker of a stack.")
def command() -> None:
    """The token broker gives TPU VMs their runner registrations, so that no VM holds a credential of GitHub."""


@command.command(name="serve")
@options.stack_argument
@options.cloud_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; 0.0.0.0 in a container.")
@click.option("--port", type=click.IntRange(1, 65535), default=8080, show_default=True, envvar="PORT", show_envvar=True)
@click.option("--json", "as_json", is_flag=True, help="Print each decision on stdout as one line of JSON.")
def serve_command(*, stack: str, cloud: CloudName | None, host: str, port: int, as_json: bool) -> None:
    """Serve the broker of STACK until it is interrupted, and print every decision.

    Its settings are environment variables (docs/broker.md). With --cloud local, or where TIDEPOOL_BROKER_AUDIENCE
    is not set, they are made up for the local cloud, whose GitHub gets an app for it.
    """
    console = people(as_json=True)
    ready = broker.broker(stack, port, cloud, ConsoleTeller(console))
    at = f"http://{host}:{port}, audience {ready.settings.audience}"
    say(console, f"the broker of {stack} on {ready.cloud.said} listens at {at}")
    ready.serve(_printer(as_json=as_json), host=host, port=port)


def _printer(*, as_json: bool) -> Callable[[dict[str, Any]], None]:
    def tell(facts: dict[str, Any]) -> None:
        if as_json:
            echo(broker.line(facts))
            return
        why = facts.get("runner") if facts["outcome"] == broker.GRANTED else facts.get("detail", "")
        said = (facts["time"][:19], facts["outcome"], facts["status"], facts["reason"], facts.get("vm", "-"), why)
        echo(" ".join(str(part) for part in said if part))

    return tell
