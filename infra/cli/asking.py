"""What is asked of a person before something is done."""

from __future__ import annotations

import sys

import click

from infra.operations.errors import Failure, Refusal
from infra.operations.ports import CloudName


def ask(what: str, *, yes: bool) -> None:
    """Ask before `what`; Refusal without a terminal, Failure on a no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Refusal(f"{what} is asked about first, and there is no terminal to ask on; add --yes")
    if not click.confirm(f"{what}. Go on?", err=True):
        raise Failure("answered no; nothing was changed")


def ask_before_google(what: str, cloud: CloudName, *, yes: bool) -> None:
    """Ask before `what` where it reaches the real Google Cloud; the local cloud needs no question."""
    if cloud is CloudName.GOOGLE:
        ask(f"{what} on Google Cloud", yes=yes)
