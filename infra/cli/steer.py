"""`./tidepool drain`, `rollout` and `zone`: what people ask of a fleet that runs."""

from __future__ import annotations

from collections.abc import Callable

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.operations.fleet import drain as draining
from infra.operations.fleet import drained, looks, requests, rollout, status_words, subjects
from infra.preview.toned import Tone

_about = options.each(options.stack_option, options.cloud_option, options.yes_option, options.json_option)
_pool = click.argument("pool", metavar="POOL", type=options.Name("pool"))
_any_pool = click.argument("pool", metavar="[POOL]", required=False, type=options.Name("pool"))


@click.command()
@click.argument("subject", metavar="POOL|VM", type=options.Name("pool", "vm"))
@options.each(options.stack_option, options.cloud_option)
@click.option("--minutes", type=click.IntRange(0), help="How long to wait; `job_minutes` of the stack if not given.")
@click.option("--by", default=None, help="Who drains it, as status shows it; your login if not given.")
@click.option("--end", is_flag=True, help="End the drain: the VMs take jobs again.")
@options.each(options.yes_option, options.json_option)
@called
def drain_command(call: Invocation, *, subject: str, minutes: int | None, by: str | None, end: bool) -> int:
    """Keep POOL, or one VM, from new jobs, and wait for those that run: it says which. No job is cut off.

    The drain stands until --end, also when this command is interrupted or its minutes are over, and the controller
    heals no VM for being drained. On the local cloud its clock is moved in place of waiting.

    Exit code 0 when every VM is quiet, 1 when after the minutes a job still runs, or that is not known.
    """
    fleet = looks.open_fleet(subjects.stack_of(subject, call.within), call.cloud, call.teller)
    call.ask_before_google(f"{'Ending the drain' if end else 'Draining'} of {subject}", fleet.session.cloud)
    if end:
        released = draining.end_drain(fleet, subject)
        call.say(*released.lines)
        return call.end(released)
    done = draining.drain(fleet, subject, minutes=minutes, by=by)
    if done.left:
        said = f"after {done.minutes} minutes these are not quiet: {drained.still(done.left)}; the drain stands"
        call.say(said, tone=Tone.WARNING)
    else:
        call.say(f"{subject} is drained; `./tidepool drain {subject} --end` ends it", tone=Tone.GOOD)
    return call.end(done, failed=bool(done.left))


@click.group(cls=options.Group)
def rollout_command() -> None:
    """Steer how a new image or bundle goes through a pool: to a canary first, then a share at a time."""


@rollout_command.command()
@_any_pool
@options.each(options.stack_option, options.cloud_option, options.json_option)
@called
def status(call: Invocation, *, pool: str | None) -> None:
    """Say how far rollouts are, as the controller's last sweep left them. Exit code 0 whatever it finds."""
    found = []
    for courses in rollout.courses(pool, call.within, call.cloud, call.teller):
        for each in courses.rollouts:
            found.append({"stack": courses.stack, **each.to_json()})
            call.say(status_words.rollout_line(each, courses.at))
    if not found:
        call.say("no rollouts yet: the controller has not swept")
    call.end({"rollouts": found})


@rollout_command.command()
@_any_pool
@_about
@called
def pause(call: Invocation, *, pool: str | None) -> None:
    """Let no more VMs of POOL, or of every pool, get what is new. Those that have it keep it."""
    _steer(call, "Pausing rollouts", pool, rollout.pause)


@rollout_command.command()
@_any_pool
@_about
@called
def resume(call: Invocation, *, pool: str | None) -> None:
    """Go on with what was paused. What went back stays back: `rollout redo` tries it again."""
    _steer(call, "Resuming rollouts", pool, rollout.resume)


@rollout_command.command()
@_pool
@_about
@called
def undo(call: Invocation, *, pool: str) -> None:
    """Bring POOL back to what was proved before, also where what is new is everywhere already.

    That image or bundle is not rolled out again until `rollout redo`; of one that went back by itself nobody is alerted
    any more. To take a promotion itself back there is `images undo`.
    """
    _steer(call, "Undoing the rollout", pool, rollout.undo)


@rollout_command.command()
@_pool
@_about
@called
def redo(call: Invocation, *, pool: str) -> None:
    """Try again in POOL what was undone or went back by itself, behind a canary, as it is promoted or published."""
    _steer(call, "Redoing the rollout", pool, rollout.redo)


def _steer(
    call: Invocation, what: str, pool: str | None, steer: Callable[[rollout.RolloutPools], rollout.Steered]
) -> None:
    """Ask for a change of the pools' rollouts, and say what follows."""
    pools = rollout.rollout_pools(pool, call.within, call.cloud, call.teller)
    fleet = pools.fleet
    call.ask_before_google(f"{what} of {pool or f'every pool of {fleet.stack}'}", fleet.session.cloud)
    done = steer(pools)
    call.say(*done.lines)
    call.end({"stack": fleet.stack, "pools": list(pools.names), "wish": done.request})


@click.group(cls=options.Group)
def zone_command() -> None:
    """Say that a zone is gone for good, or is back: while it cannot be listed, only people know whether its VMs run."""


_zone = click.argument("zone", metavar="ZONE", type=options.Name("zone"))


@zone_command.command()
@_zone
@_about
@called
def lost(call: Invocation, *, zone: str) -> None:
    """Make nothing in ZONE any more; once it was silent for ten minutes its VMs count as gone, and fallbacks serve.

    VMs of a zone that answers stay. If the zone comes back with VMs whose slots were made elsewhere, one of each two
    takes no more jobs, and is deleted once it has none.
    """
    _request(call, zone, "lost", f"Giving up {zone}", requests.give_up_zone)


@zone_command.command()
@_zone
@_about
@called
def found(call: Invocation, *, zone: str) -> None:
    """Make VMs in ZONE again. Those at fallbacks come home as after a stockout."""
    _request(call, zone, "found", f"Taking back that {zone} is lost", requests.take_back_zone)


def _request(call: Invocation, zone: str, what: str, doing: str, request: Callable[[looks.Fleet, str], object]) -> None:
    fleet = requests.fleet_in(zone, call.within, call.cloud, call.teller)
    call.ask_before_google(f"{doing} for {fleet.stack}", fleet.session.cloud)
    request(fleet, zone)
    call.say(f"{zone} is {what} for {fleet.stack}; the controller obeys at its next sweep")
    call.end({"stack": fleet.stack, "zone": zone, "wish": what})
