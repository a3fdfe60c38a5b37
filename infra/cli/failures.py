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
from infra.model.errors import ConfigError, OutsideError
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
    except ConfigError as error:
        _tell_config(ctx, error)
        ctx.exit(REFUSED)
    except (Failure, EngineError, OutsideError) as error:
        code, said = _code(error), str(error)
        echo(said if code == INTERRUPTED else f"error: {said}", err=True)
        _tell_json(ctx, code, said)
        ctx.exit(code)
    except KeyboardInterrupt:
        said = "Interrupted."
        echo(said, err=True)
        _tell_json(ctx, INTERRUPTED, said)
        ctx.exit(INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as asked:
        echo(asked.ctx.get_help())
        ctx.exit(0)
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001 - the last place that can keep a traceback from a person
        said = _tell_machine(error) if isinstance(error, OSError) and error.errno else _tell_crash(error)
        _tell_json(ctx, FAILED, said)
        ctx.exit(FAILED)


def _code(error: Exception) -> int:
    if isinstance(error, Interruption):
        return INTERRUPTED
    return REFUSED if isinstance(error, Refusal) else FAILED


def _tell_config(ctx: click.Context, error: ConfigError) -> None:
    count = len(error.problems)
    echo("\n\n".join(str(problem) for problem in error.problems), err=True)
    said = f"{count} {'problem' if count == 1 else 'problems'}; nothing was changed."
    echo(f"\n{said}", err=True)
    problems = [{name: getattr(each, name) for name in ("subject", "value", "rule", "fix")} for each in error.problems]
    _tell_json(ctx, REFUSED, said, problems=problems)


def _tell_json(ctx: click.Context, code: int, said: str, **more: Any) -> None:
    if ctx.meta.get(WANTS_JSON):
        machines({"exit": code, "error": said, **more})


def _tell_machine(error: OSError) -> str:
    """A file or a connection of this machine that cannot be had: a folder that is not there, a full disk, no right."""
    where = " and ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
    why = error.strerror or type(error).__name__
    said = f"{where} cannot be read or written: {why}" if where else f"this machine refused: {why}"
    echo(f"error: {said}", err=True)
    return said


def _tell_crash(error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    what = f"{type(error).__name__}: {first}" if first else type(error).__name__
    try:
        where = f"details: {workspace().log_crash(error)}"
    except (OSError, ConfigError) as unwritable:
        where = f"the details could not be written: {unwritable}"
    said = f"this is a fault of Tidepool itself: {what} ({where})"
    echo(f"error: {said}", err=True)
    return said
