"""Options of commands that post to GitHub."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from infra.cli import options
from infra.model.names import GITHUB
from infra.operations.errors import Refusal

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def _repository(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _REPOSITORY.fullmatch(value):
        raise Refusal(f"--repository {value!r} is not of the form OWNER/NAME")
    return value


def repository_name_option(
    *, required: bool, what: str = "Where"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Which repository."""
    return click.option(
        "--repository", metavar="OWNER/NAME", envvar="GITHUB_REPOSITORY", required=required, callback=_repository,
        help=f"{what}; GITHUB_REPOSITORY is heard.",
    )  # fmt: skip


api_option = click.option(
    "--api", envvar="GITHUB_API_URL", default=GITHUB, show_default=True,
    help="GitHub's REST API, or a server's; GITHUB_API_URL is heard.",
)  # fmt: skip


def repository_option(*, required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Which repository at which API."""
    return options.each(repository_name_option(required=required), api_option)
