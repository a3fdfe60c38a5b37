"""`./tidepool config STACK [PATH]`: what a stack file says, for scripts and runbooks."""

from __future__ import annotations

import json
from typing import Any

import click

from infra.cli import options
from infra.cli.echo import echo
from infra.cli.render.console import machines
from infra.operations.stacks.stack_file import configured


@click.command(name="config", short_help="Print what a stack file says.")
@options.stack_argument
@click.argument("path", required=False, default="")
@options.json_option
def command(*, stack: str, path: str, as_json: bool) -> None:
    """Print what the stack file has at PATH, as `pulumi config get --path` does, or all of it without one.

    \b
      ./tidepool config ci gcp:project
      ./tidepool config ci tidepool:controller.region
    """
    value = configured(stack, path)
    if as_json:
        machines({"stack": stack, "path": path, "value": value})
    elif path:
        echo(_text(value))
    else:
        for key, each in value.items():
            echo(f"{key}: {_text(each)}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
