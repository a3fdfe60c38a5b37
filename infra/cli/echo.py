"""Plain lines and JSON objects, in words alone, whoever wrote them. It loads nothing that drawing needs.

Every object says which cloud the running command works on, once that is chosen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

import click

from infra.model.visible import visible
from infra.operations.ports import CloudName

_CLOUD: Final = "tidepool.cloud"
"""Key of `click.Context.meta`: the cloud, once it is chosen."""


def echo(text: str = "", *, err: bool = False, nl: bool = True, file: IO[Any] | None = None) -> None:
    """Print text as it is, but for what would steer a terminal."""
    click.echo(visible(text, "\n\t"), err=err, nl=nl, file=file)


def machines(body: Mapping[str, Any], *, indent: int | None = 2) -> None:
    """Print the one object of --json. indent: None for an object on one line."""
    context = click.get_current_context(silent=True)
    cloud = context.meta.get(_CLOUD) if context else None
    echo(json.dumps(({"cloud": cloud} if cloud else {}) | dict(body), indent=indent))


def answer(as_json: bool, body: Mapping[str, Any], *lines: str) -> None:
    """Print the object for machines, or the lines for people."""
    if as_json:
        machines(body)
        return
    for line in lines:
        echo(line)


def host_log(as_json: bool) -> Callable[[int, bytes], None]:
    """Shows what hosts print as it comes, each line of further hosts with their number; beside the object of --json."""

    def log(host: int, piece: bytes) -> None:
        mark = f"{host}| " if host else ""
        for line in piece.decode(errors="replace").splitlines():
            echo(f"{mark}{line}", err=as_json)

    return log


def works_on(cloud: CloudName) -> bool:
    """Let every object of the running command say it. Whether that was not known yet."""
    context = click.get_current_context(silent=True)
    known = context is not None and _CLOUD in context.meta
    if context is not None:
        context.meta[_CLOUD] = cloud.value
    return not known
