"""`./tidepool drain`, `rollout` and `zone`: what people ask of a fleet that runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from rich.text import Text

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say
from infra.cli.render.status import rollout_line
from infra.cli.render.teller import ConsoleTeller
from infra.operations.fleet import requests, rollout
from infra.operations.fleet.drain import Released, drain, end_drain
from infra.operations.fleet.drained import still
from infra.operations.fleet.looks import Fleet, open_fleet, stack_of
from infra.operations.ports import CloudName
from infra.preview.words import vms as in_words

F = TypeVar("F", bound=Callable[..., Any])


@click.command(name="drain", short_help="Keep a pool or a VM from new jobs, and wait for those that run.")
@click.argument("subject", metavar="POOL|VM")
@options.stack_option
@options.cloud_option
@click.option("--minutes", type=click.IntRange(0), help="How long to wait; `job_minutes` of the stack if not given.")
@click.option("--by", default=None, help="Who drains it, as status shows it; your login if not given.")
@click.option("--end", is_flag=True, help="End the drain: the VMs take jobs again.")
@options.yes_option
@options.json_option
@click.pass_context
def drain_command(
    ctx: click.Context,
    *,
    subject: str,
    stack: str | None,
    cloud: CloudName | None,
    minutes: int | None,
    by: str | None,
    end: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Keep POOL, or one VM, from new jobs, and wait for those that run: it says which. No job is cut off.

    The drain stands until --end, also when this command is interrupted or its minutes are over, and the controller
    heals no VM for being drained. On the local cloud its clock is moved in place of waiting.

    Exit code 0 when every VM is quiet, 1 when after the minutes a job still runs, or that is not known.
    """
    console = people(as_json=as_json)
    fleet = open_fleet(stack_of(subject, stack), cloud, ConsoleTeller(console))
    ask_before_google(f"{'Ending the drain' if end else 'Draining'} of {subject}", fleet.session.cloud, yes=yes)
    if end:
        released = end_drain(fleet, subject)
        for line in _released(released):
            say(console, line)
        if as_json:
            machines(released.to_json() | {"exit": 0})
        return
    done = drain(fleet, subject, minutes=minutes, by=by)
    if done.left:
        said = f"after {done.minutes} minutes there is still {still(done.left)}; the drain stands"
        say(console, Text(said, style="yellow"))
    else:
        say(console, Text(f"{subject} is drained; `./tidepool drain {subject} --end` ends it", style="green"))
    code = FAILED if done.left else 0
    if as_json:
        machines(done.to_json() | {"exit": code})
    ctx.exit(code)


def _released(found: Released) -> list[str]:
    if found.drained is not None:
        return [f"nobody drains {found.subject}, nothing to do; drained is {', '.join(found.drained) or 'nothing'}"]
    working = in_words(found.vms) if found.vms else "none of its VMs yet"
    kept = [f"drained for another reason: {', '.join(found.kept)}"] if found.kept else []
    return [f"{found.subject} is drained no more; jobs go to {working}", *kept]


@click.group(name="rollout", short_help="Show, pause, resume, undo or redo how new versions go through pools.")
def rollout_command() -> None:
    """A new image, or a bundle with the runner that it pins, goes through a pool: a canary, then a share at a time."""


def _about(*, required: bool) -> Callable[[F], F]:
    """POOL and the options that all of them have."""

    def decorated(function: F) -> F:
        for option in (options.json_option, options.cloud_option, options.stack_option):
            function = option(function)
        return click.argument("pool", metavar="POOL" if required else "[POOL]", required=required)(function)

    return decorated


@rollout_command.command(name="status")
@_about(required=False)
def status_command(*, pool: str | None, stack: str | None, cloud: CloudName | None, as_json: bool) -> None:
    """Say how far rollouts are, as the controller's last sweep left them. Exit code 0 whatever it finds."""
    console, found = people(as_json=as_json), []
    for courses in rollout.courses(pool, stack, cloud, ConsoleTeller(console)):
        for each in courses.rollouts:
            found.append({"stack": courses.stack, **each.to_json()})
            say(console, rollout_line(each, courses.at))
    if not found:
        say(console, "no rollout is known: the controller has not swept yet")
    if as_json:
        machines({"rollouts": found, "exit": 0})


