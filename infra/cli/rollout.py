"""`./tidepool rollout status|pause|resume|undo|redo [POOL]`: how new versions go through pools, and people's say in it.

Owns what people may ask. The course itself is the controller's (`infra.fleet.controller.rollout`), from its next sweep
on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.render.console import machines, people, say
from infra.cli.render.status import rollout_line
from infra.cli.render.teller import ConsoleTeller
from infra.cli.wish import wish
from infra.fleet import wishes
from infra.fleet.controller.memory import Rollout
from infra.fleet.controller.observed import Target
from infra.fleet.controller.parts import Part, parts, shown
from infra.fleet.controller.rollout import not_tried, undoable
from infra.fleet.google import GoogleError
from infra.fleet.status.derive import in_short, rollouts
from infra.fleet.status.look import Scene
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.looks import Fleet, fleets_declared, open_fleet, stack_of
from infra.operations.ports import CloudName

F = TypeVar("F", bound=Callable[..., Any])


@click.group(name="rollout", short_help="Show, pause, resume, undo or redo how new versions go through pools.")
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
        fleet = open_fleet(name, cloud, ConsoleTeller(console))
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
    wish(fleet, lambda body: wishes.paused(body, pools))
    _answer(fleet, pools, "paused", as_json=as_json)


@command.command(name="resume")
@_about(required=False)
@options.yes_option
def resume_command(*, pool: str | None, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Go on with what was paused. What went back stays back: `rollout redo` tries it again."""
    fleet, pools = _asked("Resuming rollouts", pool, stack, cloud, yes=yes, as_json=as_json)
    wish(fleet, lambda body: wishes.resumed(body, pools))
    _answer(fleet, pools, "resumed", as_json=as_json)


@command.command(name="undo")
@_about(required=True)
@options.yes_option
def undo_command(*, pool: str, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Bring POOL back to what was proved before, also where what is new is everywhere already.

    That image or bundle is not rolled out again until `rollout redo`; of one that went back by itself nobody is alerted
    any more. To take a promotion itself back there is `images undo`.
    """
    fleet, pools = _asked("Undoing the rollout", pool, stack, cloud, yes=yes, as_json=as_json)
    course = _course(fleet, pool)
    if course.taken_back and not course.undoable:
        _as_it_is(fleet, pools, f"{_said(course.taken_back)} of {pool} was taken back already", as_json=as_json)
        return
    if not course.undoable:
        raise Refusal(f"{pool} runs what it ran from the start; there is nothing to go back to")
    now = fleet.place.clock()
    wish(fleet, lambda body: wishes.undone(body, pool, course.undoable, now))
    if course.leaves_no_image:
        fleet.session.say(f"{pool} ran no image before; on Google Cloud a VM without one takes no job")
    fleet.session.say(f"taken back: {_said(course.undoable)}")
    _answer(fleet, pools, "undone", as_json=as_json)


@command.command(name="redo")
@_about(required=True)
@options.yes_option
def redo_command(*, pool: str, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Try again in POOL what was undone or went back by itself, behind a canary, as it is promoted or published."""
    fleet, pools = _asked("Redoing the rollout", pool, stack, cloud, yes=yes, as_json=as_json)
    course = _course(fleet, pool)
    if not course.taken_back:
        wanted = in_short(course.target)
        _as_it_is(fleet, pools, f"{wanted} of {pool} was not taken back", as_json=as_json)
        return
    again, since = course.taken_back, course.rollout.since
    wish(fleet, lambda body: wishes.redone(body, pool, again, since))
    fleet.session.say(f"tried again: {_said(again)}")
    _answer(fleet, pools, "redone", as_json=as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """A pool's rollout, and what the pool shall run.

    undoable: what `undo` takes back. taken_back: what of the target went back, by people or by itself.
    """

    rollout: Rollout
    target: Target
    undoable: frozenset[Part]
    taken_back: frozenset[Part]

    @property
    def leaves_no_image(self) -> bool:
        """Whether an image is taken back and none is proved before it."""
        rolled_out = self.undoable & parts(self.rollout.stable.target())
        before = (self.rollout.previous if rolled_out else None) or self.rollout.stable
        return not before.images and any(part in parts(replace(self.target, bundle=None)) for part in self.undoable)


def _said(some: frozenset[Part]) -> str:
    return ", ".join(shown(some))


def _course(fleet: Fleet, pool: str) -> _Course:
    scene = _scene(fleet)
    rollout, observed = scene.memory.rollouts.get(pool), scene.observed
    if rollout is None:
        raise Failure(f"no rollout of {pool} is known: the controller has not swept yet")
    if observed is None or observed.targets is None or not observed.wishes_source.known:
        silent = [each for each in (observed.targets_source, observed.wishes_source) if each.reason] if observed else []
        raise Failure(f"what {pool} shall run is not known" + "".join(f": {each.reason}" for each in silent))
    target = observed.targets[pool]
    return _Course(
        rollout=rollout,
        target=target,
        undoable=undoable(rollout, target, observed.wishes, pool),
        taken_back=not_tried(rollout, target, observed.wishes, pool),
    )


def _asked(
    what: str, pool: str | None, stack: str | None, cloud: CloudName | None, *, yes: bool, as_json: bool
) -> tuple[Fleet, tuple[str, ...]]:
    """The fleet, and the pools of it that are meant."""
    stacks = [stack_of(pool, stack)] if pool else fleets_declared(stack)
    if len(stacks) != 1:
        raise Refusal(f"stacks with VMs are {', '.join(stacks) or 'none'}; say --stack, or a pool")
    fleet = open_fleet(stacks[0], cloud, ConsoleTeller(people(as_json=as_json)))
    declared = tuple(each.name for each in fleet.config.pools)
    if pool is not None and pool not in declared:
        raise Refusal(f"{pool} is no pool of {fleet.stack}; pools are {', '.join(declared)}")
    ask_before_google(f"{what} of {pool or f'every pool of {fleet.stack}'}", fleet.session.cloud, yes=yes)
    return fleet, (pool,) if pool else declared


def _as_it_is(fleet: Fleet, pools: tuple[str, ...], said: str, *, as_json: bool) -> None:
    """What is asked for stands: nothing is changed, and that is well."""
    fleet.session.say(f"{said}; nothing to do")
    if as_json:
        machines({"stack": fleet.stack, "pools": list(pools), "wish": None, "exit": 0})


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
