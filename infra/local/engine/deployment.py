"""Making one resource so, as the program asks for it.

Owns what happens between a registration and its answer: finding the old state, deciding, doing, recording. Each
registration is worked on in the thread that asks, so as many are under way as there are threads. Does not own what is
deleted after the program (`infra.local.engine.deletion`), the protocol (`infra.local.engine.monitor`) nor the decision
itself (`infra.local.engine.planner`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from infra.local.engine import checkpoint, planner, urns
from infra.local.engine.errors import EngineError
from infra.local.engine.outputs import taken_over
from infra.local.engine.planner import CheckFailedError, Decision
from infra.local.engine.provider import (
    CancelledError,
    PartialCreateError,
    PartialUpdateError,
    Provider,
    ProviderError,
    ReadResult,
)
from infra.local.engine.registry import BUILTIN, Registry
from infra.local.engine.run import Clock, Run, now
from infra.local.engine.values import has_unknown, masked, resealed, reveal, without_unknown
from infra.model.plan import Op, Status, Step
from infra.model.protected import irreplaceable

if TYPE_CHECKING:
    from infra.local.engine.goal import Goal
    from infra.local.engine.replacement import Replacements
    from infra.local.engine.state import State


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program is told of a resource. unknown: nothing was made, and its outputs stay unknown."""

    urn: str
    id: str = ""
    outputs: dict[str, Any] = field(default_factory=dict)
    failed: bool = False
    unknown: bool = False


