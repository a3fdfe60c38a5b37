"""Making one resource so, as the program asks for it.

Owns the way from a registration to its answer: who may change at all, the old state, what forces a replacement, and
what a preview answers. Each registration is worked on in the thread that asks, so as many are under way as there are
threads. Does not own the decision (`bench.engine.planner`), the doing (`apply`), what exists already
(`existing`), what is deleted after the program (`deletion`), nor the protocol (`monitor`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bench.engine import planner
from bench.engine.apply import Apply
from bench.engine.goal import ProgramAnswer
from bench.engine.planner import CheckFailedError, Decision
from bench.engine.provider import ProviderError
from bench.engine.run import now
from bench.engine.values import has_unknown, resealed, without_unknown
from infra.model import urns
from infra.model.errors import EngineError
from infra.model.plan import Op, Step
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


class Deployment:
    """Works off the registrations of one program."""

    def __init__(self, run: EngineRun, registry: Providers, replacements: Replacements, existing: Existing) -> None:
        self._run = run
        self._registry = registry
        self._replacements = replacements
        self._apply = Apply(run, replacements)
        self._existing = existing

    def refuse(self, urn: str, token: str, name: str, message: str) -> None:
        """Record that a resource asks for what this engine does not do."""
        self._run.broke(Step(op=Op.CREATE, urn=urn, type=token, name=name), message)

    def register(self, goal: Goal) -> ProgramAnswer:
        """Make a resource so; what fails is recorded, and the answer says so."""
        run = self._run
        if not run.admit(goal.urn):
            return ProgramAnswer(goal.urn, failed=True)
        old = run.olds.get(goal.urn)
        blocked = sorted(goal.needs() & run.failed)
        if blocked:
            names = ", ".join(map(urns.name_of, blocked))
            run.skipped(planner.undecided(goal, old), f"not attempted: it depends on {names}")
            return ProgramAnswer(goal.urn, failed=True)
        absent = sorted(goal.needs() & run.absent)
        if absent and self._targeted(goal):
            run.broke(
                planner.undecided(goal, old),
                f"{goal.urn} depends on {', '.join(absent)}, which does not exist and is no target: target it too",
            )
            return ProgramAnswer(goal.urn, failed=True)
        if not goal.custom:
            return self._component(goal, old)
        try:
            return self._custom(goal, old)
        except (CheckFailedError, ProviderError, EngineError) as error:
            run.broke(planner.undecided(goal, old), str(error))
            return ProgramAnswer(goal.urn, failed=True)

    # Components

    def _component(self, goal: Goal, old: ResourceState | None) -> ProgramAnswer:
        run = self._run
        if goal.type == urns.STACK_TYPE or self._targeted(goal):
            decision = planner.decide_component(goal, old)
        elif old is not None:
            decision = Decision(op=Op.SAME, new=old, old=old)
        elif run.options.adopting:  # what is adopted needs its parents
            decision = planner.decide_component(goal, old)
        else:
            return self._untargeted(goal, old)
        step = decision.step()
        if decision.op is not Op.SAME:
            run.started(step)
        self._apply.settle(decision, decision.new)
        run.ended(step, 0.0)
        return ProgramAnswer(goal.urn, outputs=decision.new.inputs)

    def outputs(self, urn: str, outputs: dict[str, Any]) -> None:
        """Take over the outputs of a component, the stack itself included; one that was not made has none.

        With targets too those of every component are taken over, as the pulumi CLI does (seen with 3.260, 2026-11);
        an adoption keeps those of before.
        """
        run = self._run
        state = run.states.get(urn)
        if state is None and urn in run.failed | run.absent:
            return
        if run.options.adopting and urn in run.olds:
            return
        if state is None:
            raise EngineError(f"{urn} has outputs but was never registered")
        if not run.preview and has_unknown(outputs):
            outputs = {
                name: state.outputs.get(name) if has_unknown(value) else value for name, value in outputs.items()
            }
            outputs = without_unknown(outputs)
        outputs = resealed(outputs, state.outputs)
        if outputs != state.outputs:
            run.note(replace(state, outputs=outputs, modified=now()))

    # Resources that a provider serves

    def _custom(self, goal: Goal, old: ResourceState | None) -> ProgramAnswer:
        run = self._run
        if urns.is_provider(goal.type):
            return self._provider(goal, old)
        reference = self._registry.reference_for(goal)
        provider = self._registry.of(reference)
        if goal.type not in provider.types():
            raise EngineError(
                f"{goal.urn}: the embedded engine's provider for {provider.package} does not serve {goal.type}: "
                f"{_ROWS.get(provider.package, '')}use --engine pulumi"
            )
        if goal.parent not in run.absent and self._existing.stands(goal, old, provider):
            old = self._existing.adopt(goal, old, provider, reference)
        if not self._targeted(goal):
            return self._untargeted(goal, old)
        old = self._replacements.await_dependent(old)
        decision = planner.decide(
            goal,
            old,
            provider,
            reference,
            forced=self._forced(goal, old, reference),
            deleted_for=self._replacements.reasons(old.urn) if old is not None else (),
            recreate=old is not None and (old.pending_replacement),
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

    def _forced(self, goal: Goal, old: ResourceState | None, reference: str) -> tuple[str, ...]:
        """Reasons to replace that no provider sees."""
        if old is None:
            return ()
        asked = {
            planner.PROVIDER_CHANGED: self._provider_changed(old, reference),
            planner.REPLACE_WITH: bool(self._replacements.replaced.intersection(goal.replace_with)),
        }
        return tuple(reason for reason, holds in asked.items() if holds)

    @staticmethod
    def _provider_changed(old: ResourceState, reference: str) -> bool:
        """Whether another provider serves it now. Between default providers nothing changes."""
        if not old.provider or old.provider == reference:
            return False
        both = (old.provider_urn, reference.rpartition("::")[0])
        return not all(urns.name_of(urn).startswith("default") for urn in both)

    def _planned(self, decision: Decision, provider: Provider) -> ProgramAnswer:
        """In a preview: record the step and answer with what can be known."""
        run, new = self._run, decision.new
        if decision.op is Op.REPLACE and not self._apply.replaceable(decision):
            return ProgramAnswer(new.urn, failed=True)
        if decision.op in (Op.SAME, Op.ADOPT):
            state = new
        else:
            kept = decision.old.outputs if decision.op is Op.UPDATE and decision.old is not None else None
            raw = provider.preview_outputs(new.type, reveal(new.inputs), reveal(kept) if kept is not None else None)
            state = new.showing(raw, provider, id=new.id if decision.op is Op.UPDATE else "")
        if decision.op is Op.REPLACE:
            self._replacements.plan(decision)
        self._apply.settle(decision, state)
        run.ended(decision.step())
        return ProgramAnswer(new.urn, state.id, state.outputs)

    def _provider(self, goal: Goal, old: ResourceState | None) -> ProgramAnswer:
        """A provider resource: its inputs are its configuration, and it lives in the state alone.

        What the official engine notes in its inputs for itself (`__internal`) stays.
        """
        self._registry.served(urns.package_of(goal.type), goal.urn)
        decision = planner.decide_component(goal, old)
        noted = {name: value for name, value in old.inputs.items() if name.startswith("__")} if old else {}
        inputs = goal.inputs | ({"version": goal.version} if goal.version else {}) | noted
        new = replace(decision.new, inputs=inputs, outputs=inputs, id=old.id if old else self._registry.fresh_id())
        decision = replace(decision, new=new, detailed=planner.plain_diff(old.inputs, inputs) if old else {})
        decision = replace(decision, op=Op.CREATE if old is None else Op.UPDATE if decision.detailed else Op.SAME)
        recorded = new if self._run.preview else replace(new, inputs=without_unknown(inputs))
        self._apply.settle(decision, recorded)
        self._registry.configure(f"{new.urn}::{new.id}", new)
        step = decision.step()
        if decision.op is not Op.SAME:
            self._run.started(step)
        self._run.ended(step, 0.0)
        return ProgramAnswer(new.urn, new.id, new.outputs)

    def _targeted(self, goal: Goal) -> bool:
        """Whether it may change: a target, or what depends on one where that is asked for."""
        run = self._run
        if run.options.adopting or goal.urn in run.excludes:
            return False
        if not run.targets:
            return True
        return goal.urn in run.targets

    def _untargeted(self, goal: Goal, old: ResourceState | None) -> ProgramAnswer:
        """Leave a resource as it is; one that does not exist stays away, and what needs it is told so."""
        run = self._run
        if old is None:
            with run.lock:
                run.absent.add(goal.urn)
            return ProgramAnswer(goal.urn, unknown=True)
        op = Op.ADOPT if goal.urn in run.adopted else Op.SAME
        run.ended(planner.step_of(goal, op, old=old, new=old.inputs, protect=old.protect), 0.0)
        return ProgramAnswer(goal.urn, old.id, old.outputs)
