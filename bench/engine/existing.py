"""Resources that exist before the program asks for them.

Owns taking one under management, and what the engine itself serves: stack references. None of it changes the cloud.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bench.engine import planner
from bench.engine.checkpoint import ORGANIZATION, load
from bench.engine.goal import ProgramAnswer
from bench.engine.planner import step_of
from bench.engine.provider import ProviderError
from bench.engine.values import secret_places
from infra.model import urns
from infra.model.errors import EngineError
from infra.model.plan import Op
from infra.model.secret_values import Secret, reveal

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.engine.backend import Backend
    from bench.engine.goal import Goal
    from bench.engine.provider import Provider
    from bench.engine.registry import Providers
    from bench.engine.run import EngineRun
    from bench.engine.state import ResourceState

_PLACE = 2
"""Parts of a stack's name behind its organization: the project and the stack."""


@dataclass(frozen=True, slots=True)
class Existing:
    """Looks up what a program refers to."""

    run: EngineRun
    registry: Providers
    backend: Backend
    passphrase: Callable[[], str]

    def adopted(
        self, goal: Goal, old: ResourceState | None, provider: Provider, reference: str
    ) -> ResourceState | None:
        """The old state; where that has nothing, or half a replacement, what stands in the cloud as this stack's own.

        What stands is taken into the state.
        """
        run, options, given = self.run, self.run.options, reveal(goal.inputs)
        claimed = goal.urn in run.claims
        looks = claimed or options.importable(goal.type, given)
        if not (options.standing or looks) or (old is not None and not old.pending_replacement):
            return old
        where = provider.locate(goal.type, given)
        insists = claimed or where in options.standing
        if where is None or not (looks or insists):
            return old
        inputs = planner.checked_inputs(goal, provider, None)
        try:
            with run.slot():
                found = provider.read(goal.type, where, reveal(inputs))
        except ProviderError:
            if insists:
                raise
            return old
        if found is None:
            return old
        if not insists and run.options.is_anothers(reveal(inputs), reveal(found.outputs)):
            stack = urns.stack_of(goal.urn)
            hint = f"run `./tidepool adopt {stack} {goal.name}` to take it over, or rename it"
            raise EngineError(f"{found.id} exists and its labels do not name the stack {stack}. Fix: {hint}")
        state = planner.goal_state(goal, found.inputs, reference, None).showing(found.outputs, provider, id=found.id)
        run.note(state)
        with run.lock:
            run.adopted.add(goal.urn)
        run.say("info", f"exists in the cloud as {found.id} and was not in the state: adopted", goal.urn)
        return state

    def read(self, goal: Goal) -> ProgramAnswer:
        """Look up the outputs of another stack."""
        run = self.run
        if not run.admit(goal.urn):
            return ProgramAnswer(goal.urn, failed=True)
        old = run.olds.get(goal.urn)
        try:
            outputs = self._referred(goal)
        except EngineError as error:
            run.broke(planner.undecided(goal, old), str(error))
            return ProgramAnswer(goal.urn, failed=True)
        state = planner.goal_state(goal, goal.inputs, self.registry.reference_for(goal), old)
        state = replace(state, external=True, id=outputs["name"], outputs=outputs)
        known = old if old is not None and old.external and old.id == state.id else None
        if state != old:
            run.note(state)
        run.ended(step_of(goal, Op.READ if known is None else Op.SAME, old=known, new=state.inputs))
        return ProgramAnswer(goal.urn, state.id, state.outputs)

    def _referred(self, goal: Goal) -> dict[str, Any]:
        """The outputs of a stack reference; EngineError for a stack that is not deployed."""
        name = str(goal.inputs.get("name"))
        organization, *place = name.split("/")
        if organization != ORGANIZATION or len(place) != _PLACE:
            raise EngineError(f"stack reference {name}: a file backend knows only {ORGANIZATION}/<project>/<stack>")
        snapshot = load(self.backend.files(*place), self.passphrase)
        if not snapshot.states:
            raise EngineError(urns.undeployed(name))
        secret = sorted(key for key, value in snapshot.outputs.items() if [*secret_places(value)])
        outputs = snapshot.outputs | {key: Secret(snapshot.outputs[key]) for key in secret}
        return {"name": name, "outputs": outputs, "secretOutputNames": secret}
