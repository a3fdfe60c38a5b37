"""What is deleted after the program, and in which order.

Owns the choice (resources the program no longer asks for, and replaced ones), protection, and deletion in reverse order
of dependency with many at once. Also serves destroy, where everything goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.engine.planner import step_of
from bench.engine.provider import CancelledError, ProviderError
from bench.engine.replacement import delete
from bench.engine.run import EngineRun, StoppedError
from infra.model import protected, urns
from infra.model.errors import EngineError
from infra.model.plan import Op, Step

if TYPE_CHECKING:
    from bench.engine.registry import Providers
    from bench.engine.replacement import Replacements
    from bench.engine.state import ResourceState


@dataclass(frozen=True, slots=True)
class Deletion:
    """The deletions of one run."""

    run: EngineRun
    registry: Providers
    replacements: Replacements

    def to_delete(self) -> list[ResourceState]:
        """What is to be deleted, within the targets: replaced resources, and those that the program did not ask for."""
        run = self.run
        found = [state for state in run.states.values() if state.delete or state.urn not in run.seen]
        if run.targets:
            found = self._within_targets(found)
        kept = {state.urn for state in run.states.values() if self._stays(state)}
        for state in reversed(run.states.values()):  # against the order of dependency
            if state.urn in kept:
                kept.update(state.references())
        return self._spared([state for state in found if state.delete or state.urn not in kept])

    def _stays(self, state: ResourceState) -> bool:
        """Whether it stays with all that must exist for it, as the pulumi CLI does it (seen with 3.260, 2026-11)."""
        asked = state.urn in self.run.excludes or (state.protect and self.run.options.exclude_protected)
        return asked and not state.delete

    def _within_targets(self, found: list[ResourceState]) -> list[ResourceState]:
        """Targeted ones; what depends on one and is no target keeps its ground."""
        run = self.run
        chosen = {state.key: state for state in found if state.urn in run.targets}
        going = {state.urn for state in chosen.values() if not state.delete}
        for state in run.states.values():
            if state.key not in chosen and (needed := sorted(going.intersection(state.references()))):
                raise EngineError(
                    f"{', '.join(needed)} cannot be deleted alone: {state.urn} depends on it and is no target; "
                    "target it too"
                )
        return list(chosen.values())

    def _spared(self, found: list[ResourceState]) -> list[ResourceState]:
        """Without what a failed resource may still need: the program did not come far enough to say."""
        run = self.run
        if not run.failed:
            return found
        spared = set(run.failed)
        for state in run.states.values():  # in order of dependency
            if spared.intersection(state.references()) and state.urn not in spared:
                spared.add(state.urn)
        kept = [state for state in found if state.urn in spared and not state.delete]
        for state in kept:
            run.skipped(self._step(state), "not attempted: it depends on a resource that failed")
        return [state for state in found if state not in kept]

    def protected(self, found: Iterable[ResourceState], words: Callable[[Sequence[Step]], str]) -> bool:
        """Whether anything of it is protected; then that is said in these words, and nothing at all may be deleted."""
        steps = [replace(self._step(state), op=Op.DELETE) for state in found if state.protect and not state.delete]
        if steps:
            self.run.refused(steps, words(steps), protected.refused)
        return bool(steps)

    def plan(self, found: Sequence[ResourceState]) -> None:
        """In a preview: record what would go."""
        for state in reversed(found):
            if not state.pending_replacement and not _untold(state):
                self.run.ended(self._step(state))

    def execute(self, found: Iterable[ResourceState]) -> None:
        """Delete all of it, what nothing refers to any more side by side; what a failed one needs stays."""
        run = self.run
        waiting, kept = [*found], []
        with ThreadPoolExecutor(run.options.parallel) as pool:
            while True:
                needed = {urn for state in (*waiting, *kept) for urn in state.references()}
                ready = [state for state in waiting if state.urn not in needed]
                if not ready:
                    break
                waiting = [state for state in waiting if state.urn in needed]
                kept += [state for state, gone in zip(ready, pool.map(self._delete, ready), strict=True) if not gone]
        if not run.stopping.is_set():
            for state in waiting:
                if not _untold(state):
                    run.skipped(self._step(state), "not attempted: a resource that depends on it was not deleted")

    def _delete(self, state: ResourceState) -> bool:
        """Whether it is gone; what fails is recorded."""
        run = self.run
        step = self.replacements.unfinished.pop(state.key, self._step(state))
        try:
            with run.slot():
                if state.pending_replacement or _untold(state):
                    run.note(drop=(state,))
                    return True
                run.started(step)
                if urns.is_provider(state.type) or not state.custom or state.retain_on_delete:
                    run.note(drop=(state,))
                else:
                    delete(run, self.registry.of(state.provider), state)
        except StoppedError:
            return False
        except (ProviderError, EngineError) as error:
            if isinstance(error, CancelledError):
                run.stopping.set()
            run.broke(step, str(error))
            return False
        run.ended(step)
        return True

    @staticmethod
    def _step(state: ResourceState) -> Step:
        op = Op.RETAIN if state.custom and state.retain_on_delete else Op.DELETE
        return step_of(state, op, old=state)


def _untold(state: ResourceState) -> bool:
    """Whether the state alone forgets it: a default provider, or what was read and is another's.

    The pulumi CLI neither shows nor counts these (its operation is `discard`; pulumi/pulumi,
    pkg/resource/deploy/step.go, DeleteStep.Op, 2026-08).
    """
    return state.external or urns.is_default_provider(state.urn)
