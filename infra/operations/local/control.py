"""Driving the local cloud of this checkout: its control surface, and the guests of its VMs.

Owns too which project is meant where nobody says it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import get_args

from infra.local.cloud import daemon
from infra.local.cloud.builds.control import BuildControl
from infra.local.cloud.faults import Kind, Rule
from infra.local.cloud.github.control import GitHubControl
from infra.local.cloud.github.work import CONCLUSIONS
from infra.local.guests.disk import Disk
from infra.local.guests.guests import Guests
from infra.local.guests.surroundings import Vm
from infra.model.stack import pulumi_values, stack_names
from infra.operations.errors import Failure, Refusal
from infra.operations.local.cloud import refusing
from infra.operations.local.guests import LocalGuests
from infra.operations.workspace import workspace

__all__ = ("CONCLUSIONS", "FAULTS", "Disk", "Rule", "Vm")

FAULTS: tuple[str, ...] = get_args(Kind)
"""The kinds of faults."""


@contextmanager
def running() -> Generator[BuildControl]:
    """The control surface of this checkout's cloud. Raises Failure where it does not run, and for what it refuses."""
    home = workspace().home
    with refusing():
        handle = daemon.running(home)
        if handle is None:
            raise Failure(f"the local cloud of {home} does not run; start it with `./tidepool cloud start`")
        yield BuildControl(handle.url)


@contextmanager
def running_github() -> Generator[GitHubControl]:
    """The GitHub beside it, in the same way."""
    with running() as control:
        yield GitHubControl(control.url)


@contextmanager
def running_guests() -> Generator[Guests]:
    """The guests of its VMs, for this operation alone, in the same way."""
    with running() as control, LocalGuests(home=workspace().home, url=control.url).turn() as found:
        yield found


def advance_clock(seconds: float) -> None:
    """Move its clock, and let the guests of its VMs live meanwhile."""
    with running() as control:
        LocalGuests(home=workspace().home, url=control.url).advance(seconds)


def stack_project() -> str:
    """The one project that the stack files name."""
    root = workspace().root
    texts = ((root / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8") for stack in stack_names(root))
    projects = {pulumi_values(text).get("gcp:project", "") for text in texts} - {""}
    if len(projects) != 1:
        raise Refusal(f"the stack files name {len(projects)} projects; say which with --project")
    return projects.pop()
