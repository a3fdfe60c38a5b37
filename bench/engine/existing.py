"""Resources that exist before the program asks for them.

Owns taking one under management, and what the engine itself serves: stack references. None of it changes the cloud.
"""

from __future__ import annotations

from dataclasses import replace
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


class Existing:
    """Looks up what a program refers to."""

    def __init__(
        self, run: EngineRun, registry: Providers, backend: Backend, project: str, passphrase: Callable[[], str]
    ) -> None:
        self._run = run
        self._registry = registry
        self._backend = backend
        self._project = project
        self._passphrase = passphrase

    def stands(self, goal: Goal, old: ResourceState | None, provider: Provider) -> bool:
        """Whether the cloud may have it as this stack's own, while the state has nothing of it or half a replacement.

        `adopt` looks at what is claimed and at what can be imported.
        """
        options = self._run.options
        looks = goal.urn in self._run.claims or options.importable(goal.type, reveal(goal.inputs))
        if not (options.standing or looks) or (old is not None and not old.pending_replacement):
            return False
        where = provider.locate(goal.type, reveal(goal.inputs))
        return where in options.standing or (looks and where is not None)

    def adopt(self, goal: Goal, old: ResourceState | None, provider: Provider, reference: str) -> ResourceState | None:
        """Take what stands in the cloud into the state; `old` where it is gone by now."""
        run = self._run
        inputs = planner.checked_inputs(goal, provider, None)
        where = provider.locate(goal.type, reveal(inputs))
        assert where is not None, "it was located before"
        insists = goal.urn in run.claims or where in run.options.standing
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
        state = planner.goal_state(goal, found.inputs, reference, None)
        state = state.showing(
            found.outputs,
            provider,
            id=found.id,
            dependencies=tuple(urn for urn in state.dependencies if urn in run.states),
            property_dependencies={
                name: tuple(urn for urn in ons if urn in run.states)
                for name, ons in state.property_dependencies.items()
            },
        )
        run.note(state)
        with run.lock:
            run.adopted.add(goal.urn)
        run.say("info", f"exists in the cloud as {found.id} and was not in the state: adopted", goal.urn)
        return state

    def read(self, goal: Goal) -> ProgramAnswer:
        """Look up the outputs of another stack."""
        run = self._run
        if not run.admit(goal.urn):
            return ProgramAnswer(goal.urn, failed=True)
        old = run.olds.get(goal.urn)
        try:
            outputs = self._referred(goal)
        except EngineError as error:
            run.broke(planner.undecided(goal, old), str(error))
            return ProgramAnswer(goal.urn, failed=True)
        state = planner.goal_state(goal, goal.inputs, self._registry.reference_for(goal), None)
        state = replace(state, external=True, id=outputs["name"], outputs=outputs, created="", modified="")
        known = old if old is not None and old.external and old.id == state.id else None
        step = step_of(goal, Op.READ if known is None else Op.SAME, old=known, new=state.inputs)
        if old is None or replace(state, other=old.other) != old:
            run.note(state)
        run.ended(step, 0.0)
        return ProgramAnswer(goal.urn, state.id, state.outputs)

    def _referred(self, goal: Goal) -> dict[str, Any]:
        """The outputs of a stack reference; EngineError for a stack that is not deployed."""
        name = goal.inputs.get("name")
        if not isinstance(name, str):
            raise EngineError(f"{goal.urn}: the name of the stack is not a text that a preview knows")
        organization, _, place = name.partition("/")
        project, _, stack = place.partition("/")
        if organization != ORGANIZATION or not stack or "/" in stack:
            raise EngineError(
                f"stack reference {name}: a file backend knows only {ORGANIZATION}/<project>/<stack>; write "
                f"{ORGANIZATION}/{self._project}/{name.rpartition('/')[2]}"
            )
        snapshot = load(self._backend.files(project, stack), self._passphrase)
        if not snapshot.digest and not snapshot.states:
            raise EngineError(urns.undeployed(name))
        roots = [state for state in snapshot.states.values() if state.type == urns.STACK_TYPE]
        outputs = dict(roots[0].outputs) if roots else {}
        secret = sorted(key for key, value in outputs.items() if list(secret_places(value)))
        outputs |= {key: Secret(reveal(outputs[key])) for key in secret}
        return {"name": name, "outputs": outputs, "secretOutputNames": secret}
