"""Waiting for jobs before their VMs are touched: what `drain` does, and what `up` does before it deletes or replaces.

Owns who is asked, what is told meanwhile, and that `up` ends its own drains whatever comes of it. What counts as quiet
is `infra.fleet.draining`.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from infra.fleet import draining
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.github import GitHubError
from infra.fleet.controller.lease import LeaseKind
from infra.fleet.controller.memory import Memory
from infra.fleet.controller.observed import Observed
from infra.fleet.draining import DrainState, VmStanding
from infra.fleet.github_lists import RunningJob
from infra.fleet.google import GoogleError
from infra.fleet.operator_requests import DrainRequest, requested
from infra.fleet.status.look import Scene
from infra.operations.errors import Failure, Interruption
from infra.operations.fleet.looks import Fleet
from infra.operations.leased import NOTHING_CHANGED, leased
from infra.operations.ports import Tone
from infra.preview.words import vms as in_words

EVERY: Final = 15.0
"""Seconds between two looks, as often as a supervisor reads its orders."""
SPARE: Final = timedelta(minutes=30)
"""How long a drain stands beyond its minutes: longer than its command waits for the lease, which then keeps it."""


def wait_for_jobs(fleet: Fleet, pool_of: Mapping[str, str], minutes: int) -> tuple[VmStanding, ...]:
    """Wait until these VMs run nothing; what still does when the minutes are over, or is not known of."""

    jobs = _JobsOfRunners(fleet)

    def look(settled: bool) -> list[VmStanding]:
        desired, observed, memory = _seen(fleet)
        serves = {each for slot in desired.slots if slot.name in pool_of for each in slot.serves}
        now = fleet.place.clock()
        with fleet.place.records() as records:
            reports = draining.said(records, pool_of, observed)
        busy = {each.name for vm in pool_of for each in observed.runners_of(vm) if each.busy}
        running = jobs.of(busy, serves)
        silent = {vm: draining.silent_zones(vm, desired, observed, memory, now) for vm in pool_of}
        return [draining.standing(vm, observed, reports, settled, running, silent[vm]) for vm in sorted(pool_of)]

    return draining.wait(
        look,
        clock=fleet.place.clock,
        pause=lambda: fleet.pause(EVERY),
        limit=timedelta(minutes=minutes),
        tell=lambda left: fleet.session.say(waited_for(left), Tone.WORKING),
    )


def waited_for(left: Sequence[VmStanding]) -> str:
    """Which jobs are waited for, VM by VM."""
    said = [f"{each.vm}: {each.why}" for each in left if each.standing is not DrainState.SETTLING]
    settling = sum(each.standing is DrainState.SETTLING for each in left)
    said += [f"{settling} more VMs to confirm that they take no jobs"] if said and settling else []
    what = "; ".join(said) or f"{settling} VMs to confirm that they take no jobs"
    return f"waiting for {what}"


@contextmanager
def drained_before(
    fleet: Fleet, vms: Collection[str], command: str, *, state: str = NOTHING_CHANGED
) -> Generator[None]:
    """Drain the VMs that a command takes away, for as long as the block lasts; each is let take jobs again afterwards.

    command: `up` or `destroy`, for what is said and for who drains. state: what the command has done so far.

    The controller goes on meanwhile: the lease is held for the request alone, and the block takes its own. Raises
    Failure where jobs run on after the manifest's `job_minutes`, or where it is not known whether any does.
    """
    scene = _scene(fleet, state)
    desired = scene.desired
    pool_of = {slot.name: slot.pool for slot in desired.slots if slot.name in vms} if desired else {}
    if desired is None and scene.manifest is not None:
        raise Failure(
            f"{state}: cannot tell what runs on the VMs to delete: {'; '.join(scene.problems)}; "
            "--no-drain deletes them all the same, and cuts off their jobs"
        )
    if desired is None or not pool_of:
        # What is in no manifest gets no registration, and so no job.
        yield
        return
    minutes = desired.settings.job
    fleet.session.say(f"draining {in_words(sorted(pool_of))} before they are deleted, {minutes} minutes at most")
    began = fleet.place.clock()
    # One that is killed ends nothing. Its VMs work again by themselves.
    until = began + timedelta(minutes=minutes) + SPARE
    # Of its own also where somebody else drains a VM: they may end theirs while this one relies on it.
    own = [
        DrainRequest(subject=vm, by=f"./tidepool {command}", since=began, minutes=minutes, until=until)
        for vm in sorted(pool_of)
    ]
    try:
        _drain(fleet, pool_of, own, minutes, command, state)
        yield
    finally:
        _end(fleet, own, pool_of)


def _drain(
    fleet: Fleet, pool_of: Mapping[str, str], own: Sequence[DrainRequest], minutes: int, command: str, state: str
) -> None:
    try:
        begin(fleet, own, pool_of, state=state)
        left = wait_for_jobs(fleet, pool_of, minutes)
        ended = _ended_meanwhile(fleet, own)
    except GoogleError as error:
        raise Failure(
            f"{state}: cannot drain the VMs to delete: {error}; "
            "--no-drain deletes them all the same, and cuts off their jobs"
        ) from None
    except KeyboardInterrupt:
        raise Interruption(f"Interrupted in a drain: {state}, and the VMs take jobs again.") from None
    if left:
        raise Failure(
            f"{state}: after {minutes} minutes these are not quiet: {still(left)}; "
            f"run {command} again later, or add --no-drain, which cuts off their jobs"
        )
    if ended:
        raise Failure(f"{state}: the drain of {', '.join(ended)} was ended meanwhile; run {command} again")


def _ended_meanwhile(fleet: Fleet, own: Sequence[DrainRequest]) -> list[str]:
    """VMs whose drain a person ended: they may have taken a job since they were looked at."""
    with fleet.place.records() as records:
        standing = requested(records, fleet.stack).drains
    return [request.subject for request in own if request not in standing]


def begin(fleet: Fleet, requests: Sequence[DrainRequest], vms: Iterable[str], *, state: str = NOTHING_CHANGED) -> None:
    """Ask for these drains and order them, under the lease. Raises GoogleError, and Failure where another holds it."""
    with (
        leased(fleet.config, fleet.session, LeaseKind.DRAIN, state=state),
        fleet.place.records() as records,
    ):
        draining.begin(records, fleet.stack, requests, vms)


def still(left: Iterable[VmStanding]) -> str:
    return "; ".join(f"{each.vm}: {each.why}" for each in left)


def _end(fleet: Fleet, own: Sequence[DrainRequest], pool_of: Mapping[str, str]) -> None:
    """Needs no lease: a sweep that read the request before orders a drain once more, and the next one ends it."""
    try:
        with fleet.place.records() as records:
            draining.end_own(records, fleet.stack, own, pool_of, fleet.place.clock())
    except GoogleError as error:
        vms = ", ".join(sorted(pool_of))
        fleet.session.say(f"problem: the drain of {vms} could not be ended: {error}", Tone.PROBLEM)


def _scene(fleet: Fleet, state: str) -> Scene:
    try:
        return fleet.look()
    except GoogleError as error:
        raise Failure(
            f"{state}: the manifest cannot be read: {error}; --no-drain goes on without, and cuts off what its VMs run"
        ) from None


@dataclass(slots=True)
class _JobsOfRunners:
    """The jobs of busy runners, by the runner's name. A runner has one job: it is asked for when it is first seen busy.

    Looking into runs takes many calls, and a name is worth no more: what GitHub does not tell stays untold.
    """

    fleet: Fleet
    _seen: set[str] = field(default_factory=set)
    _found: dict[str, RunningJob] = field(default_factory=dict)

    def of(self, busy: Collection[str], serves: Collection[str]) -> Mapping[str, RunningJob]:
        if not self._seen.issuperset(busy):
            self._seen.update(busy)
            with suppress(GitHubError):
                self._found |= {job.runner: job for job in self.fleet.place.github.running(serves)}
        return self._found


def _seen(fleet: Fleet) -> tuple[Desired, Observed, Memory]:
    """What is declared, seen and remembered now."""
    scene = fleet.look()
    if scene.observed is None or scene.desired is None:
        raise Failure(f"the manifest of {fleet.stack} is gone; `./tidepool up {fleet.stack}` makes it")
    return scene.desired, scene.observed, scene.memory
