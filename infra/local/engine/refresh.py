"""Taking over what the cloud says of every resource in the state.

Owns the reading, many at once, and its record as steps. Changes the state alone.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from infra.local.engine import planner, urns
from infra.local.engine.errors import EngineError
from infra.local.engine.outputs import taken_over
from infra.local.engine.planner import Decision
from infra.local.engine.provider import ProviderError
from infra.local.engine.run import Clock, StoppedError, now
from infra.local.engine.values import masked, reveal, secret_places, with_secrets
from infra.model.plan import Op, PropertyChange, Step

if TYPE_CHECKING:
    from infra.local.engine.registry import Registry
    from infra.local.engine.run import Run
    from infra.local.engine.state import State


def refresh(run: Run, registry: Registry, *, quiet: bool = False) -> None:
    """Read every resource that a provider serves. quiet: record only what differs, for a refresh before an update."""
    managed = [
        state
        for state in run.states.values()
        if state.custom
        and not state.external
        and not state.delete
        and not state.pending_replacement
        and not urns.is_provider(state.type)
        and state.urn in run.targets
    ]
    with ThreadPoolExecutor(run.options.parallel, thread_name_prefix="refresh") as pool:
        for _ in pool.map(lambda state: _guarded(run, registry, state, quiet=quiet), managed):
            pass


def _guarded(run: Run, registry: Registry, state: State, *, quiet: bool) -> None:
    clock = Clock()
    try:
        with run.slot():
            _refresh_one(run, registry, state, clock, quiet=quiet)
    except StoppedError:
        return
    except (ProviderError, EngineError) as error:
        run.broke(_step(state, Op.SAME), str(error), clock.seconds)


def _refresh_one(run: Run, registry: Registry, state: State, clock: Clock, *, quiet: bool) -> None:
    provider = registry.of(state.provider)
    found = provider.read(state.type, state.id, reveal(state.inputs))
    if found is None:
        run.note(drop=(state,))
        if not quiet:
            run.ended(_step(state, Op.DELETE), clock.seconds)
        return
    outputs = taken_over(state, found.outputs, provider.secret_outputs(state.type))
    inputs = with_secrets(found.inputs, secret_places(state.inputs))
    fresh = replace(state, inputs=inputs, outputs=outputs, id=found.id)
    if fresh == state:
        if not quiet:
            run.ended(_step(state, Op.SAME), clock.seconds)
        return
    run.note(replace(fresh, modified=now()))
    if quiet:
        return
    changed = planner.plain_diff(state.outputs, outputs)
    shown = {
        path: PropertyChange(kind=change.kind, before=change.before, after=change.after)
        for path, change in planner.changes(
            changed, replace(state, inputs=state.outputs), replace(fresh, inputs=outputs)
        ).items()
    }
    step = Decision(op=Op.UPDATE, new=fresh, old=state).step()
    run.ended(replace(step, diff=shown), clock.seconds)


def _step(state: State, op: Op) -> Step:
    return Step(
        op=op,
        urn=state.urn,
        type=state.type,
        name=urns.name_of(state.urn),
        old_inputs=masked(state.inputs),
        new_inputs=masked(state.inputs) if op is Op.SAME else None,
    )
