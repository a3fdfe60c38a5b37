"""How a command's failure reaches a person or a program: one clear text, an exit code, never a traceback.

Owns exit codes of failures and the crash log under the home. With --json a failure is an object on stdout as well.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import click

from infra.cli.echo import echo, machines
from infra.cli.options import WANTS_JSON
from infra.model.errors import ConfigError, OutsideError, Problem, unchecked_lines
from infra.operations.errors import EngineError, Failure, Interruption, Refusal
from infra.operations.workspace import workspace

FAILED = 1
"""Of a command that could not do all of its work, or that found something."""
REFUSED = 2
INTERRUPTED = 130


@contextmanager
def told(ctx: click.Context) -> Generator[None]:
    """Turn whatever leaves a command into a text, an object where --json asked for one, and an exit code."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError as asked:
        echo(asked.ctx.get_help())
        ctx.exit(0)
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last place that can keep a traceback back
        code, said = _code(error), _said(error)
        problems, unchecked = (error.problems, error.unchecked) if isinstance(error, ConfigError) else ((), {})
        if problems:
            echo("\n\n".join([*map(str, problems), *unchecked_lines(unchecked)]) + "\n", err=True)
        echo(said if problems or code == INTERRUPTED else f"error: {said}", err=True)
        if ctx.meta.get(WANTS_JSON):
            more = {"problems": [_problem_json(each) for each in problems], "unchecked": unchecked} if problems else {}
            machines({"exit": code, "error": said, **more})
        ctx.exit(code)


def _code(error: BaseException) -> int:
    if isinstance(error, Interruption | KeyboardInterrupt):
        return INTERRUPTED
    return REFUSED if isinstance(error, Refusal | ConfigError) else FAILED


def _said(error: BaseException) -> str:
    if isinstance(error, ConfigError):
        count = len(error.problems)
        return f"{count} {'problem' if count == 1 else 'problems'}; nothing was changed."
    if isinstance(error, KeyboardInterrupt):
        return "Interrupted."
    if isinstance(error, Failure | EngineError | OutsideError):
        return str(error)
    if isinstance(error, OSError) and error.errno:
        # A file or a connection of this machine: a folder that is not there, a full disk, no right.
        where = " and ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
        why = error.strerror or type(error).__name__
        return f"{where} cannot be read or written: {why}" if where else f"this machine refused: {why}"
    return _crash(error)


def _problem_json(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in ("subject", "value", "rule", "fix")}


def _crash(error: BaseException) -> str:
    first = str(error).strip().partition("\n")[0]
    what = f"{type(error).__name__}: {first}" if first else type(error).__name__
    try:
        where = f"details: {workspace().log_crash(error)}"
    except (OSError, ConfigError) as unwritable:
        where = f"the details could not be written: {unwritable}"
    return f"this is a fault of Tidepool itself: {what} ({where})"
