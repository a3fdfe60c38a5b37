"""What `up` would do to a stack, in which order, and what the rules say of it. Nothing is changed.

Owns the JSON objects of plans and runs, described in docs/json.md, whose keys are only ever added.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from infra.engines.away import Fallbacks, vms_away
from infra.engines.passes import phases_of
from infra.model.fleet import CapacityRow
from infra.model.fleet import capacity as declared_capacity
from infra.model.phases import Phases
from infra.model.plan import Diagnostic, Plan
from infra.model.planned_capacity import capacity
from infra.model.planned_records import record_changes
from infra.operations.declared.stack_file import Declared
from infra.operations.declared.targets import insist_found
from infra.operations.ports import Tone
from infra.operations.session import Session
from infra.operations.stacks.findings import findings_of
from infra.preview.words import vms as in_words
from infra.rules.book import stops
from infra.rules.finding import Finding

_NOWHERE = Fallbacks()


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan, judged. phases: None of targets alone, and where no plan could be made. away: VMs at fallbacks.

    at_once: whether VMs go before what is new serves.
    """

    wanted: Declared
    plan: Plan
    phases: Phases | None
    findings: tuple[Finding, ...]
    away: Fallbacks = _NOWHERE
    at_once: bool = False

    @property
    def stopped(self) -> bool:
        """Whether it must not be applied: it could not be made, or a rule stops it."""
        return self.plan.failed or stops(self.findings)

    @property
    def changes(self) -> int:
        """How many resources an apply works on; one that is made again in a phase of its own counts twice."""
        return sum(step.changes for step in self.plan.steps) + len(self.phases.remade if self.phases else ())

    @property
    def rows(self) -> tuple[CapacityRow, ...]:
        """The pools and zones of the stack file."""
        return declared_capacity(self.wanted.config)

    @property
    def findings_json(self) -> dict[str, Any]:
        return {"findings": [finding.to_json() for finding in self.findings]}

    def to_json(self) -> dict[str, Any]:
        return plan_document(self.plan, self.rows, self.phases) | self.findings_json


def preview(session: Session, wanted: Declared) -> Planned:
    """Ask the engine what `up` would do. Raises EngineError where it cannot begin."""

    def read_again(_: Collection[str]) -> Plan:
        return replace(session, request=replace(session.request, refresh=True)).engine().preview()

    return judged_where_it_stands(session, session.engine().preview(), wanted, read_again)


def judged_where_it_stands(
    session: Session,
    plan: Plan,
    wanted: Declared,
    read_again: Callable[[Collection[str]], Plan],
    *,
    at_once: bool = False,
) -> Planned:
    """A plan as `judged` says, with the VMs that stand at fallbacks. Refusal for a target that is nowhere.

    read_again: plans from what the cloud has of these URNs; it is asked where VMs that the plan changes are missing.
    """
    insist_found(session.place.root, plan, session.request.targets)
    whole, away = not session.request.targets, _NOWHERE

    def tell(said: Diagnostic) -> None:
        session.say(said.message, Tone.WARNING)

    if whole and not plan.failed:
        away = vms_away(session.request, plan, tell)
        if away.missing:
            session.say(
                f"{in_words(sorted(away.missing.values()))} in the state, but deleted in the cloud", Tone.WARNING
            )
            plan = read_again(away.missing)
            away = _NOWHERE if plan.failed else vms_away(session.request, plan, tell)
    return judged(plan, wanted, session.clock(), whole=whole, away=away, at_once=at_once)


def judged(
    plan: Plan,
    wanted: Declared,
    now: datetime,
    *,
    whole: bool = True,
    away: Fallbacks = _NOWHERE,
    at_once: bool = False,
) -> Planned:
    """A plan with its phases, and with every finding over it. whole: whether it is of more than targets.

    now: the time by which rules judge it.
    """
    phases = phases_of(plan, wanted.bounds, away) if whole and not plan.failed else None
    return Planned(
        wanted=wanted,
        plan=plan,
        phases=phases.at_once if phases and at_once else phases,
        findings=findings_of(plan, wanted, now),
        away=away,
        at_once=at_once,
    )


def plan_document(plan: Plan, declared: Iterable[CapacityRow] = (), phases: Phases | None = None) -> dict[str, Any]:
    """A plan, or a run whose steps carry status and seconds.

    declared: the pools and zones of the stack file, so that those without a VM have their row too.
    phases: None where they were not looked for.
    """
    return {
        "stack": plan.stack,
        "engine": plan.engine,
        "cloud": plan.cloud,
        "complete": plan.complete,
        "summary": plan.summary,
        "steps": [step.to_json() for step in plan.steps],
        "capacity": [change.to_json() for change in capacity(plan, declared)],
        "records": [change.to_json() for change in record_changes(plan)],
        "phases": phases and phases.to_json(),
        "diagnostics": [asdict(said) for said in plan.diagnostics],
    }


def run_document(
    run: Plan, declared: Iterable[CapacityRow] = (), phases: Phases | None = None, *, seconds: float, code: int
) -> dict[str, Any]:
    """A run that has ended: wall seconds of the whole, and the command's exit code."""
    return plan_document(run, declared, phases) | {"seconds": round(seconds, 3), "exit": code}
