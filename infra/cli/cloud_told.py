"""What every `./tidepool cloud ...` command does: find the running cloud, pass on its refusals, answer in two forms.

Owns too which project such a command means where it is not said.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from infra.cli.echo import echo
from infra.cli.render.console import machines
from infra.local.cloud import daemon
from infra.local.cloud.builds.control import BuildControl
from infra.local.cloud.control import ControlError
from infra.model.stack import pulumi_values, stack_names
from infra.operations.errors import Failure, Refusal
from infra.operations.workspace import workspace


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
        echo(line)


def columns(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines, with a header; nothing where it has no rows."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (titles, *rows)]


def stack_project() -> str:
    """The one project that the stack files name."""
    root = workspace().root
    texts = ((root / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8") for stack in stack_names(root))
    projects = {pulumi_values(text).get("gcp:project", "") for text in texts} - {""}
    if len(projects) != 1:
        raise Refusal(f"the stack files name {len(projects)} projects; say which with --project")
    return projects.pop()
