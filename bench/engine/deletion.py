"""What is deleted after the program, and in which order.

Owns the choice (resources the program no longer asks for, and replaced ones), protection, and deletion in reverse order
of dependency with many at once. Also serves destroy, where everything goes.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from bench.engine.planner import step_of
from bench.engine.provider import CancelledError, ProviderError
from bench.engine.replacement import delete
from bench.engine.run import EngineRun, StoppedError, Stopwatch
from infra.model import protected, urns
from infra.model.errors import EngineError
from infra.model.plan import Op, Step

if TYPE_CHECKING:
    from bench.engine.registry import Providers
    from bench.engine.replacement import Replacements
    from bench.engine.state import ResourceState


class Deletion:
    """The deletions of one run."""

    def __init__(self, run: EngineRun, registry: Providers, replacements: Replacements) -> None:
        self._run = run
        self._registry = registry
        self._replacements = replacements

    def to_delete(self) -> list[ResourceState]:
        """What is to be deleted, within the targets: replaced resources, and those that the program did not ask for."""
        run = self._run
        found = [state for state in run.states.values() if state.delete or state.urn not in run.seen]
        if run.targets:
            found = self._within_targets(found)
        return self._spared(self._not_excluded(found))

    def _not_excluded(self, found: list[ResourceState]) -> list[ResourceState]:
        """Without what is excluded and what that needs, as the pulumi CLI does it (seen with 3.260, 2026-11)."""
        run = self._run
        if not run.excludes:
            return found
        kept = {state.urn for state in run.states.values() if state.urn in run.excludes and not state.delete}
        return self._not_needed(found, kept)

    def _within_targets(self, found: list[ResourceState]) -> list[ResourceState]:
        """Targeted ones; what depends on one and is no target keeps its ground."""
        run = self._run
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
        run = self._run
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

    def without_protected(self, found: Iterable[ResourceState]) -> list[ResourceState]:
        """Without what is protected and all that must exist for it: parents, providers, what it depends on."""
        kept = {state.urn for state in self._run.states.values() if state.protect and not state.delete}
        return self._not_needed(found, kept)

    def _not_needed(self, found: Iterable[ResourceState], kept: set[str]) -> list[ResourceState]:
        """Without what is kept and all that must exist for it."""
        for state in reversed(self._run.states.values()):  # against the order of dependency
            if state.urn in kept:
                kept.update(state.references())
        return [state for state in found if state.delete or state.urn not in kept]

    def protected(self, found: Iterable[ResourceState], words: Callable[[Sequence[Step]], str]) -> bool:
        """Whether anything of it is protected; then that is said in these words, and nothing at all may be deleted."""
        steps = [replace(self._step(state), op=Op.DELETE) for state in found if state.protect and not state.delete]
        if steps:
            self._run.refused(steps, words(steps), protected.refused)
        return bool(steps)

    def plan(self, found: Iterable[ResourceState]) -> None:
        """In a preview: record what would go."""
        for state in _reversed(found):
            if not state.pending_replacement and not _untold(state):
                self._run.ended(self._step(state))

    def execute(self, found: list[ResourceState]) -> None:
        """Delete all of it, each after everything that refers to it; what a failed one needs stays."""
        run = self._run
        waiting = {state.key: state for state in found}
        order = _order(waiting.values())
        order.prepare()
        finished: queue.SimpleQueue[tuple[ResourceState, bool]] = queue.SimpleQueue()

        def work(state: ResourceState) -> None:
            done = False
            try:
                done = self._delete(state)
            except StoppedError:
                pass
            except BaseException as fault:  # noqa: BLE001 - raised again by whoever runs the operation
                run.give_up(fault)
            finally:
                finished.put((state, done))

        under_way = 0
        with ThreadPoolExecutor(run.options.parallel, thread_name_prefix="delete") as pool:
            while under_way or order.is_active():
                for key in order.get_ready():
                    pool.submit(work, waiting.pop(key))
                    under_way += 1
                if not under_way:
                    break
                state, done = finished.get()
                under_way -= 1
                if done:
                    order.done(state.key)
        run.raise_fatal()
        if run.stopping.is_set():
            return
        for state in waiting.values():
            if not _untold(state):
                run.skipped(self._step(state), "not attempted: a resource that depends on it was not deleted")

    def _delete(self, state: ResourceState) -> bool:
        run = self._run
        step, before = self._replacements.unfinished.pop(state.key, (self._step(state), 0.0))
        clock = Stopwatch()
        with run.slot():
            lives_on_its_own = state.custom and not urns.is_provider(state.type)
            if state.pending_replacement or _untold(state):
                run.note(drop=(state,))
                return True
            run.started(step)
            if not lives_on_its_own or state.retain_on_delete:
                run.note(drop=(state,))
            else:
                try:
                    delete(run, self._registry.of(state.provider), state)
                except CancelledError as error:
                    run.stopping.set()
                    run.broke(step, str(error), clock.seconds)
                    return False
                except (ProviderError, EngineError) as error:
                    run.broke(step, str(error), clock.seconds)
                    return False
        run.ended(step, before + clock.seconds)
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


def _reversed(states: Iterable[ResourceState]) -> list[ResourceState]:
    """So that each comes before everything it refers to."""
    found = {state.key: state for state in states}
    return [found[key] for key in _order(found.values()).static_order()]


def _order(states: Collection[ResourceState]) -> TopologicalSorter[str]:
    """Keys, each after all that refer to its resource; of those that are free, the last in the state first."""
    by_urn: dict[str, list[str]] = {}
    for state in states:
        by_urn.setdefault(state.urn, []).append(state.key)
    order = TopologicalSorter[str]({state.key: () for state in reversed([*states])})
    for state in states:
        for needed in (key for urn in dict.fromkeys(state.references()) for key in by_urn.get(urn, ())):
            if needed != state.key:
                order.add(needed, state.key)
    return order
