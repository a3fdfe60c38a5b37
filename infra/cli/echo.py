"""Plain lines to stdout and stderr, in words alone, whoever wrote them. It loads nothing that drawing needs."""

from __future__ import annotations

from typing import IO, Any

import click

from infra.model.visible import visible


def echo(text: str = "", *, err: bool = False, nl: bool = True, file: IO[Any] | None = None) -> None:
    """Print text as it is, but for what would steer a terminal."""
    click.echo(visible(text, "\n\t"), err=err, nl=nl, file=file)
