"""Making one resource so, as the program asks for it.

Owns the way from a registration to its answer: who may change at all, the old state, what forces a replacement, and
what a preview answers. Each registration is worked on in the thread that asks, so as many are under way as there are
threads. Does not own the decision (`bench.engine.planner`), the doing (`apply`), what exists already
(`existing`), what is deleted after the program (`deletion`), nor the protocol (`monitor`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bench.engine import planner
from bench.engine.apply import Apply
from bench.engine.goal import ProgramAnswer
from bench.engine.planner import CheckFailedError, Decision
from bench.engine.provider import ProviderError
from bench.engine.registry import fresh_id
from bench.engine.values import has_unknown, without_unknown
from infra.model import urns
from infra.model.errors import EngineError
from infra.model.plan import Op
from infra.model.secret_values import reveal

if TYPE_CHECKING:
    from bench.engine.existing import Existing
    from bench.engine.goal import Goal
    from bench.engine.provider import Provider
    from bench.engine.registry import Providers
    from bench.engine.replacement import Replacements
    from bench.engine.run import EngineRun
    from bench.engine.state import ResourceState

_ROWS: Final = {"gcp": "write its row in bench/providers/google/tables (docs/architecture.md), or "}
"""How a package comes to serve one more type."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Works off the registrations of one program."""

    run: EngineRun
    registry: Providers
    replacements: Replacements
    existing: Existing

    @property
    def _apply(self) -> Apply:
        return Apply(self.run, self.replacements)

    def register(self, goal: Goal) -> ProgramAnswer:
        """Make a resource so; what fails is recorded, and the answer says so."""
        run, failed = self.run, ProgramAnswer(goal.urn, failed=True)
        if not run.admit(goal.urn):
            return failed
        old = run.olds.get(goal.urn)
        if blocked := ", ".join(map(urns.name_of, sorted(goal.needs() & run.failed))):
            run.skipped(planner.undecided(goal, old), f"not attempted: it depends on {blocked}")
            return failed
        absent = ", ".join(sorted(goal.needs() & run.absent))
        if absent and self._targeted(goal):
            message = f"{goal.urn} depends on {absent}, which does not exist and is no target: target it too"
            run.broke(planner.undecided(goal, old), message)
            return failed
        try:
            if not goal.custom:
                return self._component(goal, old)
            return self._provider(goal, old) if urns.is_provider(goal.type) else self._custom(goal, old)
        except (CheckFailedError, ProviderError, EngineError) as error:
            run.broke(planner.undecided(goal, old), str(error))
            return failed

    # What no provider serves

    def _component(self, goal: Goal, old: ResourceState | None) -> ProgramAnswer:
        run = self.run
        # What is adopted needs its parents.
        if goal.type == urns.STACK_TYPE or self._targeted(goal) or (old is None and run.options.adopting):
            return self._recorded(planner.decide_component(goal, old))
        return self._untargeted(goal, old)

    def _recorded(self, decision: Decision) -> ProgramAnswer:
        """Record what lives in the state alone."""
        step, new = decision.step(), decision.new
        if decision.op is not Op.SAME:
            self.run.started(step)
        self._apply.settle(decision, new if self.run.preview else replace(new, inputs=without_unknown(new.inputs)))
        self.run.ended(step)
        return ProgramAnswer(new.urn, new.id, new.outputs if new.custom else new.inputs)

    def _provider(self, goal: Goal, old: ResourceState | None) -> ProgramAnswer:
        """A provider resource: its inputs are its configuration.

        What the official engine notes in its inputs for itself (`__internal`) stays.
        """
        self.registry.served(urns.package_of(goal.type), goal.urn)
        noted = {name: value for name, value in old.inputs.items() if name.startswith("__")} if old else {}
        inputs = goal.inputs | ({"version": goal.version} if goal.version else {}) | noted
        decision = planner.decide_component(replace(goal, inputs=inputs), old)
        new = replace(decision.new, outputs=inputs, id=old.id if old else fresh_id())
        self.registry.configure(f"{new.urn}::{new.id}", new)
        return self._recorded(replace(decision, new=new))

    def outputs(self, urn: str, outputs: dict[str, Any]) -> None:
        """Take over the outputs of a component, the stack itself included; one that was not made has none.

        With targets too those of every component are taken over, as the pulumi CLI does (seen with 3.260, 2026-11);
        an adoption keeps those of before.
        """
        run = self.run
        state = run.states.get(urn)
        if state is None or (run.options.adopting and urn in run.olds):
            return
        if not run.preview:
            known = {name: state.outputs.get(name) for name, value in outputs.items() if has_unknown(value)}
            outputs = without_unknown(outputs | known)
        if outputs != state.outputs:
            run.note(replace(state, outputs=outputs))

    # Resources that a provider serves

    def _custom(self, goal: Goal, old: ResourceState | None) -> ProgramAnswer:
        run = self.run
        reference = self.registry.reference_for(goal)
        provider = self.registry.of(reference)
        if goal.type not in provider.types():
            raise EngineError(
                f"{goal.urn}: the embedded engine's provider for {provider.package} does not serve {goal.type}: "
                f"{_ROWS.get(provider.package, '')}use --engine pulumi"
            )
        if goal.parent not in run.absent:
            old = self.existing.adopted(goal, old, provider, reference)
        if not self._targeted(goal):
            return self._untargeted(goal, old)
        old = self.replacements.await_dependent(old)
        along = bool(self.replacements.replaced.intersection(goal.replace_with))
        decision = planner.decide(
            goal,
            old,
            provider,
            reference,
            forced=(planner.REPLACE_WITH,) if along else (),
            deleted_for=self.replacements.reasons(goal.urn),
        )
        if decision.op is Op.SAME and goal.urn in run.adopted:
            decision = replace(decision, op=Op.ADOPT)
        if run.preview:
            return self._planned(decision, provider)
        if has_unknown(decision.new.inputs):
            raise EngineError(
                f"{goal.urn} has an input that is still unknown, although everything it depends on exists"
            )
        return self._apply.do(decision, provider)

    def _planned(self, decision: Decision, provider: Provider) -> ProgramAnswer:
        """In a preview: record the step and answer with what can be known."""
        new, updated = decision.new, decision.old if decision.op is Op.UPDATE else None
        if not self._apply.replaceable(decision):
            return ProgramAnswer(new.urn, failed=True)
        state = new
        if decision.op not in (Op.SAME, Op.ADOPT):
            known = None if updated is None else reveal(updated.outputs)
            raw = provider.preview_outputs(new.type, reveal(new.inputs), known)
            state = new.showing(raw, provider, id="" if updated is None else new.id)
        if decision.op is Op.REPLACE:
            self.replacements.plan(decision)
        self._apply.settle(decision, state)
        self.run.ended(decision.step())
        return ProgramAnswer(new.urn, state.id, state.outputs)

    def _targeted(self, goal: Goal) -> bool:
        """Whether it may change."""
        run = self.run
        return not run.options.adopting and goal.urn not in run.excludes and goal.urn in run.targets

    def _untargeted(self, goal: Goal, old: ResourceState | None) -> ProgramAnswer:
        """Leave a resource as it is; one that does not exist stays away, and what needs it is told so."""
        run = self.run
        if old is None:
            with run.lock:
                run.absent.add(goal.urn)
            return ProgramAnswer(goal.urn, unknown=True)
        op = Op.ADOPT if goal.urn in run.adopted else Op.SAME
        run.ended(planner.step_of(goal, op, old=old, new=old.inputs, protect=old.protect))
        return ProgramAnswer(goal.urn, old.id, old.outputs)
