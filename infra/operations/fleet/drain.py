"""A drain that a person asks for: a pool or a VM takes no new jobs, until the drain is ended."""

from __future__ import annotations

from dataclasses import dataclass

from infra.fleet import draining
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.lease import LeaseKind
from infra.fleet.draining import VmStanding
from infra.fleet.operator_requests import DrainRequest, requested
from infra.fleet.status.look import Scene
from infra.model.json_shape import JsonShape
from infra.operations.errors import Failure, Interruption, Refusal
from infra.operations.fleet.drained import begin, wait_for_jobs
from infra.operations.fleet.looks import Fleet
from infra.operations.leased import leased
from infra.operations.workspace import login
from infra.preview.words import vms as in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain(JsonShape):
    """What a drain came to. left: VMs that still run a job after so many minutes, or of which that is not known."""

    JSON = ("stack", "subject", "vms", "minutes", "drained", "left")

    stack: str
    subject: str
    vms: tuple[str, ...]
    minutes: int
    left: tuple[VmStanding, ...]

    @property
    def drained(self) -> bool:
        return not self.left


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(JsonShape):
    """What the end of a drain came to. vms: that take jobs again. kept: that another reason keeps from it.

    drained: subjects that were drained when nobody drained this one; None where it was.
    """

    JSON = ("stack", "subject", "vms", "kept")

    stack: str
    subject: str
    vms: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    drained: tuple[str, ...] | None = None

    @property
    def lines(self) -> list[str]:
        """The same for people."""
        if self.drained is not None:
            others = f"; drained are {', '.join(self.drained)}" if self.drained else ""
            return [f"{self.subject} is not drained{others}"]
        working = in_words(self.vms) if self.vms else "none of its VMs yet"
        kept = [f"another drain keeps {', '.join(self.kept)} from jobs"] if self.kept else []
        return [f"the drain of {self.subject} has ended; jobs go to {working}", *kept]


def drain(fleet: Fleet, subject: str, *, minutes: int | None = None, by: str | None = None) -> Drain:
    """Keep a pool or a VM from new jobs, and wait for those that run; the drain stands whatever comes of the wait.

    minutes: how long to wait; `job_minutes` of the stack if None. by: who drains it; the login if None. Raises Refusal
    where no VM of the subject is published, Failure where the fleet is not known, GoogleError.
    """
    scene, desired = _known(fleet)
    pool_of = _pool_of(subject, desired)
    limit = desired.settings.job if minutes is None else minutes
    begin(fleet, [DrainRequest(subject=subject, by=by or login(), since=scene.at, minutes=limit)], pool_of)
    most = f"{limit} minute{'' if limit == 1 else 's'}"
    fleet.session.say(f"no more jobs for {in_words(sorted(pool_of))}; waiting up to {most} for running ones")
    try:
        left = wait_for_jobs(fleet, pool_of, limit)
    except KeyboardInterrupt:
        raise Interruption(f"Interrupted. The drain stands; `./tidepool drain {subject} --end` ends it.") from None
    return Drain(stack=fleet.stack, subject=subject, vms=tuple(pool_of), minutes=limit, left=left)


def end_drain(fleet: Fleet, subject: str) -> Released:
    """Let its VMs take jobs again, but for those that another drain keeps from it. Raises as `drain` does.

    Also of a drain that is over by itself: where no controller sweeps, its VMs are not let work yet.
    """
    scene, desired = _known(fleet)
    pool_of = _pool_of(subject, desired)
    with fleet.place.records() as records:
        known = requested(records, fleet.stack)
    stand = known.at(scene.at).drains
    requests = tuple(each for each in known.drains if each in stand or each.subject == subject)
    if not any(request.subject == subject for request in requests):
        return Released(stack=fleet.stack, subject=subject, drained=tuple(request.subject for request in requests))
    released = draining.released(pool_of, pool_of, requests, subject, scene.memory)
    with (
        leased(fleet.config, fleet.session, LeaseKind.DRAIN),
        fleet.place.records() as records,
    ):
        draining.end(records, fleet.stack, {subject}, released)
    kept = tuple(sorted(set(pool_of) - set(released)))
    return Released(stack=fleet.stack, subject=subject, vms=released, kept=kept)


def _known(fleet: Fleet) -> tuple[Scene, Desired]:
    scene, desired = fleet.published()
    if scene.observed is not None and not scene.observed.requests_source.known:
        raise Failure(f"{fleet.stack}: {scene.observed.requests_source.reason}")
    return scene, desired


def _pool_of(subject: str, desired: Desired) -> dict[str, str]:
    """The VMs of a subject with their pools."""
    found = {slot.name: slot.pool for slot in desired.slots if subject in (slot.name, slot.pool)}
    if not found:
        raise Refusal(
            f"{subject} has no VM in the published fleet of {desired.stack}. "
            f"Publish an edit with `./tidepool up {desired.stack}` first"
        )
    return found
