"""What every `./tidepool cloud ...` command does: find the running cloud, pass on its refusals, answer in two forms."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from infra.cli.failures import Failure
from infra.cli.render.console import machines
from infra.cli.workspace import workspace
from infra.local.cloud import daemon
from infra.local.cloud.builds.control import BuildControl
from infra.local.cloud.control import ControlError


@contextmanager
def told() -> Generator[None]:
    """Let a refusal of the cloud end the command with the cloud's own words."""
    try:
        yield
    except (ControlError, daemon.DaemonError) as error:
        raise Failure(str(error)) from None


@contextmanager
def running() -> Generator[BuildControl]:
    """The control surface of this checkout's cloud. Raises Failure where it does not run."""
    home = workspace().home
    with told():
        handle = daemon.running(home)
        if handle is None:
            raise Failure(f"the local cloud of {home} does not run; start it with `./tidepool cloud start`")
        yield BuildControl(handle.url)


def answer(as_json: bool, body: Mapping[str, Any], *lines: str) -> None:
    """Print the object for machines, or the lines for people."""
    if as_json:
        machines(body)
        return
    for line in lines:
        click.echo(line)
