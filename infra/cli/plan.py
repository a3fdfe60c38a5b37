"""`./tidepool plan digest` and `approval`: whether what would be applied is what was reviewed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from infra.cli import options
from infra.cli.echo import echo
from infra.cli.failures import FAILED
from infra.cli.render.console import machines
from infra.model.stepset import PlanError, StepSet, step_set, why_approval
from infra.operations.errors import Failure

_FILE = click.Path(dir_okay=False, exists=True, path_type=Path)
_DIGEST = re.compile(r"[0-9a-f]{64}")


@click.group(name="plan", short_help="Compare what is planned with what was reviewed.")
def command() -> None:
    """Compare what is planned with what was reviewed, by a digest of steps that holds no value.

    FILEs are what `preview STACK --json` printed, one a stack.
    """


@command.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@click.option("--expect", metavar="DIGEST", help="Exit code 1 where the digest is another.")
@options.json_option
@click.pass_context
def digest(ctx: click.Context, *, files: tuple[Path, ...], expect: str | None, as_json: bool) -> None:
    """One digest of every step in FILEs: operation, resource and the names of the properties that differ."""
    found = _steps(files)
    code = FAILED if expect is not None and expect != found.digest else 0
    if as_json:
        machines(_document(found) | {"exit": code})
    else:
        echo(found.digest)
    if code:
        echo(f"error: the plan has the digest {found.digest}, not {expect}: preview again", err=True)
    ctx.exit(code)


@command.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@click.option(
    "--reviewed",
    type=click.Path(dir_okay=False, path_type=Path),
    help="What `plan digest --json` printed for the pull request; a file that is not there is no review.",
)
@options.json_option
def approval(*, files: tuple[Path, ...], reviewed: Path | None, as_json: bool) -> None:
    """Whether somebody must agree before FILEs are applied, and why.

    Somebody must where anything is deleted or replaced, and where the steps are not those that were reviewed.
    """
    found = _steps(files)
    why = why_approval(found, _reviewed(reviewed))
    if as_json:
        machines(_document(found) | {"approval": bool(why), "why": list(why), "exit": 0})
    else:
        echo("\n".join(f"approval needed: {each}" for each in why) or "no approval needed")


def _steps(files: tuple[Path, ...]) -> StepSet:
    try:
        return step_set([_read(path) for path in files])
    except PlanError as unfit:
        raise Failure(str(unfit)) from None


def _reviewed(path: Path | None) -> str | None:
    if path is None or not path.is_file():
        return None
    document = _read(path)
    found = document.get("digest") if isinstance(document, dict) else None
    return found if isinstance(found, str) and _DIGEST.fullmatch(found) else None


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise Failure(f"{path} holds no JSON") from None


def _document(found: StepSet) -> dict[str, Any]:
    return {"digest": found.digest, "stacks": list(found.stacks), "steps": found.steps, "losses": list(found.losses)}
