"""Resources that exist before the program asks for them.

Owns reading one that this stack does not manage, and taking one under management. Neither changes the cloud.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from infra.local.engine import planner
from infra.local.engine.errors import EngineError
from infra.local.engine.goal import Answer
from infra.local.engine.outputs import taken_over
from infra.local.engine.provider import ProviderError, ReadResult
from infra.local.engine.registry import BUILTIN
from infra.local.engine.values import masked
from infra.model import urns
from infra.model.plan import Op, Step
from infra.model.secret_values import reveal

if TYPE_CHECKING:
    from collections.abc import Callable

    from infra.local.engine.goal import Goal
    from infra.local.engine.provider import Provider
    from infra.local.engine.registry import Registry
    from infra.local.engine.run import Run
    from infra.local.engine.state import State


class Existing:
    """Looks up what a program refers to."""

    def __init__(self, run: Run, registry: Registry) -> None:
        self._run = run
        self._registry = registry

    def take_over(self, goal: Goal, provider: Provider, reference: str) -> Answer:
        """Take a resource that exists under management, changing nothing in the cloud."""
        run = self._run
        found = provider.read(goal.type, goal.import_id, {})
        if found is None:
            raise EngineError(f"{goal.urn} cannot be imported: there is no {goal.type} with id {goal.import_id}")
        was = planner.goal_state(goal, found.inputs, reference, None)
        was = replace(was, id=found.id, outputs=taken_over(was, found.outputs, provider.secret_outputs(goal.type)))
        decision = planner.decide(goal, was, provider, reference)
        if decision.op is not Op.SAME:
            raise EngineError(
                f"{goal.urn} cannot be imported: the program and {found.id} differ in "
                f"{', '.join(sorted(decision.detailed))}; write in the program what the resource has"
            )
        step = Step(op=Op.READ, urn=goal.urn, type=goal.type, name=goal.name, new_inputs=masked(decision.new.inputs))
        run.started(step)
        run.note(decision.new)
        run.ended(step, 0.0)
        return Answer(goal.urn, found.id, was.outputs)

    def stands(self, goal: Goal, old: State | None, provider: Provider) -> bool:
        """Whether it is in the cloud as this stack's own, while the state has nothing of it or half a replacement."""
        standing = self._run.options.standing
        if not standing or (old is not None and not old.pending_replacement):
            return False
        return provider.locate(goal.type, reveal(goal.inputs)) in standing

    def adopt(self, goal: Goal, old: State | None, provider: Provider, reference: str) -> State | None:
        """Take what stands in the cloud into the state; `old` where it is gone by now."""
        run = self._run
        inputs = planner.checked_inputs(goal, provider, None)
        where = provider.locate(goal.type, reveal(inputs))
        assert where is not None, "it was located before"
        with run.slot():
            found = provider.read(goal.type, where, reveal(inputs))
        if found is None:
            return old
        state = planner.goal_state(goal, found.inputs, reference, None)
        state = replace(
            state,
            id=found.id,
            outputs=taken_over(state, found.outputs, provider.secret_outputs(goal.type)),
            dependencies=tuple(urn for urn in state.dependencies if urn in run.states),
            property_dependencies={
                name: tuple(urn for urn in ons if urn in run.states)
                for name, ons in state.property_dependencies.items()
            },
        )
        run.note(state)
        with run.lock:
            run.adopted.add(goal.urn)
        run.say("info", f"stands in the cloud as {found.id} and was not in the state: it is adopted", goal.urn)
        return state

    def _look_up(
        self, goal: Goal, reference: str, fetch: Callable[[Goal], dict[str, Any]]
    ) -> tuple[ReadResult, frozenset[str]]:
        """What there is, and which of its outputs are secret."""
        if urns.package_of(goal.type) == BUILTIN:
            return ReadResult(goal.import_id, goal.inputs, fetch(goal)), frozenset()
        provider = self._registry.of(reference)
        with self._run.slot():
            found = provider.read(goal.type, goal.import_id, reveal(goal.inputs))
        if found is None:
            raise EngineError(f"{goal.urn}: there is no {goal.type} with id {goal.import_id}")
        return found, provider.secret_outputs(goal.type)

    def read(self, goal: Goal, fetch: Callable[[Goal], dict[str, Any]]) -> Answer:
        """Look up a resource that this stack does not manage. `fetch` serves what the engine itself serves."""
        run = self._run
        if not run.admit(goal.urn):
            return Answer(goal.urn, failed=True)
        old = run.olds.get(goal.urn)
        try:
            reference = self._registry.reference_for(goal)
            found, secret = self._look_up(goal, reference, fetch)
        except (ProviderError, EngineError) as error:
            run.broke(planner.undecided(goal, old), str(error))
            return Answer(goal.urn, failed=True)
        state = planner.goal_state(goal, found.inputs, reference, None)
        state = replace(state, external=True, id=goal.import_id, import_id="", created="", modified="")
        state = replace(state, outputs=taken_over(state, found.outputs, secret))
        known = old is not None and old.external and old.id == state.id
        step = Step(
            op=Op.SAME if known else Op.READ,
            urn=goal.urn,
            type=goal.type,
            name=goal.name,
            old_inputs=masked(old.inputs) if old is not None and known else None,
            new_inputs=masked(state.inputs),
        )
        if old is None or replace(state, other=old.other) != old:
            run.note(state)
        run.ended(step, 0.0)
        return Answer(goal.urn, state.id, state.outputs)