@rollout_command.command(name="pause")
@_about(required=False)
@options.yes_option
def pause_command(*, pool: str | None, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Let no more VMs of POOL, or of every pool, get what is new. Those that have it keep it."""
    asked = _asked("Pausing rollouts", pool, stack, cloud, yes=yes, as_json=as_json)
    asked.pause()
    _answer(asked, "paused", as_json=as_json)


@rollout_command.command(name="resume")
@_about(required=False)
@options.yes_option
def resume_command(*, pool: str | None, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Go on with what was paused. What went back stays back: `rollout redo` tries it again."""
    asked = _asked("Resuming rollouts", pool, stack, cloud, yes=yes, as_json=as_json)
    asked.resume()
    _answer(asked, "resumed", as_json=as_json)


@rollout_command.command(name="undo")
@_about(required=True)
@options.yes_option
def undo_command(*, pool: str, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Bring POOL back to what was proved before, also where what is new is everywhere already.

    That image or bundle is not rolled out again until `rollout redo`; of one that went back by itself nobody is alerted
    any more. To take a promotion itself back there is `images undo`.
    """
    asked = _asked("Undoing the rollout", pool, stack, cloud, yes=yes, as_json=as_json)
    undone = rollout.undo(asked.fleet, pool)
    if not undone.changed:
        _answer(asked, None, f"{undone.parts} of {pool} was taken back already", as_json=as_json)
        return
    if undone.leaves_no_image:
        asked.fleet.session.say(f"{pool} ran no image before; on Google Cloud a VM without one takes no job")
    _answer(asked, "undone", f"taken back: {undone.parts}", as_json=as_json)


@rollout_command.command(name="redo")
@_about(required=True)
@options.yes_option
def redo_command(*, pool: str, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Try again in POOL what was undone or went back by itself, behind a canary, as it is promoted or published."""
    asked = _asked("Redoing the rollout", pool, stack, cloud, yes=yes, as_json=as_json)
    redone = rollout.redo(asked.fleet, pool)
    if redone.changed:
        _answer(asked, "redone", f"tried again: {redone.parts}", as_json=as_json)
    else:
        _answer(asked, None, f"{redone.parts} of {pool} was not taken back", as_json=as_json)


def _asked(
    what: str, pool: str | None, stack: str | None, cloud: CloudName | None, *, yes: bool, as_json: bool
) -> rollout.Steered:
    """The fleet, and the pools of it that are meant."""
    found = rollout.steered(pool, stack, cloud, ConsoleTeller(people(as_json=as_json)))
    fleet = found.fleet
    ask_before_google(f"{what} of {pool or f'every pool of {fleet.stack}'}", fleet.session.cloud, yes=yes)
    return found


def _answer(asked: rollout.Steered, what: str | None, said: str = "", *, as_json: bool) -> None:
    """what: None where what is asked for stands already, which is well."""
    fleet, pools = asked.fleet, asked.pools
    if what is None:
        fleet.session.say(f"{said}; nothing to do")
    else:
        if said:
            fleet.session.say(said)
        fleet.session.say(f"{what}: {', '.join(pools)}; the controller obeys at its next sweep")
    if as_json:
        machines({"stack": fleet.stack, "pools": list(pools), "wish": what, "exit": 0})


@click.group(name="zone", short_help="Give up a zone that does not come back, or take that back.")
def zone_command() -> None:
    """What people know of a zone and the controller cannot: that its VMs are gone though nobody can list them."""


def _about_zone(function: F) -> F:
    """ZONE and the options that both have."""
    for option in (options.json_option, options.yes_option, options.cloud_option, options.stack_option):
        function = option(function)
    return click.argument("zone", metavar="ZONE")(function)


@zone_command.command(name="lost")
@_about_zone
def lost_command(*, zone: str, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Make nothing in ZONE any more; once it was silent for ten minutes its VMs count as gone, and fallbacks serve.

    VMs of a zone that answers stay. If the zone comes back with VMs whose slots were made elsewhere, one of each two
    takes no more jobs, and is deleted once it has none.
    """
    fleet = _fleet(zone, stack, cloud, f"Giving up {zone}", yes=yes, as_json=as_json)
    requests.give_up_zone(fleet, zone)
    _zone_is(fleet, zone, "lost", as_json=as_json)


@zone_command.command(name="found")
@_about_zone
def found_command(*, zone: str, stack: str | None, cloud: CloudName | None, yes: bool, as_json: bool) -> None:
    """Make VMs in ZONE again. Those at fallbacks come home as after a stockout."""
    fleet = _fleet(zone, stack, cloud, f"Taking back that {zone} is lost", yes=yes, as_json=as_json)
    requests.take_back_zone(fleet, zone)
    _zone_is(fleet, zone, "found", as_json=as_json)


def _fleet(zone: str, stack: str | None, cloud: CloudName | None, what: str, *, yes: bool, as_json: bool) -> Fleet:
    fleet = requests.fleet_in(zone, stack, cloud, ConsoleTeller(people(as_json=as_json)))
    ask_before_google(f"{what} for {fleet.stack}", fleet.session.cloud, yes=yes)
    return fleet


def _zone_is(fleet: Fleet, zone: str, what: str, *, as_json: bool) -> None:
    fleet.session.say(f"{zone} is {what} for {fleet.stack}; the controller obeys at its next sweep")
    if as_json:
        machines({"stack": fleet.stack, "zone": zone, "wish": what, "exit": 0})
