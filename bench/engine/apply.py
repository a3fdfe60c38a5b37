"""Doing what is decided of one resource, and recording it.

Owns the provider's create and update, each journalled before and after, and the change of the state. Does not own what
is decided (`bench.engine.planner`), nor what goes before or after it (`replacement`, `deletion`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.engine.goal import ProgramAnswer
from bench.engine.planner import agreed
from bench.engine.provider import CancelledError, PartialCreateError, PartialUpdateError, ProviderError
from bench.engine.run import Stopwatch, now
from infra.model.errors import EngineError
from infra.model.plan import Op
from infra.model.protected import irreplaceable
from infra.model.secret_values import reveal

if TYPE_CHECKING:
    from bench.engine.planner import Decision
    from bench.engine.provider import Provider
    from bench.engine.replacement import Replacements
    from bench.engine.run import EngineRun
    from bench.engine.state import ResourceState


class Apply:
    """Makes the decisions of one run so."""

    def __init__(self, run: EngineRun, replacements: Replacements) -> None:
        self._run = run
        self._replacements = replacements

    def replaceable(self, decision: Decision) -> bool:
        old = decision.old
        if old is None or not (old.protect and decision.new.protect):
            return True
        step = decision.step()
        self._run.broke(step, irreplaceable(step, decision.reasons))
        return False

    def do(self, decision: Decision, provider: Provider) -> ProgramAnswer:
        if decision.op in (Op.SAME, Op.ADOPT):
            self.settle(decision, decision.new)
            self._run.ended(decision.step(), 0.0)
            return ProgramAnswer(decision.new.urn, decision.new.id, decision.new.outputs)
        if decision.op is Op.REPLACE and not self.replaceable(decision):
            return ProgramAnswer(decision.new.urn, failed=True)
        step = decision.step()
        clock = Stopwatch()
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
                return ProgramAnswer(step.urn, failed=True)
            except (ProviderError, EngineError) as error:
                self._run.broke(step, str(error), clock.seconds)
                return ProgramAnswer(step.urn, failed=True)
        if (staying := self._staying(decision)) is not None:
            self._replacements.finish_later(step, staying, clock.seconds)
        else:
            self._run.ended(step, clock.seconds)
        return ProgramAnswer(state.urn, state.id, state.outputs)

    @staticmethod
    def _staying(decision: Decision) -> ResourceState | None:
        """The old resource where it stands until the program has ended."""
        replaced = decision.op is Op.REPLACE and not decision.delete_first
        return decision.old if replaced and decision.old and not decision.old.pending_replacement else None

    def _create(self, decision: Decision, provider: Provider) -> ResourceState:
        run, new, old = self._run, decision.new, decision.old
        if decision.op is Op.REPLACE:
            self._replacements.replaced.add(new.urn)
            if decision.delete_first and old is not None and not old.pending_replacement:
                self._replacements.delete_first(old)
        number = run.begin("creating", new)
        try:
            made = provider.create(new.type, reveal(new.inputs), new.timeouts.get("create"), run.cancel)
        except CancelledError:
            raise
        except PartialCreateError as error:
            state = new.showing(error.outputs, provider, id=error.resource_id, init_errors=(str(error),))
            self._created(number, decision, state)
            raise
        except ProviderError:
            run.end(number)
            raise
        state = new.showing(made.outputs, provider, id=made.id)
        self._created(number, decision, state)
        return state

    def _created(self, number: int, decision: Decision, state: ResourceState) -> None:
        staying = self._staying(decision)
        self._run.end(number, state, *((replace(staying, delete=True),) if staying else ()))

    def _update(self, decision: Decision, provider: Provider) -> ResourceState:
        run, new, old = self._run, decision.new, decision.old
        assert old is not None
        number = run.begin("updating", new)
        try:
            known = reveal(agreed(old.outputs, new))
            raw = provider.update(new.type, old.id, known, reveal(new.inputs), run.cancel)
        except CancelledError:
            raise
        except PartialUpdateError as error:
            half = new.showing(error.outputs, provider, init_errors=(str(error),), modified=now())
            run.end(number, half)
            raise
        except ProviderError as error:
            run.end(number, drop=(old,) if error.gone else ())
            raise
        state = new.showing(raw, provider, modified=now())
        run.end(number, state)
        return state

    def settle(self, decision: Decision, state: ResourceState) -> None:
        """Take over a state that needed no provider; nothing is written where nothing has changed."""
        if state != decision.old:
            self._run.note(state)
