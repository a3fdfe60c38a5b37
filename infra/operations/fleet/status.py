"""How fleets stand: one stack's, or every stack's that declares or has VMs; and the words for it.

Owns which stacks are looked at, and that one of which something is not known hides no other. What follows of a look is
`infra.fleet.status`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from infra.engines.protocol import CloudName
from infra.fleet.google import GoogleError
from infra.fleet.reports import read_report
from infra.fleet.status.derive import status
from infra.fleet.status.queue import Unserved
from infra.fleet.status.shape import FleetIssue, FleetStatus, LastSweep, Next, PoolStatus, RolloutStatus
from infra.fleet.status.story import Story, story
from infra.fleet.wishes import DrainWish
from infra.model import names, runner_names
from infra.model.errors import ConfigError
from infra.model.fleet import slots
from infra.operations.errors import Refusal
from infra.operations.fleet.looks import Fleet, UnknownSubject, fleets_declared, open_fleet, stack_of
from infra.operations.ports import SILENT, Teller
from infra.operations.stacks.nodes import nodes_now
from infra.operations.stacks.pools import GrantsSeen, policies_of
from infra.operations.stacks.stack_file import known_stacks
from infra.operations.workspace import workspace
from infra.preview.words import ago, due, since, vms

__all__ = ("FleetIssue", "FleetStatus", "Next", "PoolStatus", "RolloutStatus", "Statuses", "Unserved")


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

    def look(self) -> tuple[FleetStatus, ...]:
        """How they stand now; of a stack that nobody named only where it declares VMs, or has some, or is not known.

        Stack files are read for each look: whoever watches may wait for their own edit to be applied. Raises
        ConfigError for the stack that is named, if at the first look its file does not say where its fleet is.
        """
        fleets = list(self._fleets())
        if not fleets:
            self.teller.say(f"there is no stack: {workspace().root / 'stacks'} has no Pulumi.STACK.yaml")
        for fleet in fleets:
            if fleet.stack not in self._grants:
                self._grants[fleet.stack] = _grants(fleet)
        return tuple(found for fleet in fleets for found in self._standing(fleet))

    def _fleets(self) -> Iterator[Fleet | FleetStatus]:
        """Of every stack the fleet, or how it stands where its file does not say where it is."""
        insists, self._looked = self.stack is not None and not self._looked, True
        for name in known_stacks() if self.stack is None else (self.stack,):
            try:
                yield open_fleet(name, self.cloud, self.teller, tells_trouble=False)
            except ConfigError as error:
                if insists:
                    raise
                problem = str(error.problems[0]).replace("\n ", ";")
                yield FleetStatus(stack=name, at=datetime.now(UTC), problems=(problem,))

    def _standing(self, fleet: Fleet | FleetStatus) -> Iterator[FleetStatus]:
        if isinstance(fleet, FleetStatus):
            yield fleet
            return
        trouble = (fleet.trouble,) if fleet.trouble else ()
        try:
            found = status(fleet.look(with_jobs=True), None if trouble else fleet.config)
        except GoogleError as error:
            yield FleetStatus(stack=fleet.stack, at=datetime.now(UTC), problems=(str(error), *trouble))
            return
        cluster = None if trouble else nodes_now(fleet.config, fleet.place.endpoint)
        if self.stack or trouble or found.orphan_vms or found.desired or cluster or slots(fleet.config):
            grants = self._grants[fleet.stack]
            problems = (*found.problems, *trouble)
            told = replace(found, cluster=cluster, problems=problems)
            yield replace(told, grants=grants.strange, unread=grants.unread)


def _grants(fleet: Fleet | FleetStatus) -> GrantsSeen:
    """What no stack declares; nothing is said of it where the stack file does not say all that is declared."""
    if isinstance(fleet, FleetStatus) or fleet.trouble:
        return GrantsSeen()
    return policies_of(fleet.config, fleet.place.endpoint)


def why(vm: str, *, stack: str | None = None, cloud: CloudName | None = None, teller: Teller = SILENT) -> Story:
    """The story of a VM, or of a runner's VM; nothing is changed.

    Raises Refusal for a name that is of no VM here, GoogleError where the fleet's records do not answer.
    """
    vm = runner_names.vm_of(vm) or vm
    try:
        owner = stack_of(vm, stack)
    except UnknownSubject as unknown:
        found = _seen(vm, stack, cloud, teller)
        if found is None:
            raise Refusal(f"{unknown}; no other VM of that name was seen in their zones") from None
        return found
    fleet = open_fleet(owner, cloud, teller)
    pool = _pool(vm, fleet)
    scene = fleet.look()
    with fleet.place.records() as records:
        report = read_report(records, pool, vm)
        binding = records.body(names.binding_object(fleet.stack, vm))
    return story(vm, scene, report, binding)


def _seen(vm: str, stack: str | None, cloud: CloudName | None, teller: Teller) -> Story | None:
    """What is known of a VM whose name is of no pool, as of somebody else's in a zone of ours; None if none is seen."""
    for name in fleets_declared(stack):
        try:
            scene = open_fleet(name, cloud, teller).look()
        except GoogleError:
            continue
        if scene.observed and any(node.name == vm for node in scene.observed.nodes):
            return story(vm, scene, None, None)
    return None


