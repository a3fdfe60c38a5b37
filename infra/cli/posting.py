"""What the commands that write to GitHub have in common: where, as whom, and how a failure is told.

Owns the options and GITHUB_TOKEN, which is the one way for a token to come in: an argument shows in lists of processes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from infra.github import artifact
from infra.github.artifact import Artifact, UntrustedError
from infra.github.client import PUBLIC_API, PostError, PostingPlace, connect
from infra.operations.errors import Failure, Refusal

F = TypeVar("F", bound=Callable[..., Any])
TOKEN = "GITHUB_TOKEN"  # noqa: S105 - a variable's name
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")


def place_options(command: F) -> F:
    """--repository and --api."""
    command = click.option(
        "--api",
        envvar="GITHUB_API_URL",
        default=PUBLIC_API,
        show_default=True,
        help="GitHub's REST API, or a server's; GITHUB_API_URL is heard.",
    )(command)
    return click.option(
        "--repository",
        metavar="OWNER/NAME",
        envvar="GITHUB_REPOSITORY",
        required=True,
        callback=_repository,
        help="Where; GITHUB_REPOSITORY is heard.",
    )(command)


def full_commit(_: click.Context, __: click.Parameter, value: str) -> str:
    if not _COMMIT.fullmatch(value):
        raise Refusal(f"--head {value!r} is no commit: 40 digits of 0-9 and a-f")
    return value


def placed(*, repository: str, api: str) -> PostingPlace:
    """The repository, with the token of the environment."""
    token = os.environ.get(TOKEN, "")
    if not token:
        raise Refusal(f"{TOKEN} is not set; docs/github.md says which permissions its token needs")
    return connect(api=api, repository=repository, token=token)


def read_artifact(path: Path) -> Artifact:
    try:
        return artifact.read(path)
    except UntrustedError as refusal:
        raise Failure(f"{refusal}; nothing was posted") from None


@contextmanager
def posting() -> Generator[None]:
    """Tell GitHub's refusals as failures of the command."""
    try:
        yield
    except PostError as failure:
        raise Failure(str(failure)) from None


def _repository(_: click.Context, __: click.Parameter, value: str) -> str:
    if not _REPOSITORY.fullmatch(value):
        raise Refusal(f"--repository {value!r} is not of the form OWNER/NAME")
    return value
