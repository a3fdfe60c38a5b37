"""Keeping VMs from new jobs, and waiting for those that run: the request, the orders, and how far each VM is.

A request alone would be obeyed at the controller's next sweep; the orders are written at once as well, so that a drain
needs no controller. Owns both writes and what counts as quiet. Does not own who drains and for how long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from infra.fleet import operator_requests
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.memory import Memory
from infra.fleet.controller.observed import Observed
from infra.fleet.controller.rules import DEAD
from infra.fleet.controller.vm_records import order
from infra.fleet.github_lists import RunningJob
from infra.fleet.operator_requests import DrainRequest
from infra.fleet.records import ABSENT, Records
from infra.fleet.reports import Phase, ReportSeen, read_report, report_seen
from infra.model import bucket_names

SETTLE: Final = timedelta(minutes=3)
"""Within this a supervisor that lives has read its orders, which it does every 15 s."""

_AT_REST: Final = frozenset({Phase.DRAINING, Phase.UNFIT, Phase.HALTED})


class DrainState(StrEnum):
    """How far a VM is on its way to taking no job."""

    QUIET = "quiet"
    SETTLING = "settling"
    """It has no job, and its supervisor has not said yet that it takes none."""
    BUSY = "busy"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class VmStanding:
    """How far one VM is. why: the job that it runs, or what is not known."""

    vm: str
    standing: DrainState
    why: str = ""


def begin(records: Records, stack: str, drains: Sequence[DrainRequest], vms: Iterable[str]) -> None:
    """Ask for these drains and order them. Raises GoogleError."""
    operator_requests.update(records, stack, lambda body: operator_requests.with_drains(body, drains))
    for vm in vms:
        order(records, vm, drain=True)


def end(records: Records, stack: str, subjects: Collection[str], vms: Iterable[str]) -> None:
    """Withdraw them, and let these VMs take jobs. Raises GoogleError."""
    operator_requests.update(records, stack, lambda body: operator_requests.without_drains(body, subjects))
    for vm in vms:
        order(records, vm, drain=False)


def end_own(
    records: Records, stack: str, own: Sequence[DrainRequest], pool_of: Mapping[str, str], now: datetime
) -> None:
    """End these drains alone, and let those VMs take jobs that nobody else drains. Raises GoogleError."""
    operator_requests.update(records, stack, lambda body: operator_requests.without_these(body, own))
    others = {request.subject for request in operator_requests.requested(records, stack).at(now).drains}
    for vm in (request.subject for request in own):
        if not others & {vm, pool_of.get(vm, "")}:
            order(records, vm, drain=False)


def released(
    vms: Iterable[str], pool_of: Mapping[str, str], drains: Iterable[DrainRequest], ended: str, memory: Memory
) -> tuple[str, ...]:
    """Which of these VMs may take jobs once the drain of `ended` is over.

    Not those that another drain is about, nor those that the controller drained before, on their way home.
    """
    drains = tuple(drains)
    others = {request.subject for request in drains if request.subject != ended}
    since = next((request.since for request in drains if request.subject == ended), None)
    found = []
    for vm in vms:
        known = memory.vms.get(vm)
        before = known is not None and known.drained is not None and since is not None and known.drained < since
        if not before and not others & {vm, pool_of.get(vm, "")}:
            found.append(vm)
    return tuple(found)


def said(records: Records, pool_of: Mapping[str, str], observed: Observed) -> dict[str, ReportSeen | None]:
    """What VMs say of themselves, by VM that ever did; None where nobody understands it. Raises GoogleError.

    Where GitHub did not answer a report decides, so that only those count that were observed, which others cannot have
    written.
    """
    found: dict[str, ReportSeen | None] = {}
    for vm, pool in pool_of.items():
        body = read_report(records, pool, vm)
        if body is not None:
            found[vm] = report_seen(pool, vm, body) if observed.hears_runners else observed.reports.get(vm)
        elif records.generation(bucket_names.report_object(pool, vm)) != ABSENT:
            found[vm] = None
    return found


def silent_zones(vm: str, desired: Desired, observed: Observed, memory: Memory, now: datetime) -> tuple[str, ...]:
    """Zones in which a VM may be and that do not answer, without those that people gave up.

    It may be where its slot has a place, where one was asked for, and where one of its name was listed last.
    """
    slot, known = desired.slot(vm), memory.vms.get(vm)
    zones = {place.zone for place in slot.places} if slot else set()
    zones |= known.tried.keys() if known else set()
    zones |= {key.zone for key in memory.nodes if key.name == vm}
    return tuple(
        zone for zone in sorted(zones) if not observed.zone_known(zone) and not memory.is_given_up(zone, observed, now)
    )


def standing(
    vm: str,
    observed: Observed,
    reports: Mapping[str, ReportSeen | None],
    settled: bool,
    running: Mapping[str, RunningJob],
    silent: Collection[str],
) -> VmStanding:
    """How far a VM is. reports: see `said`. settled: whether a supervisor has had the time to read its orders.

    running: by runner. silent: see `silent_zones`.

    Where GitHub does not answer, a VM's own report counts. One that never reported has no supervisor and so no job.
    """
    nodes = observed.nodes_of(vm)
    # One that Google took back stays listed at home, beside the VM that was made at the fallback.
    alive = [each for each in nodes if each.state not in DEAD]
    node = min(alive, key=lambda each: each.state != "READY", default=None)
    if node is None:
        if not nodes and silent:
            return VmStanding(vm=vm, standing=DrainState.UNKNOWN, why=f"{', '.join(silent)} did not answer")
        return VmStanding(vm=vm, standing=DrainState.QUIET)
    last = reports.get(vm)
    heard = vm in reports and (last is None or last.is_of(node.made))
    report = last if heard else None
    runners = [each for each in observed.runners_of(vm) if each.online]
    busy = next((each for each in runners if each.busy), None)
    if busy is not None:
        return VmStanding(vm=vm, standing=DrainState.BUSY, why=_job_of(busy.name, report, running.get(busy.name)))
    if not runners and not observed.hears_runners and heard:
        # What it says itself counts: where that is no word of its own either, nobody knows.
        if report is None:
            why = "GitHub did not answer, and it has no report of its own that can be read"
            return VmStanding(vm=vm, standing=DrainState.UNKNOWN, why=why)
        if report.phase is Phase.BUSY:
            return VmStanding(vm=vm, standing=DrainState.BUSY, why=f"{_named(report) or 'a job'}, by its own report")
    at_rest = report is not None and report.phase in _AT_REST and not runners
    if settled or at_rest or not heard:
        return VmStanding(vm=vm, standing=DrainState.QUIET)
    return VmStanding(vm=vm, standing=DrainState.SETTLING, why="its supervisor has not answered yet")


def wait(
    look: Callable[[bool], Sequence[VmStanding]],
    *,
    clock: Callable[[], datetime],
    pause: Callable[[], None],
    limit: timedelta,
    tell: Callable[[Sequence[VmStanding]], None],
) -> tuple[VmStanding, ...]:
    """Look until all VMs are quiet or the limit is over; those that are not quiet then.

    look: told whether supervisors have had their time. tell: is told of all that is waited for, when that changes.
    """
    began, told = clock(), None
    while True:
        passed = clock() - began
        left = tuple(each for each in look(passed >= SETTLE) if each.standing is not DrainState.QUIET)
        if not left or passed >= limit:
            return left
        if left != told:
            tell(left)
        told = left
        pause()


def _job_of(runner: str, report: ReportSeen | None, job: RunningJob | None) -> str:
    """A job so that people find it: by its page, else by its runner, which GitHub shows beside it."""
    if job is None:
        return f"{_named(report) or 'the job'} of runner {runner}"
    return f"job {job.name} of {job.repository}, {job.url or f'on runner {runner}'}"


def _named(report: ReportSeen | None) -> str:
    return f"job {report.job}" if report and report.job else ""
