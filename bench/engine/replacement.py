"""Replacements: what must be deleted before it can be made again, together with what hangs on it.

Owns the claim on old resources that a replacement deletes ahead of time, their deletion in reverse order of dependency,
and the steps that end only when the replaced resource is gone. Does not own deletions after the program.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from bench.engine import planner
from bench.engine.checkpoint import ordered
from bench.engine.provider import CancelledError, ProviderError
from infra.model import urns
from infra.model.errors import EngineError
from infra.model.plan import Op
from infra.model.protected import replaced_along
from infra.model.secret_values import reveal

if TYPE_CHECKING:
    from bench.engine.planner import Decision
    from bench.engine.provider import Provider
    from bench.engine.registry import Providers
    from bench.engine.run import EngineRun
    from bench.engine.state import ResourceState
    from infra.model.plan import Step


@dataclass(frozen=True, slots=True)
class DependentDeletion:
    """An old resource that is deleted because of what it depends on. reasons: the inputs through which it does."""

    gone: threading.Event
    reasons: tuple[str, ...]


class Replacements:
    """The replacements of one run. unfinished: steps whose old resource, by key, is deleted after the program."""

    def __init__(self, run: EngineRun, registry: Providers) -> None:
        self._run = run
        self._registry = registry
        self._dependent_deletions: dict[str, DependentDeletion] = {}
        self.replaced: set[str] = set()
        self.unfinished: dict[str, Step] = {}

    def reasons(self, urn: str) -> tuple[str, ...]:
        """Why an old resource was deleted ahead of its own registration; empty where it was not."""
        dependent = self._dependent_deletions.get(urn)
        return dependent.reasons if dependent is not None else ()

    def await_dependent(self, old: ResourceState | None) -> ResourceState | None:
        """The old state, once whoever claimed it has deleted it."""
        dependent = self._dependent_deletions.get(old.urn) if old is not None else None
        if dependent is None or old is None:
            return old
        dependent.gone.wait()
        return replace(old, pending_replacement=True) if self._run.preview else self._run.states.get(old.urn)

    def report_unfinished(self) -> None:
        """At the end: replacements whose old resource still stands."""
        for step in self.unfinished.values():
            self._run.broke(step, "the new resource exists, the old one is not deleted yet: the next run deletes it")

    def plan(self, decision: Decision) -> None:
        """In a preview: note the replacement, and claim what is replaced along with it."""
        self.replaced.add(decision.new.urn)
        if decision.delete_first and decision.old is not None:
            for _, dependent in self._claim_dependents(decision.old):
                dependent.gone.set()

    def delete_first(self, old: ResourceState) -> None:
        """Delete a resource that is to be made again, what depends on it first; ProviderError stops the replacement."""
        mine = self._claim_dependents(old)
        try:
            for state, _ in reversed(mine):
                self._delete(state)
        finally:
            for _, dependent in mine:
                dependent.gone.set()
        for urn, others in list(self._dependent_deletions.items()):
            if old.urn in _shaped_by(self._run.olds[urn]):
                others.gone.wait()
        self._delete(old)

    def _claim_dependents(self, old: ResourceState) -> list[tuple[ResourceState, DependentDeletion]]:
        """Claim every old resource that must be replaced because this one is, in order of dependency."""
        run = self._run
        claimed: list[tuple[ResourceState, DependentDeletion]] = []
        affected = {old.urn}
        with run.lock:
            for state in self._order if old.urn in self._needed else ():
                names = frozenset(name for name, on in state.property_dependencies.items() if affected.intersection(on))
                if not names or state.urn in run.seen or state.urn in self._dependent_deletions:
                    continue
                if not planner.replaced_by_unknown(state, self._registry.of(state.provider), names):
                    continue
                if state.protect:
                    step = planner.step_of(state, Op.REPLACE)
                    raise EngineError(replaced_along(step, urns.name_of(old.urn)))
                dependent = DependentDeletion(threading.Event(), tuple(sorted(names)))
                self._dependent_deletions[state.urn] = dependent
                affected.add(state.urn)
                claimed.append((state, dependent))
        return claimed

    @cached_property
    def _order(self) -> list[ResourceState]:
        """Old resources of a provider, in order of dependency."""
        found = ordered([*self._run.olds.values()])
        return [state for state in found if state.custom and not state.external and not urns.is_provider(state.type)]

    @cached_property
    def _needed(self) -> set[str]:
        """What any of them has an input of: most resources are needed by none, and a stack may have thousands."""
        return {on for state in self._order for on in _shaped_by(state)}

    def _delete(self, state: ResourceState) -> None:
        gone = replace(state, pending_replacement=True)
        if state.retain_on_delete:
            self._run.note(gone)
        else:
            delete(self._run, self._registry.of(state.provider), state, gone)


def _shaped_by(state: ResourceState) -> set[str]:
    """URNs of what its inputs come from."""
    return set().union(*state.property_dependencies.values())


def delete(run: EngineRun, provider: Provider, state: ResourceState, *left: ResourceState) -> None:
    """Have a provider delete a resource; `left` is what the state has in its place. What Ctrl-C cuts off is in flight.

    Raises ProviderError.
    """
    number = run.begin("deleting", state)
    try:
        provider.delete(state.type, state.id, reveal(state.outputs), run.cancel)
    except CancelledError:
        raise
    except ProviderError as error:
        if not error.gone:
            run.note(ended=number)
            raise
    run.note(*left, drop=() if left else (state,), ended=number)
