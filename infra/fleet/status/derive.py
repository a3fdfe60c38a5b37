"""From what was seen of a fleet to how it stands: pure.

The controller's own decision about what was seen now, which nobody carries out, says what is unhealthy and what comes
next; so a status and a sweep never disagree. Owns what of it people are told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from infra.fleet.controller import manifests
from infra.fleet.controller import memory as memories
from infra.fleet.controller.actions import Assign, Decision, Report, Waiting, subject, verb
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.events import Result
from infra.fleet.controller.keys import OwnRule
from infra.fleet.controller.memory import Memory
from infra.fleet.controller.observe import pointed
from infra.fleet.controller.observed import Observed
from infra.fleet.controller.rollout import not_tried
from infra.fleet.controller.rules import DEAD, Judgement, Verdict, rule
from infra.fleet.controller.sorting import FleetNodes, VmNames, sort
from infra.fleet.operator_requests import requested
from infra.fleet.records import Records
from infra.fleet.status.look import Scene
from infra.fleet.status.queue import Taker, queue, unserved
from infra.fleet.status.shape import BootingVm, FleetIssue, FleetStatus, LastSweep, Next, PoolStatus, RolloutStatus
from infra.fleet.versions import Rollout, shown
from infra.model import bucket_names
from infra.model.schema import StackConfig
from infra.model.unapplied import unapplied

_NOT_JUDGED: Final = frozenset({"slot-unheard", "slot-unseen"})
"""Rules that say that a VM cannot be judged now: no fault of the VM."""


def status(scene: Scene, declared: StackConfig | None = None) -> FleetStatus:
    """How a fleet stands; of one that nothing is published of, that.

    declared: what the stack file says; None where that is not known.
    """
    desired, observed = scene.desired, scene.observed
    is_readable = desired is not None or scene.manifest is None
    differing = unapplied(declared, scene.manifest) if declared is not None and is_readable else None
    if desired is None or observed is None:
        deployed = scene.manifest is not None
        return FleetStatus(
            stack=scene.stack,
            at=scene.at,
            deployed=deployed,
            unapplied=differing,
            problems=scene.problems if deployed else (),
        )
    decision = decide(desired, observed, scene.memory, scene.at)
    fleet = sort(desired, observed)
    ours = VmNames(desired=desired, fleet=fleet, memory=decision.memory)
    sources = observed.sources
    strangers = {node.name for node in (*fleet.strangers, *fleet.siblings)}
    found = [each for each in decision.findings if each.rule != OwnRule.UNKNOWN]
    told = [(each.subject in strangers, _finding(each.subject, each.reason, each.since, scene)) for each in found]
    return FleetStatus(
        stack=scene.stack,
        at=scene.at,
        unapplied=differing,
        pools=tuple(_pool(pool, scene, desired, observed, fleet, decision) for pool in desired.pools),
        orphan_vms=tuple(_orphans(fleet, scene.memory, desired)),
        orphan_runners=tuple(_ghosts(observed, scene.memory, ours)),
        findings=tuple(trouble for strange, trouble in told if not strange),
        strangers=tuple(trouble for strange, trouble in told if strange),
        unserved=unserved(scene.jobs, tuple(takers(scene, desired))),
        unknown=tuple(
            FleetIssue(subject=str(name), reason=each.reason) for name, each in sources.items() if not each.known
        ),
        drains=observed.requests.drains,
        lost=dict(observed.requests.lost),
        rollouts=tuple(rollouts(scene)),
        sweep=last_sweep(scene.sweep),
        next=tuple(_next(decision)),
        sources={str(name): each for name, each in sources.items()},
        problems=scene.problems,
    )


def last_sweep(record: Mapping[str, Any] | None) -> LastSweep | None:
    """What the controller's record of its last sweep says; None where there is none that can be read."""
    if record is None:
        return None
    try:
        actions = [each for each in record.get("actions", ()) if each["do"] != "report"]
        failed = [
            f"{each['do']} {each['subject']}: {each['text']}" for each in actions if each["result"] == Result.FAILED
        ]
        counts = Counter(each["result"] for each in actions)
        return LastSweep(
            at=datetime.fromisoformat(record["at"]),
            settled=bool(record["settled"]),
            fuse=bool(record.get("fuse")),
            freeze=record.get("freeze"),
            engine=record.get("engine"),
            done=counts[Result.DONE],
            deferred=counts[Result.DEFERRED],
            changed=counts[Result.CHANGED],
            left=counts[Result.LEFT],
            failed=tuple(failed),
        )
    except (KeyError, TypeError, ValueError):
        return None


