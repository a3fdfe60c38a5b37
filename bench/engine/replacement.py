"""Replacements: what must be deleted before it can be made again, together with what hangs on it.

Owns the claim on old resources that a replacement deletes ahead of time, their deletion in reverse order of dependency,
and the steps that end only when the replaced resource is gone. Does not own deletions after the program.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
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
    """The replacements of one run."""

    def __init__(self, run: EngineRun, registry: Providers) -> None:
        self._run = run
        self._registry = registry
        self._dependent_deletions: dict[str, DependentDeletion] = {}
        self.replaced: set[str] = set()
        self.unfinished: dict[str, tuple[Step, float]] = {}

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

    def finish_later(self, step: Step, old: ResourceState, seconds: float) -> None:
        """A replacement whose new resource stands and whose old one is deleted after the program."""
        with self._run.lock:
            self.unfinished[replace(old, delete=True).key] = (step, seconds)

    def report_unfinished(self) -> None:
        """At the end: replacements whose old resource still stands."""
        for step, seconds in self.unfinished.values():
            self._run.broke(
                step, "the new resource exists, the old one is not deleted yet: the next run deletes it", seconds
            )
        self.unfinished.clear()

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
        for urn in self._dependents.get(old.urn, ()):
            others = self._dependent_deletions.get(urn)
            if others is not None:
                others.gone.wait()
        self._delete(old)

    def _claim_dependents(self, old: ResourceState) -> list[tuple[ResourceState, DependentDeletion]]:
        """Claim every old resource that must be replaced because this one is, in order of dependency."""
        run = self._run
        claimed: list[tuple[ResourceState, DependentDeletion]] = []
        affected = {old.urn}
        with run.lock:
            for state in self._after(old.urn):
                names = frozenset(name for name, on in state.property_dependencies.items() if affected.intersection(on))
                by_provider = state.provider_urn in affected
                if not (names or by_provider) or state.urn in run.seen or state.urn in self._dependent_deletions:
                    continue
                provider = self._registry.of(state.provider)
                if not by_provider and not planner.replaced_by_unknown(state, provider, names):
                    continue
                if state.protect:
                    step = planner.step_of(state, Op.REPLACE)
                    raise EngineError(replaced_along(step, urns.name_of(old.urn)))
                dependent = DependentDeletion(threading.Event(), tuple(sorted(names)) or (planner.PROVIDER_CHANGED,))
                self._dependent_deletions[state.urn] = dependent
                affected.add(state.urn)
                claimed.append((state, dependent))
        return claimed

    def _after(self, urn: str) -> Iterable[ResourceState]:
        """Old resources of a provider that depend on one, however far, in order of dependency."""
        found: set[str] = set()
        ahead = [urn]
        while ahead:
            for dependent in self._dependents.get(ahead.pop(), ()):
                if dependent not in found:
                    found.add(dependent)
                    ahead.append(dependent)
        return sorted((self._run.olds[one] for one in found), key=lambda state: self._order[state.urn])

    @cached_property
    def _order(self) -> dict[str, int]:
        return {state.urn: index for index, state in enumerate(ordered(self._run.olds.values()))}

    @cached_property
    def _dependents(self) -> dict[str, list[str]]:
        """URNs of what depends on each old resource through a property or as its provider."""
        found: dict[str, list[str]] = {}
        for state in self._run.olds.values():
            if not state.custom or state.external or urns.is_provider(state.type):
                continue
            ons = {on for names in state.property_dependencies.values() for on in names}
            for on in ons | ({state.provider_urn} if state.provider else set()):
                found.setdefault(on, []).append(state.urn)
        return found

    def _delete(self, state: ResourceState) -> None:
        run = self._run
        gone = replace(state, pending_replacement=True)
        if state.retain_on_delete:
            run.note(gone)
            return
        delete(run, self._registry.of(state.provider), state, gone)


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
            run.end(number)
            raise
    run.end(number, *left, drop=() if left else (state,))
