"""Taking over what the cloud says of every resource in the state.

Owns the reading, many at once, and its record as steps. Changes the state alone.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from infra.local.engine.errors import EngineError
from infra.local.engine.outputs import taken_over
from infra.local.engine.planner import Decision
from infra.local.engine.provider import DiffResult, PropertyDiff, ProviderError
from infra.local.engine.run import Clock, StoppedError, now
from infra.local.engine.values import masked, secret_places, with_secrets
from infra.model import urns
from infra.model.plan import Op, Step
from infra.model.secret_values import reveal

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
        and state.urn not in run.excludes
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
    detailed = _seen_from_the_state(
        provider.diff(state.type, found.id, found.inputs, found.outputs, reveal(state.inputs))
    )
    step = Decision(op=Op.UPDATE, new=fresh, old=state, detailed=detailed).step()
    run.ended(step if detailed else _step(state, Op.SAME), clock.seconds)


def _seen_from_the_state(result: DiffResult) -> dict[str, PropertyDiff]:
    """What an `up` would put back, turned round: what the cloud has changed.

    What only the service counts, such as an etag, is taken over and is no change, as the pulumi CLI has it
    (pulumi/pulumi, pkg/resource/deploy/step.go, RefreshStep, 2026-08).
    """
    turned: dict[str, Literal["add", "update", "delete"]] = {"add": "delete", "update": "update", "delete": "add"}
    return {path: PropertyDiff(turned[how.kind]) for path, how in result.detailed.items()}


def _step(state: State, op: Op) -> Step:
    return Step(
        op=op,
        urn=state.urn,
        type=state.type,
        name=urns.name_of(state.urn),
        old_inputs=masked(state.inputs),
        new_inputs=masked(state.inputs) if op is Op.SAME else None,
    )