def rollouts(scene: Scene) -> Iterable[RolloutStatus]:
    """Every declared pool's rollout that the controller knows of."""
    desired, observed = scene.desired, scene.observed
    if desired is None or observed is None:
        return
    for pool in desired.pools:
        rollout = scene.memory.rollouts.get(pool)
        if rollout is not None:
            yield rollout_status(pool, rollout, len(desired.of_pool(pool)), observed)


def unserved_since(vm: str, fleet: FleetNodes, memory: Memory) -> datetime | None:
    """Since when a declared VM does not serve, as the controller saw it; None where no sweep saw it so."""
    node = fleet.slots.get(vm)
    if node is None:
        seen = [each.seen for key, each in memory.nodes.items() if key.name == vm]
        return max(seen, default=None)
    known = memory.nodes.get(node.key)
    if known is None or known.created != node.created or (known.state, known.health) != (node.state, node.health):
        return None
    return known.unserved if node.state == "READY" else known.since


def asked_since(vm: str, fleet: FleetNodes, memory: Memory) -> datetime | None:
    """When a VM that does not serve yet was created, or its create was asked for."""
    node, asked = fleet.slots.get(vm), memory.creating.get(vm)
    return node.made if node else asked.at if asked else None


def takers(scene: Scene, desired: Desired) -> Iterable[Taker]:
    """Every pool that may take a job of the fleet's repositories, of other stacks too."""
    for pool in desired.pools:
        labels = frozenset(label.lower() for label in scene.labels.get(pool, ()))
        serves = frozenset(each.lower() for slot in desired.of_pool(pool) for each in slot.serves)
        yield Taker(pool=pool, labels=labels, serves=serves)
    for offer in scene.neighbours:
        yield Taker(pool=offer.pool, labels=offer.labels, serves=offer.serves)


def _pool(
    pool: str, scene: Scene, desired: Desired, observed: Observed, fleet: FleetNodes, decision: Decision
) -> PoolStatus:
    slots, figures = desired.of_pool(pool), decision.pools[pool]
    zones_known = all(observed.zone_known(place.zone) for slot in slots for place in slot.places)
    github_known = observed.hears(desired.scopes_of(pool))
    unjudged = {each.subject for each in decision.waiting if each.rule in _NOT_JUDGED}
    requested = {request.subject for request in observed.requests.drains}
    drained = {slot.name for slot in slots if requested & {slot.name, pool}}
    resting = {vm for vm in drained if (node := fleet.slots[vm]) is not None and node.state == "READY"}
    return PoolStatus(
        pool=pool,
        desired=figures.desired,
        ready=figures.ready if zones_known else None,
        away=figures.away if zones_known else None,
        online=figures.online if github_known else None,
        busy=figures.busy if github_known else None,
        queue=queue(scene.labels.get(pool, frozenset()), {each for slot in slots for each in slot.serves}, scene.jobs),
        unhealthy=tuple(
            FleetIssue(
                subject=vm,
                reason=why_not_serving(vm, judged, fleet, observed),
                since=unserved_since(vm, fleet, scene.memory),
            )
            for vm, judged in figures.unhealthy.items()
            if vm not in unjudged | resting
        ),
        booting=tuple(
            BootingVm(
                vm=vm,
                reason=why_not_serving(vm, judged, fleet, observed),
                since=asked_since(vm, fleet, decision.memory),
                until=judged.until,
            )
            for vm, judged in figures.booting.items()
            if vm not in unjudged | resting
        ),
        drained=tuple(sorted(drained)),
        has_runners=any(slot.has_runner for slot in slots),
    )


def why_not_serving(vm: str, judged: Judgement, fleet: FleetNodes, observed: Observed) -> str:
    """Why a VM does not serve: its state, the rule's reason, and what its own supervisor says."""
    node, report = fleet.slots.get(vm), observed.reports.get(vm)
    state = node.state if node else "not there"
    said = judged.reason if judged.rule.says_state else f"{state}: {judged.reason}"
    if (
        node is None
        or node.state in DEAD
        or report is None
        or node.made is None
        or not report.is_of(node.made)
        or (report.reason and report.reason == judged.detail)
    ):
        return said
    return f"{said}; it says {report.phase.value}" + (f": {report.reason}" if report.reason else "")


