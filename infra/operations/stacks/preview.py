"""What `up` would do to a stack, in which order, and what the rules say of it. Nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass

from infra.engines.away import Fallbacks, vms_away
from infra.engines.passes import phases_of
from infra.model.phases import Phases
from infra.model.plan import Plan
from infra.operations.ports import Tone
from infra.operations.session import Session
from infra.operations.stacks.declared import Declared
from infra.operations.stacks.findings import findings_of
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


def preview(session: Session, wanted: Declared) -> Planned:
    """Ask the engine what `up` would do. Raises EngineError where it cannot begin."""
    return judged_where_it_stands(session, session.engine().preview(), wanted)


def judged_where_it_stands(session: Session, plan: Plan, wanted: Declared, *, at_once: bool = False) -> Planned:
    """A plan as `judged` says, with the VMs that stand at fallbacks."""
    whole, away = not session.request.targets, _NOWHERE
    if whole and not plan.failed:
        away = vms_away(session.request, plan, lambda said: session.say(said.message, Tone.WARNING))
    return judged(plan, wanted, whole=whole, away=away, at_once=at_once)


def judged(
    plan: Plan, wanted: Declared, *, whole: bool = True, away: Fallbacks = _NOWHERE, at_once: bool = False
) -> Planned:
    """A plan with its phases, and with every finding over it. whole: whether it is of more than targets."""
    phases = phases_of(plan, wanted.bounds, away) if whole and not plan.failed else None
    return Planned(
        wanted=wanted,
        plan=plan,
        phases=phases.at_once if phases and at_once else phases,
        findings=findings_of(plan, wanted),
        away=away,
        at_once=at_once,
    )