def _pool(vm: str, fleet: Fleet) -> str:
    pools = sorted((pool.name for pool in fleet.config.pools if vm.startswith(f"{pool.name}-")), key=len)
    if not pools:
        raise Refusal(f"{vm} is a pool; a VM is POOL-ZONE-INDEX, as in `./tidepool status {fleet.stack}`")
    return pools[-1]


def amiss(status: FleetStatus) -> str:
    said = [f"{len(status.unhealthy)} of {status.desired} VMs do not serve"] if status.unhealthy else []
    said += [f"{len(status.orphans)} without owner"] if status.orphans else []
    said += [f"{len(status.findings)} to look at"] if status.findings else []
    said += ["the cluster is not as declared"] if status.cluster and status.cluster.troubles else []
    said += ["not as the stack file says"] if status.unapplied else []
    return ", ".join(said) or "not as declared yet"


def unknown(status: FleetStatus) -> list[FleetIssue]:
    queues = [
        FleetIssue(subject=f"queue of {pool.pool}", reason=pool.queue.reason)
        for pool in status.pools
        if pool.queue.waiting is None
    ]
    return [*status.unknown, *queues]


def drain_words(drain: DrainWish, now: datetime) -> str:
    return f"{drain.subject}  by {drain.by}, {since(drain.since, now)}, waits {drain.minutes} min for running jobs"


def to_come(rollout: RolloutStatus) -> str:
    """What no sweep has begun yet, and what none will begin by itself."""
    said = f"; {', '.join(rollout.coming)} begins with the next sweep" if rollout.coming else ""
    if rollout.not_tried:
        return f"{said}; {not_tried(rollout)}"
    return said + ("; goes back with the next sweep" if rollout.taken_back else "")


def not_tried(rollout: RolloutStatus) -> str:
    """What of a pool's target was taken back, and what people can do."""
    again = f"`./tidepool rollout redo {rollout.pool}`"
    return f"{' and '.join(rollout.not_tried)} {_is(rollout.not_tried)} tried again only by {again}"


def coming_line(rollout: RolloutStatus) -> str:
    """What the next sweeps try in a pool, and what they do not."""
    tried = f"{' and '.join(rollout.coming)} {_is(rollout.coming)} tried on one VM first" if rollout.coming else ""
    back = not_tried(rollout) if rollout.not_tried else ""
    return f"{rollout.pool}: " + "; ".join(filter(None, (tried, back)))


def _is(some: Sequence[str]) -> str:
    return "are" if len(some) > 1 else "is"


def when_words(step: Next, now: datetime) -> str:
    if step.at:
        return f"{due(step.at, now)}, {ago(step.at, now)}"
    return "waiting" if step.waits else "next sweep"


def grouped_steps(steps: Sequence[Next], now: datetime) -> list[tuple[str, int]]:
    """What the controller does next, in a line for all that is done alike at one time, with how many those are."""
    alike: dict[tuple[str, str], list[str]] = {}
    for each in steps:
        alike.setdefault((when_words(each, now), each.what), []).append(each.subject)
    others = {key: f" and {len(subjects) - 1} more" if len(subjects) > 1 else "" for key, subjects in alike.items()}
    return [(f"{key[0]}: {subjects[0]}{others[key]}  {key[1]}", len(subjects)) for key, subjects in alike.items()]


def sweep_words(sweep: LastSweep) -> str:
    """What a sweep came to."""
    counts = {"done or begun": sweep.done, "deferred": sweep.deferred, "changed": sweep.changed, "left": sweep.left}
    came = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing done, some of it waits"
    return "nothing to do" if sweep.settled else came


def unapplied_words(status: FleetStatus) -> list[str]:
    """How what is published differs from the stack file; the last line says what tells more."""
    found = status.unapplied
    if not found:
        return []
    told = (
        (found.missing, "declared and not published"),
        (found.extra, "published and declared no more"),
        (found.changed, "published otherwise than declared"),
    )
    lines = [f"{vms(names)} {what}" for names, what in told if names]
    lines += [f"{', '.join(found.settings)} published otherwise than declared"] if found.settings else []
    return [*lines, f"`./tidepool preview {status.stack}` says what an `up` would change"]


def rollout_words(rollout: RolloutStatus, now: datetime) -> str:
    """How far one pool's rollout is, behind its stage."""
    said = rollout.target if rollout.stage == "steady" else f"{rollout.stable} -> {rollout.target}"
    if rollout.stage in ("failed", "undone"):
        said = f"back to {rollout.stable}: {rollout.why}"
    if rollout.under_way:
        waits = f", waiting for {', '.join(rollout.waiting)}" if rollout.waiting else ""
        said += f"; {rollout.proved} of {rollout.vms} proved{waits}"
    lists = (
        ("", rollout.returning, " on the way back"),
        ("held by ", rollout.held, ""),
        ("failed on ", rollout.failed, ""),
    )
    said += "".join(f"; {before}{', '.join(names)}{behind}" for before, names, behind in lists if names)
    return f"{said} ({since(rollout.since, now)}){to_come(rollout)}"