def _finding(about: str, reason: str, since: datetime, scene: Scene) -> FleetIssue:
    """One that no sweep has reported yet stands since nobody knows when."""
    return FleetIssue(subject=about, reason=reason, since=since if since != scene.at else None)


def _orphans(fleet: FleetNodes, memory: Memory, desired: Desired) -> Iterable[FleetIssue]:
    """Without those of windows that are over: they go as planned, and the sweep says so."""
    for node in fleet.orphans:
        if desired.is_closed(node.name, node.zone):
            continue
        suspect = memory.suspects.get(node.orphan_key)
        reason = f"{node.state} in {node.zone} and not declared"
        yield FleetIssue(subject=node.name, reason=reason, since=suspect.since if suspect else None)


def _ghosts(observed: Observed, memory: Memory, ours: VmNames) -> Iterable[FleetIssue]:
    """Runners of ours whose VM stands nowhere. Where a zone did not answer that is not known."""
    if not all(source.known for source in observed.zones.values()):
        return
    there = {node.name for node in observed.nodes}
    for runner in observed.runners:
        if runner.vm is not None and runner.vm not in there and ours.is_ours(runner.vm):
            suspect = memory.suspects.get(runner.key)
            said = "online" if runner.online else "offline"
            reason = f"{said} at {runner.scope}, and no VM is there"
            yield FleetIssue(subject=runner.name, reason=reason, since=suspect.since if suspect else None)


def _next(decision: Decision) -> Iterable[Next]:
    """What comes next, in order: what the next sweep does, what a limit holds, and waits by their end."""
    for action in decision.actions:
        if isinstance(action, Report) or (isinstance(action, Assign) and action.first):
            continue
        yield Next(subject=subject(action), what=f"{verb(action)}: {action.reason}")
    for held in decision.held:
        what = f"{verb(held.action)} is held ({held.why}): {held.action.reason}"
        yield Next(subject=subject(held.action), what=what, waits=True, at=held.until)
    ending = sorted((each for each in decision.waiting if each.until is not None), key=lambda each: str(each.until))
    for each in (*ending, *(each for each in decision.waiting if each.until is None)):
        yield Next(subject=each.subject, what=_then(each), waits=True, at=each.until)


def _then(waiting: Waiting) -> str:
    """What follows where the wait of a rule of the table ends, and why."""
    try:
        verdict = rule(waiting.rule).verdict
    except KeyError:
        return waiting.reason
    return waiting.reason if verdict is Verdict.WAIT else f"{verdict.value}: {waiting.reason}"


def rollout_status(pool: str, rollout: Rollout, vms: int, observed: Observed) -> RolloutStatus:
    target = rollout.target
    wanted = (observed.targets or {}).get(pool, target)
    back, has = not_tried(rollout, wanted, observed.requests, pool), target.parts
    return RolloutStatus(
        pool=pool,
        stage=rollout.stage,
        since=rollout.since,
        stable=rollout.stable.in_short,
        target=target.in_short,
        paused=pool in observed.requests.paused,
        vms=vms,
        proved=len(rollout.proved),
        waiting=tuple(sorted(rollout.waiting)),
        returning=tuple(sorted(rollout.returning)),
        failed=rollout.failed,
        why=rollout.why,
        held=rollout.held,
        wanted=wanted.in_short if wanted.key != target.key else None,
        coming=tuple(shown(wanted.parts - back - has)),
        not_tried=tuple(shown(back - has)),
        taken_back=bool(back),
    )


def coming(records: Records, stack: str) -> tuple[RolloutStatus, ...]:
    """Rollouts of a stack's pools that have something to begin, or that leave something back.

    Raises GoogleError where the bucket does not answer, ValueError where a record cannot be read.
    """
    memory = memories.read(records.content(bucket_names.memory_object(stack)))
    if not memory.rollouts:
        return ()
    desired = manifests.read(records.body(bucket_names.manifest_object(stack)) or {})
    targets = pointed(records.body(bucket_names.pointer_object()), desired)
    seen = Observed(zones={}, targets=targets, requests=requested(records, stack))
    found = (
        rollout_status(pool, memory.rollouts[pool], len(desired.of_pool(pool)), seen)
        for pool in desired.pools
        if pool in memory.rollouts
    )
    return tuple(each for each in found if each.coming or each.not_tried)
