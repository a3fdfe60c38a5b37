"""`./tidepool rollout status|pause|resume|undo [POOL]`: how new versions go through pools, and people's say in it.

Owns what people may ask. The course itself is the controller's (`infra.fleet.controller.rollout`), from its next sweep
on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from infra.cli import options
from infra.cli.failures import Failure, Refusal
from infra.cli.fleet_looks import Fleet, fleets_declared, open_fleet, stack_of
from infra.cli.leased import leased
from infra.cli.render.console import machines, people, say
from infra.cli.render.status import rollout_line
from infra.engines.protocol import CloudName
from infra.fleet import wishes
from infra.fleet.controller.lease import Kind
from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Body, Records
from infra.fleet.status.derive import rollouts
from infra.fleet.status.look import Scene
from infra.model import names

F = TypeVar("F", bound=Callable[..., Any])


@click.group(name="rollout", short_help="Show, pause, resume or undo how new versions go through pools.")
def command() -> None:
    """A new image, or a bundle with the runner that it pins, goes through a pool: a canary, then a share at a time."""


def _about(*, required: bool) -> Callable[[F], F]:
    """POOL and the options that all of them have."""

    def decorated(function: F) -> F:
        for option in (options.json_option, options.cloud_option, options.stack_option):
            function = option(function)
        return click.argument("pool", metavar="POOL" if required else "[POOL]", required=required)(function)

    return decorated


@command.command(name="status")
@_about(required=False)
def status_command(*, pool: str | None, stack: str | None, cloud: CloudName | None, as_json: bool) -> None:
    """Say how far rollouts are, as the controller's last sweep left them. Exit code 0 whatever it finds."""
    console = people(as_json=as_json)
    found = []
    for name in [stack_of(pool, stack)] if pool else fleets_declared(stack):
        fleet = open_fleet(name, cloud, console)
        scene = _scene(fleet)
        for each in rollouts(scene):
            if pool in (None, each.pool):
                found.append({"stack": name, **each.to_json()})
                say(console, rollout_line(each, scene.at))
    if not found:
        say(console, "no rollout is known: the controller has not swept yet")
    if as_json:
        machines({"rollouts": found, "exit": 0})


@command.command(name="pause")
@_about(required=False)
@options.yes_option
def pause_command(*, pool: str | None, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Let no more VMs of POOL, or of every pool, get what is new. Those that have it keep it."""
    fleet, pools = _asked("Pausing rollouts", pool, stack, cloud, yes=yes, as_json=as_json)
    _wish(fleet, lambda body: wishes.paused(body, pools))
    _answer(fleet, pools, "paused", as_json=as_json)


@command.command(name="resume")
@_about(required=False)
@options.yes_option
def resume_command(*, pool: str | None, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Go on with what was paused."""
    fleet, pools = _asked("Resuming rollouts", pool, stack, cloud, yes=yes, as_json=as_json)
    _wish(fleet, lambda body: wishes.resumed(body, pools))
    _answer(fleet, pools, "resumed", as_json=as_json)


@command.command(name="undo")
@_about(required=True)
@options.yes_option
def undo_command(*, pool: str, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Bring POOL back to what was proved before, also where what is new is everywhere already.

    That target is not rolled out again; another is promoted. To take a promotion itself back there is `images undo`.
    """
    fleet, pools = _asked("Undoing the rollout", pool, stack, cloud, yes=yes, as_json=as_json)
    rollout = _scene(fleet).memory.rollouts.get(pool)
    if rollout is None:
        raise Failure(f"no rollout of {pool} is known: the controller has not swept yet")
    if rollout.target == rollout.stable and rollout.previous is None:
        raise Failure(f"{pool} runs what it ran from the start; there is nothing to go back to")
    key = rollout.target.target().key
    _wish(fleet, lambda body: wishes.undone(body, pool, key))
    _answer(fleet, pools, "undone", as_json=as_json)


def _asked(
    what: str, pool: str | None, stack: str | None, cloud: CloudName | None, *, yes: bool, as_json: bool
) -> tuple[Fleet, tuple[str, ...]]:
    """The fleet, and the pools of it that are meant."""
    stacks = [stack_of(pool, stack)] if pool else fleets_declared(stack)
    if len(stacks) != 1:
        raise Refusal(f"stacks with VMs are {', '.join(stacks) or 'none'}; say --stack, or a pool")
    fleet = open_fleet(stacks[0], cloud, people(as_json=as_json))
    declared = tuple(each.name for each in fleet.config.pools)
    if pool is not None and pool not in declared:
        raise Refusal(f"{pool} is no pool of {fleet.stack}; pools are {', '.join(declared)}")
    fleet.session.ask_before_google(f"{what} of {pool or f'every pool of {fleet.stack}'}", yes=yes)
    return fleet, (pool,) if pool else declared


def _wish(fleet: Fleet, change: Callable[[Body | None], Body]) -> None:
    try:
        with (
            leased(fleet.config, fleet.session, Kind.DRAIN),
            clients(fleet.place.project, fleet.place.endpoint) as google,
        ):
            Records(google=google, bucket=fleet.place.bucket).update(names.wishes_object(fleet.stack), change)
    except GoogleError as error:
        raise Failure(f"nothing was changed: {error}") from None


def _answer(fleet: Fleet, pools: tuple[str, ...], what: str, *, as_json: bool) -> None:
    fleet.session.say(f"{what}: {', '.join(pools)}; the controller obeys at its next sweep")
    if as_json:
        machines({"stack": fleet.stack, "pools": list(pools), "wish": what, "exit": 0})


def _scene(fleet: Fleet) -> Scene:
    try:
        scene = fleet.look()
    except GoogleError as error:
        raise Failure(str(error)) from None
    if scene.desired is None:
        raise Failure(f"{fleet.stack}: {'; '.join(scene.problems)}")
    return scene