class Deployment:
    """Works off the registrations of one program."""

    def __init__(self, run: Run, registry: Registry, replacements: Replacements) -> None:
        self._run = run
        self._registry = registry
        self._replacements = replacements
        self._old_urns: dict[str, str] = {}

    def refuse(self, urn: str, token: str, name: str, message: str) -> None:
        """Record that a resource asks for what this engine does not do."""
        self._run.broke(Step(op=Op.CREATE, urn=urn, type=token, name=name), message)

    def parents(self, urn: str) -> tuple[str, ...]:
        """The URNs that a parent has and, where an alias found it, had."""
        old = self._old_urns.get(urn)
        return (urn,) if old is None else (urn, old)

    def register(self, goal: Goal, aliases: tuple[str, ...]) -> Answer:
        """Make a resource so; what fails is recorded, and the answer says so."""
        run = self._run
        if not self._admit(goal):
            return Answer(goal.urn, failed=True)
        old = self._find(goal, aliases)
        blocked = sorted(goal.needs() & run.failed)
        if blocked:
            run.skipped(_bare(goal, old), f"not attempted: it depends on {', '.join(map(urns.name_of, blocked))}")
            return Answer(goal.urn, failed=True)
        absent = sorted(goal.needs() & run.absent)
        if absent and self._targeted(goal):
            run.broke(
                _bare(goal, old),
                f"{goal.urn} depends on {', '.join(absent)}, which does not exist and is no target: target it too",
            )
            return Answer(goal.urn, failed=True)
        if not goal.custom:
            return self._component(goal, old)
        try:
            return self._custom(goal, old)
        except (CheckFailedError, ProviderError, EngineError) as error:
            run.broke(_bare(goal, old), str(error))
            return Answer(goal.urn, failed=True)

    def _admit(self, goal: Goal) -> bool:
        run = self._run
        with run.lock:
            if goal.urn not in run.seen:
                run.seen.add(goal.urn)
                return True
        run.say("error", f"duplicate resource URN {goal.urn}: give one of the two another name", goal.urn)
        return False

    def _find(self, goal: Goal, aliases: tuple[str, ...]) -> State | None:
        """The old state, under its own URN or, taken out of the way, under an alias."""
        run = self._run
        old = run.olds.get(goal.urn)
        if old is not None:
            return old
        with run.lock:
            for alias in aliases:
                old = run.olds.get(alias)
                if old is not None and alias not in run.seen:
                    run.seen.add(alias)
                    self._old_urns[goal.urn] = alias
                    return old
        return None

    # Components

    def _component(self, goal: Goal, old: State | None) -> Answer:
        decision = planner.decide_component(goal, old)
        run = self._run
        step = decision.step()
        if decision.op is not Op.SAME:
            run.started(step)
        self._settle(decision, decision.new)
        run.ended(step, 0.0)
        return Answer(goal.urn, outputs=decision.new.inputs)

    def outputs(self, urn: str, outputs: dict[str, Any]) -> None:
        """Take over the outputs of a component, the stack itself included; one that was skipped has none."""
        run = self._run
        state = run.states.get(urn)
        if state is None and urn in run.failed:
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

    def _custom(self, goal: Goal, old: State | None) -> Answer:
        run = self._run
        if urns.is_provider(goal.type):
            return self._provider(goal, old)
        reference = self._registry.reference_for(goal)
        provider = self._registry.of(reference)
        if goal.type not in provider.types():
            raise EngineError(
                f"{goal.urn}: the embedded engine's provider for {provider.package} does not serve {goal.type}: "
                "use --engine pulumi"
            )
        if not self._targeted(goal):
            return self._untargeted(goal, old)
        old = self._replacements.await_condemned(old)
        if old is None and goal.import_id:
            return self._import(goal, provider, reference)
        decision = planner.decide(
            goal,
            old,
            provider,
            reference,
            forced=self._forced(goal, old, reference),
            condemned=self._replacements.reasons(old.urn) if old is not None else (),
            recreate=old is not None and (old.pending_replacement or old.external),
        )
        if run.preview:
            return self._planned(decision, provider)
        if has_unknown(decision.new.inputs):
            raise EngineError(f"{goal.urn} has an input that is not known although all it depends on is made")
        return self._do(decision, provider)

    def _forced(self, goal: Goal, old: State | None, reference: str) -> tuple[str, ...]:
        """Reasons to replace that no provider sees."""
        if old is None:
            return ()
        triggers = (goal.replacement_trigger, old.replacement_trigger)
        asked = {
            planner.TYPE_CHANGED: old.type != goal.type,
            planner.PROVIDER_CHANGED: self._provider_changed(old, reference),
            planner.REPLACEMENT_TRIGGER: None not in triggers and reveal(triggers[0]) != reveal(triggers[1]),
            planner.REPLACE_WITH: bool(self._replacements.replaced.intersection(goal.replace_with)),
        }
        return tuple(reason for reason, holds in asked.items() if holds)

    def _provider_changed(self, old: State, reference: str) -> bool:
        """Whether another provider serves it now. Between default providers, and for a renamed one, nothing changes."""
        if not old.provider or old.provider == reference:
            return False
        was, now_urn = old.provider_urn, reference.rpartition("::")[0]
        defaults = all(urns.name_of(urn).startswith("default") for urn in (was, now_urn))
        return not defaults and self._old_urns.get(now_urn) != was

    def _planned(self, decision: Decision, provider: Provider) -> Answer:
        """In a preview: record the step and answer with what can be known."""
        run, new = self._run, decision.new
        if decision.op is Op.REPLACE and not self._replaceable(decision):
            return Answer(new.urn, failed=True)
        if decision.op is Op.SAME:
            state = new
        else:
            kept = decision.old.outputs if decision.op is Op.UPDATE and decision.old is not None else None
            raw = provider.preview_outputs(new.type, reveal(new.inputs), reveal(kept) if kept is not None else None)
            outputs = taken_over(new, raw, provider.secret_outputs(new.type))
            state = replace(new, outputs=outputs, id=new.id if decision.op is Op.UPDATE else "")
        if decision.op is Op.REPLACE:
            self._replacements.plan(decision)
        self._settle(decision, state)
        run.ended(decision.step())
        return Answer(new.urn, state.id, state.outputs)

    def _replaceable(self, decision: Decision) -> bool:
        old = decision.old
        if old is None or not (old.protect and decision.new.protect):
            return True
        step = decision.step()
        self._run.broke(step, irreplaceable(step, decision.reasons))
        return False

    def _do(self, decision: Decision, provider: Provider) -> Answer:
        if decision.op is Op.SAME:
            self._settle(decision, decision.new)
            self._run.ended(decision.step(), 0.0)
            return Answer(decision.new.urn, decision.new.id, decision.new.outputs)
        if decision.op is Op.REPLACE and not self._replaceable(decision):
            return Answer(decision.new.urn, failed=True)
        step = decision.step()
        clock = Clock()
        with self._run.slot():
            self._run.started(step)
            try:
                if decision.op is Op.UPDATE:
                    state = self._update(decision, provider)
                else:
                    state = self._create(decision, provider)
            except CancelledError as error:
                self._run.stopping.set()
                self._run.broke(step, str(error), clock.seconds)
                return Answer(step.urn, failed=True)
            except (ProviderError, EngineError) as error:
                self._run.broke(step, str(error), clock.seconds)
                return Answer(step.urn, failed=True)
        if decision.old is not None and self._stays(decision):
            self._replacements.finish_later(step, decision.old, clock.seconds)
        else:
            self._run.ended(step, clock.seconds)
        return Answer(state.urn, state.id, state.outputs)

    @staticmethod
    def _gone(decision: Decision) -> bool:
        """Whether there is no old resource to delete, though the state speaks of one."""
        return decision.old is not None and (decision.old.pending_replacement or decision.old.external)

    def _stays(self, decision: Decision) -> bool:
        """Whether the old resource stands until the program has ended."""
        return decision.op is Op.REPLACE and not decision.delete_first and not self._gone(decision)

    def _create(self, decision: Decision, provider: Provider) -> State:
        run, new, old = self._run, decision.new, decision.old
        if decision.op is Op.REPLACE:
            self._replacements.replaced.add(new.urn)
            if decision.delete_first and old is not None and not self._gone(decision):
                self._replacements.delete_first(old)
        number = run.begin("creating", new)
        try:
            made = provider.create(new.type, reveal(new.inputs), new.timeouts.get("create"), run.cancel)
        except CancelledError:
            raise
        except PartialCreateError as error:
            outputs = taken_over(new, error.outputs, provider.secret_outputs(new.type))
            state = replace(new, id=error.resource_id, outputs=outputs, init_errors=error.reasons)
            self._created(number, decision, state)
            raise
        except ProviderError:
            run.end(number)
            raise
        outputs = taken_over(new, made.outputs, provider.secret_outputs(new.type))
        state = replace(new, id=made.id, outputs=outputs, created=now(), modified=now())
        self._created(number, decision, state)
        return state

    def _created(self, number: int, decision: Decision, state: State) -> None:
        old = decision.old
        self._end(number, decision, state, replace(old, delete=True) if old and self._stays(decision) else None)

    def _update(self, decision: Decision, provider: Provider) -> State:
        run, new, old = self._run, decision.new, decision.old
        assert old is not None
        number = run.begin("updating", new)
        try:
            raw = provider.update(
                new.type,
                old.id,
                reveal(old.inputs),
                reveal(old.outputs),
                reveal(new.inputs),
                new.timeouts.get("update"),
                run.cancel,
            )
        except CancelledError:
            raise
        except PartialUpdateError as error:
            outputs = taken_over(new, error.outputs, provider.secret_outputs(new.type))
            self._end(number, decision, replace(new, outputs=outputs, init_errors=error.reasons, modified=now()))
            raise
        except ProviderError as error:
            run.end(number, drop=(old,) if error.gone else ())
            raise
        state = replace(new, outputs=taken_over(new, raw, provider.secret_outputs(new.type)), modified=now())
        self._end(number, decision, state)
        return state

    def _end(self, number: int, decision: Decision, state: State, *more: State | None) -> None:
        kept = tuple(extra for extra in more if extra is not None)
        self._run.end(number, state, *kept, drop=self._renamed_from(decision.old, state))

    def _settle(self, decision: Decision, state: State) -> None:
        """Take over a state that needed no provider; nothing is written where nothing has changed."""
        if state != decision.old:
            renamed = self._renamed_from(decision.old, state)
            if renamed:
                state.other = {**state.other, checkpoint.ALIASES: [one.urn for one in renamed]}
            self._run.note(state, drop=renamed)

    @staticmethod
    def _renamed_from(old: State | None, state: State) -> tuple[State, ...]:
        return (old,) if old is not None and old.urn != state.urn else ()

    # Providers, imports, reads, targets

    def _provider(self, goal: Goal, old: State | None) -> Answer:
        """A provider resource: its inputs are its configuration, and it lives in the state alone."""
        self._registry.served(urns.package_of(goal.type), goal.urn)
        decision = planner.decide_component(goal, old)
        inputs = goal.inputs | ({"version": goal.version} if goal.version else {})
        new = replace(decision.new, inputs=inputs, outputs=inputs, id=old.id if old else self._registry.fresh_id())
        decision = replace(decision, new=new, detailed=planner.plain_diff(old.inputs, inputs) if old else {})
        decision = replace(decision, op=Op.CREATE if old is None else Op.UPDATE if decision.detailed else Op.SAME)
        self._settle(decision, without(new, self._run.preview))
        self._registry.configure(f"{new.urn}::{new.id}", new)
        step = decision.step()
        if decision.op is not Op.SAME:
            self._run.started(step)
        self._run.ended(step, 0.0)
        return Answer(new.urn, new.id, new.outputs)

    def _import(self, goal: Goal, provider: Provider, reference: str) -> Answer:
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
        if not self._admit(goal):
            return Answer(goal.urn, failed=True)
        old = run.olds.get(goal.urn)
        try:
            reference = self._registry.reference_for(goal)
            found, secret = self._look_up(goal, reference, fetch)
        except (ProviderError, EngineError) as error:
            run.broke(_bare(goal, old), str(error))
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

    def _targeted(self, goal: Goal) -> bool:
        """Whether it may change: a target, or what depends on one where that is asked for."""
        run = self._run
        if not run.targets:
            return True
        with run.lock:
            chosen = goal.urn in run.targets or (run.options.target_dependents and bool(goal.needs() & run.touched))
            if chosen:
                run.touched.add(goal.urn)
        return chosen

    def _untargeted(self, goal: Goal, old: State | None) -> Answer:
        """Leave a resource as it is; one that does not exist stays away, and what needs it is told so."""
        run = self._run
        if old is None:
            with run.lock:
                run.absent.add(goal.urn)
            return Answer(goal.urn, unknown=True)
        step = Step(
            op=Op.SAME,
            urn=goal.urn,
            type=goal.type,
            name=goal.name,
            old_inputs=masked(old.inputs),
            new_inputs=masked(old.inputs),
            protect=old.protect,
        )
        run.ended(step, 0.0)
        return Answer(goal.urn, old.id, old.outputs)


def without(state: State, preview: bool) -> State:
    """A state as it may be kept: in a preview as it is, else without what is unknown."""
    return state if preview else replace(state, inputs=without_unknown(state.inputs))


def _bare(goal: Goal, old: State | None) -> Step:
    """The step of a resource for which nothing could be decided."""
    op = Op.CREATE if old is None else Op.UPDATE
    return Step(
        op=op,
        urn=goal.urn,
        type=goal.type,
        name=goal.name,
        status=Status.PLANNED,
        old_inputs=masked(old.inputs) if old is not None else None,
        new_inputs=masked(goal.inputs),
        protect=goal.protect,
    )
