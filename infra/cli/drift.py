"""`./tidepool drift report STACK`: the issue that tells how the cloud differs from what the stack recorded."""

from __future__ import annotations

import json
from pathlib import Path

import click

from infra.cli import options
from infra.cli.echo import echo
from infra.cli.posting import place_options, placed, posting
from infra.cli.render.console import machines
from infra.github import drift
from infra.operations.errors import Failure, Refusal


@click.group(name="drift", short_help="Tell drift in an issue.")
def command() -> None:
    """Tell how the cloud differs from what a stack recorded."""


@command.command()
@options.stack_argument
@click.option(
    "--plan",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="What `preview STACK --refresh --json` printed.",
)
@place_options
@options.json_option
def report(*, stack: str, path: Path, repository: str, api: str, as_json: bool) -> None:
    """Keep one issue for the drift of STACK: opened, edited when the drift is another, closed when it is gone.

    The issue names resources and properties, never values, and grants that no stack declares. A plan that failed proves
    nothing and changes nothing. The token is GITHUB_TOKEN.
    """
    try:
        found = drift.drift_of(stack, json.loads(path.read_bytes()))
    except json.JSONDecodeError:
        raise Refusal(f"{path} holds no JSON; make it with `./tidepool preview {stack} --refresh --json`") from None
    except drift.PlanError as unfit:
        raise Failure(f"{path}: {unfit}; the issue was left as it is") from None
    with posting():
        told = drift.tell(placed(repository=repository, api=api), found)
    if as_json:
        count = len(found.differences)
        told_json = {"outcome": told.outcome, "issue": told.number, "differences": count}
        told_json |= {"grants": len(found.grants)}
        machines({**told_json, "fingerprint": found.fingerprint or None, "exit": 0})
    else:
        where = f" (issue {told.number})" if told.number else ""
        echo(f"{stack}: {told.outcome}{where}")
