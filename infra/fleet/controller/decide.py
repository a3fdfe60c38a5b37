"""One sweep's decision: from what shall be, what was seen and what is remembered to actions with reasons.

Owns the order: notice, judge, propose, limit, remember; and how long each thing is remembered, so that a memory's size
follows that of the fleet and not its age. A pure function: it calls nobody and draws no random number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from infra.fleet.controller import limits
from infra.fleet.controller.actions import Decision, FleetFinding, PoolFigures, Report
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.judge import Judge
from infra.fleet.controller.keys import FindingKey, OwnRule, RunnerKey
from infra.fleet.controller.memory import Memory, ScopeMemory
from infra.fleet.controller.notice import noticed
from infra.fleet.controller.observed import Observed
from infra.fleet.controller.outcomes import intended
from infra.fleet.controller.propose import Proposals
from infra.fleet.controller.sorting import sort

MAX_EVENTS: Final = 1000
MAX_ENTRIES: Final = 5000
"""Of one kind, or of a fleet that declares more VMs than this three times as many as those: a flood of strange names
must not grow the document without end."""

_FORGET: Final = timedelta(days=7)
"""A job runs for five days at most, so that this long after the last registration a scope has no runner of ours.
https://docs.github.com/actions/reference/limits, read 2026-11."""
_BACKOFF_FORGET: Final = timedelta(days=1)
_SKEW: Final = timedelta(minutes=1)

K = TypeVar("K")
V = TypeVar("V")


def decide(desired: Desired, observed: Observed, memory: Memory, now: datetime) -> Decision:
    """What to do now. now: with a time zone. The memory of the answer is to be written before anything is done."""
    observed = replace(observed, requests=observed.requests.at(now))
    fleet = sort(desired, observed)
    memory = _without_lost(_with_clock(memory, now), desired, observed, now)
    memory = noticed(memory, desired, observed, fleet, now)
    judge = Judge(desired=desired, observed=observed, fleet=fleet, memory=memory, now=now)
    proposed = Proposals(judge=judge)
    proposed.judge_everything()
    judge = proposed.judge
    memory = judge.memory
    losses = limits.Losses(
        dead=proposed.dead, slots=len(desired.slots), orphans=proposed.to_delete, listed=len(fleet.ours)
    )
    blown = limits.fuse(memory.fuse, losses, now)
    if blown:
        held = f"deletions are held: {losses}"
        finding = FleetFinding(subject=desired.stack, rule=OwnRule.FUSE, reason=held, since=now, costs=losses.costs)
        proposed.findings.append(finding)
    limited = limits.limited(
        proposed.proposals,
        desired=desired,
        memory=memory,
        serving=judge.serving_by_pool(),
        blown=blown,
        now=now,
    )
    findings, reports, reported = _told(proposed.findings, memory)
    allowed = tuple(proposal.action for proposal in limited.allowed)
    remembered = replace(
        intended(memory, allowed, now),
        fuse=blown,
        reported=reported,
        rollouts=proposed.rollouts,
        replacements=limits.replacements(memory.replacements, limited.allowed, now),
    )
    return Decision(
        actions=(*allowed, *reports),
        held=limited.held,
        waiting=tuple(sorted(proposed.waiting, key=lambda each: (each.subject, each.rule))),
        findings=findings,
        pools={pool: _figures(judge, pool, proposed) for pool in desired.pools},
        memory=_bounded(remembered, frozenset(slot.name for slot in desired.possible), now),
        fuse_blown=blown is not None,
        frozen=limits.frozen(desired, now),
    )


def _told(
    findings: Iterable[FleetFinding], memory: Memory
) -> tuple[tuple[FleetFinding, ...], tuple[Report, ...], dict[FindingKey, datetime]]:
    """What stands, what of it is new and so is told, and what to remember; what stands no more is forgotten."""
    standing, new, remembered = [], [], {}
    for each in sorted(set(findings)):
        key = FindingKey(each.rule, each.subject)
        if key not in memory.reported and key not in remembered:
            new.append(Report(subject=each.subject, rule=each.rule, reason=each.reason))
        remembered[key] = memory.reported.get(key, each.since)
        standing.append(replace(each, since=remembered[key]))
    return tuple(standing), tuple(new), remembered


