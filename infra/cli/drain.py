"""`./tidepool drain POOL|VM`: keep VMs from new jobs and wait for those that run, or with --end let them work again."""

from __future__ import annotations

import getpass
from collections.abc import Mapping

import click
from rich.text import Text

from infra.cli import options
from infra.cli.asking import ask_before_google
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say
from infra.cli.render.teller import ConsoleTeller
from infra.fleet import draining
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.lease import Kind
from infra.fleet.controller.observed import DrainWish, Wishes
from infra.fleet.draining import VmStanding
from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Records
from infra.fleet.status.look import Scene
from infra.fleet.wishes import read_wishes
from infra.model import names
from infra.operations.errors import Failure, Interruption, Refusal
from infra.operations.fleet.drained import begin, still, wait_for_jobs
from infra.operations.fleet.looks import Fleet, open_fleet, stack_of
from infra.operations.leased import leased
from infra.operations.ports import CloudName
from infra.preview.words import vms as in_words


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
def command(
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
    try:
        scene = fleet.look()
        desired = _desired(scene)
        vms = _vms(subject, desired)
        if end:
            _ended(fleet, scene, subject, vms, as_json=as_json)
            return
        limit = desired.settings.job if minutes is None else minutes
        wish = DrainWish(subject=subject, by=by or _login(), since=scene.at, minutes=limit)
        begin(fleet, [wish], vms)
        say(
            console,
            f"no more jobs for {in_words(sorted(vms))}; running ones are waited for {limit} minutes at most",
        )
        left = _waited_for(fleet, vms, limit, subject)
    except GoogleError as error:
        raise Failure(str(error)) from None
    if left:
        say(console, Text(f"after {limit} minutes there is still {still(left)}; the drain stands", style="yellow"))
    else:
        say(console, Text(f"{subject} is drained; `./tidepool drain {subject} --end` ends it", style="green"))
    code = FAILED if left else 0
    if as_json:
        machines(
            {
                "stack": fleet.stack,
                "subject": subject,
                "vms": list(vms),
                "minutes": limit,
                "drained": not left,
                "left": [{"vm": each.vm, "standing": each.standing.value, "why": each.why} for each in left],
                "exit": code,
            }
        )
    ctx.exit(code)


def _waited_for(fleet: Fleet, vms: Mapping[str, str], limit: int, subject: str) -> tuple[VmStanding, ...]:
    try:
        return wait_for_jobs(fleet, vms, limit)
    except KeyboardInterrupt:
        raise Interruption(f"Interrupted. The drain stands; `./tidepool drain {subject} --end` ends it.") from None


def _ended(fleet: Fleet, scene: Scene, subject: str, vms: Mapping[str, str], *, as_json: bool) -> None:
    """Also a drain that is over by itself: where no controller sweeps, its VMs are not let work yet."""
    with clients(fleet.place.project, fleet.place.endpoint) as google:
        record = Records(google=google, bucket=fleet.place.bucket).read(names.wishes_object(fleet.stack))
    wished = read_wishes(record.body) if record else Wishes()
    stand = wished.at(scene.at).drains
    wishes = tuple(each for each in wished.drains if each in stand or each.subject == subject)
    if not any(wish.subject == subject for wish in wishes):
        drained = ", ".join(wish.subject for wish in wishes)
        fleet.session.say(f"nobody drains {subject}, nothing to do; drained is {drained or 'nothing'}")
        if as_json:
            machines({"stack": fleet.stack, "subject": subject, "vms": [], "kept": [], "exit": 0})
        return
    released = draining.released(vms, vms, wishes, subject, scene.memory)
    with (
        leased(fleet.config, fleet.session, Kind.DRAIN),
        clients(fleet.place.project, fleet.place.endpoint) as google,
    ):
        records = Records(google=google, bucket=fleet.place.bucket)
        draining.end(records, fleet.stack, {subject}, released)
    kept = sorted(set(vms) - set(released))
    working = in_words(released) if released else "none of its VMs yet"
    fleet.session.say(f"{subject} is drained no more; jobs go to {working}")
    if kept:
        fleet.session.say(f"drained for another reason: {', '.join(kept)}")
    if as_json:
        machines({"stack": fleet.stack, "subject": subject, "vms": list(released), "kept": kept, "exit": 0})


def _desired(scene: Scene) -> Desired:
    if scene.desired is None:
        raise Failure(f"{scene.stack}: {'; '.join(scene.problems)}")
    if scene.observed is not None and not scene.observed.wishes_source.known:
        raise Failure(f"{scene.stack}: {scene.observed.wishes_source.reason}")
    return scene.desired


def _vms(subject: str, desired: Desired) -> dict[str, str]:
    """The VMs of a subject with their pools."""
    found = {slot.name: slot.pool for slot in desired.slots if subject in (slot.name, slot.pool)}
    if not found:
        raise Refusal(f"the published fleet of {desired.stack} has no VM of {subject}")
    return found


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"
