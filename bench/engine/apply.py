"""Doing what is decided of one resource, and recording it.

Owns the provider's create and update, each journalled before and after, and the change of the state. Does not own what
is decided (`bench.engine.planner`), nor what goes before or after it (`replacement`, `deletion`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.engine.goal import ProgramAnswer
from bench.engine.planner import agreed
from bench.engine.provider import CancelledError, PartialError, ProviderError
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


@dataclass(frozen=True, slots=True)
class Apply:
    """Makes the decisions of one run so."""

    run: EngineRun
    replacements: Replacements

    def replaceable(self, decision: Decision) -> bool:
        """Whether a replacement may be; one of a protected resource is refused, and that is said."""
        if decision.op is not Op.REPLACE or not (decision.old and decision.old.protect and decision.new.protect):
            return True
        step = decision.step()
        self.run.broke(step, irreplaceable(step, decision.reasons))
        return False

    def do(self, decision: Decision, provider: Provider) -> ProgramAnswer:
        """Make it so; what fails is recorded, and the answer says so."""
        run, step = self.run, decision.step()
        if decision.op in (Op.SAME, Op.ADOPT):
            self.settle(decision, decision.new)
            run.ended(step)
            return ProgramAnswer(step.urn, decision.new.id, decision.new.outputs)
        if not self.replaceable(decision):
            return ProgramAnswer(step.urn, failed=True)
        with run.slot():
            run.started(step)
            try:
                state = self._make(decision, provider)
            except (ProviderError, EngineError) as error:
                if isinstance(error, CancelledError):
                    run.stopping.set()
                run.broke(step, str(error))
                return ProgramAnswer(step.urn, failed=True)
        if (staying := self._staying(decision)) is not None:
            self.replacements.unfinished[replace(staying, delete=True).key] = step
        else:
            run.ended(step)
        return ProgramAnswer(state.urn, state.id, state.outputs)

    @staticmethod
    def _staying(decision: Decision) -> ResourceState | None:
        """The old resource where it stands until the program has ended."""
        replaced = decision.op is Op.REPLACE and not decision.delete_first
        return decision.old if replaced and decision.old and not decision.old.pending_replacement else None

    def _make(self, decision: Decision, provider: Provider) -> ResourceState:
        run, new, old = self.run, decision.new, decision.old
        if decision.op is Op.REPLACE:
            self.replacements.replaced.add(new.urn)
            if decision.delete_first and old is not None and not old.pending_replacement:
                self.replacements.delete_first(old)
        updated = old if decision.op is Op.UPDATE else None
        number = run.begin("updating" if updated else "creating", new)
        try:
            if updated:
                known = reveal(agreed(updated.outputs, new))
                state = new.showing(
                    provider.update(new.type, updated.id, known, reveal(new.inputs), run.cancel), provider
                )
            else:
                made = provider.create(new.type, reveal(new.inputs), new.custom_timeouts.get("create"), run.cancel)
                state = new.showing(made.outputs, provider, id=made.id)
        except CancelledError:
            raise
        except PartialError as error:
            id_ = error.resource_id or new.id
            self._made(number, decision, new.showing(error.outputs, provider, id=id_, init_errors=(str(error),)))
            raise
        except ProviderError as error:
            run.note(ended=number, drop=(updated,) if updated and error.gone else ())
            raise
        self._made(number, decision, state)
        return state

    def _made(self, number: int, decision: Decision, state: ResourceState) -> None:
        staying = self._staying(decision)
        self.run.note(state, *((replace(staying, delete=True),) if staying else ()), ended=number)

    def settle(self, decision: Decision, state: ResourceState) -> None:
        """Take over a state that needed no provider; nothing is written where nothing has changed."""
        if state != decision.old:
            self.run.note(state)
