"""How fleets stand: one stack's, or every stack's that declares or has VMs.

Owns which stacks are looked at, and that one of which something is not known hides no other. What follows of a look is
`infra.fleet.status`, its words `status_words`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from infra.fleet.google import GoogleError
from infra.fleet.history import Result, left_undone
from infra.fleet.reports import read_report
from infra.fleet.status.derive import status
from infra.fleet.status.shape import FleetIssue, FleetStatus
from infra.fleet.status.timeline import VmTimeline, timeline
from infra.model import bucket_names
from infra.model.errors import ConfigError
from infra.model.fleet import every_slot
from infra.model.plan import Status
from infra.operations.declared.stack_file import known_stacks
from infra.operations.fleet.looks import Fleet, open_fleet, settled_at
from infra.operations.fleet.nodes import nodes_now
from infra.operations.fleet.pools import GrantsSeen, policies_of
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.session import clock_without_cloud
from infra.operations.workspace import workspace


@dataclass(frozen=True, slots=True)
class _Unplaced:
    """A stack whose file does not say where its fleet is."""

    stack: str
    problem: str


@dataclass(slots=True, kw_only=True)
class Statuses:
    """Looks at the fleet of one stack, or of every stack, as often as it is asked to.

    stack: None for every stack. cloud: None for the one that this machine has credentials for. Grants that no stack
    declares are read once for a stack: they take many calls.
    """

    stack: str | None = None
    cloud: CloudName | None = None
    teller: Teller = SILENT
    _grants: dict[str, GrantsSeen] = field(default_factory=dict)
    _looked: bool = False

    def look(self, at: datetime | None = None) -> tuple[FleetStatus, ...]:
        """How they stand at one moment. Stacks that nobody named are those that declare or have VMs, or are not known.

        Stack files are read for each look: whoever watches may wait for their own edit to be applied. Raises
        ConfigError for the stack that is named, if at the first look its file does not say where its fleet is.
        at: of `settled_at`; the cloud's present where not given.
        """
        fleets = list(self._fleets())
        if not fleets:
            self.teller.say(f"there is no stack: {workspace().root / 'stacks'} has no Pulumi.STACK.yaml")
        for fleet in fleets:
            if isinstance(fleet, Fleet) and fleet.stack not in self._grants:
                self._grants[fleet.stack] = _grants(fleet)
        moment = at or self._moment(fleets)
        return tuple(found for fleet in fleets for found in self._standing(fleet, moment))

    def _moment(self, fleets: Iterable[Fleet | _Unplaced]) -> datetime:
        places = [each.place for each in fleets if isinstance(each, Fleet)]
        return settled_at(places[0].endpoint, places[0].clock) if places else clock_without_cloud(self.cloud)()

    def _fleets(self) -> Iterator[Fleet | _Unplaced]:
        """Of every stack the fleet, or why its file does not say where it is."""
        insists, self._looked = self.stack is not None and not self._looked, True
        for name in known_stacks() if self.stack is None else (self.stack,):
            try:
                yield open_fleet(name, self.cloud, self.teller, tells_trouble=False)
            except ConfigError as error:
                if insists:
                    raise
                problem = str(error.problems[0]).replace("\n ", ";")
                yield _Unplaced(name, problem)

    def _standing(self, fleet: Fleet | _Unplaced, at: datetime) -> Iterator[FleetStatus]:
        if isinstance(fleet, _Unplaced):
            yield FleetStatus(stack=fleet.stack, at=at, problems=(fleet.problem,))
            return
        trouble = (fleet.trouble,) if fleet.trouble else ()
        try:
            found = status(fleet.look(with_jobs=True, at=at), None if trouble else fleet.config)
        except GoogleError as error:
            yield FleetStatus(stack=fleet.stack, at=at, problems=(str(error), *trouble))
            return
        cluster = None if trouble else nodes_now(fleet.config, fleet.place.endpoint)
        if self.stack or trouble or found.orphan_vms or found.desired or cluster or every_slot(fleet.config):
            grants = self._grants[fleet.stack]
            problems = (*found.problems, *trouble)
            findings = (*found.findings, *_undone(fleet))
            told = replace(found, cluster=cluster, problems=problems, findings=findings)
            yield replace(told, grants=grants.strange, unread=grants.unread)


def _undone(fleet: Fleet) -> Iterator[FleetIssue]:
    """What the last operation on the stack left undone. A bucket that may not be listed tells nothing of it."""
    try:
        with fleet.place.records() as records:
            last = next(iter(left_undone(records, fleet.stack)), None)
    except GoogleError:
        return
    if last is None:
        return
    failed = [each.name for each in last.changes if each.status is Status.FAILED]
    at = f" at {', '.join(failed[:3])}" + (f" and {len(failed) - 3} more" if len(failed) > 3 else "") if failed else ""
    how = "has not ended: it runs, or was killed" if last.result is Result.UNFINISHED else f"{last.result}{at}"
    again = f"`./tidepool {last.verb} {fleet.stack}` goes on"
    yield FleetIssue(
        subject=fleet.stack, reason=f"the last {last.verb}, by {last.by}, {how}; {again}", since=last.began
    )


def _grants(fleet: Fleet) -> GrantsSeen:
    """What no stack declares; nothing is said of it where the stack file does not say all that is declared."""
    if fleet.trouble:
        return GrantsSeen()
    return policies_of(fleet.config, fleet.place.endpoint)


def vm_timeline(fleet: Fleet, vm: str) -> VmTimeline:
    """The timeline of a VM of a fleet, or of somebody else's in a zone of it; nothing is changed.

    Raises GoogleError where the fleet's records do not answer.
    """
    pools = sorted((pool.name for pool in fleet.config.pools if vm.startswith(f"{pool.name}-")), key=len)
    scene = fleet.look()
    if not pools:
        return timeline(vm, scene, None, None)
    with fleet.place.records() as records:
        report = read_report(records, pools[-1], vm)
        binding = records.body(bucket_names.binding_object(fleet.stack, vm))
    return timeline(vm, scene, report, binding)
