"""One sweep's decision: from what shall be, what was seen and what is remembered to actions with reasons.

Owns the order: notice, judge, propose, limit, remember. A pure function: it calls nobody and draws no random number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from infra.fleet.controller import limits
from infra.fleet.controller.actions import Decision, Finding, Report
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.figures import pool_figures
from infra.fleet.controller.forgetting import bounded
from infra.fleet.controller.intents import intended
from infra.fleet.controller.judge import Judge
from infra.fleet.controller.memory import Memory
from infra.fleet.controller.notice import noticed
from infra.fleet.controller.observed import Observed
from infra.fleet.controller.propose import Proposals
from infra.fleet.controller.sorting import sort


def decide(desired: Desired, observed: Observed, memory: Memory, now: datetime) -> Decision:
    """What to do now. now: with a time zone. The memory of the answer is to be written before anything is done."""
    observed = replace(observed, wishes=observed.wishes.at(now))
    fleet = sort(desired, observed)
    memory = noticed(memory, desired, observed, fleet, now)
    judge = Judge(desired=desired, observed=observed, fleet=fleet, memory=memory, now=now)
    proposed = Proposals(judge=judge)
    proposed.judge_everything()
    losses = limits.Losses(
        dead=proposed.dead, slots=len(desired.slots), orphans=proposed.condemned, listed=len(fleet.ours)
    )
    blown = limits.fuse(memory.fuse, losses, now)
    if blown:
        proposed.findings.append((desired.stack, "fuse", f"deletions are held: {losses}"))
    limited = limits.limited(
        proposed.proposals,
        desired=desired,
        memory=memory,
        serving=judge.serving_by_pool(),
        blown=blown,
        now=now,
    )
    findings, reports, reported = _told(proposed.findings, memory, now)
    allowed = tuple(proposal.action for proposal in limited.allowed)
    remembered = intended(memory, allowed, now).model_copy(
        update={
            "fuse": blown,
            "reported": reported,
            "rollouts": proposed.rollouts,
            "replacements": limits.replacements(memory.replacements, limited.allowed, now),
        }
    )
    return Decision(
        actions=(*allowed, *reports),
        held=limited.held,
        waiting=tuple(sorted(proposed.waiting, key=lambda each: (each.subject, each.rule))),
        findings=findings,
        pools=pool_figures(judge, proposed.unhealthy),
        memory=bounded(remembered, frozenset(slot.name for slot in desired.slots), now),
        fuse_blown=blown is not None,
        frozen=limits.frozen(desired, now),
    )


def _told(
    findings: Iterable[tuple[str, str, str]], memory: Memory, now: datetime
) -> tuple[tuple[Finding, ...], tuple[Report, ...], dict[str, datetime]]:
    """What stands, what of it is new and so is told, and what to remember; what stands no more is forgotten."""
    standing, new, remembered = [], [], {}
    for about, rule, reason in sorted(set(findings)):
        key = f"{rule} {about}"
        since = memory.reported.get(key, now)
        if key not in memory.reported and key not in remembered:
            new.append(Report(subject=about, rule=rule, reason=reason))
        remembered[key] = since
        standing.append(Finding(subject=about, rule=rule, reason=reason, since=since))
    return tuple(standing), tuple(new), remembered