def _figures(judge: Judge, pool: str, proposed: Proposals) -> PoolFigures:
    slots = judge.desired.of_pool(pool)
    nodes = [(slot, node) for slot in slots if (node := judge.fleet.slots[slot.name]) is not None]
    online = [slot for slot in slots if any(each.online for each in judge.observed.runners_of(slot.name))]
    return PoolFigures(
        desired=len(slots),
        ready=sum(node.state == "READY" for _, node in nodes),
        online=len(online),
        busy=sum(judge.busy(slot.name) for slot in online),
        away=sum(judge.away(slot, node) for slot, node in nodes),
        unhealthy={slot.name: proposed.unhealthy[slot.name] for slot in slots if slot.name in proposed.unhealthy},
        booting={slot.name: proposed.booting[slot.name] for slot in slots if slot.name in proposed.booting},
    )


def _without_lost(memory: Memory, desired: Desired, observed: Observed, now: datetime) -> Memory:
    """Without what was in zones that people gave up and where nothing is declared: no list would ever end it.

    Such a zone is watched for as long as any other in which nothing is known any more.
    """
    gone = {z for z in observed.requests.lost if z not in desired.zones and memory.is_given_up(z, observed, now)}
    if not gone:
        return memory
    return replace(
        memory,
        nodes={key: node for key, node in memory.nodes.items() if key.zone not in gone},
        suspects={
            key: each
            for key, each in memory.suspects.items()
            if isinstance(key, RunnerKey) or key.node.zone not in gone
        },
        vms={
            vm: replace(each, tried={zone: at for zone, at in each.tried.items() if zone not in gone})
            for vm, each in memory.vms.items()
        },
    )


def _with_clock(memory: Memory, now: datetime) -> Memory:
    """A clock that went back would hold everything until it is where it was: what lies ahead is taken as now."""
    if memory.last is None or memory.last <= now + _SKEW:
        return memory
    return _not_after(memory, now)


def _not_after(value: Any, now: datetime) -> Any:
    if isinstance(value, datetime):
        return min(value, now)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _not_after(getattr(value, each.name), now) for each in fields(value)})
    if isinstance(value, dict):
        return {key: _not_after(each, now) for key, each in value.items()}
    if type(value) is tuple:
        return tuple(_not_after(each, now) for each in value)
    return value


def _bounded(memory: Memory, slots: frozenset[str], now: datetime) -> Memory:
    """The memory without what is over; slots: names that are declared."""
    pools = {pool: at for pool, at in memory.pools.items() if now - at < _FORGET}
    vms = {vm: each for vm, each in memory.vms.items() if vm in slots or now - each.seen < _FORGET}
    backoff = {key: each for key, each in memory.backoff.items() if now - each.until < _BACKOFF_FORGET}
    recent = {pool: tuple(at for at in times if now - at < limits.HOUR) for pool, times in memory.replacements.items()}
    nodes = {key: node for key, node in memory.nodes.items() if node.missing < 2}
    most = MAX_ENTRIES if len(slots) <= MAX_ENTRIES else 3 * len(slots)
    return replace(
        memory,
        nodes=_newest(nodes, {key: node.seen for key, node in nodes.items()}, most),
        vms=_newest(vms, {vm: each.seen for vm, each in vms.items()}, most),
        suspects=_newest(memory.suspects, {key: each.since for key, each in memory.suspects.items()}, most),
        replacements={pool: times for pool, times in recent.items() if times},
        backoff=_newest(backoff, {key: each.until for key, each in backoff.items()}, most),
        zones={zone: at for zone, at in memory.zones.items() if now - at < _FORGET},
        listed={zone: each for zone, each in memory.listed.items() if zone in memory.zones},
        pools=pools,
        scopes=_scopes(memory.scopes, pools, now),
        forgot=memory.forgot if memory.forgot and now - memory.forgot < _FORGET else None,
        starts={pool: each for pool, each in memory.starts.items() if pool in pools},
        rollouts={pool: rollout for pool, rollout in memory.rollouts.items() if pool in pools},
        reported=_newest(memory.reported, memory.reported, most),
        events=memory.events[-MAX_EVENTS:],
    )


def _scopes(
    scopes: Mapping[str, Mapping[str, ScopeMemory]], pools: Mapping[str, datetime], now: datetime
) -> dict[str, dict[str, ScopeMemory]]:
    """A pool that is remembered and has none never had a runner; of one that is forgotten nothing is known."""
    kept = {
        pool: {scope: each for scope, each in of.items() if now - each.until < _FORGET} for pool, of in scopes.items()
    }
    return {pool: of for pool, of in kept.items() if of or pool in pools}


def _newest(entries: Mapping[K, V], at: Mapping[K, datetime], most: int) -> Mapping[K, V]:
    if len(entries) <= most:
        return entries
    return {key: entries[key] for key in sorted(entries, key=lambda key: at[key])[-most:]}
